/* SPDX-License-Identifier: BSD-2-Clause */
/* test_agree.c - what members of a group tell each other comes to the same on all of them, whatever
 * one of them tells and whenever it has heard the others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/predict.h>
#include <quiver/select.h>

#define MOST  8
#define EVERY 3

static const struct qv_network fair = {.alpha = 2e-6, .beta = 3e-10, .gamma = 4e-10};

/* Expectations. */

struct group {
	uint32_t n;
	uint64_t calls;
	struct qv_predict *p[MOST];
	uint64_t told[MOST];   /* in the last exchange */
	uint64_t before[MOST]; /* in the one before, which counts until the next one is due */
	int late[MOST];        /* hears of an exchange only when it cannot go on without */
};

static void open_group(struct group *g, uint32_t n)
{
	*g = (struct group){.n = n};
	for (uint32_t r = 0; r < n; r++)
		assert_int_equal(qv_predict_open(n, r, EVERY, &g->p[r]), QV_OK);
}

static void close_group(struct group *g)
{
	for (uint32_t r = 0; r < g->n; r++)
		qv_predict_close(g->p[r]);
}

static void end_exchange(struct group *g, uint32_t r, int status)
{
	if (!status)
		memcpy(qv_predict_told(g->p[r]), g->told, g->n * sizeof(g->told[0]));
	qv_predict_over(g->p[r], status);
}

/* All are asked in a call in which an exchange is due; those before it are over by then. */
static void tell(struct group *g)
{
	uint64_t told[MOST];

	for (uint32_t r = 0; r < g->n; r++) {
		int due = qv_predict_due(g->p[r]);

		assert_int_equal(due, g->late[r] && g->calls > EVERY ? QV_EAGAIN : 1);
		if (due == QV_EAGAIN) {
			end_exchange(g, r, QV_OK);
			due = qv_predict_due(g->p[r]);
		}
		assert_int_equal(due, 1);
		told[r] = qv_predict_told(g->p[r])[r];
		qv_predict_begun(g->p[r]);
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
		const uint64_t *arrive = qv_predict_arrivals(g->p[r]);

		assert_int_equal(qv_predict_due(g->p[r]), QV_OK); /* it may be asked again */
		if (g->calls >= 2 * EVERY)
			assert_memory_equal(arrive, g->before, g->n * sizeof(*arrive));
		else
			assert_null(arrive);
		qv_predict_called(g->p[r], 1000 + late[r]);
		qv_predict_ended(g->p[r], 1000);
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

/* One could not begin the exchange and asks again: it expects what was told, not what it tells next.
 * One has lost the exchange: what was told before stays. */
static void test_failed(void **unused)
{
	static const uint64_t early[2] = {60, 120}, later[2] = {6000, 12000};
	struct group g;

	open_group(&g, 2);
	for (int i = 0; i < 2 * EVERY; i++)
		call(&g, i <= EVERY ? early : later);
	for (int i = 0; i < 3; i++)
		assert_int_equal(qv_predict_due(g.p[0]), 1);
	assert_true(qv_predict_told(g.p[0])[0] > early[0]);
	call(&g, later);
	assert_memory_equal(qv_predict_arrivals(g.p[0]), early, sizeof(early));
	close_group(&g);

	open_group(&g, 1);
	for (int i = 0; i < 2 * EVERY; i++)
		call(&g, i <= EVERY ? early : later);
	call(&g, later);
	qv_predict_over(g.p[0], QV_EPEER);
	g.told[0] = g.before[0];
	for (int i = 0; i < 2 * EVERY; i++)
		call(&g, later);
	assert_true(qv_predict_arrivals(g.p[0])[0] > early[0]); /* the next one was not lost */
	close_group(&g);
}

/* Arrivals that no clock can have told: schedules are still right, the same by all ranks' choice. */
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
		cmocka_unit_test(test_all_alike),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_absurd_arrival),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
