/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_hostile.c - someone who knows the hash sends keys that meet in one bucket: how many
 * entries one operation compares at most, counted, not timed.
 *     test_match_hostile STRUCTURE
 * `hash` and `nm` are bounded per operation, `auto` on average (as a list it walks until the
 * walking has cost what an index costs). `bins` and `ucx` are faithful to shapes that have no
 * defence: keys aimed at their own hash make them walk everything, which is shown. The others are
 * lists, and have no hash to aim at: their figures are only printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/match/structure.h"
#include "engine/match/auto/index.h"
#include "tests/match/model/hostile.h"
#include "tests/proto/rig/need.h"
#include "tests/match/model/settings.h"

#define N 4000
/* Slots that N entries lead to at most, and then some: sources are chosen for a table this large */
#define LOG_SLOTS 15

enum attack { BY_TAG, BY_TAG_AND_SOURCE, BY_SOURCE, N_ATTACKS, ON_BINS = N_ATTACKS, ON_UCX };
static const char *const attacks[] = {"tag", "tag and source", "source", "aimed at bins",
				      "aimed at ucx"};

struct key {
	uint64_t tag;
	uint32_t src;
};

/* What one kind of operation has cost. */
struct cost {
	uint64_t sum, worst, n;
};

static struct qv_match *m;
static struct key keys[N];
static struct qv_recv recvs[N];
static struct qv_msg msgs[N];
static uint64_t before;

static void make_keys(enum attack how)
{
	uint32_t src = 0;

	for (uint32_t i = 0; i < N; i++) {
		switch (how) {
		case BY_TAG: keys[i] = (struct key){qv_hostile_tag(i), 0}; break;
		case BY_TAG_AND_SOURCE:
			keys[i] = (struct key){qv_hostile_tag_for(i, i % 100), i % 100};
			break;
		case ON_BINS: keys[i] = (struct key){qv_hostile_bins_tag(i), 0}; break;
		case ON_UCX: keys[i] = (struct key){qv_hostile_ucx_tag(i), 0}; break;
		default: src = qv_hostile_src(src + 1, LOG_SLOTS); keys[i] = (struct key){0, src};
		}
	}
}

static uint64_t inspected(void)
{
	struct qv_match_stats s;

	qv_match_get_stats(m, &s);
	return s.inspected;
}

static void begin(void)
{
	before = inspected();
}

static void end(struct cost *c)
{
	uint64_t one = inspected() - before;

	c->n++;
	c->sum += one;
	c->worst = one > c->worst ? one : c->worst;
}

static void post(int i, uint64_t ignore, uint32_t src, struct qv_msg *want, struct cost *c)
{
	struct qv_msg *got = NULL;

	recvs[i] = (struct qv_recv){.tag = keys[i].tag, .ignore = ignore, .src = src};
	begin();
	QV_NEED(qv_match_post(m, &recvs[i], &got) == QV_OK && got == want);
	end(c);
}

/* Messages first, or receives first; taken out in the other order, so that the last key in a bucket
 * is looked for while all others are there. */
static void attack(int messages_first, uint64_t ignore, int anysrc, struct cost *in,
		   struct cost *out)
{
	for (int i = 0; i < N; i++) {
		if (!messages_first) {
			post(i, ignore, anysrc ? QV_SRC_ANY : keys[i].src, NULL, in);
			continue;
		}
		msgs[i] = (struct qv_msg){.tag = keys[i].tag, .src = keys[i].src};
		begin();
		QV_NEED(qv_match_queue(m, &msgs[i]) == QV_OK);
		end(in);
	}
	for (int i = N; i-- > 0;) {
		if (messages_first) {
			post(i, ignore, anysrc ? QV_SRC_ANY : keys[i].src, &msgs[i], out);
			continue;
		}
		begin();
		QV_NEED(qv_match_arrive(m, keys[i].tag, keys[i].src) == &recvs[i]);
		end(out);
	}
}

/* Most entries that one operation may compare; 0: no promise. */
static uint64_t promise(const char *structure, int *on_average)
{
	*on_average = !strcmp(structure, "auto");
	if (*on_average)
		return 20;
	/* One table: the keys of a bucket, one more as it overflows, and the match itself. */
	if (!strcmp(structure, "hash"))
		return QV_BUCKET_MAX + 2;
	/* A message is put into four tables. */
	if (!strcmp(structure, "nm"))
		return 4 * (QV_BUCKET_MAX + 2);
	return 0;
}

static void judge(const char *structure, const char *what, struct cost *c)
{
	int on_average;
	uint64_t bound = promise(structure, &on_average);

	printf("  %-40s mean %8.1f  worst %8llu\n", what, (double)c->sum / (double)c->n,
	       (unsigned long long)c->worst);
	if (bound)
		QV_NEED(on_average ? c->sum <= bound * c->n : c->worst <= bound);
}

static void run(const char *structure, enum attack how, int messages_first)
{
	struct qv_match_settings s;
	struct cost in = {0, 0, 0}, out = {0, 0, 0};
	/* A table that compares sources only is one of receives of any tag. */
	uint64_t ignore = how == BY_SOURCE ? UINT64_MAX : 0;
	char what[100];

	/* `hash` has no table for wildcards: its shape is to scan. */
	if (how == BY_SOURCE && !strcmp(structure, "hash"))
		ignore = 0;
	qv_settings_for(&s, structure);
	QV_NEED(qv_match_create(&s, &m) == QV_OK);
	make_keys(how);
	attack(messages_first, ignore, 0, &in, &out);
	/* Once more through the same engine: what it has learned must serve. */
	attack(messages_first, ignore, 0, &in, &out);
	snprintf(what, sizeof(what), "%s, %s in", attacks[how],
		 messages_first ? "messages" : "receives");
	judge(structure, what, &in);
	snprintf(what, sizeof(what), "%s, %s out", attacks[how],
		 messages_first ? "messages" : "receives");
	judge(structure, what, &out);
	qv_match_destroy(m);
}

/* Receives of any source are in a table where only tags are compared. */
static void run_any_source(const char *structure)
{
	struct qv_match_settings s;
	struct cost in = {0, 0, 0}, out = {0, 0, 0};

	qv_settings_for(&s, structure);
	QV_NEED(qv_match_create(&s, &m) == QV_OK);
	make_keys(BY_TAG);
	attack(1, 0, 1, &in, &out);
	judge(structure, "tag, any source, messages in", &in);
	judge(structure, "tag, any source, messages out", &out);
	qv_match_destroy(m);
}

/* What bins and ucx promise is their published shape, not more. */
static void run_undefended(const char *structure, enum attack how)
{
	struct qv_match_settings s;
	struct cost in = {0, 0, 0}, out = {0, 0, 0};

	qv_settings_for(&s, structure);
	QV_NEED(qv_match_create(&s, &m) == QV_OK);
	make_keys(how);
	attack(0, 0, 0, &in, &out);
	judge(structure, attacks[how], &out);
	QV_NEED(out.worst == N);
	qv_match_destroy(m);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s STRUCTURE\n", argv[0]);
		return 2;
	}
	printf("%s: entries compared per operation, %d colliding keys\n", argv[1], N);
	for (int how = 0; how < N_ATTACKS; how++) {
		run(argv[1], (enum attack)how, 0);
		run(argv[1], (enum attack)how, 1);
	}
	if (strcmp(argv[1], "hash") != 0)
		run_any_source(argv[1]);
	if (!strcmp(argv[1], "bins"))
		run_undefended(argv[1], ON_BINS);
	if (!strcmp(argv[1], "ucx"))
		run_undefended(argv[1], ON_UCX);
	return 0;
}
