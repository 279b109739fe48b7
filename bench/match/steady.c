/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steady.c - cases of constant depth: one entry is matched and queued again, or one
 * comes that matches none.
 */
#include "match.h"

#include <stdlib.h>

#define STEPS  8192 /* pairs of operations in a loop, at least */
#define MISSES 64   /* keys that match no entry, in turn */

/* Entry i: its own tag, from one of the sources in turn. */
static struct qv_bm_key plain_key(uint32_t i)
{
	return (struct qv_bm_key){.tag = i, .src = i % QV_BM_SOURCES};
}

/* One pair: the other side takes entry i, which is then queued again. */
static void take_again(struct qv_bm_trace *t, bool posted, uint32_t i)
{
	uint32_t recv = i, msg = t->recvs_n + i;

	qv_bm_op(t, posted ? msg : recv, posted ? recv : msg);
	qv_bm_op(t, posted ? recv : msg, QV_BM_NONE);
}

/* One pair: the other side finds nothing, waits, and is taken at once by its partner. */
static void miss(struct qv_bm_trace *t, bool posted, uint32_t i)
{
	uint32_t recv = i, msg = t->recvs_n + i;

	qv_bm_op(t, posted ? msg : recv, QV_BM_NONE);
	qv_bm_op(t, posted ? recv : msg, posted ? msg : recv);
}

/* The entries that wait, nodes 0 to n - 1 of one side. */
static void wait_first(struct qv_bm_trace *t, bool posted, uint32_t n)
{
	t->prologue.first = posted ? QV_BM_POST : QV_BM_ARRIVE;
	t->prologue.n[0] = n;
	t->prologue.reps = 1;
	for (uint32_t i = 0; i < n; i++)
		qv_bm_op(t, posted ? i : t->recvs_n + i, QV_BM_NONE);
	t->steady = true;
}

static uint32_t position(struct qv_bm_trace *t, int kind, uint32_t n, uint32_t step)
{
	switch (kind) {
	case QV_BM_HEAD: return step % n;
	case QV_BM_TAIL: return n - 1;
	default: return (uint32_t)(qv_bm_draw(t) % n);
	}
}

/* As many steps as bring every entry into play. */
static uint32_t steps_for(int kind, uint32_t n)
{
	if (kind == QV_BM_HEAD)
		return (STEPS + n - 1) / n * n; /* the order is the first one again */
	return kind == QV_BM_RAND && 2 * n > STEPS ? 2 * n : STEPS;
}

void qv_bm_build_steady(struct qv_bm_trace *t, const struct qv_bm_case *c)
{
	bool posted = c->group == QV_BM_PRQ;
	uint32_t n = c->n, nodes = c->kind == QV_BM_MISS ? n + MISSES : n;
	uint32_t steps = c->kind == QV_BM_MISS ? STEPS : steps_for(c->kind, n);

	for (uint32_t i = 0; i < nodes; i++)
		qv_bm_recv(t, plain_key(i));
	for (uint32_t i = 0; i < nodes; i++)
		qv_bm_msg(t, plain_key(i));
	wait_first(t, posted, n);
	for (uint32_t s = 0; s < steps; s++) {
		if (c->kind == QV_BM_MISS)
			miss(t, posted, n + s % MISSES);
		else
			take_again(t, posted, position(t, c->kind, n, s));
	}
	qv_bm_phase_add(t, posted ? QV_BM_ARRIVE : QV_BM_POST, 1, 1, steps, true);
}

/*
 * Receive i as a wildcard, and the one message that it is for. No other message of the case fits:
 * an any-source receive has its own tag, an any-tag receive its own source, one that is both its
 * own context.
 */
static struct qv_bm_key wild_key(uint32_t i, uint32_t nth, int kind, struct qv_bm_key *partner)
{
	struct qv_bm_key key = plain_key(i);

	if (kind == QV_BM_MIX)
		kind = (int)(nth % QV_BM_MIX);
	if (kind == QV_BM_ANYTAG)
		key.src = QV_BM_SOURCES + nth;
	if (kind == QV_BM_BOTH)
		key.tag |= QV_BM_CONTEXT(1 + nth);
	*partner = key;
	if (kind != QV_BM_ANYTAG)
		key.src = QV_SRC_ANY;
	if (kind != QV_BM_ANYSRC)
		key.ignore = QV_BM_TAG_BITS;
	return key;
}

void qv_bm_build_wild(struct qv_bm_trace *t, const struct qv_bm_case *c)
{
	bool posted = c->group == QV_BM_WPRQ;
	uint32_t n = c->n, nth = 0, steps = steps_for(QV_BM_RAND, n);
	struct qv_bm_key *partners = calloc(n, sizeof(*partners));

	if (!partners)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		partners[i] = plain_key(i);
		/* Evenly spread, and the first one always. */
		if ((uint64_t)i * c->percent % 100 < c->percent)
			qv_bm_recv(t, wild_key(i, nth++, c->kind, &partners[i]));
		else
			qv_bm_recv(t, partners[i]);
	}
	for (uint32_t i = 0; i < n; i++)
		qv_bm_msg(t, partners[i]);
	free(partners);
	wait_first(t, posted, n);
	for (uint32_t s = 0; s < steps; s++)
		take_again(t, posted, position(t, QV_BM_RAND, n, s));
	qv_bm_phase_add(t, posted ? QV_BM_ARRIVE : QV_BM_POST, 1, 1, steps, true);
}
