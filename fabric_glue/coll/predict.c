/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * predict.c - who is expected late in a group: where FI_QUIVER_COLL names an algorithm that wants
 * to know, the members of the group predict it (predict.h), by exchanges that no call waits for.
 */
#include "coll.h"
#include "engine/base/clock.h"

static bool is_wanted(const struct qv_fi_group *group, enum qv_coll kind)
{
	return kind <= QV_COLL_REDUCE_SCATTER && qv_select_wants_arrivals(group->select, kind);
}

int qv_fi_coll_expect(struct qv_fi_coll *coll, struct qv_fi_group *group, enum qv_coll kind,
		      const uint64_t **arrive)
{
	int due, ret;

	*arrive = NULL;
	if (!is_wanted(group, kind))
		return 0;
	if (!group->predict &&
	    qv_predict_open(group->n, group->rank, QV_PREDICT_EVERY, &group->predict))
		return -FI_ENOMEM;
	due = qv_predict_due(group->predict);
	if (due == QV_EAGAIN)
		return -FI_EAGAIN;
	if (due) {
		ret = qv_fi_coll_start_exchange(coll, group);
		if (ret)
			return ret;
		qv_predict_begun(group->predict);
	}
	*arrive = qv_predict_arrivals(group->predict);
	return 0;
}

void qv_fi_coll_expected(struct qv_fi_group *group, enum qv_coll kind)
{
	if (is_wanted(group, kind))
		qv_predict_called(group->predict, group->ops ? 0 : qv_clock_ns());
}

void qv_fi_coll_ended(struct qv_fi_group *group)
{
	if (group->predict)
		qv_predict_ended(group->predict, qv_clock_ns());
}
