/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_nomem.c - memory runs out: each allocation of a structure fails in turn, alone, with
 * some after it, or with all after it. A call that needs memory says QV_ENOMEM and has done
 * nothing; all others do what the oracle does; once there is memory again, the same call succeeds.
 *     test_match_nomem STRUCTURE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/match/auto/auto.h"
#include "tests/match/model/model.h"
#include "tests/proto/rig/need.h"
#include "engine/base/random.h"
#include "tests/match/model/scenario.h"
#include "tests/match/model/settings.h"

/* Operations of the trace that is run for each allocation. */
#define N_OPS 1000
#define ROOM  700

/* How many allocations fail, from the one whose turn it is; and of how many it is the turn. */
enum spell { ALONE, SOME, ALL, N_SPELLS };
static const unsigned long lengths[] = {1, 20, ~0ul}, every[] = {1, 3, 3};

static const struct qv_scenario traffic[] = {
	{.name = "mixed",
	 .srcs = 24,
	 .tags = 40,
	 .contexts = 2,
	 .anysrc = 10,
	 .anytag = 5,
	 .mask = 10,
	 .sticky = 1,
	 .many = 5},
	{.name = "colliding", .srcs = 2, .tags = 300, .contexts = 1, .anysrc = 3, .colliding = 1},
};

struct run {
	struct qv_model t;
	unsigned long asked, first, length;
	uint64_t random;
};

static struct qv_match_settings settings;
static struct qv_nodes nodes;

static int fails(void *ctx)
{
	struct run *r = ctx;
	unsigned long at = r->asked++;

	return at >= r->first && at - r->first < r->length;
}

static void post(struct run *r, const struct qv_scenario *s)
{
	uint64_t refused = r->t.refused;
	struct qv_recv want;

	qv_scenario_recv(s, &r->random, &want);
	qv_model_post(&r->t, &want);
	if (r->t.refused == refused || r->length > 1)
		return;
	qv_model_post(&r->t, &want); /* memory is back */
	QV_NEED(r->t.refused == refused + 1);
}

static void post_many(struct run *r, const struct qv_scenario *s)
{
	struct qv_recv want[5];

	for (int i = 0; i < 5; i++)
		qv_scenario_recv(s, &r->random, &want[i]);
	qv_model_post_many(&r->t, want, 5);
}

static void arrive_many(struct run *r, const struct qv_scenario *s)
{
	struct qv_msg want[5];

	for (int i = 0; i < 5; i++) {
		want[i].tag = qv_scenario_tag(s, &r->random);
		want[i].src = qv_scenario_src(s, &r->random);
	}
	qv_model_arrive_many(&r->t, want, 5);
}

static void arrive(struct run *r, const struct qv_scenario *s)
{
	uint64_t refused = r->t.refused, tag = qv_scenario_tag(s, &r->random);
	uint32_t src = qv_scenario_src(s, &r->random);

	qv_model_deliver(&r->t, tag, src);
	if (r->t.refused == refused || r->length > 1)
		return;
	qv_model_arrive(&r->t, tag, src, 0);
	QV_NEED(r->t.refused == refused + 1);
}

static void step(struct run *r, const struct qv_scenario *s, unsigned int post_percent)
{
	switch (qv_random_below(&r->random, 40)) {
	case 0:
		if (r->t.o.n_recvs)
			qv_model_cancel(&r->t, qv_random_below(&r->random, r->t.o.n_recvs));
		return;
	case 1:
		if (r->t.o.n_msgs)
			qv_model_take(&r->t, qv_random_below(&r->random, r->t.o.n_msgs));
		return;
	case 2: post_many(r, s); return;
	case 3: arrive_many(r, s); return;
	default:
		if (qv_random_percent(&r->random, post_percent))
			post(r, s);
		else
			arrive(r, s);
	}
}

/* Posts prevail, then arrivals, then neither; in between iteration, and forms forced on auto. */
static void trace(struct run *r, const struct qv_scenario *s)
{
	static const unsigned int percents[] = {90, 15, 50};
	int is_auto = qv_settings_is(&settings, "auto");

	for (int i = 0; i < N_OPS; i++) {
		step(r, s, percents[i * 3 / N_OPS]);
		if (i % 150 == 100)
			qv_model_check_order(&r->t);
		if (is_auto && i % 60 == 30)
			qv_auto_force(r->t.m, (enum qv_auto_mode)qv_random_below(&r->random, 2),
				      (enum qv_auto_mode)qv_random_below(&r->random, 2));
	}
	qv_model_check_order(&r->t);
	qv_model_check_stats(&r->t);
	qv_model_drain(&r->t);
}

/* Returns how many allocations were asked for, those that failed too. */
static unsigned long run(const struct qv_scenario *s, unsigned long first, unsigned long length,
			 uint64_t *refused)
{
	static struct run r;
	struct qv_model_set set = {.settings = &settings, .fails = fails, .ctx = &r};
	static char what[100];

	memset(&r, 0, sizeof(r));
	r.first = first;
	r.length = length;
	r.random = 88172645463325252u;
	if (qv_model_init(&r.t, &set, &nodes) != QV_OK) {
		QV_NEED(r.asked > first); /* a creation that failed: nothing is left of it */
		return r.asked;
	}
	snprintf(what, sizeof(what), "%s, \"%s\", allocation %lu and %lu in all",
		 settings.structure, s->name, first, length);
	r.t.what = what;
	trace(&r, s);
	qv_model_fini(&r.t);
	*refused += r.t.refused;
	return r.asked;
}

/* Structures that file an entry without memory of their own. */
static int never_refuses(const char *structure)
{
	static const char *const chains[] = {"ll",  "ucx", "bins",   "pnp",    "pnp-static",
					     "clu", "col", "col-ll", "col-pnp"};

	if (strstr(structure, ":"))
		return !strstr(structure, "lla") && !strstr(structure, "llv");
	for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++)
		if (!strcmp(structure, chains[i]))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long n = 0, runs = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s STRUCTURE\n", argv[0]);
		return 2;
	}
	qv_settings_for(&settings, argv[1]);
	qv_nodes_init(&nodes, ROOM);
	for (int i = 0; i < 2; i++) {
		for (int spell = 0; spell < N_SPELLS; spell++) {
			uint64_t refused = 0;

			/* Until no allocation is left that could fail. */
			for (n = 0; run(&traffic[i], n, lengths[spell], &refused) > n;
			     n += every[spell])
				runs++;
			QV_NEED(n);
			if (spell == ALL)
				QV_NEED(never_refuses(argv[1]) ? !refused : refused);
			printf("%s, %s: about %lu allocations, %llu calls refused\n", argv[1],
			       traffic[i].name, n, (unsigned long long)refused);
		}
	}
	qv_nodes_fini(&nodes);
	printf("%lu runs, all as the oracle says\n", runs);
	return 0;
}
