/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * posted.c - posted receives in HASH: one index for each class (ignore mask, any source or
 * not), the log of vector blocks for receives of too many different masks.
 *
 * Protocol bits that a program always ignores are learned without further ado: they are part of the
 * masks, so "exact" receives with them are one class and cost one probe.
 */
#include "path.h"

/* A class that was in use at so many ticks keeps its index against as many other masks. */
#define CREDIT_MAX  64
#define CREDIT_TICK 8
/* Ticks in which a class had no receives, until its index is not looked at any more. */
#define CALM_TICKS 4
/* Choosing classes anew costs as much for each entry as comparing so many of them by vector. */
#define LOG_PRICE     256
#define LOG_LIMIT_MAX (UINT64_C(1) << 32)
#define LOG_MANY      64
#define APART_MAX     1024
/* So many contested arrivals in a tick are no longer an exception. */
#define CONTESTED_MANY 20

struct qv_index *qv_posted_class(struct qv_line *q, uint64_t ignore, uint32_t src)
{
	/* If there is a wide one, it is the first. */
	for (int c = 0; c < QV_N_CLASSES; c++)
		if (qv_posted_takes(&q->ix[c], ignore, src))
			return &q->ix[c];
	return NULL;
}

/* An index for a class that has none: of the empty ones that which was of least use. */
static struct qv_index *claim_class(struct qv_line *q, uint64_t ignore, uint32_t src)
{
	int weakest = -1;

	for (int c = 0; c < QV_N_CLASSES; c++)
		if (!q->ix[c].live && &q->ix[c] != q->wide &&
		    (weakest < 0 || q->credit[c] < q->credit[weakest]))
			weakest = c;
	if (weakest < 0)
		return NULL;
	if (q->credit[weakest]) {
		q->credit[weakest]--;
		return NULL;
	}
	qv_index_set_class(&q->ix[weakest], ignore, src == QV_SRC_ANY);
	qv_line_set_way(q); /* it may have had most receives, and be looked at without any */
	return &q->ix[weakest];
}

/* Other indexes or the log are about to be used beside q->only: count from now on. */
static void leave_only(struct qv_line *q)
{
	if (!q->only)
		return;
	q->only->live = qv_line_len(q);
	if (!q->only->live) {
		qv_line_set_active(q, 0);
		return;
	}
	q->only = NULL;
	qv_line_set_way(q);
}

static int join_log(struct qv_line *q, uint64_t *e)
{
	if (qv_vlist_append(&q->log, e))
		return QV_ENOMEM;
	e[QV_RECV_LINKS + QV_NEXT] = QV_IN_LOG;
	leave_only(q);
	if (!(q->active & QV_LOG_ACTIVE))
		qv_line_set_active(q, q->active | QV_LOG_ACTIVE);
	return QV_OK;
}

static void join(struct qv_auto *a, struct qv_line *q, struct qv_index *ix, uint64_t *e)
{
	if (ix != q->only) {
		leave_only(q);
		ix->live++;
		if (!(q->active >> (ix - q->ix) & 1))
			qv_line_set_active(q, q->active | 1u << (ix - q->ix));
	}
	qv_line_insert(a, q, ix, QV_POSTED, e);
}

int qv_posted_insert(struct qv_auto *a, struct qv_line *q, uint64_t *e)
{
	const struct qv_recv *r = qv_recv_of(e);
	struct qv_index *ix = qv_posted_class(q, r->ignore, r->src);

	if (!ix) {
		leave_only(q);
		ix = claim_class(q, r->ignore, r->src);
	}
	if (!ix || qv_index_reserve(ix, QV_POSTED, &a->base.mem, 1))
		return join_log(q, e);
	join(a, q, ix, e);
	return QV_OK;
}

void qv_posted_keep_apart(struct qv_line *q)
{
	q->apart_next = q->apart_next < APART_MAX / 2 ? 2 * q->apart_next + 1 : APART_MAX;
	q->apart = q->apart_next;
}

void qv_posted_split(struct qv_auto *a, struct qv_line *q)
{
	qv_posted_keep_apart(q);
	q->strayed = 0;
	if (qv_line_to_list(a, q) == QV_OK)
		(void)qv_line_to_hash(a, q, 0, 0);
}

/* The oldest receive in ix that fits. *link: the word that points to it, NULL if it is no head. */
static uint64_t *find_in_index(struct qv_line *q, struct qv_index *ix, uint64_t tag, uint32_t src,
			       uint64_t **link)
{
	uint64_t *e = qv_index_find(ix, QV_POSTED, tag, src, link, &q->rejected);
	uint32_t steps = 0;

	if (!e || ix != q->wide)
		return e;
	for (; e && !recv_fits(e, tag, src); steps++) {
		e = qv_entry(e[QV_RECV_LINKS + QV_NEXT]);
		*link = NULL;
	}
	q->rejected += steps;
	q->strayed += steps;
	return e;
}

void qv_posted_find(struct qv_line *q, uint64_t tag, uint32_t src, struct qv_found *f)
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
	if (!(q->active & QV_LOG_ACTIVE))
		return;
	e = qv_vlist_find_recv(&q->log, tag, src, &seen);
	if (e && (!f->e || qv_is_older(e, f->e))) {
		f->e = e;
		f->ix = NULL;
	}
	q->rejected += seen - (e != NULL);
	q->log_debt += seen;
}

void qv_posted_remove(struct qv_line *q, const struct qv_found *f)
{
	const struct qv_recv *r = qv_recv_of(f->e);
	struct qv_index *ix = f->ix;

	if (!ix && f->e[QV_RECV_LINKS + QV_NEXT] == QV_IN_LOG) {
		qv_vlist_remove(&q->log, f->e);
		if (!q->log.count)
			qv_line_set_active(q, q->active & ~QV_LOG_ACTIVE);
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

void qv_posted_upkeep(struct qv_auto *a, struct qv_line *q)
{
	uint64_t limit = q->log_limit * LOG_PRICE * qv_line_len(q);

	if (q->strayed > QV_STRAYED_MANY) {
		qv_posted_split(a, q);
		return;
	}
	q->strayed /= 2;
	q->dense = q->contested > CONTESTED_MANY;
	q->contested = 0;
	for (int c = 0; c < QV_N_CLASSES; c++) {
		struct qv_index *ix = &q->ix[c];
		uint32_t live = ix == q->only ? qv_line_len(q) : ix->live;

		if (!(q->active >> c & 1))
			continue;
		/* Not at once: a class of few receives is empty now and then. */
		ix->calm = live ? 0 : ix->calm + 1;
		if (ix->calm == CALM_TICKS && ix != q->only) {
			ix->calm = 0;
			qv_line_set_active(q, q->active & ~(1u << c));
			continue;
		}
		q->credit[c] = q->credit[c] < CREDIT_MAX - CREDIT_TICK ? q->credit[c] + CREDIT_TICK
								       : CREDIT_MAX;
		qv_line_fit_index(a, q, ix,
				  q->n_in_use > 1 ? qv_posted_room(live) : live + QV_TICK);
	}
	if (q->log.count < LOG_MANY || q->log_debt < limit)
		return;
	/* Indexing anew chooses the classes that are many now. If that does not
	 * help, wait longer. */
	if (q->log_limit < LOG_LIMIT_MAX)
		q->log_limit *= 2;
	if (qv_line_to_list(a, q) == QV_OK)
		(void)qv_line_to_hash(a, q, 0, 0);
}
