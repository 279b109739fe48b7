/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_match_random.c - random operations on one structure and ISA against the linear oracle.
 *     test_match_random STRUCTURE ISA
 * QV_SEED replays a run (the seed is printed), QV_TEST_SCALE multiplies the operations.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "match/qv_auto.h"
#include "match/qv_match_ops.h"
#include "qv_oracle.h"
#include "qv_settings.h"

#define ROOM 4096

/* What kind of traffic; probabilities in percent. */
struct scenario {
	const char *name;
	uint32_t first_src, srcs, tags, contexts;
	uint64_t protocol;                 /* bits every receive ignores */
	unsigned int anysrc, anytag, mask; /* of the receives: wildcards, random ignore masks */
	unsigned int sticky;               /* of the receives */
	unsigned int cancel, take, peek;   /* of the operations */
	unsigned int depth;                /* queues are kept around this length */
	unsigned int no_memory;            /* of the allocations: they fail */
	uint64_t first_seq;
};

static const struct scenario scenarios[] = {
	{.name = "exact", .srcs = 8, .tags = 64, .contexts = 2, .cancel = 2, .depth = 300},
	{.name = "exact_short", .srcs = 2, .tags = 3, .contexts = 1, .take = 1, .depth = 4},
	{.name = "same_key",
	 .srcs = 2,
	 .tags = 2,
	 .contexts = 1,
	 .cancel = 10,
	 .take = 10,
	 .depth = 200},
	{.name = "far_sources",
	 .first_src = (UINT32_C(1) << 20) - 6,
	 .srcs = 12,
	 .tags = 8,
	 .contexts = 2,
	 .anysrc = 5,
	 .cancel = 3,
	 .take = 3,
	 .depth = 150},
	{.name = "last_sources",
	 .first_src = QV_SRC_ANY - 4,
	 .srcs = 4,
	 .tags = 32,
	 .contexts = 2,
	 .anysrc = 10,
	 .cancel = 3,
	 .take = 3,
	 .depth = 100},
	{.name = "protocol_bits",
	 .srcs = 16,
	 .tags = 64,
	 .contexts = 3,
	 .protocol = UINT64_C(0x100000000),
	 .anysrc = 1,
	 .anytag = 1,
	 .cancel = 2,
	 .depth = 200},
	{.name = "wild10",
	 .srcs = 16,
	 .tags = 16,
	 .contexts = 2,
	 .anysrc = 10,
	 .anytag = 10,
	 .cancel = 3,
	 .take = 3,
	 .peek = 5,
	 .depth = 150},
	{.name = "wild50",
	 .srcs = 16,
	 .tags = 16,
	 .contexts = 2,
	 .anysrc = 50,
	 .anytag = 50,
	 .cancel = 3,
	 .take = 3,
	 .peek = 5,
	 .depth = 150},
	{.name = "wild100",
	 .srcs = 64,
	 .tags = 64,
	 .contexts = 8,
	 .anysrc = 100,
	 .anytag = 100,
	 .cancel = 3,
	 .take = 3,
	 .peek = 5,
	 .depth = 60},
	{.name = "masks",
	 .srcs = 4,
	 .tags = 32,
	 .contexts = 2,
	 .anysrc = 20,
	 .mask = 50,
	 .cancel = 5,
	 .take = 5,
	 .peek = 10,
	 .depth = 150},
	{.name = "masks_short",
	 .srcs = 4,
	 .tags = 8,
	 .contexts = 2,
	 .anysrc = 20,
	 .mask = 100,
	 .cancel = 5,
	 .take = 5,
	 .peek = 10,
	 .depth = 12},
	{.name = "sticky",
	 .srcs = 4,
	 .tags = 32,
	 .contexts = 2,
	 .anysrc = 20,
	 .anytag = 5,
	 .mask = 5,
	 .sticky = 10,
	 .cancel = 15,
	 .peek = 3,
	 .depth = 100},
	{.name = "wrap",
	 .srcs = 8,
	 .tags = 64,
	 .contexts = 2,
	 .anysrc = 20,
	 .anytag = 20,
	 .mask = 5,
	 .cancel = 3,
	 .take = 3,
	 .depth = 200,
	 .first_seq = UINT64_MAX - 2000},
	{.name = "no_memory",
	 .srcs = 8,
	 .tags = 64,
	 .contexts = 2,
	 .anysrc = 20,
	 .anytag = 20,
	 .mask = 10,
	 .cancel = 3,
	 .take = 3,
	 .peek = 3,
	 .depth = 200,
	 .no_memory = 60},
};

#define N_SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static const char *structure;
static enum qv_isa isa;
static uint64_t seed;
static unsigned long n_ops = 100000 / N_SCENARIOS;

struct run {
	const struct scenario *s;
	struct qv_match *m;
	struct qv_oracle o;
	uint64_t random;
	unsigned int no_memory;
	struct qv_match_stats want;
	/* Nodes that are in no queue: the last freed is the next used, and is poisoned meanwhile.
	 */
	struct qv_recv *recvs[ROOM];
	struct qv_msg *msgs[ROOM];
	size_t n_recvs, n_msgs;
};

static uint32_t draw(struct run *t, uint32_t below)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (uint32_t)((t->random >> 32) * below >> 32);
}

static int chance(struct run *t, unsigned int percent)
{
	return draw(t, 100) < percent;
}

static void *failing_get(void *ctx, size_t align, size_t size)
{
	struct run *t = ctx;

	return t->no_memory && chance(t, t->no_memory) ? NULL : aligned_alloc(align, size);
}

static void plain_release(void *ctx, void *p, size_t size)
{
	free(p);
}

static uint32_t draw_src(struct run *t)
{
	return t->s->first_src + draw(t, t->s->srcs);
}

static uint64_t draw_tag(struct run *t)
{
	uint64_t tag = (uint64_t)draw(t, t->s->contexts) << 40 | draw(t, t->s->tags);

	return chance(t, 50) ? tag | t->s->protocol : tag;
}

/* Masks that fit no class: any bits of the tag, few of them, so that matches happen. */
static uint64_t draw_mask(struct run *t)
{
	return chance(t, 50) ? UINT64_C(1) << draw(t, 8) | UINT64_C(1) << draw(t, 64)
			     : draw(t, 256);
}

static void draw_recv(struct run *t, struct qv_recv *r)
{
	r->tag = draw_tag(t);
	r->ignore = t->s->protocol;
	if (chance(t, t->s->anytag))
		r->ignore |= 0xffffffff;
	if (chance(t, t->s->mask))
		r->ignore |= draw_mask(t);
	r->src = chance(t, t->s->anysrc) ? QV_SRC_ANY : draw_src(t);
	r->flags = chance(t, t->s->sticky) ? QV_RECV_STICKY : 0;
}

static void give_recv(struct run *t, struct qv_recv *r)
{
	memset(r, 0xdd, sizeof(*r));
	t->recvs[t->n_recvs++] = r;
}

static void give_msg(struct run *t, struct qv_msg *msg)
{
	memset(msg, 0xdd, sizeof(*msg));
	t->msgs[t->n_msgs++] = msg;
}

static void do_post(struct run *t)
{
	struct qv_recv *r = t->recvs[--t->n_recvs];
	struct qv_msg *got = NULL, *want;
	int err;

	draw_recv(t, r);
	err = qv_match_post(t->m, r, &got);
	if (err) {
		assert_int_equal(err, QV_ENOMEM);
		assert_true(t->s->no_memory);
		assert_null(qv_oracle_peek(&t->o, r->tag, r->ignore, r->src));
		give_recv(t, r);
		return;
	}
	want = qv_oracle_post(&t->o, r);
	assert_ptr_equal(got, want);
	t->want.posted++;
	if (got) {
		t->want.matched++;
		give_msg(t, got);
		give_recv(t, r);
	}
}

static void do_arrive(struct run *t)
{
	uint64_t tag = draw_tag(t);
	uint32_t src = draw_src(t);
	struct qv_recv *got = qv_match_arrive(t->m, tag, src);
	struct qv_msg *msg;
	int err;

	assert_ptr_equal(got, qv_oracle_arrive(&t->o, tag, src));
	t->want.arrived++;
	if (got) {
		t->want.matched++;
		if (!(got->flags & QV_RECV_STICKY))
			give_recv(t, got);
		return;
	}
	if (chance(t, 5)) /* the caller may drop it, or match it otherwise */
		return;
	msg = t->msgs[--t->n_msgs];
	msg->tag = tag;
	msg->src = src;
	msg->flags = 0;
	err = qv_match_queue(t->m, msg);
	if (err) {
		assert_int_equal(err, QV_ENOMEM);
		assert_true(t->s->no_memory);
		give_msg(t, msg);
		return;
	}
	t->want.unexpected++;
	qv_oracle_queue(&t->o, msg);
}

static void do_peek(struct run *t, int take)
{
	struct qv_recv r;
	struct qv_msg *got;

	draw_recv(t, &r);
	got = qv_match_peek(t->m, r.tag, r.ignore, r.src);
	assert_ptr_equal(got, qv_oracle_peek(&t->o, r.tag, r.ignore, r.src));
	if (got && take) {
		qv_match_take(t->m, got);
		qv_oracle_take(&t->o, got);
		give_msg(t, got);
	}
}

static void do_cancel(struct run *t)
{
	struct qv_recv *r;

	if (!t->o.n_recvs)
		return;
	r = t->o.recvs[draw(t, (uint32_t)t->o.n_recvs)].node;
	qv_match_cancel(t->m, r);
	qv_oracle_cancel(&t->o, r);
	give_recv(t, r);
}

static void do_take(struct run *t)
{
	struct qv_msg *msg;

	if (!t->o.n_msgs)
		return;
	msg = t->o.msgs[draw(t, (uint32_t)t->o.n_msgs)].node;
	qv_match_take(t->m, msg);
	qv_oracle_take(&t->o, msg);
	give_msg(t, msg);
}

static void check_order(struct run *t)
{
	struct qv_recv *r = NULL;
	struct qv_msg *msg = NULL;

	for (size_t i = 0; i <= t->o.n_recvs; i++) {
		r = qv_match_next_recv(t->m, r);
		assert_ptr_equal(r, i < t->o.n_recvs ? t->o.recvs[i].node : NULL);
	}
	for (size_t i = 0; i <= t->o.n_msgs; i++) {
		msg = qv_match_next_msg(t->m, msg);
		assert_ptr_equal(msg, i < t->o.n_msgs ? t->o.msgs[i].node : NULL);
	}
}

static void check_stats(struct run *t)
{
	struct qv_match_stats got;

	qv_match_get_stats(t->m, &got);
	assert_int_equal(got.posted, t->want.posted);
	assert_int_equal(got.arrived, t->want.arrived);
	assert_int_equal(got.matched, t->want.matched);
	assert_int_equal(got.unexpected, t->want.unexpected);
	assert_int_equal(got.posted_now, t->o.n_recvs);
	assert_int_equal(got.unexpected_now, t->o.n_msgs);
	assert_int_equal(got.posted_max, t->want.posted_max);
	assert_int_equal(got.unexpected_max, t->want.unexpected_max);
}

/* Queues grow while posts or arrivals dominate; the turn comes at the depth, down to empty. */
static void step(struct run *t, unsigned int post_percent)
{
	uint32_t n = draw(t, 100);

	if (n < t->s->cancel)
		do_cancel(t);
	else if ((n -= t->s->cancel) < t->s->take)
		do_take(t);
	else if ((n -= t->s->take) < t->s->peek)
		do_peek(t, chance(t, 30));
	else if (chance(t, post_percent))
		do_post(t);
	else
		do_arrive(t);
	if (t->o.n_recvs > t->want.posted_max)
		t->want.posted_max = t->o.n_recvs;
	if (t->o.n_msgs > t->want.unexpected_max)
		t->want.unexpected_max = t->o.n_msgs;
}

static void run_phases(struct run *t)
{
	unsigned int post_percent = 50;
	int flips = !strcmp(structure, "auto");

	for (unsigned long i = 0; i < n_ops; i++) {
		if (t->o.n_recvs >= t->s->depth)
			post_percent = 5 + draw(t, 45);
		else if (t->o.n_msgs >= t->s->depth)
			post_percent = 50 + draw(t, 45);
		else if (chance(t, 1))
			post_percent = 10 + draw(t, 80);
		step(t, post_percent);
		if (t->o.n_recvs > 2 * t->s->depth + 8)
			do_cancel(t);
		if (t->o.n_msgs > 2 * t->s->depth + 8)
			do_take(t);
		if (flips && draw(t, 50) == 0)
			qv_auto_force(t->m, (enum qv_auto_mode)draw(t, 2),
				      (enum qv_auto_mode)draw(t, 2));
		if (draw(t, 500) == 0)
			check_order(t);
		if (draw(t, 100) == 0)
			check_stats(t);
	}
	check_order(t);
	check_stats(t);
}

static void drain(struct run *t)
{
	while (t->o.n_recvs)
		do_cancel(t);
	while (t->o.n_msgs)
		do_take(t);
	check_order(t);
	check_stats(t);
}

static void test_scenario(void **state)
{
	struct qv_match_settings settings;
	struct run *t = calloc(1, sizeof(*t));
	struct qv_match_tuning tuning;

	assert_non_null(t);
	t->s = *state;
	t->random = seed;
	qv_settings_for(&settings, structure);
	settings.isa = isa;
	memset(&tuning, 0, sizeof(tuning));
	tuning.mem.get = failing_get;
	tuning.mem.release = plain_release;
	tuning.mem.ctx = t;
	tuning.first_seq = t->s->first_seq;
	assert_int_equal(qv_match_create_tuned(&settings, &tuning, &t->m), QV_OK);
	t->no_memory = t->s->no_memory;
	qv_oracle_init(&t->o, ROOM);
	for (int i = 0; i < ROOM; i++) {
		t->recvs[t->n_recvs++] = malloc(sizeof(struct qv_recv));
		t->msgs[t->n_msgs++] = malloc(sizeof(struct qv_msg));
	}
	run_phases(t);
	drain(t);
	run_phases(t);
	drain(t);
	assert_int_equal(t->n_recvs, ROOM);
	for (int i = 0; i < ROOM; i++) {
		free(t->recvs[i]);
		free(t->msgs[i]);
	}
	qv_match_destroy(t->m);
	qv_oracle_fini(&t->o);
	free(t);
}

static void set_up(const char *isa_name)
{
	const char *scale = getenv("QV_TEST_SCALE"), *replay = getenv("QV_SEED");

	if (qv_isa_parse(isa_name, &isa)) {
		fprintf(stderr, "unknown ISA %s\n", isa_name);
		exit(2);
	}
	if (!qv_isa_usable(isa)) {
		printf("this CPU or system cannot run %s\n", isa_name);
		exit(77);
	}
	if (scale)
		n_ops *= strtoul(scale, NULL, 0);
	seed = replay ? strtoull(replay, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
	printf("QV_SEED=%#llx, %lu operations twice in each of %zu scenarios\n",
	       (unsigned long long)seed, n_ops, N_SCENARIOS);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct CMUnitTest tests[N_SCENARIOS];

	if (argc != 3) {
		fprintf(stderr, "usage: %s STRUCTURE ISA\n", argv[0]);
		return 2;
	}
	structure = argv[1];
	set_up(argv[2]);
	for (size_t i = 0; i < N_SCENARIOS; i++)
		tests[i] = (struct CMUnitTest){scenarios[i].name, test_scenario, NULL, NULL,
					       (void *)(uintptr_t)&scenarios[i]};
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
