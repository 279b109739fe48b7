/* SPDX-License-Identifier: BSD-2-Clause */
/* test_cancels.c - receives found by what their owner knows of them: the oldest one, without
 * a change of the queue, and without a look at all of them each time. */
#include "engine/match/cancels.h"
#include "tests/match/model/auto_kit.h"
#include "tests/match/model/settings.h"

enum { N = 4000, SOME = 800 };

struct owned {
	struct qv_recv recv; /* first */
	void *context;
	int posted;
	uint64_t when;
};

static struct owned all[N];
static uint64_t clock_now;

static void *context_of(const struct qv_recv *recv)
{
	return ((const struct owned *)recv)->context;
}

static void *name(uint32_t number)
{
	return (void *)(uintptr_t)number;
}

static void post_owned(struct qv_match *m, struct owned *o, uint64_t tag, uint32_t src,
		       void *context)
{
	struct qv_msg *msg;

	o->recv = (struct qv_recv){.tag = tag, .src = src};
	o->context = context;
	o->posted = 1;
	o->when = clock_now++;
	assert_int_equal(qv_match_post(m, &o->recv, &msg), QV_OK);
	assert_null(msg);
}

static void arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	struct owned *o = (struct owned *)qv_match_arrive(m, tag, src);

	if (o)
		o->posted = 0;
}

/* The plain way. */
static struct owned *oldest_with(const void *context)
{
	struct owned *best = NULL;

	for (size_t i = 0; i < SOME; i++)
		if (all[i].posted && all[i].context == context &&
		    (!best || all[i].when < best->when))
			best = &all[i];
	return best;
}

static void cancel(struct qv_cancels *c, struct qv_match *m, void *context)
{
	struct owned *want = oldest_with(context);
	struct qv_recv *got = qv_cancels_find(c, m, context_of, context);

	assert_ptr_equal(got, want ? &want->recv : NULL);
	if (!want)
		return;
	qv_match_cancel(m, got);
	want->posted = 0;
}

/* Receives come, are matched and are cancelled in bursts; several share a context. */
static void one_run(const char *structure, uint32_t contexts)
{
	struct qv_match_settings s;
	struct qv_cancels c = {0};
	struct qv_match *m;

	memset(all, 0, sizeof(all));
	qv_settings_for(&s, structure);
	assert_int_equal(qv_match_create(&s, &m), QV_OK);
	for (int round = 0; round < 60; round++) {
		uint32_t posts = draw(120), burst = draw(4) ? draw(8) : draw(150);

		for (uint32_t i = draw(SOME); posts; posts--, i = (i + 1) % SOME)
			if (!all[i].posted)
				post_owned(m, &all[i], draw(50), draw(4) ? draw(10) : QV_SRC_ANY,
					   name(draw(contexts)));
		for (uint32_t n = draw(3) ? draw(60) : 0; n; n--)
			arrive(m, draw(50), draw(10));
		while (burst--) {
			cancel(&c, m, name(draw(contexts + 1)));
			if (!draw(40)) { /* something comes between */
				size_t i = draw(SOME);

				if (!all[i].posted)
					post_owned(m, &all[i], draw(50), draw(10),
						   name(draw(contexts)));
			}
			if (!draw(60))
				arrive(m, draw(50), draw(10));
		}
		if (!draw(10))
			qv_cancels_idle(&c);
	}
	for (size_t i = 0; i < SOME; i++)
		while (all[i].posted)
			cancel(&c, m, all[i].context);
	qv_cancels_free(&c);
	qv_match_destroy(m);
}

static void test_oldest(void **state)
{
	(void)state;
	for (const char *const *s = qv_match_structures(); *s; s++)
		for (int i = 0; i < 2; i++) {
			one_run(*s, 3);
			one_run(*s, 100);
			one_run(*s, 100000);
		}
}

/* A deep queue in HASH, over the wrap of the sequence numbers. */
static struct qv_match *deep(struct heap *h, enum qv_auto_mode mode, uint32_t contexts)
{
	struct qv_match_tuning t = {.first_seq = UINT64_MAX - N / 2};
	struct qv_match *m = create(h, &t);

	memset(all, 0, sizeof(all));
	for (uint32_t i = 0; i < N; i++)
		post_owned(m, &all[i], draw(1u << 20), draw(100), name(i % contexts));
	qv_auto_force(m, mode, QV_AUTO_LIST);
	return m;
}

struct counting {
	unsigned long asked;
	const struct qv_recv *want;
};

static int is_wanted(void *ctx, struct qv_recv *recv, uint64_t age)
{
	struct counting *c = ctx;

	(void)age;
	c->asked++;
	return recv == c->want;
}

/* Each is asked about once, no memory is taken, and the form stays. */
static void test_form_stays(void **state)
{
	struct counting c = {0, &all[N / 3].recv};
	struct heap h;
	struct qv_match *m = deep(&h, QV_AUTO_HASH, N);
	uint64_t before = flips(m);
	unsigned long calls = h.calls;

	(void)state;
	assert_ptr_equal(qv_match_find_recv(m, is_wanted, &c), c.want);
	assert_int_equal(c.asked, N);
	assert_int_equal(qv_auto_of(m)->posted.mode, QV_AUTO_HASH);
	assert_int_equal(flips(m), before);
	assert_int_equal(h.calls, calls);
	qv_match_destroy(m);
	m = deep(&h, QV_AUTO_LIST, N);
	c.asked = 0;
	c.want = &all[7].recv;
	assert_ptr_equal(qv_match_find_recv(m, is_wanted, &c), c.want);
	assert_int_equal(c.asked, 8); /* the oldest first, and no further */
	qv_match_destroy(m);
}

static unsigned long looks;

static void *counted_context_of(const struct qv_recv *recv)
{
	looks++;
	return context_of(recv);
}

/* All are cancelled, in the order of `next`: few looks at each, whatever the order and however many
 * share a context. */
static void cancel_all(enum qv_auto_mode mode, uint32_t contexts, uint32_t step)
{
	struct heap h;
	struct qv_match *m = deep(&h, mode, contexts);
	struct qv_cancels c = {0};
	uint32_t i = N - 1;

	looks = 0;
	for (uint32_t n = 0; n < N; n++, i = (i + step) % N) {
		struct owned *o = (struct owned *)qv_cancels_find(&c, m, counted_context_of,
								  name(i % contexts));

		assert_non_null(o);
		assert_ptr_equal(o->context, name(i % contexts));
		assert_true(o->posted);
		o->posted = 0;
		qv_match_cancel(m, &o->recv);
	}
	assert_null(qv_cancels_find(&c, m, counted_context_of, name(0)));
	assert_true(looks <= 16 * N);
	qv_cancels_free(&c);
	qv_match_destroy(m);
}

static void test_few_looks(void **state)
{
	static const uint32_t steps[] = {1, N - 1, 1237}; /* without a common divisor with N */

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		cancel_all(QV_AUTO_HASH, N, steps[i]);
		cancel_all(QV_AUTO_HASH, 1, steps[i]);
		cancel_all(QV_AUTO_LIST, N, steps[i]);
		cancel_all(QV_AUTO_LIST, 1, steps[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_form_stays),
		cmocka_unit_test(test_few_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
