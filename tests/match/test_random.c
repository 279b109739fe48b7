/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_random.c - random operations on one structure and ISA against the linear oracle.
 *     test_match_random STRUCTURE ISA [OPERATIONS]
 * OPERATIONS (default 100000) are spread over all scenarios and multiplied by QV_TEST_SCALE.
 * QV_SEED replays a run (the seed is printed).
 *
 * Each scenario runs twice on one engine: with structure auto's forms changed all the time, so that
 * every change happens in every state, and left to themselves, so that long-lived ones are reached.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/match/auto/auto.h"
#include "tests/match/model/model.h"
#include "tests/proto/rig/need.h"
#include "engine/base/random.h"
#include "tests/match/model/scenario.h"
#include "tests/match/model/settings.h"

/* Operations between two forced changes of form. */
#define FLIP_EVERY 50

struct run {
	const struct qv_scenario *s;
	struct qv_model t;
	uint64_t random;
	unsigned int no_memory; /* percent, once the engine is there */
};

static const char *structure;
static int is_auto;
static struct qv_match_settings settings;
static uint64_t seed;
static uint64_t n_ops = 100000;
static struct qv_nodes nodes;
static uint64_t flips[2][2]; /* forced changes: by queue, by the form that came of it */

static int fails(void *ctx)
{
	struct run *r = ctx;

	return r->no_memory && qv_random_percent(&r->random, r->no_memory);
}

static void do_post(struct run *r)
{
	struct qv_recv want[QV_MODEL_MANY];
	size_t n =
		qv_random_percent(&r->random, r->s->many) ? qv_random_below(&r->random, 8) + 2 : 1;

	for (size_t i = 0; i < n; i++)
		qv_scenario_recv(r->s, &r->random, &want[i]);
	if (n == 1)
		qv_model_post(&r->t, want);
	else
		qv_model_post_many(&r->t, want, n);
}

static void do_arrive(struct run *r)
{
	struct qv_msg want[QV_MODEL_MANY];
	size_t n =
		qv_random_percent(&r->random, r->s->many) ? qv_random_below(&r->random, 8) + 2 : 1;

	for (size_t i = 0; i < n; i++) {
		want[i].tag = qv_scenario_tag(r->s, &r->random);
		want[i].src = qv_scenario_src(r->s, &r->random);
	}
	if (n == 1 && qv_random_percent(&r->random, 50))
		qv_model_deliver(&r->t, want->tag, want->src);
	else if (n == 1)
		qv_model_arrive(&r->t, want->tag, want->src, qv_random_percent(&r->random, 5));
	else
		qv_model_arrive_many(&r->t, want, n);
}

static void do_peek(struct run *r)
{
	struct qv_recv want;

	qv_scenario_recv(r->s, &r->random, &want);
	qv_model_peek(&r->t, &want, qv_random_percent(&r->random, 30));
}

static void do_cancel(struct run *r)
{
	if (r->t.o.n_recvs)
		qv_model_cancel(&r->t, qv_random_below(&r->random, r->t.o.n_recvs));
}

static void do_take(struct run *r)
{
	if (r->t.o.n_msgs)
		qv_model_take(&r->t, qv_random_below(&r->random, r->t.o.n_msgs));
}

static void step(struct run *r, unsigned int post_percent)
{
	unsigned int n = (unsigned int)qv_random_below(&r->random, 100);

	if (n < r->s->cancel)
		do_cancel(r);
	else if ((n -= r->s->cancel) < r->s->take)
		do_take(r);
	else if ((n -= r->s->take) < r->s->peek)
		do_peek(r);
	else if (qv_random_percent(&r->random, post_percent))
		do_post(r);
	else
		do_arrive(r);
}

/* Queues grow while posts or arrivals dominate; the turn comes at the depth, down to empty. */
static unsigned int choose_post_percent(struct run *r, unsigned int now)
{
	if (r->t.o.n_recvs >= r->s->depth)
		return 5 + (unsigned int)qv_random_below(&r->random, 45);
	if (r->t.o.n_msgs >= r->s->depth)
		return 50 + (unsigned int)qv_random_below(&r->random, 45);
	/* A long queue takes long to grow. */
	if (qv_random_below(&r->random, 100 + r->s->depth) == 0)
		return 10 + (unsigned int)qv_random_below(&r->random, 80);
	return now;
}

/* Force a form on one queue, or both. */
static void flip(struct run *r)
{
	struct qv_auto *a = qv_auto_of(r->t.m);
	uint32_t was[2] = {a->posted.mode, a->unexpected.mode};

	qv_auto_force(r->t.m, (enum qv_auto_mode)qv_random_below(&r->random, 2),
		      (enum qv_auto_mode)qv_random_below(&r->random, 2));
	flips[QV_POSTED][a->posted.mode] += was[QV_POSTED] != a->posted.mode;
	flips[QV_UNEXPECTED][a->unexpected.mode] += was[QV_UNEXPECTED] != a->unexpected.mode;
}

/* About n operations. */
static void run_phase(struct run *r, uint64_t n, int with_flips)
{
	uint64_t end = r->t.ops + n;
	unsigned int post_percent = 50;

	while (r->t.ops < end) {
		post_percent = choose_post_percent(r, post_percent);
		step(r, post_percent);
		while (r->t.o.n_recvs > 2 * r->s->depth + 8)
			do_cancel(r);
		while (r->t.o.n_msgs > 2 * r->s->depth + 8)
			do_take(r);
		if (with_flips && qv_random_below(&r->random, FLIP_EVERY) == 0)
			flip(r);
		if (qv_random_below(&r->random, 400 + 4 * r->s->depth) == 0)
			qv_model_check_order(&r->t);
		if (qv_random_below(&r->random, 100) == 0)
			qv_model_check_stats(&r->t);
	}
	qv_model_check_order(&r->t);
	qv_model_drain(&r->t);
}

/* Each queue appends more often than in a fiftieth of the operations, nearly always. */
static uint64_t before_the_wrap(uint64_t ops)
{
	return UINT64_MAX - ops / 50;
}

static int has_wrapped(const struct run *r, uint64_t ops)
{
	return r->t.queued > ops / 50 && r->t.want.unexpected > ops / 50;
}

static uint64_t run_scenario(const struct qv_scenario *s, uint64_t ops)
{
	static char what[200];
	struct run r = {.s = s, .random = seed};
	struct qv_model_set set = {.settings = &settings,
				   .first_seq = s->wraps ? before_the_wrap(ops) : 0,
				   .fails = s->no_memory ? fails : NULL,
				   .ctx = &r};

	snprintf(what, sizeof(what), "QV_SEED=%#llx %s %s, scenario \"%s\"",
		 (unsigned long long)seed, structure, qv_isa_name(settings.isa), s->name);
	QV_NEED(qv_model_init(&r.t, &set, &nodes) == QV_OK);
	r.t.what = what;
	r.no_memory = s->no_memory;
	run_phase(&r, ops / 2, is_auto);
	run_phase(&r, ops / 2, 0);
	/* Some seeds fill mostly one queue; go on until both have wrapped. */
	for (int i = 0; s->wraps && i < 100 && !has_wrapped(&r, ops); i++)
		run_phase(&r, ops / 2 + 1, 0);
	QV_NEED(!s->wraps || has_wrapped(&r, ops));
	qv_model_fini(&r.t);
	return r.t.ops;
}

static void set_up(const char *isa_name, const char *ops)
{
	const char *scale = getenv("QV_TEST_SCALE"), *replay = getenv("QV_SEED");

	qv_settings_for(&settings, structure);
	is_auto = qv_settings_is(&settings, "auto");
	if (qv_isa_parse(isa_name, &settings.isa)) {
		fprintf(stderr, "unknown ISA %s\n", isa_name);
		exit(2);
	}
	if (!qv_isa_usable(settings.isa)) {
		printf("this CPU or system cannot run %s\n", isa_name);
		exit(77);
	}
	if (ops)
		n_ops = strtoull(ops, NULL, 0);
	if (scale)
		n_ops = (uint64_t)((double)n_ops * strtod(scale, NULL));
	seed = replay ? strtoull(replay, NULL, 0) : (uint64_t)time(NULL) * 2654435761u + 1;
}

int main(int argc, char **argv)
{
	uint64_t done = 0, deepest = 0;
	const struct qv_scenario *s;
	size_t n;

	if (argc != 3 && argc != 4) {
		fprintf(stderr, "usage: %s STRUCTURE ISA [OPERATIONS]\n", argv[0]);
		return 2;
	}
	structure = argv[1];
	set_up(argv[2], argv[3]);
	/* First, lest it be lost in a crash. */
	printf("QV_SEED=%#llx\n", (unsigned long long)seed);
	fflush(stdout);
	s = qv_scenarios(&n);
	for (size_t i = 0; i < n; i++)
		deepest = s[i].depth > deepest ? s[i].depth : deepest;
	qv_nodes_init(&nodes, 2 * deepest + 64);
	for (size_t i = 0; i < n; i++)
		done += run_scenario(&s[i], n_ops / n + 1);
	qv_nodes_fini(&nodes);
	for (int i = 0; is_auto && i < 4; i++)
		QV_NEED(flips[i / 2][i % 2] >= n_ops / 10000);
	printf("QV_SEED=%#llx: %llu operations in %zu scenarios, all as the oracle says\n",
	       (unsigned long long)seed, (unsigned long long)done, n);
	return done >= n_ops ? 0 : 1;
}
