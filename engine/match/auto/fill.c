/* SPDX-License-Identifier: BSD-2-Clause */
/* fill.c - structure "auto": the posted queue goes from LIST to HASH: which indexes. */
#include "hash.h"

/* A mixture of classes soon shows. */
#define LOG_SAMPLE 6
#define SAMPLE     (1u << LOG_SAMPLE)

/* The classes of the queue that occur most, by the Misra-Gries count: each that more than one in
 * QV_N_CLASSES + 1 receives belongs to is among them. */
struct tally {
	uint64_t ignore;
	uint32_t src; /* any, or some source */
	uint32_t n;
};

static int is_tally_of(const struct tally *t, const struct qv_recv *r)
{
	return t->ignore == r->ignore && (t->src == QV_SRC_ANY) == (r->src == QV_SRC_ANY) && t->n;
}

/* Returns the tally that r was counted in, NULL if it only took away from the others. */
static struct tally *tally_one(struct tally *t, const struct qv_recv *r)
{
	int room = -1;

	for (int k = QV_N_CLASSES - 1; k >= 0; k--) {
		if (!t[k].n) {
			room = k;
		} else if (is_tally_of(&t[k], r)) {
			t[k].n++;
			return &t[k];
		}
	}
	if (room >= 0) {
		t[room] = (struct tally){r->ignore, r->src, 1};
		return &t[room];
	}
	for (int k = 0; k < QV_N_CLASSES; k++)
		t[k].n--;
	return NULL;
}

static void tally_all(const struct qv_line *q, struct tally *t)
{
	uint32_t n = qv_line_len(q);
	struct tally *last = NULL;

	for (uint32_t i = 0; i < n; i++) {
		const struct qv_recv *r = qv_recv_of(qv_line_at(q, i));

		__builtin_prefetch(qv_line_at(q, i + QV_BATCH < n ? i + QV_BATCH : i));
		if (qv_likely(last && is_tally_of(last, r)))
			last->n++;
		else
			last = tally_one(t, r);
	}
}

static int choose_classes(struct qv_auto *a, struct qv_line *q)
{
	struct tally t[QV_N_CLASSES] = {{0}};

	tally_all(q, t);
	for (int k = 0; k < QV_N_CLASSES; k++) {
		q->ix[k].live = 0;
		q->ix[k].strict = -1; /* the last wide one may have been any */
		if (!t[k].n)
			continue;
		qv_index_set_class(&q->ix[k], t[k].ignore, t[k].src == QV_SRC_ANY);
		/* Arrivals look anywhere in it: a table left by all receives takes up the cache. */
		if (qv_index_slots(&q->ix[k]) > 8 * (uint64_t)(t[k].n + QV_TICK))
			qv_index_free(&q->ix[k], &a->base.mem);
		if (qv_index_reserve(&q->ix[k], QV_POSTED, &a->base.mem, qv_posted_room(t[k].n)))
			return QV_ENOMEM;
	}
	return QV_OK;
}

/* As join_log, but the queue is not in HASH yet. */
static int fill_log(struct qv_line *q, uint64_t *e)
{
	q->active |= QV_LOG_ACTIVE;
	e[QV_RECV_LINKS + QV_NEXT] = QV_IN_LOG;
	return qv_vlist_append(&q->log, e);
}

/* Which index a receive goes to; NULL: its class has none. */
QV_INLINE struct qv_index *fill_class(struct qv_line *q, struct qv_index *last,
				      const struct qv_recv *r)
{
	if (qv_likely(last && qv_index_is_class(last, r->ignore, r->src)))
		return last;
	last = qv_posted_class(q, r->ignore, r->src);
	return last && last->slots ? last : NULL;
}

/* The table may be in no near cache: fetch the slots of a batch first. */
static int fill_batch(struct qv_auto *a, struct qv_line *q, uint32_t first, uint32_t n)
{
	struct qv_index *ix[QV_BATCH], *last = NULL;
	uint64_t *slot[QV_BATCH];
	int err = QV_OK;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t *e = qv_line_at(q, first + i);
		const struct qv_recv *r = qv_recv_of(e);

		e[QV_SEQ] = q->head + first + i;
		ix[i] = last = fill_class(q, last, r);
		if (qv_unlikely(!last))
			continue;
		last->live++;
		slot[i] = qv_index_slot(last, r->tag, r->src);
		__builtin_prefetch(slot[i], 1);
	}
	for (uint32_t i = 0; i < n && !err; i++) {
		uint64_t *e = qv_line_at(q, first + i);

		if (qv_unlikely(!ix[i]))
			err = fill_log(q, e);
		else if (ix[i]->strong || *slot[i]) /* strong: it may have got another table */
			qv_line_insert(a, q, ix[i], QV_POSTED, e);
		else
			qv_index_fill_slot(ix[i], QV_POSTED, slot[i], e);
	}
	return err;
}

/* Each class into its own index. */
static int fill_classes(struct qv_auto *a, struct qv_line *q)
{
	uint32_t n = qv_line_len(q);
	int err = QV_OK;

	if (choose_classes(a, q))
		return QV_ENOMEM;
	for (uint32_t i = 0; i < n && !err; i += QV_BATCH)
		err = fill_batch(a, q, i, n - i < QV_BATCH ? n - i : QV_BATCH);
	for (int c = 0; c < QV_N_CLASSES; c++)
		q->active |= (uint32_t)(q->ix[c].live != 0) << c;
	return err;
}

/* What the n oldest receives all compare: the class that takes each of them. */
static void set_wide_class(const struct qv_line *q, struct qv_index *ix, uint32_t n)
{
	uint64_t ignore = 0;
	int anysrc = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct qv_recv *r = qv_recv_of(qv_line_at(q, i));

		ignore |= r->ignore;
		anysrc |= r->src == QV_SRC_ANY;
	}
	qv_index_set_wide(ix, ignore, anysrc);
}

/* Whether these two accept different messages. */
QV_INLINE int is_other(const struct qv_recv *r, const struct qv_recv *s)
{
	return ((r->tag ^ s->tag) | (r->ignore ^ s->ignore) | (r->src ^ s->src)) != 0;
}

/* e, just inserted, follows a receive that accepts other messages. */
static int is_stranger(const uint64_t *e)
{
	return is_other(qv_recv_of(e), qv_recv_of(qv_entry(e[QV_RECV_LINKS + QV_PEER])));
}

/* Into a bucket of ix that is not empty. 0: this should not be. wide: how many strangers may be. */
static int fill_beside(struct qv_index *ix, uint64_t *slot, uint64_t *e, uint32_t *wide)
{
	uint32_t seen = qv_index_insert_at(ix, QV_POSTED, slot, e);

	if (qv_unlikely(seen > QV_BUCKET_MAX) && (wide || !ix->strong))
		return 0; /* the longer way hardens it */
	return !wide || !is_stranger(e) || (*wide)-- != 0;
}

/*
 * All receives into ix, in one pass over the queue. 0 if there is no memory, or a bucket is too
 * long, or they do not belong together: not of the class, or in a wide index too many different
 * ones with one key. The queue is as before then.
 */
QV_INLINE int fill_index(struct qv_auto *a, struct qv_line *q, struct qv_index *ix, int wide)
{
	uint32_t n = qv_line_len(q), crowd = n / 4;
	struct qv_batch b;

	if (qv_index_reserve(ix, QV_POSTED, &a->base.mem, n + QV_TICK))
		return 0;
	for (uint64_t at = q->head; at != q->tail; at += b.n) {
		int fits = qv_batch_begin(&b, q, ix, QV_POSTED, at) == 0 || wide;

		for (uint32_t i = 0; i < b.n && fits; i++) {
			if (qv_likely(!*b.slot[i]))
				qv_index_fill_slot(ix, QV_POSTED, b.slot[i], b.e[i]);
			else
				fits = fill_beside(ix, b.slot[i], b.e[i], wide ? &crowd : NULL);
		}
		if (qv_unlikely(!fits)) {
			qv_index_clear(ix);
			return 0;
		}
	}
	ix->live = n;
	q->active = 1;
	return 1;
}

/*
 * Whether it is worth a try to have all receives in one wide index: among the oldest of them, few
 * share a key with others. The trial itself fails only after many insertions.
 */
static int may_be_wide(const struct qv_line *q)
{
	const struct qv_recv *seen[2 * SAMPLE] = {NULL};
	uint32_t n = qv_line_len(q), strangers = 0;
	struct qv_index wide = {.shift = 64 - LOG_SAMPLE - 1};

	n = n < SAMPLE ? n : SAMPLE;
	set_wide_class(q, &wide, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct qv_recv *r = qv_recv_of(qv_line_at(q, i)), **at;

		at = &seen[qv_index_weak_place(&wide, r->tag, r->src)];
		if (*at)
			strangers += qv_index_same(&wide, QV_POSTED, (*at)->priv, r->tag, r->src) &&
				     is_other(*at, r);
		*at = r;
	}
	return strangers <= n / 2;
}

/* All receives into an index of their class. 0: as fill_index. */
static int fill_only(struct qv_auto *a, struct qv_line *q)
{
	struct qv_recv *oldest = qv_recv_of(qv_line_at(q, 0));
	struct qv_index *ix = &q->ix[0];
	uint32_t n = qv_line_len(q);

	qv_index_set_class(ix, oldest->ignore, oldest->src == QV_SRC_ANY);
	for (uint32_t i = 0; i < n && i < SAMPLE; i++) { /* a mixture soon shows */
		const struct qv_recv *r = qv_recv_of(qv_line_at(q, i));

		if (!qv_index_is_class(ix, r->ignore, r->src))
			return 0;
	}
	return fill_index(a, q, ix, 0);
}

/* All receives into one index that compares what all of them compare: an arrival then looks at one
 * place whatever the classes. 0: as fill_index. */
static int fill_wide(struct qv_auto *a, struct qv_line *q)
{
	struct qv_index *ix = &q->ix[0];

	set_wide_class(q, ix, qv_line_len(q));
	if (!fill_index(a, q, ix, 1))
		return 0;
	q->wide = ix;
	return 1;
}

static int try_wide(struct qv_auto *a, struct qv_line *q)
{
	if (q->apart) {
		q->apart--;
		return 0;
	}
	if (may_be_wide(q) && fill_wide(a, q))
		return 1;
	qv_posted_keep_apart(q);
	return 0;
}

int qv_posted_fill(struct qv_auto *a, struct qv_line *q)
{
	uint32_t n = qv_line_len(q);
	int err = QV_OK;

	q->active = 0;
	q->wide = NULL;
	q->strayed = 0;
	if (n && (fill_only(a, q) || try_wide(a, q))) {
		for (int c = 1; c < QV_N_CLASSES; c++)
			q->ix[c].live = 0;
	} else {
		err = fill_classes(a, q);
	}
	qv_line_set_active(q, q->active);
	q->log_debt = 0;
	return err;
}
