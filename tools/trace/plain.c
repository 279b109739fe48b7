/* SPDX-License-Identifier: BSD-2-Clause */
/* plain.c - two arrays, each searched from its oldest entry. */
#include "plain.h"

#include <quiver/types.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECVS, MSGS, NOWHERE = -1 };

struct entry {
	uint64_t tag, ignore;
	uint32_t src, number;
	bool persistent;
};

struct walk {
	struct qv_plain *plain;
	const struct qv_load *load;
	const struct qv_load_lane *lane;
	struct entry *queue[2];
	size_t n[2];
	uint64_t *positions; /* [p]: hits that compared p entries */
	uint64_t comparisons;
};

static bool accepts(const struct entry *recv, const struct entry *msg)
{
	return ((recv->tag ^ msg->tag) & ~recv->ignore) == 0 &&
	       (recv->src == msg->src || recv->src == QV_SRC_ANY);
}

/* The place of the oldest entry of that queue which fits `mine`, or NOWHERE. */
static long find(struct walk *w, int side, const struct entry *mine)
{
	const struct entry *queue = w->queue[side];

	for (size_t i = 0; i < w->n[side]; i++) {
		if (!(side == MSGS ? accepts(mine, &queue[i]) : accepts(&queue[i], mine)))
			continue;
		w->plain->hits++;
		w->plain->inspected_hit += i + 1;
		w->positions[i + 1]++;
		w->comparisons += i + 1;
		return (long)i;
	}
	w->plain->misses++;
	w->plain->inspected_miss += w->n[side];
	w->comparisons += w->n[side];
	return NOWHERE;
}

static long place_of(struct walk *w, int side, uint32_t number)
{
	for (size_t i = 0; i < w->n[side]; i++)
		if (w->queue[side][i].number == number)
			return (long)i;
	return NOWHERE;
}

static void take_out(struct walk *w, int side, size_t at)
{
	struct entry *queue = w->queue[side];
	size_t behind = w->n[side]-- - at - 1;

	memmove(queue + at, queue + at + 1, behind * sizeof(*queue));
	w->comparisons += behind / 4;
}

static void append(struct walk *w, int side, const struct entry *mine)
{
	w->queue[side][w->n[side]++] = *mine;
}

/* TAKE and CANCEL: the record says which. It waits, since all answers before it were right. */
static void leave(struct walk *w, int side, uint32_t number)
{
	long at = place_of(w, side, number);

	w->comparisons += (uint64_t)(at + 1);
	take_out(w, side, (size_t)at);
}

/* What the operation finds. If that was recorded it is done. */
static uint32_t answer(struct walk *w, const struct qv_load_op *op, const struct entry *mine)
{
	const int other = op->kind == QV_LOAD_POST || op->kind == QV_LOAD_PEEK ? MSGS : RECVS;
	long at = find(w, other, mine);
	uint32_t number = at == NOWHERE ? 0 : w->queue[other][at].number + 1;

	if (number != op->answer)
		return number;
	if (at == NOWHERE && (op->kind == QV_LOAD_POST || op->kind == QV_LOAD_DELIVER))
		append(w, !other, mine);
	if (at != NOWHERE && op->kind != QV_LOAD_PEEK && !w->queue[other][at].persistent)
		take_out(w, other, (size_t)at);
	return number;
}

/* Lines about a wrong record. */

static const char *key(const struct entry *e, char *text, size_t size)
{
	char src[16] = "any";

	if (e->src != QV_SRC_ANY)
		snprintf(src, sizeof(src), "%u", e->src);
	if (e->ignore)
		snprintf(text, size, "tag 0x%llx ignore 0x%llx source %s",
			 (unsigned long long)e->tag, (unsigned long long)e->ignore, src);
	else
		snprintf(text, size, "tag 0x%llx source %s", (unsigned long long)e->tag, src);
	return text;
}

static const char *found(const struct walk *w, int side, long at, char *text, size_t size)
{
	char its[128];

	if (at == NOWHERE)
		snprintf(text, size, "nothing");
	else
		snprintf(text, size, "the %s at place %ld (%s)",
			 side == MSGS ? "message" : "receive", at + 1,
			 key(&w->queue[side][at], its, sizeof(its)));
	return text;
}

static int say_wrong(struct walk *w, const struct qv_load_op *op, const struct entry *mine,
		     uint32_t event, char *why, size_t size)
{
	static const char *const names[] = {"receive", "message", "message", "message", "look"};
	const int other = op->kind == QV_LOAD_POST || op->kind == QV_LOAD_PEEK ? MSGS : RECVS;
	long recorded = op->answer ? place_of(w, other, op->answer - 1) : NOWHERE;
	char lane[64], its[128], was[192], is[192];

	snprintf(why, size,
		 "%s, event %u: the recorded answer is wrong: a %s with %s: recorded is %s, but a "
		 "plain list finds %s",
		 qv_load_lane_name(w->load, w->lane, lane, sizeof(lane)), event, names[op->kind],
		 key(mine, its, sizeof(its)), found(w, other, recorded, was, sizeof(was)),
		 found(w, other, find(w, other, mine), is, sizeof(is)));
	return 1;
}

/* Walks. */

/* 0, or 1 at a wrong record. */
static int walk_lane(struct walk *w, uint64_t most, char *why, size_t size)
{
	const struct qv_load_lane *lane = w->lane;

	w->comparisons = w->n[RECVS] = w->n[MSGS] = 0;
	for (size_t i = 0; i < lane->ops_n && w->comparisons <= most; i++) {
		const struct qv_load_op *op = &lane->ops[i];
		const struct entry mine = {op->tag, op->ignore, op->src, op->entry, op->persistent};

		w->plain->checked++;
		if (op->kind == QV_LOAD_QUEUE)
			append(w, MSGS, &mine);
		else if (op->kind == QV_LOAD_TAKE)
			leave(w, MSGS, op->entry);
		else if (op->kind == QV_LOAD_CANCEL)
			leave(w, RECVS, op->entry);
		else if (answer(w, op, &mine) != op->answer)
			return say_wrong(w, op, &mine, lane->event[i], why, size);
	}
	return 0;
}

static uint64_t median(const uint64_t *positions, uint64_t hits)
{
	uint64_t seen = 0, at = 0;

	while (hits && seen < (hits + 1) / 2)
		seen += positions[++at];
	return at;
}

int qv_plain(struct qv_plain *plain, const struct qv_load *load, uint64_t comparisons, char *why,
	     size_t size)
{
	struct walk w = {.plain = plain, .load = load};
	size_t recvs = 1, msgs = 1;
	int rc = 0;

	*plain = (struct qv_plain){.hits = 0};
	for (size_t i = 0; i < load->lanes_n; i++) {
		recvs = load->lanes[i].recvs > recvs ? load->lanes[i].recvs : recvs;
		msgs = load->lanes[i].msgs > msgs ? load->lanes[i].msgs : msgs;
	}
	w.queue[RECVS] = malloc(recvs * sizeof(struct entry));
	w.queue[MSGS] = malloc(msgs * sizeof(struct entry));
	w.positions = calloc(recvs + msgs + 1, sizeof(*w.positions));
	if (!w.queue[RECVS] || !w.queue[MSGS] || !w.positions) {
		snprintf(why, size, "no memory for two arrays of the trace's entries");
		rc = -1;
	}
	for (size_t i = 0; i < load->lanes_n && !rc; i++) {
		w.lane = &load->lanes[i];
		rc = walk_lane(&w, comparisons / (load->lanes_n - i), why, size);
		comparisons -= w.comparisons < comparisons ? w.comparisons : comparisons;
	}
	if (!rc)
		plain->median_position = median(w.positions, plain->hits);
	free(w.queue[RECVS]);
	free(w.queue[MSGS]);
	free(w.positions);
	return rc;
}
