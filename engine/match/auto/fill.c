/* SPDX-License-Identifier: BSD-2-Clause */
/* fill.c - structure "auto": the posted queue goes from LIST to HASH: which indexes. */
#include "hash.h"

/* The receive at distance pos, numbered; that after a few more is fetched. */
QV_INLINE uint64_t *numbered(const struct qv_queue *q, uint32_t pos, uint32_t n)
{
	uint64_t *e = qv_queue_at(q, pos);

	__builtin_prefetch(qv_queue_at(q, pos + QV_BATCH < n ? pos + QV_BATCH : pos), 1);
	e[QV_SEQ] = q->head + pos;
	return e;
}

/* The classes of the queue that occur most, by the Misra-Gries count: each that more than one in
 * QV_N_CLASSES + 1 receives belongs to is among them. */
struct tally {
	uint64_t ignore;
	uint32_t src; /* any, or some source */
	uint32_t n;
};

static void tally_one(struct tally *t, const struct qv_recv *r)
{
	int room = -1;

	for (int k = QV_N_CLASSES - 1; k >= 0; k--) {
		if (!t[k].n) {
			room = k;
		} else if (t[k].ignore == r->ignore &&
			   (t[k].src == QV_SRC_ANY) == (r->src == QV_SRC_ANY)) {
			t[k].n++;
			return;
		}
	}
	if (room >= 0)
		t[room] = (struct tally){r->ignore, r->src, 1};
	for (int k = 0; k < QV_N_CLASSES && room < 0; k++)
		t[k].n--;
}

static int choose_classes(struct qv_auto *a, struct qv_queue *q)
{
	struct tally t[QV_N_CLASSES] = {{0}};
	uint32_t n = qv_queue_len(q);

	for (uint32_t i = 0; i < n; i++)
		tally_one(t, qv_recv_of(qv_queue_at(q, i)));
	for (int k = 0; k < QV_N_CLASSES; k++) {
		q->ix[k].live = 0;
		q->ix[k].strict = -1; /* the last merged one may have been any */
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

/* Each class into its own index. */
static int fill_classes(struct qv_auto *a, struct qv_queue *q)
{
	uint32_t n = qv_queue_len(q);
	int err = QV_OK;

	if (choose_classes(a, q))
		return QV_ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++) {
		uint64_t *e = numbered(q, i, n);
		const struct qv_recv *r = qv_recv_of(e);
		struct qv_index *ix = qv_posted_class(q, r->ignore, r->src);

		if (ix && ix->slots) {
			ix->live++;
			qv_queue_insert(a, q, ix, QV_POSTED, e);
			continue;
		}
		q->active |= QV_OVERFLOW_ACTIVE;
		e[QV_RECV_LINKS + QV_NEXT] = QV_OVERFLOWN;
		err = qv_vlist_append(&q->overflow, e);
	}
	for (int c = 0; c < QV_N_CLASSES; c++)
		q->active |= (uint32_t)(q->ix[c].live != 0) << c;
	return err;
}

/* Set the class that takes each receive: what all of them compare. */
static void set_merged_class(const struct qv_queue *q, struct qv_index *ix)
{
	uint32_t n = qv_queue_len(q);
	uint64_t ignore = 0;
	int anysrc = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct qv_recv *r = qv_recv_of(qv_queue_at(q, i));

		ignore |= r->ignore;
		anysrc |= r->src == QV_SRC_ANY;
	}
	qv_index_set_merged(ix, ignore, anysrc);
}

/* Whether these two accept different messages. */
static int differ(const struct qv_recv *r, const struct qv_recv *s)
{
	return ((r->tag ^ s->tag) | (r->ignore ^ s->ignore) | (r->src ^ s->src)) != 0;
}

/* e, just inserted, follows a receive that accepts other messages. */
static int follows_other(const uint64_t *e)
{
	return differ(qv_recv_of(e), qv_recv_of(qv_entry(e[QV_RECV_LINKS + QV_PEER])));
}

/*
 * All receives into ix, which is for one class (`others` is 0), or merged: then so many may follow
 * one that accepts other messages. 0 if there is no memory, a bucket is too long, or they do not
 * belong together. The queue is as before then.
 */
static int fill_index(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix, uint32_t others)
{
	uint32_t n = qv_queue_len(q), seen;
	int merged = !ix->strict;

	if (qv_index_reserve(ix, QV_POSTED, &a->base.mem, n + QV_TICK))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *e = numbered(q, i, n);
		const struct qv_recv *r = qv_recv_of(e);
		int fits = merged || qv_index_is_class(ix, r->ignore, r->src);

		seen = qv_index_insert_at(ix, QV_POSTED, qv_index_slot_of(ix, QV_POSTED, e), e);
		if (QV_UNLIKELY(seen))
			fits &= (seen <= QV_BUCKET_MAX || ix->keyed) &&
				!(merged && follows_other(e) && others-- == 0);
		if (QV_UNLIKELY(!fits)) {
			qv_index_clear(ix);
			return 0;
		}
	}
	ix->live = n;
	q->active = 1;
	return 1;
}

/* All receives into an index of their class. 0: as fill_index. */
static int fill_single(struct qv_auto *a, struct qv_queue *q)
{
	const struct qv_recv *oldest = qv_recv_of(qv_queue_at(q, 0));

	qv_index_set_class(&q->ix[0], oldest->ignore, oldest->src == QV_SRC_ANY);
	return fill_index(a, q, &q->ix[0], 0);
}

/* All receives into one index that compares what all of them compare: an arrival then looks at one
 * place whatever the classes. 0: as fill_index. */
static int fill_merged(struct qv_auto *a, struct qv_queue *q)
{
	uint32_t n = qv_queue_len(q);

	if (!qv_posted_may_merge(q))
		return 0;
	set_merged_class(q, &q->ix[0]);
	if (fill_index(a, q, &q->ix[0], n / 4)) {
		q->merged = &q->ix[0];
		return 1;
	}
	qv_posted_keep_apart(q);
	return 0;
}

int qv_posted_fill(struct qv_auto *a, struct qv_queue *q)
{
	int err = QV_OK;

	q->active = 0;
	q->merged = NULL;
	if (qv_queue_len(q) && (fill_single(a, q) || fill_merged(a, q))) {
		for (int c = 1; c < QV_N_CLASSES; c++)
			q->ix[c].live = 0;
	} else {
		err = fill_classes(a, q);
	}
	qv_queue_set_active(q, q->active);
	return err;
}
