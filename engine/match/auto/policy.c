/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.c - structure "auto": which form a queue has. All hysteresis is here.
 *
 *             walking cost more than an index, or one walk is longer than QV_WALK_MAX
 *   +------+ -----------------------------------------------------------------------> +------+
 *   | LIST |                                                                          | HASH |
 *   +------+ <----------------------------------------------------------------------- +------+
 *             (1) after trial_after appends; (2) after empties_needed times empty;
 *             (3) empty with QV_BIG slots: then as many entries are expected again, and three
 *             quarters of them lead to HASH; (4) unexpected: few messages, and QV_FAR_TICKS
 *             ticks of searches that no index answers
 *
 *   trial_after, empties_needed   double at each change to HASH, halve while LIST is quiet
 *   cost_shift                    doubles the cost limit of a short list; up at (4), down slowly
 *
 *   HASH, posted
 *
 *   [SINGLE] --- a receive of another class ---> [MANY] <--- the others are few --- [DOMINANT]
 *      ^                                          |  |                                  ^
 *      +------- the others idle QV_IDLE_TICKS ----+  +--- one has QV_DOMINANT times ----+
 *                                                          as many as the others
 *   To HASH: SINGLE if all are of one class. Else ONE, merged, if few share a key over all
 *   classes, and `apart` is 0. Else MANY or DOMINANT. At more than QV_MISMATCHES_MAX mismatches
 *   in a tick a merged index is split, and apart_next doubles. An overflow list that has cost a
 *   new choice of classes gets one, and overflow_limit doubles.
 *
 *   HASH, unexpected
 *
 *   [SINGLE, ONE] --- a class searches twice, and no index serves it ---> [MANY]
 *      ^  one index left                                                    |
 *      +--- an index goes: idle; or a wider one serves its class, which has had few
 *           collisions for quiet_needed ticks (that doubles when it must come back); or it is
 *           not worth its upkeep, and then receives of its class walk the list in order, as
 *           long as that is short and not idle
 *
 * To HASH at most twice the cost of the better form is spent. Back to LIST is by trial. Traffic
 * that needs the index pays for a vanishing number of them.
 */
#include "hash.h"

/* LIST and HASH. */

void qv_policy_init(struct qv_queue *q)
{
	q->policy.hash_since = q->policy.quiet_since = q->policy.empty_since = q->tail;
	q->policy.trial_after = QV_TRIAL_MIN;
	q->policy.empties_needed = QV_EMPTIES_MIN;
	q->policy.overflow_limit = 1;
}

/* Clear what HASH has built. Tables that are not active have no entries. */
static void drop_indexes(struct qv_queue *q)
{
	for (uint32_t rest = q->active & QV_INDEXES; rest; rest &= rest - 1)
		qv_index_clear(&q->ix[__builtin_ctz(rest)]);
	qv_vlist_clear(&q->overflow);
	q->merged = NULL;
	qv_queue_set_active(q, 0);
}

int qv_queue_to_hash(struct qv_auto *a, struct qv_queue *q, uint64_t ignore, uint32_t src)
{
	struct qv_policy *p = &q->policy;
	int err =
		q->side == QV_POSTED ? qv_posted_fill(a, q) : qv_unexpected_fill(a, q, ignore, src);

	q->cost = 0;
	if (err) {
		drop_indexes(q);
		return err;
	}
	q->mode = QV_AUTO_HASH;
	qv_queue_set_path(q);
	q->flips++;
	p->hash_since = q->tail;
	p->empty_since = q->tail - qv_queue_len(q);
	p->empties = 0;
	if (p->trial_after < QV_TRIAL_MAX)
		p->trial_after *= 2;
	if (p->empties_needed < QV_EMPTIES_MAX)
		p->empties_needed *= 2;
	return QV_OK;
}

static void enter_list(struct qv_queue *q, uint32_t n)
{
	q->mode = QV_AUTO_LIST;
	qv_queue_set_path(q);
	q->flips++;
	q->head = q->tail - n;
	q->cost = 0;
	q->policy.quiet_since = q->tail;
	q->policy.expected = 0;
}

int qv_queue_to_list(struct qv_auto *a, struct qv_queue *q)
{
	uint32_t n = qv_queue_len(q);
	uint64_t **v = qv_queue_collect(a, q);

	if (!v)
		return QV_ENOMEM;
	if (n + 2 * QV_TICK > q->ring_mask + 1 && qv_ring_resize(a, q, n)) {
		qv_queue_collect_done(a, q, v);
		return QV_ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		q->ring[(q->tail - n + i) & q->ring_mask] = v[i];
	qv_queue_collect_done(a, q, v);
	drop_indexes(q);
	enter_list(q, n);
	return QV_OK;
}

static uint64_t all_slots(const struct qv_queue *q, uint32_t which)
{
	uint64_t slots = 0;

	for (uint32_t rest = which; rest; rest &= rest - 1)
		slots += qv_index_slots(&q->ix[__builtin_ctz(rest)]);
	return slots;
}

/* Empty often, or with tables that are too big to be kept for nothing. All tables are zero. */
void qv_queue_emptied(struct qv_queue *q)
{
	int big = all_slots(q, QV_INDEXES) >= QV_BIG;
	uint64_t n = q->tail - q->policy.empty_since;

	q->policy.empty_since = q->tail;
	if (!big && ++q->policy.empties < q->policy.empties_needed)
		return;
	for (int i = 0; big && i < QV_N_CLASSES; i++)
		qv_index_free(&q->ix[i], q->overflow.mem);
	q->merged = NULL;
	qv_queue_set_active(q, 0);
	enter_list(q, 0);
	if (big)
		q->policy.expected = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* The last quarter of a burst is indexed as it comes, and the rest before that: the first search
 * need not wait, and the table is hardly larger than it must be for what is there. */
static void meet_expected(struct qv_auto *a, struct qv_queue *q)
{
	struct qv_policy *p = &q->policy;
	struct qv_index *ix = &q->ix[0];

	if (qv_queue_len(q) < p->expected - p->expected / 4 || q->head != p->empty_since)
		return;
	if (qv_index_reserve(ix, q->side, &a->base.mem, p->expected + 2 * QV_TICK) == QV_OK)
		(void)qv_queue_to_hash(a, q, ~ix->keep, ix->src_keep ? 0 : QV_SRC_ANY);
	p->expected = 0;
}

static int list_is_worth_a_trial(const struct qv_queue *q)
{
	uint64_t age = q->tail - q->policy.hash_since, n = qv_queue_len(q);

	return age > q->policy.trial_after && age > QV_TRIAL_EACH * n &&
	       all_slots(q, q->active & QV_INDEXES) <= 16 * (n + QV_TICK);
}

static int list_tick(struct qv_auto *a, struct qv_queue *q)
{
	struct qv_policy *p = &q->policy;

	if (q->cost >= QV_QUIET_COST) {
		p->quiet_since = q->tail;
	} else if (q->tail - p->quiet_since >= QV_QUIET_APPENDS) {
		p->quiet_since = q->tail;
		if (p->trial_after > QV_TRIAL_MIN)
			p->trial_after /= 2;
		if (p->empties_needed > QV_EMPTIES_MIN)
			p->empties_needed /= 2;
	}
	q->cost /= 2;
	if (p->cost_shift && q->tail / QV_TICK % QV_COST_SHIFT_TICKS == 0)
		p->cost_shift--;
	if (qv_queue_len(q) + QV_TICK > q->ring_mask)
		return qv_ring_resize(a, q, qv_queue_len(q) + QV_TICK);
	return QV_OK;
}

/* Posted. */

void qv_posted_keep_apart(struct qv_queue *q)
{
	struct qv_policy *p = &q->policy;

	p->apart_next = p->apart_next < QV_APART_MAX / 2 ? 2 * p->apart_next + 1 : QV_APART_MAX;
	p->apart = p->apart_next;
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
static void posted_index_tick(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix)
{
	uint32_t live = ix == q->single ? qv_queue_len(q) : ix->live;

	ix->quiet = live ? 0 : ix->quiet + 1;
	if (ix->quiet == QV_IDLE_TICKS && ix != q->single) {
		ix->quiet = 0;
		qv_queue_set_active(q, q->active & ~(1u << (ix - q->ix)));
		return;
	}
	/* Without memory buckets get longer; the next tick tries again. */
	(void)qv_index_reserve(ix, QV_POSTED, &a->base.mem,
			       q->n_in_use > 1 ? qv_posted_room(live) : live + QV_TICK);
}

static void posted_tick(struct qv_auto *a, struct qv_queue *q)
{
	struct qv_policy *p = &q->policy;

	if (p->mismatches > QV_MISMATCHES_MAX) {
		qv_posted_split(a, q);
		return;
	}
	p->mismatches /= 2;
	for (int c = 0; c < QV_N_CLASSES; c++)
		if (q->active >> c & 1)
			posted_index_tick(a, q, &q->ix[c]);
	if (q->overflow.count < QV_OVERFLOW_MANY ||
	    p->overflow_cost < p->overflow_limit * QV_OVERFLOW_PRICE * qv_queue_len(q))
		return;
	/* The classes that are many now. If that does not help, wait longer. */
	if (p->overflow_limit < QV_OVERFLOW_LIMIT)
		p->overflow_limit *= 2;
	index_anew(a, q);
}

/* Unexpected. */

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

static void unexpected_index_tick(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix)
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

static void unexpected_tick(struct qv_auto *a, struct qv_queue *q)
{
	struct qv_policy *p = &q->policy;
	uint32_t n = qv_queue_len(q);

	p->far_ticks = p->far >= QV_FAR_FEW + n ? p->far_ticks + 1 : 0;
	/* Few messages, and indexes of little help: walking costs less. */
	if (n <= QV_FEW && p->far_ticks >= QV_FAR_TICKS && qv_queue_to_list(a, q) == QV_OK) {
		p->cost_shift =
			p->cost_shift < QV_COST_SHIFT_MAX ? p->cost_shift + 2 : QV_COST_SHIFT_MAX;
		return;
	}
	p->far = 0;
	for (int i = 0; i < QV_N_INDEXES; i++)
		if (q->active >> i & 1)
			unexpected_index_tick(a, q, &q->ix[i]);
	if (q->active & QV_ORDER_ACTIVE && q->tail - p->order_used > QV_ORDER_IDLE)
		qv_queue_set_active(q, q->active & ~QV_ORDER_ACTIVE);
}

/* Both. */

/* Give back what the last two windows had no use for. */
static void shrink(struct qv_auto *a, struct qv_queue *q)
{
	struct qv_policy *p = &q->policy;
	uint32_t n = p->peak > p->peak_before ? p->peak : p->peak_before;
	uint64_t roomy = 16 * (uint64_t)n + 2048;

	if (q->ring_mask > roomy)
		(void)qv_ring_resize(a, q, n);
	for (int i = 0; i < QV_N_CLASSES; i++) {
		struct qv_index *ix = &q->ix[i];

		if (qv_index_slots(ix) <= roomy)
			continue;
		if (q->mode == QV_AUTO_LIST || !(q->active >> i & 1))
			qv_index_free(ix, &a->base.mem);
		else
			qv_index_shrink(ix, q->side, &a->base.mem, n);
	}
	p->peak_before = p->peak;
	p->peak = 0;
}

int qv_queue_tick(struct qv_auto *a, struct qv_queue *q)
{
	int big = all_slots(q, QV_INDEXES) >= QV_BIG || q->ring_mask >= QV_BIG;

	if (qv_queue_len(q) > q->policy.peak)
		q->policy.peak = qv_queue_len(q);
	if (q->tail / QV_TICK % (big ? QV_WINDOW_BIG : QV_WINDOW) == 0)
		shrink(a, q);
	if (q->mode == QV_AUTO_HASH &&
	    !(list_is_worth_a_trial(q) && qv_queue_to_list(a, q) == QV_OK)) {
		if (q->side == QV_POSTED)
			posted_tick(a, q);
		else
			unexpected_tick(a, q);
	} else if (q->policy.expected) {
		meet_expected(a, q);
	}
	qv_queue_set_path(q); /* tables may have changed */
	/* Not "else": the mode may just have changed. */
	return q->mode == QV_AUTO_LIST ? list_tick(a, q) : QV_OK;
}
