/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.c - who is expected late in a group: where FI_QUIVER_COLL says `auto` of a reduction that messages
 * carry, or names an algorithm that wants to know, the members of the group agree on it (agree.h), by
 * exchanges that go on beside the next calls. Where it says nothing they do not: a call would be refused
 * until others have made theirs, and who calls far ahead of the others may not bear that. Broadcasts use what
 * reductions have told: that changes in reductions only, so all members know the same in the same broadcast.
 */
#include "coll.h"
#include "engine/base/clock.h"

/* Calls before an exchange counts: members may be as far apart and nobody waits. */
#define DELAY 8

static bool is_wanted(const struct qv_fi_group *group, enum qv_coll kind)
{
	return qv_expect_serves(kind) && group->n > 1 &&
	       (qv_select_wants_arrivals(group->select, kind) ||
		qv_select_is_auto(group->select, kind));
}

/* Not a broadcast: most members do not wait in it, so an exchange beside it would be over at any time. */
static bool is_observed(const struct qv_fi_group *group, enum qv_coll kind)
{
	return is_wanted(group, kind) && kind != QV_COLL_BROADCAST;
}

static int agree(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	int due;

	if (!group->expect && qv_expect_open(group->n, group->rank, DELAY, &group->expect))
		return -FI_ENOMEM;
	due = qv_expect_due(group->expect);
	if (due == QV_EAGAIN)
		return -FI_EAGAIN;
	return due ? qv_fi_coll_start_exchange(coll, group) : 0;
}

int qv_fi_coll_expect(struct qv_fi_coll *coll, struct qv_fi_group *group, enum qv_coll kind,
		      const uint64_t **arrive)
{
	const int ret = is_observed(group, kind) ? agree(coll, group) : 0;

	*arrive = NULL;
	if (ret || !is_wanted(group, kind) || !group->expect)
		return ret;
	if (qv_expect_late(group->expect) || qv_select_wants_arrivals(group->select, kind))
		*arrive = qv_expect_arrivals(group->expect);
	return 0;
}

bool qv_fi_coll_expected(struct qv_fi_group *group, enum qv_coll kind)
{
	return is_observed(group, kind) && qv_expect_called(group->expect) &&
	       qv_expect_came(group->expect, group->ops > group->streams ? 0 : qv_clock_ns());
}

void qv_fi_coll_ended(struct qv_fi_group *group, bool together)
{
	qv_expect_ended(group->expect, qv_clock_ns(), together);
}
