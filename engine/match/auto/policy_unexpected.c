/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_unexpected.c - structure "auto": which indexes the unexpected queue has in HASH.
 *
 *   From LIST: one index, of the class of the receive that searches when walking has cost enough.
 *
 *                   (1)
 *   [one index] ------------> [several]       Path of one: NAMED, if its class names sources and
 *               <------------                 nothing is beside it, else ONE. Of several: MANY.
 *                (2) (3) (4)
 *
 *   (1) A class searches twice in a row, and no index serves it; or such searches have looked at all
 *       messages QV_SCANS times. An index serves its own class, and narrower ones as long as few
 *       messages share a key in it.
 *   (2) An index is idle: no search by it in QV_INDEX_IDLE appends and 8 for each message.
 *   (3) An index is spare: a wider one serves its class. That one has had few collisions for
 *       quiet_needed ticks. They double when the narrower one must be built again.
 *   (4) An index is not worth its upkeep. From then on, receives that no index serves walk the
 *       list in order before (1) is thought of, as long as the queue is short. With QV_SHORT
 *       messages or fewer they always do. The list in order is made when one needs it, and goes
 *       when QV_ORDER_IDLE appends have not used it.
 *
 *   The last index stays until LIST: policy.c.
 */
#include "hash.h"

void qv_unexpected_index_begins(const struct qv_queue *q, struct qv_index *ix)
{
	ix->used = q->tail;
	ix->steps = 0;
	/* Twice what it must be: an index shows in some ticks that it is not needed. */
	ix->searches = (uint16_t)(2 * QV_AVERAGED * QV_SELDOM / (qv_queue_len(q) + 1));
	ix->quiet = 0;
	ix->quiet_needed = QV_QUIET_MIN;
}

int qv_unexpected_wants_index(struct qv_queue *q, uint64_t ignore, uint32_t src)
{
	struct qv_policy *p = &q->policy;
	uint32_t any = src == QV_SRC_ANY;
	int again = p->wanted_ignore == ignore && p->wanted_any == any;

	p->wanted_ignore = ignore;
	p->wanted_any = any;
	return again || p->scanned > QV_SCANS * (uint64_t)qv_queue_len(q);
}

void qv_unexpected_did_not_serve(struct qv_queue *q, uint64_t ignore, uint32_t src)
{
	for (uint32_t rest = q->active & QV_INDEXES; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];

		if (!qv_index_covers(ix, ignore, src))
			continue;
		ix->quiet = 0;
		ix->quiet_needed =
			ix->quiet_needed < QV_QUIET_MAX / 2 ? ix->quiet_needed * 2 : QV_QUIET_MAX;
	}
}

static int is_idle(const struct qv_queue *q, const struct qv_index *ix)
{
	return q->tail - ix->used > QV_INDEX_IDLE + 8 * (uint64_t)qv_queue_len(q);
}

/* Whether a wider index among `others` serves ix's class as well: hardly two messages share a key
 * there. */
static int is_spare(const struct qv_queue *q, const struct qv_index *ix, uint32_t others)
{
	for (; others; others &= others - 1) {
		const struct qv_index *w = &q->ix[__builtin_ctz(others)];

		if (w->quiet >= w->quiet_needed &&
		    qv_index_covers(w, ~ix->keep, ix->src_keep ? 0 : QV_SRC_ANY))
			return 1;
	}
	return 0;
}

/* The list in order would cost less than the index: messages share keys with others, so that it
 * cannot serve narrower receives, too; and the queue is short, or searches are few. */
static int is_not_worth_it(const struct qv_queue *q, const struct qv_index *ix)
{
	uint32_t n = qv_queue_len(q);

	return (n <= QV_ORDER_OFTEN && ix->collisions > QV_COLLISIONS_MANY) ||
	       (n <= QV_ORDER_SELDOM && ix->collisions > QV_COLLISIONS_FEW &&
		ix->searches * n < QV_AVERAGED * QV_SELDOM);
}

static void index_tick(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix)
{
	uint32_t bit = 1u << (ix - q->ix), others = q->active & QV_INDEXES & ~bit;
	int goes = others && is_not_worth_it(q, ix);

	q->policy.order_pays |= (uint32_t)goes;
	ix->steps /= 2;
	if (ix->collisions > QV_COLLISIONS_FEW)
		ix->quiet = 0;
	else if (ix->quiet < QV_QUIET_MAX)
		ix->quiet++;
	ix->collisions = 0;
	ix->searches -= (uint16_t)(ix->searches / QV_AVERAGED);
	if (goes || (others && (is_idle(q, ix) || is_spare(q, ix, others)))) {
		qv_index_clear(ix);
		qv_queue_set_active(q, q->active & ~bit);
		return;
	}
	(void)qv_unexpected_fit(a, q, ix);
}

void qv_unexpected_tick(struct qv_auto *a, struct qv_queue *q)
{
	struct qv_policy *p = &q->policy;
	uint32_t n = qv_queue_len(q);

	p->unserved_ticks = p->unserved >= QV_UNSERVED_FEW + n ? p->unserved_ticks + 1 : 0;
	/* Few messages, and indexes of little help: walking costs less. */
	if (n <= QV_FEW && p->unserved_ticks >= QV_UNSERVED_TICKS &&
	    qv_queue_to_list(a, q) == QV_OK) {
		p->cost_shift =
			p->cost_shift < QV_COST_SHIFT_MAX ? p->cost_shift + 2 : QV_COST_SHIFT_MAX;
		return;
	}
	p->unserved = 0;
	for (int i = 0; i < QV_N_INDEXES; i++)
		if (q->active >> i & 1)
			index_tick(a, q, &q->ix[i]);
	if (q->active & QV_ORDER_ACTIVE && q->tail - p->order_used > QV_ORDER_IDLE)
		qv_queue_set_active(q, q->active & ~QV_ORDER_ACTIVE);
}
