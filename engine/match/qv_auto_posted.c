/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_auto_posted.c - posted receives in HASH: one index for each class (ignore mask, any source or
 * not), the log of vector blocks for receives of too many different masks.
 *
 * Protocol bits that a program always ignores are learned without further ado: they are part of the
 * masks, so "exact" receives with them are one class and cost one probe.
 */
#include "match/qv_auto.h"

/* A class that was in use at so many ticks keeps its index against as many other masks. */
#define CREDIT_MAX  64
#define CREDIT_TICK 8
/* Choosing classes anew costs as much for each entry as comparing so many of them by vector. */
#define LOG_PRICE     256
#define LOG_LIMIT_MAX (UINT64_C(1) << 32)
#define LOG_MANY      64
#define SAMPLE        64

static struct qv_index *find_class(struct qv_line *q, uint64_t ignore, uint32_t src)
{
	for (int c = 0; c < QV_N_CLASSES; c++)
		if (qv_index_is_class(&q->ix[c], ignore, src))
			return &q->ix[c];
	return NULL;
}

/* An index for a class that has none: of the empty ones that which was of least use. */
static struct qv_index *claim_class(struct qv_line *q, uint64_t ignore, uint32_t src)
{
	int weakest = -1;

	for (int c = 0; c < QV_N_CLASSES; c++)
		if (!q->ix[c].live && (weakest < 0 || q->credit[c] < q->credit[weakest]))
			weakest = c;
	if (weakest < 0)
		return NULL;
	if (q->credit[weakest]) {
		q->credit[weakest]--;
		return NULL;
	}
	qv_index_set_class(&q->ix[weakest], ignore, src == QV_SRC_ANY);
	return &q->ix[weakest];
}

/* Other indexes or the log are about to be used beside q->only: count from now on. */
static void leave_only(struct qv_line *q)
{
	if (!q->only)
		return;
	q->only->live = qv_line_len(q);
	q->active = q->only->live ? q->active : 0;
	q->only = NULL;
	qv_line_set_way(q);
}

static int join_log(struct qv_line *q, uint64_t *e)
{
	if (qv_vlist_append(&q->log, e))
		return QV_ENOMEM;
	e[QV_RECV_LINKS + QV_NEXT] = QV_IN_LOG;
	leave_only(q);
	q->active |= QV_LOG_ACTIVE;
	return QV_OK;
}

static void join(struct qv_auto *a, struct qv_line *q, struct qv_index *ix, uint64_t *e)
{
	if (ix != q->only) {
		leave_only(q);
		if (ix->live++ == 0)
			qv_line_set_active(q, q->active | 1u << (ix - q->ix));
	}
	qv_line_insert(a, q, ix, QV_POSTED, e);
}

int qv_posted_insert(struct qv_auto *a, struct qv_line *q, uint64_t *e)
{
	const struct qv_recv *r = qv_recv_of(e);
	struct qv_index *ix = find_class(q, r->ignore, r->src);

	if (!ix) {
		leave_only(q);
		ix = claim_class(q, r->ignore, r->src);
	}
	if (!ix || qv_index_reserve(ix, QV_POSTED, &a->base.mem, 1))
		return join_log(q, e);
	join(a, q, ix, e);
	return QV_OK;
}

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
		if (!t[k].n)
			continue;
		qv_index_set_class(&q->ix[k], t[k].ignore, t[k].src == QV_SRC_ANY);
		if (qv_index_reserve(&q->ix[k], QV_POSTED, &a->base.mem, t[k].n + QV_TICK))
			return QV_ENOMEM;
	}
	return QV_OK;
}

/* As join and join_log, but the queue is not in HASH yet. */
static int fill_one(struct qv_auto *a, struct qv_line *q, struct qv_index *ix, uint64_t *e)
{
	if (!ix) {
		q->active |= QV_LOG_ACTIVE;
		e[QV_RECV_LINKS + QV_NEXT] = QV_IN_LOG;
		return qv_vlist_append(&q->log, e);
	}
	q->active |= 1u << (ix - q->ix);
	ix->live++;
	qv_line_insert(a, q, ix, QV_POSTED, e);
	return QV_OK;
}

/* The table may be in no near cache: fetch the slots of a batch first. */
static int fill_batch(struct qv_auto *a, struct qv_line *q, uint32_t first, uint32_t n)
{
	struct qv_index *ix[QV_BATCH];
	int err = QV_OK;

	for (uint32_t i = 0; i < n; i++) {
		const struct qv_recv *r = qv_recv_of(qv_line_at(q, first + i));

		qv_line_at(q, first + i)[QV_SEQ] = q->head + first + i;
		ix[i] = find_class(q, r->ignore, r->src);
		if (ix[i] && !ix[i]->slots)
			ix[i] = NULL;
		if (ix[i])
			__builtin_prefetch(qv_index_slot(ix[i], r->tag, r->src), 1);
	}
	for (uint32_t i = 0; i < n && !err; i++)
		err = fill_one(a, q, ix[i], qv_line_at(q, first + i));
	return err;
}

/*
 * All receives into one index, in one pass over the queue. 0 if they are not of one class, or there
 * is no memory; the queue is as before.
 */
static int fill_only(struct qv_auto *a, struct qv_line *q)
{
	struct qv_recv *oldest = qv_recv_of(qv_line_at(q, 0));
	struct qv_index *ix = &q->ix[0];
	uint32_t n = qv_line_len(q);
	uint64_t *slots[QV_BATCH];

	qv_index_set_class(ix, oldest->ignore, oldest->src == QV_SRC_ANY);
	for (uint32_t i = 0; i < n && i < SAMPLE; i++) { /* a mixture soon shows */
		const struct qv_recv *r = qv_recv_of(qv_line_at(q, i));

		if (!qv_index_is_class(ix, r->ignore, r->src))
			return 0;
	}
	if (qv_index_reserve(ix, QV_POSTED, &a->base.mem, n + QV_TICK))
		return 0;
	for (uint32_t first = 0; first < n; first += QV_BATCH) {
		uint32_t k = n - first < QV_BATCH ? n - first : QV_BATCH;

		qv_line_hash_batch(q, ix, QV_POSTED, first, k, slots);
		for (uint32_t i = 0; i < k; i++) {
			uint64_t *e = qv_line_at(q, first + i);
			const struct qv_recv *r = qv_recv_of(e);

			if (!qv_index_is_class(ix, r->ignore, r->src)) {
				qv_index_clear(ix);
				return 0;
			}
			if (qv_unlikely(qv_index_insert_at(ix, QV_POSTED, slots[i], e) >
					QV_BUCKET_MAX) &&
			    !ix->strong) {
				qv_index_clear(ix); /* the longer way hardens it */
				return 0;
			}
		}
	}
	ix->live = n;
	q->active = 1;
	return 1;
}

int qv_posted_fill(struct qv_auto *a, struct qv_line *q)
{
	uint32_t n = qv_line_len(q);
	int err = QV_OK;

	q->active = 0;
	if (!n || !fill_only(a, q)) {
		err = choose_classes(a, q);
		for (uint32_t i = 0; i < n && !err; i += QV_BATCH)
			err = fill_batch(a, q, i, n - i < QV_BATCH ? n - i : QV_BATCH);
	} else {
		for (int c = 1; c < QV_N_CLASSES; c++)
			q->ix[c].live = 0;
	}
	qv_line_set_active(q, q->active);
	q->log_debt = 0;
	return err;
}

void qv_posted_find(struct qv_line *q, uint64_t tag, uint32_t src, struct qv_found *f)
{
	uint64_t seen = 0, *e;

	f->e = NULL;
	for (uint32_t rest = q->active & QV_INDEXES; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];
		uint64_t *link;

		e = qv_index_find(ix, QV_POSTED, tag, src, &link, &q->rejected);
		if (!e)
			continue;
		q->rejected += f->e != NULL;
		if (!f->e || qv_is_older(e, f->e))
			*f = (struct qv_found){e, ix, link};
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
		ix = find_class(q, r->ignore, r->src);
		qv_index_remove(ix, QV_POSTED, 1, f->e);
	}
	if (ix != q->only && --ix->live == 0)
		qv_line_set_active(q, q->active & ~(1u << (ix - q->ix)));
}

void qv_posted_upkeep(struct qv_auto *a, struct qv_line *q)
{
	uint64_t limit = q->log_limit * LOG_PRICE * qv_line_len(q);

	for (int c = 0; c < QV_N_CLASSES; c++) {
		struct qv_index *ix = &q->ix[c];
		uint32_t live = ix == q->only ? qv_line_len(q) : ix->live;

		if (!(q->active >> c & 1))
			continue;
		q->credit[c] = q->credit[c] < CREDIT_MAX - CREDIT_TICK ? q->credit[c] + CREDIT_TICK
								       : CREDIT_MAX;
		/* Without memory buckets get longer; the next tick tries again. */
		(void)qv_index_reserve(ix, QV_POSTED, &a->base.mem, live + QV_TICK);
	}
	if (q->log.count < LOG_MANY || q->log_debt < limit)
		return;
	/* Indexing anew chooses the classes that are many now. If that does not help, wait longer.
	 */
	if (q->log_limit < LOG_LIMIT_MAX)
		q->log_limit *= 2;
	if (qv_line_to_list(a, q) == QV_OK)
		(void)qv_line_to_hash(a, q, 0, 0);
}
