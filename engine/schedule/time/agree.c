/* SPDX-License-Identifier: BSD-2-Clause */
/* agree.c - expectations of a group, exchanged every few calls. */
#include "engine/schedule/agree.h"

#include <stdlib.h>

struct qv_expect {
	struct qv_predict *predict;
	uint32_t rank, every;
	uint64_t calls, exchanges; /* begun */
	uint64_t ended;            /* when the last collective was over, ns; 0: none was */
	int under_way, fresh;      /* an exchange; what it brought does not count yet */
	uint64_t told[];
};

int qv_expect_open(uint32_t ranks, uint32_t rank, uint32_t every, struct qv_expect **expect)
{
	struct qv_expect *x;
	int rc;

	if (rank >= ranks)
		return QV_EINVAL;
	x = calloc(1, sizeof(*x) + ranks * sizeof(x->told[0]));
	if (!x)
		return QV_ENOMEM;
	rc = qv_predict_open(ranks, every, &x->predict);
	if (rc) {
		free(x);
		return rc;
	}
	x->rank = rank;
	x->every = every;
	*expect = x;
	return QV_OK;
}

void qv_expect_close(struct qv_expect *expect)
{
	if (expect)
		qv_predict_close(expect->predict);
	free(expect);
}

int qv_expect_due(struct qv_expect *x)
{
	if (x->calls / x->every <= x->exchanges)
		return QV_OK;
	if (x->under_way)
		return QV_EAGAIN;
	/* Once: what this rank tells next is no expectation of the others yet. */
	if (x->fresh)
		qv_predict_learn(x->predict, x->told);
	x->fresh = 0;
	x->told[x->rank] = qv_predict_mine(x->predict);
	return 1;
}

uint64_t *qv_expect_told(struct qv_expect *expect)
{
	return expect->told;
}

void qv_expect_begun(struct qv_expect *expect)
{
	expect->exchanges++;
	expect->under_way = 1;
}

void qv_expect_over(struct qv_expect *expect, int status)
{
	expect->under_way = 0;
	expect->fresh = status == QV_OK;
}

const uint64_t *qv_expect_arrivals(const struct qv_expect *expect)
{
	return qv_predict_arrivals(expect->predict);
}

void qv_expect_called(struct qv_expect *x, uint64_t now)
{
	x->calls++;
	if (now && x->ended)
		qv_predict_observe(x->predict, now - x->ended);
}

void qv_expect_ended(struct qv_expect *expect, uint64_t now)
{
	expect->ended = now;
}
