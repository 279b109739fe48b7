/* SPDX-License-Identifier: BSD-2-Clause */
/* predict.c - moving averages of arrivals, told every so many calls. */
#include <quiver/predict.h>

#include <stdlib.h>
#include <string.h>

struct qv_predict {
	uint32_t ranks, rank, every;
	uint64_t calls, exchanges;        /* begun */
	uint64_t last[QV_PREDICT_WINDOW]; /* ring of observations, ns */
	uint64_t observed;                /* so many in all */
	uint64_t ended;                   /* when the last collective was over, ns; 0: none was */
	int under_way, fresh;             /* an exchange; what it brought does not count yet */
	int known;                        /* arrive holds something */
	uint64_t *told;                   /* behind arrive */
	uint64_t arrive[];
};

int qv_predict_open(uint32_t ranks, uint32_t rank, uint32_t every, struct qv_predict **predict)
{
	struct qv_predict *p;

	if (rank >= ranks || !every)
		return QV_EINVAL;
	p = calloc(1, sizeof(*p) + 2 * (size_t)ranks * sizeof(p->arrive[0]));
	if (!p)
		return QV_ENOMEM;
	p->ranks = ranks;
	p->rank = rank;
	p->every = every;
	p->told = p->arrive + ranks;
	*predict = p;
	return QV_OK;
}

void qv_predict_close(struct qv_predict *predict)
{
	free(predict);
}

static uint64_t mean(const struct qv_predict *p)
{
	const uint64_t n = p->observed < QV_PREDICT_WINDOW ? p->observed : QV_PREDICT_WINDOW;
	uint64_t sum = 0;

	/* Divided one by one, so that no sum is too large. */
	for (uint64_t i = 0; i < n; i++)
		sum += p->last[i] / n;
	return sum;
}

int qv_predict_due(struct qv_predict *p)
{
	if (p->calls / p->every <= p->exchanges)
		return QV_OK;
	if (p->under_way)
		return QV_EAGAIN;
	/* Once: what this rank tells next is no expectation of the others yet. */
	if (p->fresh) {
		memcpy(p->arrive, p->told, p->ranks * sizeof(*p->told));
		p->known = 1;
		p->fresh = 0;
	}
	p->told[p->rank] = mean(p);
	return 1;
}

uint64_t *qv_predict_told(struct qv_predict *predict)
{
	return predict->told;
}

void qv_predict_begun(struct qv_predict *predict)
{
	predict->exchanges++;
	predict->under_way = 1;
}

void qv_predict_over(struct qv_predict *predict, int status)
{
	predict->under_way = 0;
	predict->fresh = status == QV_OK;
}

const uint64_t *qv_predict_arrivals(const struct qv_predict *predict)
{
	return predict->known ? predict->arrive : NULL;
}

void qv_predict_called(struct qv_predict *p, uint64_t now)
{
	p->calls++;
	if (now && p->ended)
		p->last[p->observed++ % QV_PREDICT_WINDOW] = now - p->ended;
}

void qv_predict_ended(struct qv_predict *predict, uint64_t now)
{
	predict->ended = now;
}
