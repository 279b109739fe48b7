/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unexpected.c - unexpected messages in HASH: every message is in each index that is in use.
 *
 * A receive searches, in this order:
 *   the index of its own class;
 *   the index of a wider class, if few messages there have its key: all that the receive accepts
 *   are among them, in order;
 *   the list in order, if that pays, or few messages wait (policy_unexpected.c);
 *   an index built for it now, if its class has searched before and there is a place;
 *   all messages.
 */
#include "path.h"

void qv_unexpected_insert(struct qv_auto *a, struct qv_queue *q, uint64_t *e, int from)
{
	for (int i = from; i < QV_N_INDEXES; i++) {
		struct qv_index *ix = &q->ix[i];

		if (!(q->active >> i & 1))
			continue;
		ix->collisions += *qv_index_slot_of(ix, QV_UNEXPECTED, e) != 0;
		qv_queue_insert(a, q, ix, QV_UNEXPECTED, e);
	}
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_join(q, e);
}

/* Of many messages only the first index has a roomy table. The others have up to two messages to a
 * slot. */
int qv_unexpected_fit(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix)
{
	uint32_t n = qv_queue_len(q) + QV_TICK, before = (1u << (ix - q->ix)) - 1;

	if (n > QV_MANY && q->active & before)
		return qv_index_widen(ix, QV_UNEXPECTED, &a->base.mem, n / 2);
	return qv_index_reserve(ix, QV_UNEXPECTED, &a->base.mem, n);
}

static int prepare_index(struct qv_auto *a, struct qv_queue *q, int i, uint64_t ignore,
			 uint32_t src)
{
	struct qv_index *ix = &q->ix[i];

	qv_index_set_class(ix, ignore, src == QV_SRC_ANY);
	qv_unexpected_index_begins(q, ix);
	return qv_unexpected_fit(a, q, ix);
}

int qv_unexpected_fill(struct qv_auto *a, struct qv_queue *q, uint64_t ignore, uint32_t src)
{
	uint32_t n = qv_queue_len(q);

	if (prepare_index(a, q, 0, ignore, src))
		return QV_ENOMEM;
	qv_queue_set_active(q, 1);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *e = qv_queue_at(q, i);

		__builtin_prefetch(qv_queue_at(q, i + QV_BATCH < n ? i + QV_BATCH : i), 1);
		e[QV_SEQ] = q->head + i;
		qv_queue_insert(a, q, &q->ix[0], QV_UNEXPECTED, e);
	}
	return QV_OK;
}

/* A new index over the messages that are queued, or NULL. */
static struct qv_index *build_index(struct qv_auto *a, struct qv_queue *q, uint64_t ignore,
				    uint32_t src)
{
	uint32_t n = qv_queue_len(q);
	uint64_t **v;
	int i = 0;

	/* Several indexes of a deep queue: the ring is no use now, and will be made anew. */
	if (q->ring_mask > QV_RING_BIG)
		(void)qv_ring_resize(a, q, 0);
	while (i < QV_N_INDEXES && q->active >> i & 1)
		i++;
	if (i == QV_N_INDEXES || prepare_index(a, q, i, ignore, src))
		return NULL;
	if (i == QV_N_INDEXES - 1)
		qv_queue_set_active(q, q->active & ~QV_ORDER_ACTIVE);
	v = qv_queue_collect(a, q);
	if (!v)
		return NULL;
	for (uint32_t k = 0; k < n; k++)
		qv_queue_insert(a, q, &q->ix[i], QV_UNEXPECTED, v[k]);
	qv_queue_collect_done(a, q, v);
	qv_unexpected_did_not_serve(q, ignore, src);
	qv_queue_set_active(q, q->active | 1u << i);
	qv_queue_tables_changed(q);
	q->policy.scanned = 0;
	return &q->ix[i];
}

/* The list in order has its links where the last index has its own. That goes if others have the messages,
 * too, and these are few: whether it has gone. */
static int last_index_goes(struct qv_queue *q)
{
	uint32_t bit = 1u << (QV_N_INDEXES - 1);

	if (qv_queue_len(q) > QV_SHORT || !(q->active & QV_INDEXES & ~bit))
		return 0;
	qv_index_clear(&q->ix[QV_N_INDEXES - 1]);
	qv_queue_set_active(q, q->active & ~bit);
	return 1;
}

/* Whether the list in order is there, or could be made, and is worth walking. */
static int order_is_on(struct qv_auto *a, struct qv_queue *q)
{
	uint32_t n = qv_queue_len(q);
	uint64_t **v;

	if (!qv_order_is_worth_it(q))
		return 0;
	if (q->active >> (QV_N_INDEXES - 1) & 1 && !last_index_goes(q))
		return 0;
	if (q->active & QV_ORDER_ACTIVE)
		return 1;
	v = qv_queue_collect(a, q);
	if (!v)
		return 0;
	q->order[QV_YOUNGER] = q->order[QV_OLDER] = (uintptr_t)q->order;
	for (uint32_t i = 0; i < n; i++)
		qv_order_join(q, v[i]);
	qv_queue_collect_done(a, q, v);
	qv_queue_set_active(q, q->active | QV_ORDER_ACTIVE);
	return 1;
}

uint64_t *qv_order_find(struct qv_queue *q, uint64_t tag, uint64_t ignore, uint32_t src)
{
	q->policy.order_used = q->tail;
	for (uint64_t *at = qv_entry(q->order[QV_YOUNGER]); at != q->order;
	     at = qv_entry(at[QV_YOUNGER])) {
		if (msg_fits(at - QV_MSG_ORDER, tag, ignore, src))
			return at - QV_MSG_ORDER;
		q->rejected++;
	}
	return NULL;
}

static void find_in_index(struct qv_queue *q, struct qv_index *ix, uint64_t tag, uint32_t src,
			  struct qv_found *f)
{
	f->e = qv_index_find(ix, QV_UNEXPECTED, tag, src, &f->link, &q->rejected);
	f->ix = ix;
	ix->used = q->tail;
	ix->searches++;
}

/* Search in the index of a wider class. 0 if that was given up. */
static int find_in_wider(struct qv_queue *q, struct qv_index *ix, uint64_t tag, uint64_t ignore,
			 uint32_t src, struct qv_found *f)
{
	uint64_t *link, *e = qv_index_find(ix, QV_UNEXPECTED, tag, src, &link, &q->rejected);
	uint32_t steps = 0;

	for (; e && steps < QV_WIDER_STEPS && !msg_fits(e, tag, ignore, src); steps++)
		e = qv_entry(qv_links(ix, QV_UNEXPECTED, e)[QV_NEXT]);
	ix->steps += steps;
	q->rejected += steps;
	if (steps == QV_WIDER_STEPS)
		return 0;
	ix->used = q->tail;
	ix->searches++;
	f->e = e;
	f->ix = NULL;
	return 1;
}

static int find_indexed(struct qv_queue *q, uint64_t tag, uint64_t ignore, uint32_t src,
			struct qv_found *f)
{
	for (uint32_t i = 0; i < q->n_in_use; i++)
		if (qv_index_is_class(q->in_use[i], ignore, src)) {
			find_in_index(q, q->in_use[i], tag, src, f);
			return 1;
		}
	for (uint32_t i = 0; i < q->n_in_use; i++) {
		struct qv_index *ix = q->in_use[i];

		if (qv_index_covers(ix, ignore, src) && ix->steps < QV_WIDER_COST &&
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

static void find_in_all(struct qv_queue *q, uint64_t tag, uint64_t ignore, uint32_t src,
			struct qv_found *f)
{
	struct scan s = {tag, ignore, src, NULL};

	qv_queue_each(q, scan_one, &s);
	q->policy.scanned += qv_queue_len(q);
	q->rejected += qv_queue_len(q) - (s.best != NULL);
	f->e = s.best;
	f->ix = NULL;
}

void qv_unexpected_find(struct qv_auto *a, struct qv_queue *q, uint64_t tag, uint64_t ignore,
			uint32_t src, struct qv_found *f)
{
	struct qv_index *ix = NULL;

	if (find_indexed(q, tag, ignore, src, f))
		return;
	if (order_is_on(a, q)) {
		f->e = qv_order_find(q, tag, ignore, src);
		f->ix = NULL;
		return;
	}
	if (qv_unexpected_wants_index(q, ignore, src))
		ix = build_index(a, q, ignore, src);
	if (ix)
		find_in_index(q, ix, tag, src, f);
	else
		find_in_all(q, tag, ignore, src, f);
}

void qv_unexpected_remove(struct qv_queue *q, const struct qv_found *f)
{
	for (uint32_t i = 0; i < q->n_in_use; i++) {
		struct qv_index *ix = q->in_use[i];

		if (ix == f->ix)
			qv_index_pop(ix, QV_UNEXPECTED, f->link, f->e);
		else
			qv_index_remove(ix, QV_UNEXPECTED, 1, f->e);
	}
	if (q->active & QV_ORDER_ACTIVE)
		qv_order_leave(f->e);
}
