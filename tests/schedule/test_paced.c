/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_paced.c - alltoall and allgather whose ranks wait for each other every few blocks: how many
 * messages that takes, how long, and that nobody is ahead of the others.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "sched_case.h"
#include "engine/schedule/schedule.h" /* to run some steps, and not others */

static const struct {
	enum qv_coll coll;
	enum qv_algorithm algorithm;
} kinds[] = {
	{QV_COLL_ALLTOALL, QV_ALG_DIRECT},   {QV_COLL_ALLTOALL, QV_ALG_PREFIX},
	{QV_COLL_ALLGATHER, QV_ALG_DIRECT},  {QV_COLL_ALLGATHER, QV_ALG_PREFIX},
	{QV_COLL_ALLGATHER, QV_ALG_KPREFIX}, {QV_COLL_ALLGATHER, QV_ALG_KSHIFT},
};

static void each(uint32_t ranks, uint32_t pace, void (*test)(struct qv_sched_case *c))
{
	static struct qv_sched_case c;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		const struct qv_schedule_spec spec = {.coll = kinds[i].coll,
						      .algorithm = kinds[i].algorithm,
						      .ranks = ranks,
						      .k = 4,
						      .pace = pace};

		qv_sched_case_open(&c, &spec);
		test(&c);
		qv_sched_case_close(&c);
	}
}

/* Of the smallest power of two that is not below the number of ranks. */
static uint32_t log_of(uint32_t ranks)
{
	uint32_t n = 0;

	while (1u << n < ranks)
		n++;
	return n;
}

static uint32_t barriers_of(const struct qv_schedule_spec *spec)
{
	const uint32_t P = spec->ranks;
	const uint32_t rounds = spec->algorithm == QV_ALG_PREFIX ? (1u << log_of(P)) - 1 : P - 1;

	return spec->pace && rounds ? (rounds - 1) / spec->pace : 0;
}

/* Messages. */

static void count(struct qv_sched_case *c)
{
	const uint32_t tokens = barriers_of(&c->spec) * log_of(c->spec.ranks);
	char why[160] = "";

	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		const struct qv_schedule *s = c->all[r];
		uint32_t sent[2] = {0, 0}, got[2] = {0, 0}; /* tokens, blocks */

		for (size_t i = 0; i < s->n; i++) {
			const struct qv_step *step = &s->steps[i];

			sent[step->blocks > 0] += qv_is_send(step->kind) != 0;
			got[step->blocks > 0] += qv_is_receive(step->kind) != 0;
		}
		assert_int_equal(sent[1], c->spec.ranks - 1);
		assert_int_equal(got[1], c->spec.ranks - 1);
		assert_int_equal(sent[0], tokens);
		assert_int_equal(got[0], tokens);
	}
	if (qv_schedule_check(&c->spec, c->all, why, sizeof(why)))
		fail_msg("%s, pace %u: %s", qv_sched_case_name(&c->spec), c->spec.pace, why);
}

static void test_counts(void **unused)
{
	static const uint32_t paces[] = {0, 1, 2, 3, 8, 100};

	for (size_t i = 0; i < sizeof(paces) / sizeof(paces[0]); i++) {
		for (uint32_t ranks = 1; ranks <= 17; ranks++)
			each(ranks, paces[i], count);
		each(32, paces[i], count);
	}
}

/* One message comes late. */

/* The barriers before a step of a rank. */
static uint32_t barriers_before(const struct qv_schedule *s, size_t step)
{
	uint32_t tokens = 0;

	for (size_t i = 0; i < step; i++)
		tokens += qv_is_receive(s->steps[i].kind) && !s->steps[i].blocks;
	return tokens / log_of(s->ranks);
}

/* Run all that can run without the message `held`. */
static void run_without(struct qv_group *g, size_t held)
{
	int moved = 1;

	while (moved) {
		moved = 0;
		for (size_t i = 0; i < g->n; i++) {
			const enum qv_step_kind kind = qv_group_step(g, i)->kind;

			if (i == held || qv_is_send(kind) || kind == QV_STEP_FENCE ||
			    !qv_group_ready(g, i) || !qv_group_ready(g, g->partner[i]))
				continue;
			if (!qv_is_local(kind))
				qv_group_done(g, g->partner[i]);
			qv_group_done(g, i);
			moved = 1;
		}
	}
}

/* While a rank has not got a block, nobody sends or gets one behind the barrier that follows. */
static void hold(const struct qv_sched_case *c, uint32_t late, size_t step)
{
	const uint32_t barriers = barriers_before(c->all[late], step);
	struct qv_group g;
	size_t bad;

	assert_int_equal(qv_group_open(&g, c->all, c->spec.ranks, &bad), QV_OK);
	run_without(&g, g.base[late] + step);
	for (uint32_t r = 0; r < c->spec.ranks; r++)
		for (size_t i = 0; i < c->all[r]->n; i++)
			if (g.done[g.base[r] + i] && c->all[r]->steps[i].kind != QV_STEP_FENCE &&
			    c->all[r]->steps[i].blocks)
				assert_true(barriers_before(c->all[r], i) <= barriers);
	run_without(&g, g.n);
	for (size_t i = 0; i < g.n; i++)
		assert_true(g.done[i]);
	qv_group_close(&g);
}

static void hold_each(struct qv_sched_case *c)
{
	for (uint32_t r = 0; r < c->spec.ranks; r += 3)
		for (size_t i = 0; i < c->all[r]->n; i++)
			if (qv_is_receive(c->all[r]->steps[i].kind) && c->all[r]->steps[i].blocks)
				hold(c, r, i);
}

static void test_in_step(void **unused)
{
	for (uint32_t ranks = 2; ranks <= 8; ranks += 1 + ranks / 4)
		for (uint32_t pace = 1; pace <= 3; pace++)
			each(ranks, pace, hold_each);
}

/* Time. */

static double seconds_of(const struct qv_sched_case *c)
{
	static const struct qv_network network = {.alpha = 1, .beta = 0.25};
	double leave[64], last = 0;

	assert_int_equal(
		qv_schedule_time(&network, c->all, c->spec.ranks, 4.0 * c->spec.ranks, NULL, leave),
		QV_OK);
	for (uint32_t r = 0; r < c->spec.ranks; r++)
		last = fmax(last, leave[r]);
	return last;
}

/* Where all ranks come at once, barriers are all that is added. */
static void time_of(struct qv_sched_case *c)
{
	const uint32_t P = c->spec.ranks;
	const double expected = (P - 1) * 2.0 + barriers_of(&c->spec) * (double)log_of(P);

	assert_true(fabs(seconds_of(c) - expected) < 1e-9);
}

static void test_time(void **unused)
{
	for (uint32_t ranks = 2; ranks <= 32; ranks *= 2)
		for (uint32_t pace = 0; pace <= 8; pace++)
			each(ranks, pace, time_of);
}

static void test_refused(void **unused)
{
	struct qv_schedule_spec spec = {
		.coll = QV_COLL_ALLGATHER, .algorithm = QV_ALG_RING, .ranks = 8, .pace = 1};
	struct qv_schedule *s;

	assert_int_equal(qv_schedule_build(&spec, 0, &s), QV_EINVAL);
	spec.algorithm = QV_ALG_DIRECT;
	spec.coll = QV_COLL_ALLREDUCE;
	assert_int_equal(qv_schedule_build(&spec, 0, &s), QV_EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts), cmocka_unit_test(test_in_step),
		cmocka_unit_test(test_time), cmocka_unit_test(test_refused)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
