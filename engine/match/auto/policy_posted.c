/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_posted.c - structure "auto": which indexes the posted queue has in HASH.
 *
 *   state                                         path
 *   SINGLE    one class                           NAMED; ONE if its receives take any source
 *   MERGED    several classes in one index        ONE
 *   MIXED     the merged index and others         MANY
 *   SEVERAL   an index for each class             MANY
 *   DOMINANT  the same, one class has most        DOMINANT
 *   An overflow list or a keyed hash beside any of them makes the path MANY.
 *
 *   From LIST (fill.c): SINGLE if all receives are of one class. Else MERGED, if `apart` is 0 and
 *   few would share a key with others. Else SEVERAL or DOMINANT.
 *
 *               another class                  one class has most
 *   [SINGLE] ------------------> [SEVERAL] ------------------------> [DOMINANT]
 *            <------------------           <------------------------
 *            the others are idle               not any more
 *
 *                a class that
 *               it cannot take
 *   [MERGED] ------------------> [MIXED]       To LIST from each of them: policy.c.
 *            <------------------
 *            the others are idle
 *
 *   DOMINANT goes to SINGLE, too, when the others are idle.
 *
 *   most   QV_DOMINANT times as many receives as all others, which name their sources; looked at in
 *          each tick, and when an index comes or goes (path.c)
 *   idle   no receive in QV_IDLE_TICKS ticks
 *
 *   Indexed anew, by LIST:
 *   - MERGED and MIXED, when a tick counts more than QV_MISMATCHES_MAX mismatches, or when they
 *     have cost a new index before that; a tick halves the count (qv_posted_must_split, asked by find_any in arrive.c).
 *     `apart` says how often no merged index is tried then. It doubles each time, and when one was
 *     tried in vain.
 *   - Any state whose overflow list has cost a new choice of classes. overflow_limit doubles.
 */
#include "hash.h"

void qv_posted_keep_apart(struct qv_queue *q)
{
	struct qv_policy *p = &q->policy;

	p->apart_next = p->apart_next < QV_APART_MAX / 2 ? 2 * p->apart_next + 1 : QV_APART_MAX;
	p->apart = p->apart_next;
}

int qv_posted_may_merge(struct qv_queue *q)
{
	if (!q->policy.apart)
		return 1;
	q->policy.apart--;
	return 0;
}

static void index_anew(struct qv_auto *a, struct qv_queue *q)
{
	if (qv_queue_to_list(a, q) == QV_OK)
		(void)qv_queue_to_hash(a, q, 0, 0);
}

void qv_posted_split(struct qv_auto *a, struct qv_queue *q)
{
	qv_posted_keep_apart(q);
	q->policy.mismatches = 0;
	index_anew(a, q);
}

/* One tick of index ix, which is in use. A class of few receives is empty now and then, and so its
 * index does not go at once. */
static void index_tick(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix)
{
	uint32_t live = ix == q->sole ? qv_queue_len(q) : ix->live;

	ix->quiet = live ? 0 : ix->quiet + 1;
	if (ix->quiet == QV_IDLE_TICKS && ix != q->sole) {
		ix->quiet = 0;
		qv_queue_set_active(q, q->active & ~(1u << (ix - q->ix)));
		return;
	}
	/* Without memory buckets get longer; the next tick tries again. */
	(void)qv_index_reserve(ix, QV_POSTED, &a->base.mem,
			       q->n_in_use > 1 ? qv_posted_room(live) : live + QV_TICK);
}

void qv_posted_tick(struct qv_auto *a, struct qv_queue *q)
{
	struct qv_policy *p = &q->policy;

	if (p->mismatches > QV_MISMATCHES_MAX) {
		qv_posted_split(a, q);
		return;
	}
	p->mismatches /= 2;
	for (int c = 0; c < QV_N_CLASSES; c++)
		if (q->active >> c & 1)
			index_tick(a, q, &q->ix[c]);
	if (q->overflow.count < QV_OVERFLOW_MANY ||
	    p->overflow_cost < p->overflow_limit * QV_OVERFLOW_PRICE * qv_queue_len(q))
		return;
	/* The classes that are many now. If that does not help, wait longer. */
	if (p->overflow_limit < QV_OVERFLOW_LIMIT)
		p->overflow_limit *= 2;
	index_anew(a, q);
}
