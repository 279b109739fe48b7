/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * predict.c - who is expected late in a group: where FI_QUIVER_COLL names an algorithm
 * that wants to know, members tell each other in every few reductions how long they took from the
 * end of one to the call of the next. What was told in one exchange counts from the call on in
 * which the next one begins, so that all members expect the same in the same call.
 */
#include "coll.h"
#include "engine/base/clock.h"

#include <stdlib.h>

#define EVERY 8 /* calls */

static int open_predict(struct qv_fi_group *group)
{
	group->told = calloc(group->n, sizeof *group->told);
	if (!group->told)
		return -FI_ENOMEM;
	if (qv_predict_open(group->n, EVERY, &group->predict)) {
		free(group->told);
		group->told = NULL;
		return -FI_ENOMEM;
	}
	return 0;
}

static int exchange(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	int ret;

	if (group->exchanging)
		return -FI_EAGAIN; /* what it brings counts from this call on */
	if (group->exchanges)
		qv_predict_learn(group->predict, group->told);
	group->told[group->rank] = qv_predict_mine(group->predict);
	ret = qv_fi_coll_start_exchange(coll, group);
	if (ret)
		return ret;
	group->exchanging = true;
	group->exchanges++;
	return 0;
}

int qv_fi_coll_expect(struct qv_fi_coll *coll, struct qv_fi_group *group, enum qv_coll kind,
		      const uint64_t **arrive)
{
	int ret = 0;

	*arrive = NULL;
	if (kind > QV_COLL_REDUCE_SCATTER || !qv_select_wants_arrivals(group->select, kind))
		return 0;
	if (!group->predict)
		ret = open_predict(group);
	if (!ret && group->reductions / EVERY == group->exchanges)
		ret = exchange(coll, group);
	if (!ret)
		*arrive = qv_predict_arrivals(group->predict);
	return ret;
}

void qv_fi_coll_expected(struct qv_fi_group *group, enum qv_coll kind)
{
	if (!group->predict || kind > QV_COLL_REDUCE_SCATTER ||
	    !qv_select_wants_arrivals(group->select, kind))
		return;
	group->reductions++;
	if (!group->ops && group->ended)
		qv_predict_observe(group->predict, qv_clock_ns() - group->ended);
}

void qv_fi_coll_ended(struct qv_fi_group *group)
{
	if (group->predict)
		group->ended = qv_clock_ns();
}
