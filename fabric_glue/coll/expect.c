/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.c - who is expected late in a group: where FI_QUIVER_COLL names an algorithm that wants
 * to know, the members of the group agree on it (agree.h), by exchanges that no call waits for.
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
	if (!group->expect &&
	    qv_expect_open(group->n, group->rank, QV_EXPECT_EVERY, &group->expect))
		return -FI_ENOMEM;
	due = qv_expect_due(group->expect);
	if (due == QV_EAGAIN)
		return -FI_EAGAIN;
	if (due) {
		ret = qv_fi_coll_start_exchange(coll, group);
		if (ret)
			return ret;
		qv_expect_begun(group->expect);
	}
	*arrive = qv_expect_arrivals(group->expect);
	return 0;
}

void qv_fi_coll_expected(struct qv_fi_group *group, enum qv_coll kind)
{
	if (is_wanted(group, kind))
		qv_expect_called(group->expect, group->ops ? 0 : qv_clock_ns());
}

void qv_fi_coll_ended(struct qv_fi_group *group)
{
	if (group->expect)
		qv_expect_ended(group->expect, qv_clock_ns());
}
