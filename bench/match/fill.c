/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fill.c - cases that fill a queue and empty it: bursts, shuffles, the four paths and
 * the random keys of Moraru et al., and patterns of applications.
 */
#include "match.h"

#include <stdlib.h>
#include <string.h>

#define LOOP_OPS 8192 /* operations in a loop, at least */
#define BLOCKERS 256  /* receives of app/dupblk that nothing matches */
#define WINDOW   32   /* app/near32: how far messages overtake each other */

/*
 * Receives and messages, n of each in pairs, in groups of equal keys: within a group the oldest
 * is taken first. group[i]: the lowest member of i's group; next[i]: the next member.
 */
struct pairs {
	struct qv_bm_trace *t;
	uint32_t n, first; /* receive `first` is that of pair 0 */
	uint32_t *group, *next, *cursor;
};

static void *array(uint32_t n, size_t item)
{
	void *new = calloc(n ? n : 1, item);

	if (!new)
		abort();
	return new;
}

/* Every pair alone, or all in one group. */
static void pairs_init(struct pairs *p, struct qv_bm_trace *t, uint32_t n, bool one_group)
{
	*p = (struct pairs){.t = t, .n = n};
	p->group = array(n, sizeof(*p->group));
	p->next = array(n, sizeof(*p->next));
	p->cursor = array(n, sizeof(*p->cursor));
	for (uint32_t i = 0; i < n; i++) {
		p->group[i] = one_group ? 0 : i;
		p->next[i] = one_group ? i + 1 : QV_BM_NONE;
	}
}

static void pairs_free(struct pairs *p)
{
	free(p->group);
	free(p->next);
	free(p->cursor);
}

static uint32_t recv_of(const struct pairs *p, uint32_t i)
{
	return p->first + i;
}

static uint32_t msg_of(const struct pairs *p, uint32_t i)
{
	return p->t->recvs_n + p->first + i;
}

/* One side is queued in order, then the other comes in the given order (NULL: the same). */
static void cycle(struct pairs *p, enum qv_bm_op first, const uint32_t *order)
{
	for (uint32_t i = 0; i < p->n; i++) {
		qv_bm_op(p->t, first == QV_BM_POST ? recv_of(p, i) : msg_of(p, i), QV_BM_NONE);
		p->cursor[i] = i;
	}
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t i = order ? order[k] : k, g = p->group[i], oldest = p->cursor[g];

		p->cursor[g] = p->next[oldest];
		qv_bm_op(p->t, first == QV_BM_POST ? msg_of(p, i) : recv_of(p, i),
			 first == QV_BM_POST ? recv_of(p, oldest) : msg_of(p, oldest));
	}
}

enum order { IN_ORDER, RANDOM, NEAR };

static uint32_t *order_of(struct pairs *p, enum order kind)
{
	uint32_t *order;

	if (kind == RANDOM)
		return qv_bm_shuffled(p->t, p->n);
	if (kind == IN_ORDER)
		return NULL;
	order = array(p->n, sizeof(*order));
	for (uint32_t i = 0; i < p->n; i++)
		order[i] = i;
	for (uint32_t at = 0; at < p->n; at += WINDOW) { /* shuffle each window */
		uint32_t n = p->n - at < WINDOW ? p->n - at : WINDOW;

		for (uint32_t i = n - 1; i > 0; i--) {
			uint32_t j = (uint32_t)(qv_bm_draw(p->t) % (i + 1)), other = order[at + j];

			order[at + j] = order[at + i];
			order[at + i] = other;
		}
	}
	return order;
}

static uint32_t cycles_for(uint32_t n)
{
	return n < LOOP_OPS / 2 ? (LOOP_OPS / 2 + n - 1) / n : 1;
}

/* The same cycle again and again, each in an order of its own. */
static void cycles(struct pairs *p, enum qv_bm_op first, enum order kind)
{
	uint32_t reps = cycles_for(p->n);

	for (uint32_t c = 0; c < reps; c++) {
		uint32_t *order = order_of(p, kind);

		cycle(p, first, order);
		free(order);
	}
	qv_bm_phase_add(p->t, first, p->n, p->n, reps, true);
}

static void add_nodes(struct pairs *p, const struct qv_bm_key *recvs, const struct qv_bm_key *msgs)
{
	for (uint32_t i = 0; i < p->n; i++)
		qv_bm_recv(p->t, recvs[i]);
	for (uint32_t i = 0; i < p->n; i++)
		qv_bm_msg(p->t, msgs[i]);
}

/* Seed 001: random keys. */

struct sorted {
	struct qv_bm_key key;
	uint32_t i;
};

static int by_key(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->key.tag != y->key.tag)
		return x->key.tag < y->key.tag ? -1 : 1;
	if (x->key.src != y->key.src)
		return x->key.src < y->key.src ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Group equal keys: with many keys some are drawn twice. */
static void find_groups(struct pairs *p, const struct qv_bm_key *keys)
{
	struct sorted *s = array(p->n, sizeof(*s));

	for (uint32_t i = 0; i < p->n; i++)
		s[i] = (struct sorted){keys[i], i};
	qsort(s, p->n, sizeof(*s), by_key);
	for (uint32_t k = 1; k < p->n; k++) {
		if (s[k].key.tag != s[k - 1].key.tag || s[k].key.src != s[k - 1].key.src)
			continue;
		p->group[s[k].i] = p->group[s[k - 1].i];
		p->next[s[k - 1].i] = s[k].i;
	}
	free(s);
}

static void random_pairs(struct pairs *p, struct qv_bm_trace *t, uint32_t n)
{
	struct qv_bm_key *keys = array(n, sizeof(*keys));

	pairs_init(p, t, n, false);
	for (uint32_t i = 0; i < n; i++) {
		keys[i].tag = QV_BM_CONTEXT(qv_bm_draw(t) % 101) | qv_bm_draw(t) % 101;
		keys[i].src = (uint32_t)(qv_bm_draw(t) % 501);
	}
	find_groups(p, keys);
	add_nodes(p, keys, keys);
	free(keys);
}

/* Receives that miss, messages that hit; then messages that miss, receives that hit. */
static void four_paths(struct qv_bm_trace *t, const struct qv_bm_case *c)
{
	struct pairs p;

	random_pairs(&p, t, c->n);
	for (int side = 0; side < 2; side++) {
		enum qv_bm_op first = side ? QV_BM_ARRIVE : QV_BM_POST;
		enum qv_bm_op second = side ? QV_BM_POST : QV_BM_ARRIVE;
		uint32_t *order = order_of(&p, RANDOM);

		cycle(&p, first, order);
		free(order);
		qv_bm_phase_add(t, first, c->n, 0, 1,
				c->kind == (side ? QV_BM_ARRIVE_MISS : QV_BM_POST_MISS));
		qv_bm_phase_add(t, second, c->n, 0, 1,
				c->kind == (side ? QV_BM_POST_HIT : QV_BM_ARRIVE_HIT));
	}
	pairs_free(&p);
}

void qv_bm_build_fill(struct qv_bm_trace *t, const struct qv_bm_case *c)
{
	struct qv_bm_key *keys;
	struct pairs p;

	if (c->group == QV_BM_FOUR) {
		four_paths(t, c);
		return;
	}
	if (c->group == QV_BM_MORARU) {
		random_pairs(&p, t, c->n);
		cycles(&p, QV_BM_POST, RANDOM);
		cycles(&p, QV_BM_ARRIVE, RANDOM);
		pairs_free(&p);
		return;
	}
	keys = array(c->n, sizeof(*keys));
	for (uint32_t i = 0; i < c->n; i++)
		keys[i] = (struct qv_bm_key){.tag = i, .src = i % QV_BM_SOURCES};
	pairs_init(&p, t, c->n, false);
	add_nodes(&p, keys, keys);
	cycles(&p, c->kind ? QV_BM_ARRIVE : QV_BM_POST,
	       c->group == QV_BM_SHUFFLE ? RANDOM : IN_ORDER);
	pairs_free(&p);
	free(keys);
}

/* Patterns of applications. */

static struct qv_bm_key app_key(enum qv_bm_app app, uint32_t i)
{
	struct qv_bm_key key = {.tag = i, .src = i % QV_BM_SOURCES};

	switch (app) {
	case QV_BM_STENCIL: key.src = i; break; /* a neighbour and its direction */
	case QV_BM_GATHER:                      /* every rank sends one message to the root */
	case QV_BM_GATHER_ANY:
		key.tag = QV_BM_COLLECTIVE | 9;
		key.src = i;
		break;
	case QV_BM_MANYSRC:
		key.tag = i % 4;
		key.src = i;
		break;
	case QV_BM_MANYTAG:
		key.tag = i / 4;
		key.src = i % 4;
		break;
	case QV_BM_DUP:
	case QV_BM_DUPBLK:
		key.tag = 1 << 20;
		key.src = 1;
		break;
	case QV_BM_NEAR32: break;
	}
	return key;
}

void qv_bm_build_app(struct qv_bm_trace *t, const struct qv_bm_case *c)
{
	enum qv_bm_app app = (enum qv_bm_app)c->kind;
	bool same = app == QV_BM_DUP || app == QV_BM_DUPBLK || app == QV_BM_GATHER_ANY;
	uint32_t blockers = app != QV_BM_DUPBLK ? 0 : c->n > BLOCKERS ? BLOCKERS : c->n / 2;
	uint32_t n = c->n - blockers;
	struct pairs p;

	for (uint32_t i = 0; i < blockers; i++)
		qv_bm_recv(t, (struct qv_bm_key){.tag = i, .src = i % QV_BM_SOURCES});
	for (uint32_t i = 0; i < n; i++) {
		struct qv_bm_key key = app_key(app, i);

		if (app == QV_BM_GATHER_ANY)
			key.src = QV_SRC_ANY;
		qv_bm_recv(t, key);
	}
	for (uint32_t i = 0; i < blockers; i++) /* never sent: it keeps pairs in step */
		qv_bm_msg(t, (struct qv_bm_key){.tag = i, .src = i % QV_BM_SOURCES});
	for (uint32_t i = 0; i < n; i++)
		qv_bm_msg(t, app_key(app, i));
	pairs_init(&p, t, n, same);
	p.first = blockers;
	t->prologue = (struct qv_bm_phase){.first = QV_BM_POST, .n = {blockers, 0}, .reps = 1};
	for (uint32_t i = 0; i < blockers; i++)
		qv_bm_op(t, i, QV_BM_NONE);
	cycles(&p, QV_BM_POST,
	       app == QV_BM_NEAR32               ? NEAR
	       : same && app != QV_BM_GATHER_ANY ? IN_ORDER
						 : RANDOM);
	pairs_free(&p);
}
