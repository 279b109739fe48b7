/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_detail.c - what is counted in detail: exact figures of a plain list, and for every structure sums
 * that agree with its own counters; beside another observer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/base/machine.h"
#include "engine/base/random.h"
#include "engine/match/detail.h"
#include "engine/match/live.h"
#include "engine/match/observer.h"
#include "engine/match/structure.h"

enum { NODES = 64, CALLS = 20000 };

static struct qv_recv recvs[NODES];
static struct qv_msg msgs[NODES];
static bool recv_used[NODES], msg_used[NODES];
static uint64_t rng = 7;

static struct qv_match *engine(const char *structure)
{
	struct qv_match_settings set;
	struct qv_match *m;

	qv_match_settings_default(&set);
	set.structure = structure;
	assert_int_equal(qv_match_create(&set, &m), QV_OK);
	return m;
}

static bool post(struct qv_match *m, int i, uint64_t tag, uint64_t ignore, uint32_t src)
{
	struct qv_msg *msg;

	recvs[i] = (struct qv_recv){.tag = tag, .ignore = ignore, .src = src};
	assert_int_equal(qv_match_post(m, &recvs[i], &msg), QV_OK);
	recv_used[i] = !msg;
	if (msg)
		msg_used[msg - msgs] = false;
	return msg;
}

static bool deliver(struct qv_match *m, int i, uint64_t tag, uint32_t src)
{
	struct qv_recv *recv;

	msgs[i] = (struct qv_msg){.tag = tag, .src = src};
	assert_int_equal(qv_match_deliver(m, &msgs[i], &recv), QV_OK);
	msg_used[i] = !recv;
	if (recv)
		recv_used[recv - recvs] = false;
	return recv;
}

static uint64_t sum(const uint64_t *bins)
{
	uint64_t all = 0;

	for (int i = 0; i < QV_DETAIL_BINS; i++)
		all += bins[i];
	return all;
}

/* The whole histogram, by its first bins. */
#define BINS(got, ...)                                                \
	do {                                                          \
		const uint64_t want_[QV_DETAIL_BINS] = {__VA_ARGS__}; \
		for (int b_ = 0; b_ < QV_DETAIL_BINS; b_++)           \
			assert_int_equal((got)[b_], want_[b_]);       \
	} while (0)

/* So that there is time to be counted. */
static void wait_tick(void)
{
	uint64_t then = qv_ticks();

	while (qv_ticks() == then)
		;
}

static void figures(void **state)
{
	struct qv_match *m = engine("ll");
	struct qv_match_detail *d = qv_match_detail_begin(m, 0xf0);
	const struct qv_detail *c;

	assert_non_null(d);
	/* Five receives: with 0, 0, 0, 0, 0 entries before them there is nothing to inspect. */
	for (int i = 0; i < 4; i++)
		assert_false(post(m, i, (uint64_t)i, 0xf0, 1));
	assert_false(post(m, 4, 4, 1, QV_SRC_ANY));
	wait_tick();
	assert_true(deliver(m, 0, 3, 1));      /* 4 of 5 */
	assert_true(deliver(m, 0, 0, 1));      /* 1 of 4 */
	assert_false(deliver(m, 0, 9, 70000)); /* 3 of 3, none */
	assert_false(deliver(m, 1, 9, 2));     /* the same */
	wait_tick();
	assert_true(post(m, 0, 9, 0, 2));           /* 2 of 2 */
	assert_false(post(m, 0, 8, 0, QV_SRC_ANY)); /* 1 of 1, none */
	assert_false(post(m, 3, 8, 3, 2));          /* the same */
	assert_null(qv_match_peek(m, 1, 0, 1));
	assert_ptr_equal(qv_match_peek(m, 9, 0, QV_SRC_ANY), &msgs[0]);
	qv_match_take(m, &msgs[0]);
	qv_match_cancel(m, &recvs[1]);
	assert_true(deliver(m, 2, 2, 1)); /* 1 of 4 */

	c = qv_match_detail_read(d);
	assert_int_equal(c->wildcards[0], 5);
	assert_int_equal(c->wildcards[QV_DETAIL_ANY_SOURCE], 1);
	assert_int_equal(c->wildcards[QV_DETAIL_ANY_TAG], 1);
	assert_int_equal(c->wildcards[QV_DETAIL_ANY_SOURCE | QV_DETAIL_ANY_TAG], 1);
	BINS(c->posted.searches.hits, 0, 2, 0, 1);
	BINS(c->posted.searches.misses, 0, 0, 2);
	BINS(c->posted.depth, 0, 0, 2, 3);
	assert_int_equal(c->posted.searches.hits_inspected, 6);
	assert_int_equal(c->posted.searches.misses_inspected, 6);
	BINS(c->unexpected.searches.hits, 0, 0, 1);
	BINS(c->unexpected.searches.misses, 5, 2);
	BINS(c->unexpected.depth, 5, 2, 1);
	BINS(c->probes.hits, 0, 1);
	BINS(c->probes.misses, 0, 1);
	assert_int_equal(c->sources[1].arrived, 3);
	assert_int_equal(c->sources[2].arrived, 1);
	assert_int_equal(c->sources[2].unexpected, 1);
	assert_int_equal(c->sources[1].posted, 4);
	assert_int_equal(c->sources[2].posted, 1);
	assert_int_equal(c->others.arrived, 1);
	assert_int_equal(c->others.unexpected, 1);
	assert_true(c->nsources <= QV_DETAIL_SOURCES);
	assert_true(c->tick_ns > 0 && sum(c->posted.ticks) == sum(c->unexpected.ticks));
	assert_true(c->posted.ticks[3] > 0 && c->unexpected.ticks[2] > 0 &&
		    c->posted.ticks[4] == 0);
	qv_match_detail_end(d);
	qv_match_destroy(m);
}

/* Another observer, which counts calls. */
struct counter {
	struct qv_match_observer o; /* first */
	uint64_t posted, arrived, queued, others;
};

static void count_posted(struct qv_match_observer *o, const struct qv_recv *r,
			 const struct qv_msg *m)
{
	(void)r, (void)m;
	((struct counter *)o)->posted++;
}

static void count_arrived(struct qv_match_observer *o, uint64_t tag, uint32_t src,
			  const struct qv_recv *r)
{
	(void)tag, (void)src, (void)r;
	((struct counter *)o)->arrived++;
}

static void count_queued(struct qv_match_observer *o, const struct qv_msg *m)
{
	(void)m;
	((struct counter *)o)->queued++;
}

static void count_peeked(struct qv_match_observer *o, uint64_t tag, uint64_t ignore, uint32_t src,
			 const struct qv_msg *m)
{
	(void)tag, (void)ignore, (void)src, (void)m;
	((struct counter *)o)->others++;
}

static void count_taken(struct qv_match_observer *o, const struct qv_msg *m)
{
	(void)m;
	((struct counter *)o)->others++;
}

static void count_cancelled(struct qv_match_observer *o, const struct qv_recv *r)
{
	(void)r;
	((struct counter *)o)->others++;
}

static const struct qv_match_observer counts = {.posted = count_posted,
						.arrived = count_arrived,
						.queued = count_queued,
						.peeked = count_peeked,
						.taken = count_taken,
						.cancelled = count_cancelled};

static unsigned draw(unsigned n)
{
	return (unsigned)(qv_random(&rng) >> 33) % n;
}

static int find(const bool *used, bool want)
{
	int first = (int)draw(NODES);

	for (int i = 0; i < NODES; i++)
		if (used[(first + i) % NODES] == want)
			return (first + i) % NODES;
	return -1;
}

static void call(struct qv_match *m)
{
	int recv = find(recv_used, false), msg = find(msg_used, false), old = find(recv_used, true);
	struct qv_msg *found;

	switch (draw(16)) {
	case 0:
		if (old >= 0)
			qv_match_cancel(m, &recvs[old]);
		if (old >= 0)
			recv_used[old] = false;
		break;
	case 1:
		found = qv_match_peek(m, draw(8), draw(2) ? 7 : 0, draw(3));
		if (found)
			qv_match_take(m, found);
		if (found)
			msg_used[found - msgs] = false;
		break;
	default:
		if (draw(2) && recv >= 0)
			post(m, recv, draw(8), draw(4) ? 0 : 3, draw(4) ? draw(3) : QV_SRC_ANY);
		else if (msg >= 0)
			deliver(m, msg, draw(8), draw(3));
	}
}

static void agree(const struct qv_detail *c, const struct qv_match_stats *now,
		  const struct qv_match_stats *then)
{
	const struct qv_detail_searches *a = &c->posted.searches, *p = &c->unexpected.searches;
	uint64_t arrived = now->arrived - then->arrived, posted = now->posted - then->posted;

	assert_int_equal(sum(a->hits) + sum(a->misses), arrived);
	assert_int_equal(sum(c->posted.depth), arrived);
	assert_int_equal(sum(a->misses), now->unexpected - then->unexpected);
	assert_int_equal(sum(p->hits) + sum(p->misses), posted);
	assert_int_equal(sum(c->unexpected.depth), posted);
	assert_int_equal(sum(a->hits) + sum(p->hits), now->matched - then->matched);
	assert_int_equal(c->wildcards[0] + c->wildcards[1] + c->wildcards[2] + c->wildcards[3],
			 posted);
	assert_int_equal(a->hits_inspected + a->misses_inspected + p->hits_inspected +
				 p->misses_inspected + c->probes.hits_inspected +
				 c->probes.misses_inspected + c->others_inspected,
			 now->inspected - then->inspected);
	assert_int_equal(c->sources[0].arrived + c->sources[1].arrived + c->sources[2].arrived,
			 arrived);
}

static void every_structure(void **state)
{
	for (const char *const *name = qv_match_structures(); *name; name++) {
		struct qv_match_stats then, now, copied;
		struct qv_match_detail *d;
		struct counter other = {.o = counts};
		struct qv_match *m;
		uint32_t direct;
		void *copy;

		if (!strcmp(*name, "clu") || !strcmp(*name, "pnp-static") ||
		    !strncmp(*name, "col", 3)) /* these need more than a name */
			continue;
		m = engine(*name);
		direct = m->direct;
		memset(recv_used, 0, sizeof recv_used);
		memset(msg_used, 0, sizeof msg_used);
		for (int i = 0; i < CALLS / 10; i++)
			call(m);
		qv_match_get_stats(m, &then);
		d = qv_match_detail_begin(m, 0);
		assert_non_null(d);
		qv_match_observe(m, &other.o);
		for (int i = 0; i < CALLS; i++)
			call(m);
		qv_match_get_stats(m, &now);
		assert_string_equal(qv_match_structure(m), *name);
		agree(qv_match_detail_read(d), &now, &then);
		assert_int_equal(other.posted, now.posted - then.posted);
		assert_int_equal(other.arrived, now.arrived - then.arrived);
		assert_int_equal(other.queued, now.unexpected - then.unexpected);
		assert_true(other.others > 0);

		/* As `quiver top` sees them. */
		copy = aligned_alloc(64, (qv_match_bytes(*name) + 63) / 64 * 64);
		assert_non_null(copy);
		memcpy(copy, m, qv_match_bytes(*name));
		qv_match_get_copied_stats(*name, copy, &copied);
		assert_memory_equal(&copied, &now, sizeof now);
		free(copy);

		/* The first of the two ends first; then the engine runs as before. */
		qv_match_detail_end(d);
		for (int i = 0; i < 100; i++)
			call(m);
		qv_match_get_stats(m, &now);
		assert_int_equal(other.arrived, now.arrived - then.arrived);
		qv_match_unobserve(m, &other.o);
		assert_int_equal(m->direct, direct);
		assert_string_equal(m->ops->name, *name);
		qv_match_destroy(m);
	}
	assert_int_equal(qv_match_bytes("none such"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures),
		cmocka_unit_test(every_structure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
