/* SPDX-License-Identifier: BSD-2-Clause */
/* test_agree.c - what members of a group tell each other comes to the same on all of them, whatever
 * one of them tells and whenever it has heard the others. */
#include "engine/schedule/agree.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/select.h>

#define MOST 8

/* Figures of a network. */

static const struct qv_network fair = {.alpha = 2e-6, .beta = 3e-10, .gamma = 4e-10};

static int equal(double a, double b)
{
	return a <= b && a >= b;
}

static void check_agreed(const struct qv_network *told, size_t n, double alpha, double beta,
			 double gamma)
{
	struct qv_network turned[MOST], got;
	double room[MOST];

	for (size_t first = 0; first < n; first++) {
		memset(&got, 0xff, sizeof(got));
		for (size_t i = 0; i < n; i++)
			turned[i] = told[(first + i) % n];
		assert_int_equal(qv_network_agree(turned, n, room, &got), QV_OK);
		assert_true(equal(got.alpha, alpha) && equal(got.beta, beta) &&
			    equal(got.gamma, gamma));
		for (int i = 0; i < QV_NETWORK_LONGER; i++)
			assert_true(equal(got.longer[i].from, 0));
	}
}

static void test_medians(void **unused)
{
	const struct qv_network told[] = {{.alpha = 4e-6, .beta = 1e-9, .gamma = 0},
					  {.alpha = 2e-6, .beta = 0, .gamma = 8e-10},
					  {.alpha = 1e-6, .beta = 4e-9, .gamma = 2e-10},
					  {.alpha = 8e-6, .beta = 2e-9, .gamma = 4e-10}};

	check_agreed(told, 1, 4e-6, 1e-9, 0);
	check_agreed(told, 2, (2e-6 + 4e-6) / 2, 1e-9 / 2, 8e-10 / 2);
	check_agreed(told, 3, 2e-6, 1e-9, 2e-10);
	check_agreed(told, 4, (2e-6 + 4e-6) / 2, (1e-9 + 2e-9) / 2, (2e-10 + 4e-10) / 2);
}

/* A member whose figures cannot be does not count; among three, nor does one that is far off. */
static void test_wrong_figures(void **unused)
{
	const double wrong[] = {NAN, -NAN, INFINITY, -INFINITY, -1, -1e-300, 1e300, 1.0001};
	const struct qv_network off = {.alpha = 1, .beta = 1, .gamma = 1};
	struct qv_network told[4] = {fair, fair, fair, fair}, got = fair;
	double room[4];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		told[1] =
			(struct qv_network){.alpha = wrong[i], .beta = wrong[i], .gamma = wrong[i]};
		for (size_t n = 2; n <= 4; n++)
			check_agreed(told, n, fair.alpha, fair.beta, fair.gamma);
		assert_int_equal(qv_network_agree(told + 1, 1, room, &got), QV_EINVAL);
	}
	told[1] = off;
	check_agreed(told, 3, fair.alpha, fair.beta, fair.gamma);
	told[1] = (struct qv_network){.alpha = 0, .beta = 0, .gamma = 0}; /* no message is free */
	check_agreed(told, 2, fair.alpha, fair.beta / 2, fair.gamma / 2);
	/* Nobody, or nobody of one figure. */
	assert_int_equal(qv_network_agree(told, 0, room, &got), QV_EINVAL);
	for (int i = 0; i < 4; i++)
		told[i] = (struct qv_network){.alpha = 1e-6, .beta = 1e-9, .gamma = -1};
	assert_int_equal(qv_network_agree(told, 4, room, &got), QV_EINVAL);
	assert_memory_equal(&got, &fair, sizeof(fair));
}

/* One has measured messages, all how fast they combine. */
static void test_not_measured(void **unused)
{
	const struct qv_network told[] = {{.alpha = 2e-6, .beta = 3e-10, .gamma = 9e-10},
					  {.alpha = -1, .beta = -1, .gamma = 4e-10},
					  {.alpha = -1, .beta = -1, .gamma = 4e-10}};

	check_agreed(told, 3, 2e-6, 3e-10, 4e-10);
}

/* Turns of 9, 5, 1, 7, 9, ... s. */
static double odd_clock(void)
{
	static const double turns[] = {9, 5, 1, 7};
	static unsigned int asked;
	static double now;

	now += asked % 2 ? turns[asked / 2 % 4] : 100;
	asked++;
	return now;
}

static void test_gamma(void **unused)
{
	static double memory[QV_GAMMA_ROOM / sizeof(double)];
	const struct qv_combine *combine;

	assert_int_equal(qv_combine_open(QV_ISA_AUTO, &combine), QV_OK);
	assert_true(equal(qv_network_gamma(combine, odd_clock, memory) * QV_GAMMA_ROOM / 2, 1));
}

/* Expectations, in a time of the test's: ns. */

#define CALL 1000 /* of a reduction after the last one has come */
#define WORK 90000
#define COST 500 /* of an exchange, behind the last one */

struct group {
	uint32_t n, delay;
	uint64_t now, last, exchanges, calls; /* last: how late the last one is */
	struct qv_expect *p[MOST];
	uint64_t told[MOST][QV_EXPECT_WORDS];
	int deaf[MOST];  /* hears of an exchange only when it cannot go on without */
	int waits[MOST]; /* for it */
	int status;      /* of exchanges */
	int beside;      /* another call begins before one is over */
};

static void open_group(struct group *g, uint32_t n, uint32_t delay)
{
	*g = (struct group){.n = n, .delay = delay, .now = 1};
	for (uint32_t r = 0; r < n; r++)
		assert_int_equal(qv_expect_open(n, r, delay, &g->p[r]), QV_OK);
}

static void close_group(struct group *g)
{
	for (uint32_t r = 0; r < g->n; r++)
		qv_expect_close(g->p[r]);
}

static void hear(struct group *g, uint32_t r)
{
	g->waits[r] = 0;
	if (!g->status)
		memcpy(qv_expect_told(g->p[r]), g->told, g->n * sizeof(g->told[0]));
	qv_expect_over(g->p[r], g->status, g->now + g->last + COST);
}

/* Whether an exchange is due, which all say. */
static int is_due(struct group *g)
{
	int all = QV_OK;

	for (uint32_t r = 0; r < g->n; r++) {
		int due = qv_expect_due(g->p[r]);

		assert_true(due != QV_EAGAIN || g->waits[r]);
		if (due == QV_EAGAIN) {
			hear(g, r);
			due = qv_expect_due(g->p[r]);
		}
		assert_true(due == QV_OK || due == 1);
		assert_true(!r || due == all);
		all = due;
	}
	return all;
}

/* Each rank comes so late. */
static void exchange(struct group *g, const uint64_t *late)
{
	g->exchanges++;
	for (uint32_t r = 0; r < g->n; r++) {
		qv_expect_begun(g->p[r], g->now + late[r]);
		memcpy(g->told[r], qv_expect_told(g->p[r]) + (size_t)r * QV_EXPECT_WORDS,
		       sizeof(g->told[r]));
	}
	for (uint32_t r = 0; r < g->n; r++) {
		g->waits[r] = 1;
		if (!g->deaf[r])
			hear(g, r);
	}
}

/* A call of all, and work before it. */
static void call(struct group *g, const uint64_t *late)
{
	g->now += WORK;
	g->last = 0;
	for (uint32_t r = 0; r < g->n; r++)
		g->last = late[r] > g->last ? late[r] : g->last;
	if (is_due(g))
		exchange(g, late);
	for (uint32_t r = 0; r < g->n; r++) {
		const uint64_t *arrive = qv_expect_arrivals(g->p[r]),
			       *first = qv_expect_arrivals(g->p[0]);

		assert_true(!arrive == !first);
		assert_true(!arrive || !memcmp(arrive, first, g->n * sizeof(*arrive)));
		assert_int_equal(qv_expect_late(g->p[r]), qv_expect_late(g->p[0]));
	}
	for (uint32_t r = 0; r < g->n; r++)
		if (!qv_expect_idle(g->p[r]) && qv_expect_called(g->p[r]) &&
		    qv_expect_came(g->p[r], g->now + late[r])) {
			if (g->beside)
				(void)qv_expect_came(g->p[r], 0);
			qv_expect_ended(g->p[r], g->now + g->last + CALL, 1);
		}
	g->now += g->last + CALL;
	g->calls++;
}

static void calls(struct group *g, int n, uint32_t who, uint64_t ns)
{
	uint64_t late[MOST] = {0};

	late[who] = ns;
	for (int i = 0; i < n; i++)
		call(g, late);
}

/* All come to the same, whoever hears late. */
static void test_all_alike(void **unused)
{
	static const uint32_t sizes[] = {1, 2, 3, MOST};

	for (int i = 0; i < 4 * 2; i++) {
		const uint32_t n = sizes[i % 4], delay = i < 4 ? 0 : 8;

		for (uint32_t deaf = 0; deaf <= n + 1; deaf++) {
			struct group g;

			open_group(&g, n, delay);
			for (uint32_t r = 0; r < n && delay; r++)
				g.deaf[r] = r == deaf || deaf == n + 1;
			for (int k = 0; k < 400; k++)
				calls(&g, 1, (uint32_t)k / 150 % n, (uint64_t)(k % 70) * 5000);
			assert_true(g.exchanges > 1 && qv_expect_arrivals(g.p[0]));
			close_group(&g);
		}
	}
}

/* Who is late by habit is expected late, until he is not; once is no habit. */
static void test_habit(void **unused)
{
	const uint64_t *arrive;
	struct group g;

	for (uint32_t delay = 0; delay <= 8; delay += 8) {
		open_group(&g, 4, delay);
		calls(&g, 40, 0, 0);
		assert_false(qv_expect_late(g.p[0]));
		for (int i = 0; i < 60; i++) {
			calls(&g, 9, 0, 0);
			calls(&g, 1, 2, 50000);
			assert_false(qv_expect_late(g.p[0]));
		}
		calls(&g, 150, 2, 50000);
		assert_true(qv_expect_late(g.p[0]));
		arrive = qv_expect_arrivals(g.p[0]);
		assert_true(arrive[2] == 50000 && !arrive[0] && !arrive[1] && !arrive[3]);
		calls(&g, 150, 2, 0);
		assert_false(qv_expect_late(g.p[0]));
		calls(&g, 150, 2, QV_EXPECT_LATE); /* as processors leave a call */
		assert_false(qv_expect_late(g.p[0]));
		close_group(&g);
	}
}

/* Who is late has a number: the same when he is late again, or by more; another one where it is another. */
static void test_who(void **unused)
{
	struct group g;
	uint32_t number;

	open_group(&g, 4, 0);
	calls(&g, 150, 2, 50000);
	number = qv_expect_late(g.p[0]);
	assert_true(number);
	calls(&g, 150, 2, 0);
	assert_false(qv_expect_late(g.p[0]));
	calls(&g, 150, 2, 90000);
	assert_int_equal(qv_expect_late(g.p[0]), number);
	calls(&g, 150, 1, 50000);
	assert_true(qv_expect_late(g.p[0]) && qv_expect_late(g.p[0]) != number);
	close_group(&g);
}

/* Exchanges take one part in 60 of the time in calls, and plans made of them count. */
static void test_far_apart(void **unused)
{
	struct group g;
	uint64_t before;

	open_group(&g, 3, 0);
	calls(&g, 3000, 0, 0);
	assert_true(g.exchanges * COST * 55 <= g.calls * CALL);
	assert_true(g.exchanges * COST * 65 >= g.calls * CALL);
	before = g.exchanges;
	for (int i = 0; i < 3000; i++) {
		for (uint32_t r = 0; r < g.n && is_due(&g); r++)
			qv_expect_spent(g.p[r], 4 * COST);
		calls(&g, 1, 0, 0);
	}
	assert_true(g.exchanges - before < before);
	close_group(&g);
}

/* An exchange that fails changes nothing, and another one comes. */
static void test_failed(void **unused)
{
	struct group g;
	uint64_t done;

	open_group(&g, 2, 8);
	calls(&g, 100, 1, 50000);
	assert_true(qv_expect_late(g.p[0]));
	done = g.exchanges;
	g.status = QV_EPEER;
	calls(&g, 200, 1, 0);
	assert_true(g.exchanges > done && qv_expect_late(g.p[0]));
	assert_int_equal(qv_expect_arrivals(g.p[0])[1], 50000);
	g.status = QV_OK;
	calls(&g, 200, 1, 0);
	assert_false(qv_expect_late(g.p[0]));
	close_group(&g);
}

/* Calls that have others beside them tell nothing: nobody counts as late, and exchanges are rare. */
static void test_beside(void **unused)
{
	struct group g;
	uint64_t before;

	open_group(&g, 2, 8);
	calls(&g, 100, 1, 50000);
	assert_true(qv_expect_late(g.p[0]));
	before = g.exchanges;
	g.beside = 1;
	calls(&g, 3000, 1, 50000);
	assert_false(qv_expect_late(g.p[0]));
	assert_null(qv_expect_arrivals(g.p[0]));
	assert_true(g.exchanges - before <= 4);
	g.beside = 0;
	calls(&g, 1200, 1, 50000);
	assert_true(qv_expect_late(g.p[0]));
	close_group(&g);
}

/* A rank that goes on while the others have not come is early, whatever it does then. */
static void test_ahead(void **unused)
{
	struct qv_expect *x;

	assert_int_equal(qv_expect_open(2, 0, 8, &x), QV_OK);
	for (uint64_t round = 0, now = 1; round < 4; round++) {
		for (int i = 0; qv_expect_due(x) != 1; i++, now += 1000)
			if (qv_expect_called(x) && qv_expect_came(x, now))
				qv_expect_ended(x, now, 0);
		qv_expect_begun(x, now);
		assert_true(round < 1 || !qv_expect_told(x)[0]);
		for (int i = 0; i < 3; i++, now += 1000)
			if (qv_expect_called(x) && qv_expect_came(x, now))
				qv_expect_ended(x, now, 0);
		qv_expect_over(x, QV_OK, now);
		now += 1000000;
	}
	qv_expect_close(x);
}

/* Arrivals that no clock can have told: schedules are still right, the same by all ranks'
 * choice. */
static void test_absurd_arrival(void **unused)
{
	const char *const rules[] = {"allreduce=clairvoyant:faithful",
				     "allreduce=segmented:faithful"};
	uint64_t arrive[MOST] = {0};
	const struct qv_plan *plan[MOST];
	struct qv_select *s[MOST];

	for (uint32_t i = 0; i < 2 * 3; i++) {
		const uint32_t n = 2 + i / 2 * 3; /* 2, 5, 8 */
		struct qv_schedule *all[MOST];

		arrive[n - 1] = UINT64_MAX;
		for (uint32_t r = 0; r < n; r++) {
			const struct qv_select_call c = {.coll = QV_COLL_ALLREDUCE,
							 .ranks = n,
							 .rank = r,
							 .bytes = 1 << 20,
							 .arrive = arrive};

			assert_int_equal(qv_select_open(rules[i % 2], NULL, 0, &s[r]), QV_OK);
			assert_int_equal(qv_select_get(s[r], &c, &plan[r]), QV_OK);
			assert_true(plan[r]->by_arrival && plan[r]->segments == plan[0]->segments);
			all[r] = (struct qv_schedule *)(uintptr_t)plan[r]->schedule;
		}
		assert_int_equal(qv_schedule_time(&fair, all, n, 1 << 20, NULL, (double[MOST]){0}),
				 QV_OK); /* they fit each other */
		for (uint32_t r = 0; r < n; r++) {
			qv_select_put(s[r], plan[r]);
			qv_select_close(s[r]);
		}
		arrive[n - 1] = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_medians),      cmocka_unit_test(test_wrong_figures),
		cmocka_unit_test(test_not_measured), cmocka_unit_test(test_gamma),
		cmocka_unit_test(test_all_alike),    cmocka_unit_test(test_habit),
		cmocka_unit_test(test_who),          cmocka_unit_test(test_far_apart),
		cmocka_unit_test(test_failed),       cmocka_unit_test(test_beside),
		cmocka_unit_test(test_ahead),        cmocka_unit_test(test_absurd_arrival)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
