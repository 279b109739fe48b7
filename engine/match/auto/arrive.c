/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arrive.c - structure "auto": a message arrives, and searches the posted queue.
 *
 * qv_auto_search is the one dispatch, for qv_match_arrive and qv_match_deliver. Each path is a
 * function apart, which saves only the registers that it needs; what it cannot tell search_any can.
 */
#include "path.h"

int qv_auto_last(struct qv_queue *q)
{
	qv_queue_emptied(q);
	return QV_OK;
}

/* No receive takes the message: queue it, or only say so. */
QV_INLINE int missed(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv)
{
	if (msg)
		return qv_auto_deliver_append(a, msg, recv);
	a->base.stats.arrived++;
	*recv = NULL;
	return QV_OK;
}

/* The place of the oldest receive that fits, or the lesser of `most` and the length. */
QV_INLINE uint32_t walk(const struct qv_queue *q, uint64_t tag, uint32_t src, uint32_t most)
{
	uint32_t n = qv_queue_len(q), pos = 0;

	n = n < most ? n : most;
	while (pos < n && !recv_fits(qv_queue_at(q, pos), tag, src))
		pos++;
	return pos;
}

/* Whether it is time to index the list: the answer may be anywhere. */
static int list_is_over(const struct qv_queue *q, uint64_t tag, uint32_t src)
{
	return qv_queue_is_costly(q, 0) ||
	       (qv_queue_len(q) > QV_LONG && walk(q, tag, src, QV_WALK_MAX) == QV_WALK_MAX);
}

/* Find the receive and remove it, whatever the mode; a persistent one stays. */
static struct qv_recv *find_any(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_queue *q = &a->posted;
	struct qv_found f = {.e = NULL};
	uint32_t pos = 0;

	if (q->mode == QV_AUTO_HASH && QV_UNLIKELY(qv_posted_must_split(q)))
		qv_posted_split(a, q); /* a list, if there is no memory for new indexes */
	if (q->mode == QV_AUTO_LIST && list_is_over(q, tag, src))
		(void)qv_queue_to_hash(a, q, 0, 0);
	if (q->mode == QV_AUTO_HASH) {
		qv_posted_find(q, tag, src, &f);
	} else {
		pos = walk(q, tag, src, UINT32_MAX);
		qv_queue_walked(q, pos);
		f.e = pos < qv_queue_len(q) ? qv_queue_at(q, pos) : NULL;
	}
	if (!f.e)
		return NULL;
	if (qv_recv_of(f.e)->flags & QV_RECV_STICKY) {
		a->base.stats.matched++;
	} else if (q->mode == QV_AUTO_LIST) {
		qv_ring_remove(q, pos);
	} else {
		qv_posted_remove(q, &f);
		qv_queue_leave(q);
	}
	return qv_recv_of(f.e);
}

static QV_NOINLINE int search_any(struct qv_auto *a, uint64_t tag, uint32_t src, struct qv_msg *msg,
				  struct qv_recv **recv)
{
	struct qv_recv *r = find_any(a, tag, src);

	if (!r)
		return missed(a, msg, recv);
	*recv = r;
	return QV_OK;
}

/* What a path ends with. */
QV_INLINE int finish(struct qv_auto *a, uint64_t tag, uint32_t src, struct qv_msg *msg,
		     struct qv_recv **recv, enum qv_outcome outcome)
{
	switch (outcome) {
	case QV_HIT: return QV_OK;
	case QV_LAST: return qv_auto_last(&a->posted);
	case QV_MISS: return missed(a, msg, recv);
	default: return search_any(a, tag, src, msg, recv);
	}
}

/* PATH_LIST: a walk. */
QV_INLINE enum qv_outcome in_list(struct qv_queue *q, uint64_t tag, uint32_t src,
				  struct qv_recv **recv)
{
	uint32_t n = qv_queue_len(q), pos;
	struct qv_recv *r;

	if (QV_UNLIKELY(qv_queue_is_costly(q, 0)))
		return QV_FAR;
	pos = walk(q, tag, src, n > QV_LONG ? QV_WALK_MAX : n);
	if (pos == n) {
		qv_queue_walked(q, pos);
		return QV_MISS;
	}
	if (QV_UNLIKELY(pos == QV_WALK_MAX && n > QV_LONG))
		return QV_FAR;
	r = qv_recv_of(qv_queue_at(q, pos));
	if (QV_UNLIKELY(r->flags & QV_RECV_STICKY))
		return QV_FAR;
	qv_queue_walked(q, pos);
	list_remove(q, pos);
	*recv = r;
	return QV_HIT;
}

/* The receive at e, the head that *link points to in ix, is the answer. */
QV_INLINE enum qv_outcome remove_head(struct qv_queue *q, struct qv_index *ix, uint64_t *link,
				      uint64_t *e, struct qv_recv **recv)
{
	qv_index_pop(ix, QV_POSTED, link, e);
	ix->live--; /* of no meaning in q->sole */
	*recv = qv_recv_of(e);
	return left(q);
}

/* PATH_ONE: any source, or receives of several classes. */
QV_INLINE enum qv_outcome in_one(struct qv_queue *q, uint64_t tag, uint32_t src,
				 struct qv_recv **recv)
{
	struct qv_index *ix = q->sole;
	uint64_t *link = qv_index_quick_slot(ix, tag, src), *e;

	for (; (e = qv_entry(*link)); link = &e[QV_RECV_LINKS + QV_BUCKET]) {
		if (QV_LIKELY(recv_takes(e, tag, src)))
			return remove_head(q, ix, link, e, recv);
		if (q->merged || qv_index_same(ix, QV_POSTED, e, tag, src))
			return QV_FAR;
		q->rejected++;
	}
	return QV_MISS;
}

/* PATH_DOMINANT: mostly a message is for these, and the others have nothing in the bucket. */
QV_INLINE enum qv_outcome in_dominant(struct qv_queue *q, uint64_t tag, uint32_t src,
				      struct qv_recv **recv)
{
	uint64_t *slot = table_slot(q, tag, src), *e = qv_entry(*slot);
	uint64_t others = *qv_index_quick_slot(q->in_use[1], tag, src);

	for (uint32_t i = 2; i < q->n_in_use; i++)
		others |= *qv_index_quick_slot(q->in_use[i], tag, src);
	if (QV_UNLIKELY(others || !e || !table_same(q, QV_POSTED, e, tag, src)))
		return others || e ? QV_FAR : QV_MISS;
	if (QV_UNLIKELY(qv_recv_of(e)->flags & QV_RECV_STICKY))
		return QV_FAR;
	return remove_head(q, q->in_use[0], slot, e, recv);
}

/* PATH_MANY, n classes: mostly no more than one has anything in the key's bucket. No branch asks
 * which. */
QV_INLINE enum qv_outcome in_many(struct qv_queue *q, uint64_t tag, uint32_t src,
				  struct qv_recv **recv, uint32_t n)
{
	uintptr_t word = 0, link = 0, owner = 0;
	uint32_t buckets = 0;

	if (QV_UNLIKELY(q->active & QV_UNUSUAL))
		return QV_FAR;
#pragma GCC unroll 2
	for (uint32_t i = 0; i < n; i++) {
		struct qv_index *ix = q->in_use[i];
		uint64_t keep = (uint64_t)(int32_t)ix->src_keep;
		uint64_t hash = (tag & ix->keep) * QV_MUL_TAG + (src * QV_MUL_SRC & keep);
		uint64_t *slot = ix->slots + (hash >> ix->shift);
		uintptr_t used = 0 - (uintptr_t)(*slot != 0);

		word |= *slot;
		link |= (uintptr_t)slot & used;
		owner |= (uintptr_t)ix & used;
		buckets -= (uint32_t)used;
	}
	if (!buckets)
		return QV_MISS;
	if (buckets > 1 || !recv_takes(qv_entry(word), tag, src))
		return QV_FAR;
	return remove_head(q, (struct qv_index *)owner, qv_entry(link), qv_entry(word), recv);
}

static QV_NOINLINE int search_list(struct qv_auto *a, uint64_t tag, uint32_t src,
				   struct qv_msg *msg, struct qv_recv **recv)
{
	return finish(a, tag, src, msg, recv, in_list(&a->posted, tag, src, recv));
}

static QV_NOINLINE int search_one(struct qv_auto *a, uint64_t tag, uint32_t src, struct qv_msg *msg,
				  struct qv_recv **recv)
{
	return finish(a, tag, src, msg, recv, in_one(&a->posted, tag, src, recv));
}

static QV_NOINLINE int search_dominant(struct qv_auto *a, uint64_t tag, uint32_t src,
				       struct qv_msg *msg, struct qv_recv **recv)
{
	return finish(a, tag, src, msg, recv, in_dominant(&a->posted, tag, src, recv));
}

static QV_NOINLINE int search_many(struct qv_auto *a, uint64_t tag, uint32_t src,
				   struct qv_msg *msg, struct qv_recv **recv)
{
	struct qv_queue *q = &a->posted;

	return finish(a, tag, src, msg, recv, in_many(q, tag, src, recv, q->n_in_use));
}

static QV_NOINLINE int search_two(struct qv_auto *a, uint64_t tag, uint32_t src, struct qv_msg *msg,
				  struct qv_recv **recv)
{
	return finish(a, tag, src, msg, recv, in_many(&a->posted, tag, src, recv, 2));
}

/* PATH_NAMED: a bucket of several keys, a key of several receives, a persistent one. */
int qv_auto_search_bucket(struct qv_auto *a, uint64_t tag, uint32_t src, struct qv_msg *msg,
			  struct qv_recv **recv, uint64_t *link)
{
	struct qv_queue *q = &a->posted;
	uint64_t *e = qv_entry(*link);

	for (; !table_same(q, QV_POSTED, e, tag, src); e = qv_entry(*link)) {
		q->rejected++;
		link = &e[QV_RECV_LINKS + QV_BUCKET];
		if (!*link)
			return missed(a, msg, recv);
	}
	if (QV_UNLIKELY(qv_recv_of(e)->flags & QV_RECV_STICKY))
		return search_any(a, tag, src, msg, recv);
	qv_index_pop(q->sole, QV_POSTED, link, e);
	*recv = qv_recv_of(e);
	return QV_UNLIKELY(++q->head == q->tail) ? qv_auto_last(q) : QV_OK;
}

int qv_auto_search(struct qv_auto *a, uint64_t tag, uint32_t src, struct qv_msg *msg,
		   struct qv_recv **recv)
{
	switch (a->posted.path) {
	case QV_PATH_LIST: return search_list(a, tag, src, msg, recv);
	case QV_PATH_ONE: return search_one(a, tag, src, msg, recv);
	case QV_PATH_DOMINANT: return search_dominant(a, tag, src, msg, recv);
	default: break;
	}
	if (a->posted.n_in_use == 2)
		return search_two(a, tag, src, msg, recv);
	return search_many(a, tag, src, msg, recv);
}
