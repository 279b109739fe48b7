/* SPDX-License-Identifier: BSD-2-Clause */
/* test_calls.c - every operation by every number of members, at the borders of pieces, in any order,
 * with members that come late. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include <time.h>

#include "engine/base/random.h"
#include "rig.h"

#define MAP 8u /* bytes of an element */

static const size_t borders[] = {QV_TEAM_INLINE / MAP,    QV_TEAM_PIECE / MAP,
				 QV_TEAM_FLAT / MAP / 2,  QV_TEAM_FLAT / MAP / 4,
				 2 * QV_TEAM_PIECE / MAP, 9 * QV_TEAM_PIECE / MAP / 2};

static void each_length(struct rig_member *m, const void *arg)
{
	struct rig_call call = {.number = 1};

	(void)arg;
	for (int kind = 0; kind < QV_TEAM_KINDS; kind++)
		for (unsigned k = 0; k < sizeof borders / sizeof *borders; k++)
			for (int off = -1; off < 2; off++) {
				/* Blocks of an alltoall share a piece. */
				size_t div = kind == QV_TEAM_ALLTOALL ? m->ranks : 1;

				call.kind = (enum qv_team_kind)kind;
				call.count = borders[k] / div + 1 + (size_t)off;
				call.root = call.number % m->ranks;
				call.ordered = call.number % 2;
				call.in_place = (call.number / 2 + m->rank) % 2;
				QV_NEED(!rig_run(m, &call));
				call.number++;
			}
}

static void lengths(void **state)
{
	static const uint32_t ranks[] = {2, 3, 4, 7, 16};
	struct rig r;

	(void)state;
	for (unsigned i = 0; i < sizeof ranks / sizeof *ranks; i++) {
		rig_start(&r, ranks[i], each_length, NULL);
		rig_end(&r);
	}
}

struct draw {
	uint64_t seed;
	unsigned calls;
	bool late;
};

static size_t draw_count(uint64_t *random)
{
	const uint32_t kind = (uint32_t)qv_random_below(random, 8);

	if (kind < 5)
		return qv_random_below(random, 10);
	return qv_random_below(random, kind < 7 ? 700 : 20000);
}

/* All draw the same, less whether it is in place, and how late they are. */
static void any_order(struct rig_member *m, const void *arg)
{
	const struct draw *draw = arg;
	uint64_t same = draw->seed, own = draw->seed * 31 + m->rank;
	struct rig_call call = {.number = 0};

	for (unsigned i = 0; i < draw->calls; i++) {
		const struct timespec nap = {0, (long)qv_random_below(&own, 3000000)};

		call.kind = (enum qv_team_kind)qv_random_below(&same, QV_TEAM_KINDS);
		call.count = draw_count(&same);
		call.root = (uint32_t)qv_random_below(&same, m->ranks);
		call.ordered = qv_random_below(&same, 2);
		call.in_place = qv_random_below(&own, 2);
		call.number++;
		if (draw->late && !qv_random_below(&own, 20))
			nanosleep(&nap, NULL);
		QV_NEED(!rig_run(m, &call));
	}
}

static void orders(void **state)
{
	struct rig r;

	(void)state;
	for (uint32_t ranks = 2; ranks <= RIG_MOST; ranks += ranks < 5 ? 1 : 5) {
		const struct draw draw = {1234567 + ranks, ranks < 6 ? 600 : 150, ranks % 2};

		rig_start(&r, ranks, any_order, &draw);
		rig_end(&r);
	}
}

/* A broadcast waits for nobody, so the root runs ahead as far as there is room, and no further. */
static void one_after_another(struct rig_member *m, const void *arg)
{
	struct rig_call call = {.kind = QV_TEAM_BROADCAST, .count = 3};

	(void)arg;
	for (call.number = 1; call.number < 4000; call.number++) {
		call.count = call.number % 50 ? 3 : 3000;
		QV_NEED(!rig_run(m, &call));
	}
	call.kind = QV_TEAM_REDUCE;
	for (; call.number < 8000; call.number++)
		QV_NEED(!rig_run(m, &call));
}

static void ahead(void **state)
{
	struct rig r;

	(void)state;
	for (uint32_t ranks = 2; ranks <= 4; ranks++) {
		rig_start(&r, ranks, one_after_another, NULL);
		rig_end(&r);
	}
}

/* The owner has its turns while a member waits. */
static void waits_for_others(struct rig_member *m, const void *arg)
{
	const struct timespec nap = {0, 100000000};
	const struct rig_call call = {.kind = QV_TEAM_BARRIER, .number = 1};

	(void)arg;
	if (m->rank)
		nanosleep(&nap, NULL);
	QV_NEED(!rig_run(m, &call));
	QV_NEED(m->rank || m->turns > 100);
}

static void turns(void **state)
{
	struct rig r;

	(void)state;
	rig_start(&r, 2, waits_for_others, NULL);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
		cmocka_unit_test(orders),
		cmocka_unit_test(ahead),
		cmocka_unit_test(turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
