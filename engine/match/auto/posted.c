/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posted.c - posted receives in HASH: one index for each class (ignore mask, any source or not),
 * the overflow list for receives of further classes.
 *
 * Protocol bits that a program always ignores are part of the masks, so "exact" receives with them
 * are one class and cost one probe.
 */
#include "path.h"

struct qv_index *qv_posted_class(struct qv_queue *q, uint64_t ignore, uint32_t src)
{
	/* If there is a merged one, it is the first. */
	for (int c = 0; c < QV_N_CLASSES; c++)
		if (qv_posted_takes(&q->ix[c], ignore, src))
			return &q->ix[c];
	return NULL;
}

/* An index for a class that has none: one that no arrival looks at. */
static struct qv_index *claim_class(struct qv_queue *q, uint64_t ignore, uint32_t src)
{
	for (int c = 0; c < QV_N_CLASSES; c++) {
		struct qv_index *ix = &q->ix[c];

		if (q->active >> c & 1 || ix == q->merged)
			continue;
		qv_index_set_class(ix, ignore, src == QV_SRC_ANY);
		return ix;
	}
	return NULL;
}

/* Other indexes or the overflow list are about to be used beside q->sole: count from now on. */
static void leave_sole(struct qv_queue *q)
{
	if (!q->sole)
		return;
	q->sole->live = qv_queue_len(q);
	if (!q->sole->live) {
		qv_queue_set_active(q, 0);
		return;
	}
	q->sole = NULL;
	qv_queue_set_path(q);
}

static int join_overflow(struct qv_queue *q, uint64_t *e)
{
	if (qv_vlist_append(&q->overflow, e))
		return QV_ENOMEM;
	e[QV_RECV_LINKS + QV_NEXT] = QV_OVERFLOWN;
	leave_sole(q);
	if (!(q->active & QV_OVERFLOW_ACTIVE))
		qv_queue_set_active(q, q->active | QV_OVERFLOW_ACTIVE);
	return QV_OK;
}

int qv_posted_insert(struct qv_auto *a, struct qv_queue *q, uint64_t *e)
{
	const struct qv_recv *r = qv_recv_of(e);
	struct qv_index *ix = qv_posted_class(q, r->ignore, r->src);

	if (!ix) {
		leave_sole(q);
		ix = claim_class(q, r->ignore, r->src);
	}
	if (!ix || qv_index_reserve(ix, QV_POSTED, &a->base.mem, 1))
		return join_overflow(q, e);
	if (ix != q->sole) {
		leave_sole(q);
		ix->live++;
		if (!(q->active >> (ix - q->ix) & 1))
			qv_queue_set_active(q, q->active | 1u << (ix - q->ix));
	}
	qv_queue_insert(a, q, ix, QV_POSTED, e);
	return QV_OK;
}

/* The oldest receive in ix that fits. *link: the word that points to it, NULL if it is no head. */
static uint64_t *find_in_index(struct qv_queue *q, struct qv_index *ix, uint64_t tag, uint32_t src,
			       uint64_t **link)
{
	uint64_t *e = qv_index_find(ix, QV_POSTED, tag, src, link, &q->rejected);
	uint32_t steps = 0;

	if (!e || ix != q->merged)
		return e;
	for (; e && !recv_fits(e, tag, src); steps++) {
		e = qv_entry(e[QV_RECV_LINKS + QV_NEXT]);
		*link = NULL;
	}
	q->rejected += steps;
	q->policy.mismatches += steps;
	return e;
}

void qv_posted_find(struct qv_queue *q, uint64_t tag, uint32_t src, struct qv_found *f)
{
	uint64_t seen = 0, *e, *link;

	f->e = NULL;
	for (uint32_t rest = q->active & QV_INDEXES; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];

		e = find_in_index(q, ix, tag, src, &link);
		if (!e)
			continue;
		q->rejected += f->e != NULL;
		if (!f->e || qv_is_older(e, f->e))
			*f = (struct qv_found){e, link ? ix : NULL, link};
	}
	if (!(q->active & QV_OVERFLOW_ACTIVE))
		return;
	e = qv_vlist_find_recv(&q->overflow, tag, src, &seen);
	if (e && (!f->e || qv_is_older(e, f->e))) {
		f->e = e;
		f->ix = NULL;
	}
	q->rejected += seen - (e != NULL);
	q->policy.overflow_cost += seen;
}

void qv_posted_remove(struct qv_queue *q, const struct qv_found *f)
{
	const struct qv_recv *r = qv_recv_of(f->e);
	struct qv_index *ix = f->ix;

	if (!ix && f->e[QV_RECV_LINKS + QV_NEXT] == QV_OVERFLOWN) {
		qv_vlist_remove(&q->overflow, f->e);
		if (!q->overflow.count)
			qv_queue_set_active(q, q->active & ~QV_OVERFLOW_ACTIVE);
		return;
	}
	if (ix) {
		qv_index_pop(ix, QV_POSTED, f->link, f->e);
	} else {
		ix = qv_posted_class(q, r->ignore, r->src);
		qv_index_remove(ix, QV_POSTED, 1, f->e);
	}
	ix->live--;
}
