/* SPDX-License-Identifier: BSD-2-Clause */
/* predict.c - moving averages of arrivals, told every so many calls. */
#include <quiver/predict.h>

#include <stdlib.h>
#include <string.h>

struct qv_predict {
	uint32_t ranks, every;
	uint64_t calls;
	uint64_t last[QV_PREDICT_WINDOW]; /* ring of observations */
	uint64_t observed;                /* so many in all */
	int told;                         /* arrive holds something */
	uint64_t arrive[];
};

int qv_predict_open(uint32_t ranks, uint32_t every, struct qv_predict **predict)
{
	struct qv_predict *p;

	if (!ranks || !every)
		return QV_EINVAL;
	p = calloc(1, sizeof(*p) + ranks * sizeof(p->arrive[0]));
	if (!p)
		return QV_ENOMEM;
	p->ranks = ranks;
	p->every = every;
	*predict = p;
	return QV_OK;
}

void qv_predict_close(struct qv_predict *predict)
{
	free(predict);
}

void qv_predict_observe(struct qv_predict *predict, uint64_t ns)
{
	predict->last[predict->observed++ % QV_PREDICT_WINDOW] = ns;
}

int qv_predict_due(struct qv_predict *predict)
{
	return predict->calls++ % predict->every == 0;
}

uint64_t qv_predict_mine(const struct qv_predict *predict)
{
	const uint64_t n =
		predict->observed < QV_PREDICT_WINDOW ? predict->observed : QV_PREDICT_WINDOW;
	uint64_t mean = 0;

	/* Divided one by one, so that no sum is too large. */
	for (uint64_t i = 0; i < n; i++)
		mean += predict->last[i] / n;
	return mean;
}

void qv_predict_learn(struct qv_predict *predict, const uint64_t *told)
{
	memcpy(predict->arrive, told, predict->ranks * sizeof(*told));
	predict->told = 1;
}

const uint64_t *qv_predict_arrivals(const struct qv_predict *predict)
{
	return predict->told ? predict->arrive : NULL;
}
