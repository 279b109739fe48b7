/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unexpected.c - unexpected messages in HASH: every message is in each active index, and in
 * the log if that is on.
 *
 * A receive searches, in this order:
 *   the index of its own class;
 *   the index of a wider class, if few messages there have its key: all that the receive accepts
 *   are among them, in order;
 *   an index built for it now, if its class has searched before and there is a place;
 *   the log, which is built when the queue is short or when searches without it cost too much;
 *   all messages.
 */
#include "hash.h"

/* Up to here the log is as good as an index, and cheaper to build. */
#define SHORT 4
/* Steps in the index of a wider class: in one search, and in all since the last tick but few. */
#define WIDER_STEPS 32
#define WIDER_DEBT  256
/* Places of a ring that is not kept beside several indexes. */
#define RING_BIG 65536
/* From so many messages on memory counts, and rare long buckets do not. */
#define MANY 65536

void qv_unexpected_drop_log(struct qv_line *q)
{
	qv_vlist_clear(&q->log);
	qv_line_set_active(q, q->active & ~QV_LOG_ACTIVE);
}

void qv_unexpected_insert(struct qv_auto *a, struct qv_line *q, uint64_t *e)
{
	for (uint32_t rest = q->active & QV_INDEXES; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];

		ix->crowded += *qv_index_slot_of(ix, QV_UNEXPECTED, e) != 0;
		qv_line_insert(a, q, ix, QV_UNEXPECTED, e);
	}
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_join(q, e);
	/* A log that lacks an entry is of no use; the indexes have it. */
	if (q->active & QV_LOG_ACTIVE && qv_vlist_append(&q->log, e))
		qv_unexpected_drop_log(q);
}

/* Of many messages only the first index has a roomy table, as long as there is no log. The others
 * have up to two messages to a slot. */
static int is_tight(const struct qv_line *q, const struct qv_index *ix, uint32_t n)
{
	uint32_t before = (1u << (ix - q->ix)) - 1;

	return n > MANY && q->active & (before | QV_LOG_ACTIVE);
}

void qv_unexpected_fit(struct qv_auto *a, struct qv_line *q, struct qv_index *ix)
{
	uint32_t n = qv_line_len(q) + QV_TICK;

	if (is_tight(q, ix, n))
		(void)qv_index_widen(ix, QV_UNEXPECTED, &a->base.mem, n / 2);
	else
		qv_line_fit_index(a, q, ix, n);
}

static int prepare_index(struct qv_auto *a, struct qv_line *q, int i, uint64_t ignore, uint32_t src)
{
	struct qv_index *ix = &q->ix[i];
	uint32_t n = qv_line_len(q) + QV_TICK;

	qv_index_set_class(ix, ignore, src == QV_SRC_ANY);
	ix->used = q->tail;
	ix->debt = 0;
	/* Twice what it must be: an index shows in some ticks that it is not needed. */
	ix->served = (uint16_t)(2 * QV_AVERAGED * QV_SELDOM / (qv_line_len(q) + 1));
	ix->calm = 0;
	ix->wary = QV_WARY_MIN;
	if (is_tight(q, ix, n))
		return qv_index_widen(ix, QV_UNEXPECTED, &a->base.mem, n / 2);
	return qv_index_reserve(ix, QV_UNEXPECTED, &a->base.mem, n);
}

static void fill_batch(struct qv_auto *a, struct qv_line *q, struct qv_index *ix,
		       const struct qv_batch *b)
{
	const uint64_t *table = ix->slots;

	for (uint32_t i = 0; i < b->n; i++) {
		uint64_t *e = b->e[i], *slot = b->slot[i];

		if (qv_unlikely(ix->slots != table)) /* since the last entry, by qv_line_met */
			slot = qv_index_slot_of(ix, QV_UNEXPECTED, e);
		if (qv_likely(!*slot))
			qv_index_fill_slot(ix, QV_UNEXPECTED, slot, e);
		else
			qv_line_met(a, q, ix, e, qv_index_insert_at(ix, QV_UNEXPECTED, slot, e));
	}
}

int qv_unexpected_fill(struct qv_auto *a, struct qv_line *q, uint64_t ignore, uint32_t src)
{
	struct qv_index *ix = &q->ix[0];
	struct qv_batch b;

	if (prepare_index(a, q, 0, ignore, src))
		return QV_ENOMEM;
	qv_line_set_active(q, 1);
	q->far = q->far_ticks = 0;
	for (uint64_t at = q->head; at != q->tail; at += b.n) {
		qv_batch_begin(&b, q, ix, QV_UNEXPECTED, at);
		fill_batch(a, q, ix, &b);
	}
	return QV_OK;
}

/* A new index over the messages that are queued, or NULL. */
static struct qv_index *build_index(struct qv_auto *a, struct qv_line *q, uint64_t ignore,
				    uint32_t src)
{
	uint32_t n = qv_line_len(q);
	uint64_t **v;
	int i = 0;

	/* Several indexes of a deep queue: the ring is no use now, and will be made anew. */
	if (q->ring_mask > RING_BIG)
		(void)qv_ring_resize(a, q, 0);
	while (i < QV_N_VIEWS && q->active >> i & 1)
		i++;
	if (i == QV_N_VIEWS || prepare_index(a, q, i, ignore, src))
		return NULL;
	if (i == QV_N_VIEWS - 1 && q->active & QV_ORDER_ACTIVE)
		qv_order_drop(q);
	v = qv_line_collect(a, q);
	if (!v)
		return NULL;
	for (uint32_t k = 0; k < n; k++)
		qv_line_insert(a, q, &q->ix[i], QV_UNEXPECTED, v[k]);
	qv_line_collect_done(a, q, v);
	for (uint32_t rest = q->active & QV_INDEXES; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];

		if (!qv_index_is_wider(ix, ignore, src))
			continue;
		ix->calm = 0;
		ix->wary = ix->wary < QV_WARY_MAX / 2 ? ix->wary * 2 : QV_WARY_MAX;
	}
	qv_line_set_active(q, q->active | 1u << i);
	q->log_debt = 0; /* the index was what the scans wanted */
	return &q->ix[i];
}

static int build_log(struct qv_auto *a, struct qv_line *q)
{
	uint32_t n = qv_line_len(q), k = 0;
	uint64_t **v;

	if (n > MANY)
		qv_index_narrow(&q->ix[0], QV_UNEXPECTED, &a->base.mem, n / 2);
	v = qv_line_collect(a, q);
	if (!v)
		return QV_ENOMEM;
	while (k < n && qv_vlist_append(&q->log, v[k]) == QV_OK)
		k++;
	qv_line_collect_done(a, q, v);
	if (k < n) {
		qv_vlist_clear(&q->log);
		return QV_ENOMEM;
	}
	qv_line_set_active(q, q->active | QV_LOG_ACTIVE);
	return QV_OK;
}

static void find_in_index(struct qv_line *q, struct qv_index *ix, uint64_t tag, uint32_t src,
			  struct qv_found *f)
{
	f->e = qv_index_find(ix, QV_UNEXPECTED, tag, src, &f->link, &q->rejected);
	f->ix = ix;
	ix->used = q->tail;
	ix->served++;
}

/* Search in the index of a wider class. 0 if that was given up. */
static int find_in_wider(struct qv_line *q, struct qv_index *ix, uint64_t tag, uint64_t ignore,
			 uint32_t src, struct qv_found *f)
{
	uint64_t *link, *e = qv_index_find(ix, QV_UNEXPECTED, tag, src, &link, &q->rejected);
	uint32_t steps = 0;

	for (; e && steps < WIDER_STEPS; steps++) {
		const struct qv_msg *msg = qv_msg_of(e);

		if (qv_accepts(tag, ignore, src, msg->tag, msg->src))
			break;
		e = qv_entry(qv_links(ix, QV_UNEXPECTED, e)[QV_NEXT]);
	}
	ix->debt += steps;
	q->rejected += steps;
	if (steps == WIDER_STEPS)
		return 0;
	ix->used = q->tail;
	ix->served++;
	f->e = e;
	f->ix = NULL;
	return 1;
}

static int find_indexed(struct qv_line *q, uint64_t tag, uint64_t ignore, uint32_t src,
			struct qv_found *f)
{
	uint32_t active = q->active & QV_INDEXES;

	for (uint32_t rest = active; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];

		if (qv_index_is_class(ix, ignore, src)) {
			find_in_index(q, ix, tag, src, f);
			return 1;
		}
	}
	for (uint32_t rest = active; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];
		if (qv_index_is_wider(ix, ignore, src) && ix->debt < WIDER_DEBT &&
		    find_in_wider(q, ix, tag, ignore, src, f))
			return 1;
	}
	return 0;
}

struct scan {
	uint64_t tag, ignore;
	uint32_t src;
	uint64_t *best;
};

static void scan_one(void *ctx, uint64_t *e)
{
	struct scan *s = ctx;
	const struct qv_msg *msg = qv_msg_of(e);

	if (qv_accepts(s->tag, s->ignore, s->src, msg->tag, msg->src) &&
	    (!s->best || qv_is_older(e, s->best)))
		s->best = e;
}

static void find_in_all(struct qv_line *q, uint64_t tag, uint64_t ignore, uint32_t src,
			struct qv_found *f)
{
	struct scan s = {tag, ignore, src, NULL};

	qv_line_each(q, scan_one, &s);
	q->rejected += qv_line_len(q) - (s.best != NULL);
	q->log_debt += qv_line_len(q);
	f->e = s.best;
	f->ix = NULL;
}

static int log_is_on(struct qv_auto *a, struct qv_line *q)
{
	uint32_t n = qv_line_len(q);

	if (q->active & QV_LOG_ACTIVE)
		return 1;
	if (n > SHORT && q->log_debt < 2 * (uint64_t)n)
		return 0;
	q->log_debt = 0;
	return build_log(a, q) == QV_OK;
}

static void find_in_log(struct qv_line *q, uint64_t tag, uint64_t ignore, uint32_t src,
			struct qv_found *f)
{
	uint64_t seen = 0;

	f->e = qv_vlist_find_msg(&q->log, tag, ignore, src, &seen);
	f->ix = NULL;
	q->rejected += seen - (f->e != NULL);
	q->log_used = q->tail;
}

void qv_unexpected_find(struct qv_auto *a, struct qv_line *q, uint64_t tag, uint64_t ignore,
			uint32_t src, struct qv_found *f)
{
	int again = q->wanted_ignore == ignore && q->wanted_any == (src == QV_SRC_ANY);
	struct qv_index *ix = NULL;

	q->far++;
	if (find_indexed(q, tag, ignore, src, f))
		return;
	if (qv_order_is_on(a, q)) {
		f->e = qv_order_find(q, tag, ignore, src);
		f->ix = NULL;
		return;
	}
	if (again && qv_line_len(q) > SHORT)
		ix = build_index(a, q, ignore, src);
	q->wanted_ignore = ignore;
	q->wanted_any = src == QV_SRC_ANY;
	if (ix)
		find_in_index(q, ix, tag, src, f);
	else if (log_is_on(a, q))
		find_in_log(q, tag, ignore, src, f);
	else
		find_in_all(q, tag, ignore, src, f);
}

void qv_unexpected_remove(struct qv_line *q, const struct qv_found *f)
{
	for (uint32_t rest = q->active & QV_INDEXES; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];

		if (ix == f->ix)
			qv_index_pop(ix, QV_UNEXPECTED, f->link, f->e);
		else
			qv_index_remove(ix, QV_UNEXPECTED, 1, f->e);
	}
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_leave(f->e);
	if (q->active & QV_LOG_ACTIVE)
		qv_vlist_remove(&q->log, f->e);
}
