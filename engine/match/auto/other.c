/* SPDX-License-Identifier: BSD-2-Clause */
/* other.c - structure "auto": a message arrives, and the short ways do not
 * tell what fits. */
#include "path.h"

static QV_COLD struct qv_recv *arrive_sticky(struct qv_auto *a, uint64_t *e)
{
	a->base.stats.matched++;
	return qv_recv_of(e);
}

static struct qv_recv *arrive_walk(struct qv_auto *a, uint64_t tag, uint32_t src);

/* Whatever the indexes. */
static QV_APART struct qv_recv *arrive_any(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	struct qv_found f;

	if (qv_unlikely(qv_posted_is_astray(q))) {
		qv_posted_split(a, q);
		if (q->mode == QV_AUTO_LIST) /* no memory for new indexes */
			return arrive_walk(a, tag, src);
	}
	qv_posted_find(q, tag, src, &f);
	if (!f.e)
		return arrive_missed(a);
	if (qv_recv_of(f.e)->flags & QV_RECV_STICKY)
		return arrive_sticky(a, f.e);
	qv_posted_remove(q, &f);
	qv_line_leave(q, f.e);
	return qv_recv_of(f.e);
}

/* e, which *link points to in ix, is the answer. */
QV_INLINE struct qv_recv *arrive_found(struct qv_auto *a, uint64_t *e, uint64_t *link,
				       struct qv_index *ix)
{
	struct qv_line *q = &a->posted;

	if (qv_unlikely(qv_recv_of(e)->flags & QV_RECV_STICKY))
		return arrive_sticky(a, e);
	qv_index_pop(ix, QV_POSTED, link, e);
	ix->live--; /* of no meaning if it is the only one */
	qv_line_leave(q, e);
	return qv_recv_of(e);
}

/* Several classes, none of them wide: the oldest of what each would give. */
static QV_APART struct qv_recv *arrive_contest(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	uint64_t *best = NULL, *best_link = NULL;
	struct qv_index *best_ix = NULL;

	for (uint32_t rest = q->active; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];
		uint64_t *link = qv_index_weak_slot(ix, tag, src), *e;

		e = qv_index_follow(ix, QV_POSTED, link, tag, src, &link, &q->rejected);
		if (!e || (best && qv_is_older(best, e)))
			continue;
		best = e;
		best_link = link;
		best_ix = ix;
	}
	return best ? arrive_found(a, best, best_link, best_ix) : arrive_missed(a);
}

/* Where several classes have something in the key's bucket, or not what fits. */
static QV_APART struct qv_recv *arrive_far(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	if (a->posted.active & QV_UNUSUAL || a->posted.wide)
		return arrive_any(a, tag, src);
	return arrive_contest(a, tag, src);
}

/* One class: a bucket of several keys, a key of several receives, a sticky one. */
static struct qv_recv *arrive_indexed(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	uint64_t *link, *e;

	e = qv_index_follow(q->only, QV_POSTED, only_slot(q, tag, src), tag, src, &link,
			    &q->rejected);
	return e ? arrive_found(a, e, link, q->only) : arrive_missed(a);
}

static struct qv_recv *arrive_walk(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	struct qv_line *q = &a->posted;
	uint32_t n = qv_line_len(q), pos = 0;
	struct qv_recv *r;

	if (qv_unlikely(qv_line_in_debt(q)) && qv_line_to_hash(a, q, 0, 0) == QV_OK)
		return arrive_any(a, tag, src);
	while (pos < n && !recv_fits(qv_line_at(q, pos), tag, src)) {
		if (qv_unlikely(++pos == QV_WALK_MAX) && n > QV_WALK_MAX &&
		    qv_line_to_hash(a, q, 0, 0) == QV_OK)
			return arrive_any(a, tag, src);
	}
	qv_line_walked(q, pos);
	if (pos == n)
		return arrive_missed(a);
	r = qv_recv_of(qv_line_at(q, pos));
	if (qv_unlikely(r->flags & QV_RECV_STICKY))
		return arrive_sticky(a, r->priv);
	qv_ring_remove(q, pos);
	return r;
}

struct qv_recv *qv_auto_arrive_other(struct qv_auto *a, uint64_t tag, uint32_t src)
{
	switch (a->posted.way) {
	case QV_WAY_LIST: return arrive_walk(a, tag, src);
	case QV_WAY_ONLY: return arrive_indexed(a, tag, src);
	default: return arrive_far(a, tag, src);
	}
}
