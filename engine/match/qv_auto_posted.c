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
/* Cost of the log, in entries compared, before classes are chosen anew; and the share of it. */
#define LOG_LIMIT_MIN 65536
#define LOG_LIMIT_MAX (UINT64_C(1) << 40)
#define LOG_MANY      64
/* Entries that are hashed and prefetched together when a queue is indexed. */
#define BATCH 16

static int find_class(const struct qv_line *q, uint64_t ignore, uint32_t src)
{
	int c = 0;

	while (c < QV_N_CLASSES && !qv_index_is_class(&q->ix[c], ignore, src))
		c++;
	return c;
}

/* An index for a class that has none: of the empty ones that which was of least use. */
static int claim_class(struct qv_line *q, uint64_t ignore, uint32_t src)
{
	int weakest = QV_N_CLASSES;

	for (int c = 0; c < QV_N_CLASSES; c++)
		if (!q->ix[c].live &&
		    (weakest == QV_N_CLASSES || q->credit[c] < q->credit[weakest]))
			weakest = c;
	if (weakest == QV_N_CLASSES)
		return QV_N_CLASSES;
	if (q->credit[weakest]) {
		q->credit[weakest]--;
		return QV_N_CLASSES;
	}
	qv_index_set_class(&q->ix[weakest], ignore, src == QV_SRC_ANY);
	return weakest;
}

static int to_log(struct qv_line *q, uint64_t *e)
{
	if (qv_vlist_append(&q->log, e))
		return QV_ENOMEM;
	e[QV_HOME] = QV_N_CLASSES;
	q->active |= QV_LOG_ACTIVE;
	return QV_OK;
}

static void to_index(struct qv_auto *a, struct qv_line *q, int c, uint64_t *e)
{
	struct qv_index *ix = &q->ix[c];
	uint32_t seen = qv_index_insert(ix, QV_POSTED, e);

	e[QV_HOME] = (uint64_t)c;
	ix->live++;
	q->active |= 1u << c;
	q->inspected += seen;
	if (qv_unlikely(seen > QV_BUCKET_MAX))
		qv_index_watch(a, q, ix);
}

int qv_posted_insert(struct qv_auto *a, struct qv_line *q, uint64_t *e)
{
	const struct qv_recv *r = qv_recv_of(e);
	int c = find_class(q, r->ignore, r->src);

	if (c == QV_N_CLASSES)
		c = claim_class(q, r->ignore, r->src);
	if (c == QV_N_CLASSES || qv_index_reserve(&q->ix[c], QV_POSTED, &a->base.mem, 1))
		return to_log(q, e);
	q->newest = (uint32_t)c;
	to_index(a, q, c, e);
	return QV_OK;
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
	int any = r->src == QV_SRC_ANY, room = -1;

	for (int k = QV_N_CLASSES - 1; k >= 0; k--) {
		if (!t[k].n) {
			room = k;
		} else if (t[k].ignore == r->ignore && (t[k].src == QV_SRC_ANY) == any) {
			t[k].n++;
			return;
		}
	}
	if (room >= 0) {
		t[room] = (struct tally){r->ignore, r->src, 1};
		return;
	}
	for (int k = 0; k < QV_N_CLASSES; k++)
		t[k].n--;
}

static int choose_classes(struct qv_auto *a, struct qv_line *q)
{
	struct tally t[QV_N_CLASSES] = {{0}};
	uint32_t n = qv_line_len(q);

	for (uint32_t i = 0; i < n; i++) {
		__builtin_prefetch(qv_line_at(q, i + BATCH < n ? i + BATCH : i));
		tally_one(t, qv_recv_of(qv_line_at(q, i)));
	}
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

/* The tables are larger than the cache that holds them soon: fetch the slots of a batch first. */
static int fill_batch(struct qv_auto *a, struct qv_line *q, uint32_t first, uint32_t n)
{
	int c[BATCH];

	for (uint32_t i = 0; i < n; i++) {
		const struct qv_recv *r = qv_recv_of(qv_line_at(q, first + i));

		c[i] = find_class(q, r->ignore, r->src);
		if (c[i] < QV_N_CLASSES && q->ix[c[i]].slots)
			__builtin_prefetch(qv_index_slot(&q->ix[c[i]], r->tag, r->src), 1);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t *e = qv_line_at(q, first + i);

		if (c[i] < QV_N_CLASSES && q->ix[c[i]].slots)
			to_index(a, q, c[i], e);
		else if (to_log(q, e))
			return QV_ENOMEM;
	}
	return QV_OK;
}

int qv_posted_fill(struct qv_auto *a, struct qv_line *q)
{
	uint32_t n = qv_line_len(q);
	int err = choose_classes(a, q);

	for (uint32_t i = 0; i < n && !err; i += BATCH)
		err = fill_batch(a, q, i, n - i < BATCH ? n - i : BATCH);
	q->log_debt = 0;
	return err;
}

void qv_posted_find(struct qv_line *q, uint64_t tag, uint32_t src, struct qv_found *f)
{
	uint64_t seen = 0, *e;

	f->e = NULL;
	for (uint32_t rest = q->active & ~QV_LOG_ACTIVE; rest; rest &= rest - 1) {
		int c = __builtin_ctz(rest);
		uint64_t *link = qv_index_find(&q->ix[c], QV_POSTED, tag, src, &seen);

		if (link && (!f->e || qv_is_older(qv_entry(*link), f->e)))
			*f = (struct qv_found){qv_entry(*link), link, c};
	}
	q->inspected += seen;
	if (!(q->active & QV_LOG_ACTIVE))
		return;
	seen = 0;
	e = qv_vlist_find_recv(&q->log, tag, src, &seen);
	if (e && (!f->e || qv_is_older(e, f->e)))
		*f = (struct qv_found){e, NULL, -1};
	q->inspected += seen;
	q->log_debt += seen;
}

void qv_posted_remove(struct qv_line *q, const struct qv_found *f)
{
	uint64_t home = f->e[QV_HOME];
	struct qv_index *ix = &q->ix[home % QV_N_CLASSES];

	if (home == QV_N_CLASSES) {
		qv_vlist_remove(&q->log, f->e);
		if (!q->log.count)
			q->active &= ~QV_LOG_ACTIVE;
		return;
	}
	if (f->ix >= 0)
		qv_index_pop(ix, f->link);
	else
		qv_index_remove(ix, QV_POSTED, f->e, &q->inspected);
	if (--ix->live == 0)
		q->active &= ~(1u << home);
}

void qv_posted_upkeep(struct qv_auto *a, struct qv_line *q)
{
	uint64_t limit = q->log_limit + 4 * (uint64_t)qv_line_len(q);

	for (int c = 0; c < QV_N_CLASSES; c++) {
		struct qv_index *ix = &q->ix[c];

		if (!ix->live)
			continue;
		q->credit[c] = q->credit[c] < CREDIT_MAX - CREDIT_TICK ? q->credit[c] + CREDIT_TICK
								       : CREDIT_MAX;
		/* Without memory buckets get longer; the next tick tries again. */
		(void)qv_index_reserve(ix, QV_POSTED, &a->base.mem, ix->live + QV_TICK);
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
