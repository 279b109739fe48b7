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

#define MOST  8
#define EVERY 3

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

/* Expectations. */

struct group {
	uint32_t n;
	uint64_t calls;
	struct qv_expect *p[MOST];
	uint64_t told[MOST];   /* in the last exchange */
	uint64_t before[MOST]; /* in the one before, which counts until the next one is due */
	int late[MOST];        /* hears of an exchange only when it cannot go on without */
};

static void open_group(struct group *g, uint32_t n)
{
	*g = (struct group){.n = n};
	for (uint32_t r = 0; r < n; r++)
		assert_int_equal(qv_expect_open(n, r, EVERY, &g->p[r]), QV_OK);
}

static void close_group(struct group *g)
{
	for (uint32_t r = 0; r < g->n; r++)
		qv_expect_close(g->p[r]);
}

static void end_exchange(struct group *g, uint32_t r, int status)
{
	if (!status)
		memcpy(qv_expect_told(g->p[r]), g->told, g->n * sizeof(g->told[0]));
	qv_expect_over(g->p[r], status);
}

/* All are asked in a call in which an exchange is due; those before it are over by then. */
static void tell(struct group *g)
{
	uint64_t told[MOST];

	for (uint32_t r = 0; r < g->n; r++) {
		int due = qv_expect_due(g->p[r]);

		assert_int_equal(due, g->late[r] && g->calls > EVERY ? QV_EAGAIN : 1);
		if (due == QV_EAGAIN) {
			end_exchange(g, r, QV_OK);
			due = qv_expect_due(g->p[r]);
		}
		assert_int_equal(due, 1);
		told[r] = qv_expect_told(g->p[r])[r];
		qv_expect_begun(g->p[r]);
	}
	memcpy(g->before, g->told, sizeof(told));
	memcpy(g->told, told, sizeof(told));
}

/* A call of all, in which each rank comes so late. */
static void call(struct group *g, const uint64_t *late)
{
	if (g->calls && g->calls % EVERY == 0) {
		tell(g);
		for (uint32_t r = 0; r < g->n; r++)
			if (!g->late[r])
				end_exchange(g, r, QV_OK);
	}
	for (uint32_t r = 0; r < g->n; r++) {
		const uint64_t *arrive = qv_expect_arrivals(g->p[r]);

		assert_int_equal(qv_expect_due(g->p[r]), QV_OK); /* it may be asked again */
		if (g->calls >= 2 * EVERY)
			assert_memory_equal(arrive, g->before, g->n * sizeof(*arrive));
		else
			assert_null(arrive);
		qv_expect_called(g->p[r], 1000 + late[r]);
		qv_expect_ended(g->p[r], 1000);
	}
	g->calls++;
}

static void many_calls(struct group *g)
{
	uint64_t late[MOST];

	for (uint64_t i = 0; i < 9 * EVERY; i++) {
		for (uint32_t r = 0; r < g->n; r++)
			late[r] = i * i * 100 + r;
		call(g, late);
	}
}

static void test_all_alike(void **unused)
{
	static const uint32_t sizes[] = {1, 2, 3, MOST};
	struct group g;

	for (int i = 0; i < 4; i++) {
		for (uint32_t late = 0; late <= sizes[i]; late++) {
			open_group(&g, sizes[i]);
			g.late[late % MOST] = late < sizes[i];
			many_calls(&g);
			close_group(&g);
		}
		open_group(&g, sizes[i]);
		for (uint32_t r = 0; r < sizes[i]; r++)
			g.late[r] = 1;
		many_calls(&g);
		close_group(&g);
	}
}

/* One could not begin the exchange and asks again: it expects what was told, not what it tells
 * next. One has lost the exchange: what was told before stays. */
static void test_failed(void **unused)
{
	static const uint64_t early[2] = {60, 120}, later[2] = {6000, 12000};
	struct group g;

	open_group(&g, 2);
	for (int i = 0; i < 2 * EVERY; i++)
		call(&g, i <= EVERY ? early : later);
	for (int i = 0; i < 3; i++)
		assert_int_equal(qv_expect_due(g.p[0]), 1);
	assert_true(qv_expect_told(g.p[0])[0] > early[0]);
	call(&g, later);
	assert_memory_equal(qv_expect_arrivals(g.p[0]), early, sizeof(early));
	close_group(&g);

	open_group(&g, 1);
	for (int i = 0; i < 2 * EVERY; i++)
		call(&g, i <= EVERY ? early : later);
	call(&g, later);
	qv_expect_over(g.p[0], QV_EPEER);
	g.told[0] = g.before[0];
	for (int i = 0; i < 2 * EVERY; i++)
		call(&g, later);
	assert_true(qv_expect_arrivals(g.p[0])[0] > early[0]); /* the next one was not lost */
	close_group(&g);
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
		cmocka_unit_test(test_medians),       cmocka_unit_test(test_wrong_figures),
		cmocka_unit_test(test_not_measured),  cmocka_unit_test(test_gamma),
		cmocka_unit_test(test_all_alike),     cmocka_unit_test(test_failed),
		cmocka_unit_test(test_absurd_arrival)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
