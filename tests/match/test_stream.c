/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stream.c - structure auto: windows of receives with one key each, among many others,
 * and what may come between a guess and the message that it is about.
 */
#include <stdbool.h>

#include "tests/match/model/auto_kit.h"

enum { DEPTH = 500, WINDOW = 24, STREAMS = 3, RECVS = STREAMS * WINDOW };

#define STREAM_TAG (UINT64_C(1) << 40)
#define SENDER     7u

struct rig {
	struct heap heap;
	struct qv_match *m;
	uint32_t src; /* that receives name */
	struct qv_recv deep[DEPTH];
	struct qv_recv r[RECVS];
	/* By stream: the receives that wait, oldest first, in a ring. */
	struct qv_recv *waits[STREAMS][WINDOW];
	uint32_t head[STREAMS], n[STREAMS];
};

static void post_next(struct rig *g, uint32_t s, struct qv_recv *r)
{
	post(g->m, r, STREAM_TAG + s, 0, g->src);
	g->waits[s][(g->head[s] + g->n[s]++) % WINDOW] = r;
}

/* The oldest receive of stream s takes a message; NULL: there is none, and none is found. */
static struct qv_recv *take(struct rig *g, uint32_t s, bool deliver)
{
	struct qv_recv *want = g->n[s] ? g->waits[s][g->head[s]] : NULL, *got = NULL;
	struct qv_msg msg = {.tag = STREAM_TAG + s, .src = SENDER};

	if (deliver && want)
		assert_int_equal(qv_match_deliver(g->m, &msg, &got), QV_OK);
	else
		got = qv_match_arrive(g->m, STREAM_TAG + s, SENDER);
	assert_ptr_equal(got, want);
	if (!want)
		return NULL;
	g->head[s] = (g->head[s] + 1) % WINDOW;
	g->n[s]--;
	return want;
}

/* Messages of stream s, whose receives are posted again. */
static void flow(struct rig *g, uint32_t s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		post_next(g, s, take(g, s, i % 5 == 0));
}

static void deep_again(struct rig *g, uint32_t i)
{
	assert_ptr_equal(qv_match_arrive(g->m, i, SENDER), &g->deep[i]);
	post(g->m, &g->deep[i], i, 0, g->src);
}

/* Full windows, in indexes; all messages are of stream 0. */
static struct rig *streaming(uint32_t src)
{
	struct rig *g = calloc(1, sizeof(*g));

	g->m = create_plain(&g->heap);
	qv_auto_hold(g->m);
	g->src = src;
	for (uint32_t i = 0; i < DEPTH; i++)
		post(g->m, &g->deep[i], i, 0, src);
	for (uint32_t i = 0; i < RECVS; i++)
		post_next(g, i % STREAMS, &g->r[i]);
	qv_auto_force(g->m, QV_AUTO_HASH, QV_AUTO_LIST);
	flow(g, 0, 20 * QV_TICK);
	assert_int_equal(g->n[0], WINDOW);
	return g;
}

/* All that should be there is, and nothing else. */
static void finish(struct rig *g)
{
	for (uint32_t s = 0; s < STREAMS; s++)
		while (take(g, s, false))
			;
	for (uint32_t i = 0; i < DEPTH; i++)
		assert_ptr_equal(qv_match_arrive(g->m, i, SENDER), &g->deep[i]);
	assert_int_equal(qv_queue_len(&qv_auto_of(g->m)->posted), 0);
	qv_match_destroy(g->m);
	free(g);
}

static void each_source(void (*test)(uint32_t src))
{
	test(SENDER);
	test(QV_SRC_ANY);
}

/* One message in 40 is for another receive. */
static void few_others(uint32_t src)
{
	struct rig *g = streaming(src);

	for (uint32_t i = 0; i < 100; i++) {
		flow(g, 0, 39);
		deep_again(g, draw(DEPTH));
	}
	finish(g);
}

static void test_few_others(void **state)
{
	each_source(few_others);
}

/* A message for any receive in between. */
static void no_stream(uint32_t src)
{
	struct rig *g = streaming(src);

	for (uint32_t k = 0; k < 4; k++) {
		for (uint32_t i = 0; i < 2 * QV_TICK; i++)
			deep_again(g, draw(DEPTH));
		flow(g, 0, 8 * QV_TICK);
	}
	finish(g);
}

static void test_no_stream(void **state)
{
	each_source(no_stream);
}

/* The next receive is cancelled, or what stands before it in its bucket. */
static void cancelled(uint32_t src)
{
	struct rig *g = streaming(src);
	struct qv_recv *r = g->waits[0][g->head[0]];

	qv_match_cancel(g->m, r);
	g->head[0] = (g->head[0] + 1) % WINDOW;
	g->n[0]--;
	post_next(g, 0, take(g, 0, false));
	for (uint32_t i = 0; i < DEPTH; i++) {
		flow(g, 0, 2);
		qv_match_cancel(g->m, &g->deep[i]);
		flow(g, 0, 2);
		post(g->m, &g->deep[i], i, 0, src);
	}
	finish(g);
}

static void test_cancelled(void **state)
{
	each_source(cancelled);
}

/* A receive that stays, in the middle of a stream: all messages that follow are its own. */
static void sticky(uint32_t src)
{
	struct rig *g = streaming(src);
	struct qv_recv all = {.tag = STREAM_TAG, .src = src, .flags = QV_RECV_STICKY};
	struct qv_msg *msg;

	for (uint32_t i = 0; i < WINDOW / 2; i++)
		take(g, 0, false);
	assert_int_equal(qv_match_post(g->m, &all, &msg), QV_OK);
	while (g->n[0])
		take(g, 0, false);
	for (uint32_t i = 0; i < 10; i++)
		assert_ptr_equal(qv_match_arrive(g->m, STREAM_TAG, SENDER), &all);
	qv_match_cancel(g->m, &all);
	finish(g);
}

static void test_sticky(void **state)
{
	each_source(sticky);
}

/* Another class comes, so that there are two indexes, and goes. */
static void other_class(uint32_t src)
{
	struct rig *g = streaming(src);
	struct qv_recv other;

	for (uint32_t i = 0; i < 10; i++) {
		flow(g, 0, 10);
		post(g->m, &other, UINT64_C(1) << 50, 0xff, src == SENDER ? QV_SRC_ANY : SENDER);
		flow(g, 0, 10);
		assert_ptr_equal(qv_match_arrive(g->m, UINT64_C(1) << 50 | 5, SENDER), &other);
		flow(g, 0, 10 * QV_TICK);
	}
	finish(g);
}

static void test_other_class(void **state)
{
	each_source(other_class);
}

/* Streams that run dry and fill up, runs of messages of each, and other receives in between. */
static void random_runs(uint32_t src)
{
	struct rig *g = streaming(src);
	struct qv_recv *idle[RECVS];
	uint32_t n_idle = 0;

	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t s = draw(10) ? 0 : draw(STREAMS), run = draw(WINDOW + 2);

		for (struct qv_recv *r; draw(2) && run-- && (r = take(g, s, i % 2));)
			idle[n_idle++] = r;
		for (; n_idle && run-- && g->n[s] < WINDOW; n_idle--)
			post_next(g, s, idle[n_idle - 1]);
		if (draw(20) == 0)
			deep_again(g, draw(DEPTH));
	}
	finish(g);
}

static void test_random_runs(void **state)
{
	each_source(random_runs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few_others),  cmocka_unit_test(test_no_stream),
		cmocka_unit_test(test_cancelled),   cmocka_unit_test(test_sticky),
		cmocka_unit_test(test_other_class), cmocka_unit_test(test_random_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
