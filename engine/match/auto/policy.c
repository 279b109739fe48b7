/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.c - structure "auto": which mode a queue has. Thresholds that change by themselves are here, in
 * policy_posted.c and in policy_unexpected.c. Those two have the charts of the states in HASH.
 *
 *              (1) (2)
 *   +------+ -----------> +------+      A queue begins as LIST.
 *   | LIST |              | HASH |
 *   +------+ <----------- +------+
 *              (3) to (7)
 *
 *   (1) Walking has cost what indexes would (qv_queue_is_costly). Or the list is longer than
 *       QV_LONG, and one walk than QV_WALK_MAX. Who walks looks at both: in_list and find_any in
 *       arrive.c, walk_list in search.c. A peek (queue.c) and a removal by name (auto.c) look at
 *       the cost only.
 *   (2) After (5): three quarters of the entries that are expected have come.
 *   (3) A trial: after more than trial_after appends in HASH, and more than QV_TRIAL_EACH for each
 *       entry. Not as long as the tables have more than QV_TRIAL_SLOTS slots for each entry and for
 *       QV_TICK more.
 *   (4) The queue became empty for the empties_needed-th time in HASH.
 *   (5) It became empty with QV_BIG slots. They are given back, and a burst as long as the last is
 *       expected.
 *   (6) Unexpected: few messages, and QV_UNSERVED_TICKS ticks of receives that no index served at
 *       once.
 *   (7) The program iterates (next_entry in auto.c): HASH has no order.
 *   Posted receives that are indexed anew go through LIST, too (policy_posted.c).
 *
 *   trial_after, empties_needed   double at each change to HASH, halve while LIST is quiet
 *   cost_shift                    doubles the cost limit of a short list; up at (6), down slowly
 *
 * To HASH at most twice the cost of the better mode is spent. Back to LIST is by trial. Traffic
 * that needs the index pays for a vanishing number of them.
 */
#include "hash.h"

void qv_policy_init(struct qv_queue *q)
{
	q->policy.hash_since = q->policy.quiet_since = q->policy.empty_since = q->tail;
	q->policy.trial_after = QV_TRIAL_MIN;
	q->policy.empties_needed = QV_EMPTIES_MIN;
	q->policy.overflow_limit = 1;
}

static uint64_t all_slots(const struct qv_queue *q, uint32_t which)
{
	uint64_t slots = 0;

	for (uint32_t rest = which; rest; rest &= rest - 1)
		slots += qv_index_slots(&q->ix[__builtin_ctz(rest)]);
	return slots;
}

void qv_queue_tables_changed(struct qv_queue *q)
{
	q->policy.big = all_slots(q, QV_INDEXES) >= QV_BIG;
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
	p->mismatches = 0;
	p->overflow_cost = 0;
	if (err) {
		drop_indexes(q);
		return err;
	}
	q->mode = QV_AUTO_HASH;
	qv_queue_set_path(q);
	q->mode_changes++;
	qv_queue_tables_changed(q);
	p->hash_since = q->tail;
	p->empty_since = q->tail - qv_queue_len(q);
	p->empties = 0;
	p->unserved = p->unserved_ticks = 0;
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
	q->mode_changes++;
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

/* Empty often, or with tables that are too big to be kept for nothing. All tables are zero. */
void qv_queue_emptied(struct qv_queue *q)
{
	uint32_t big = q->policy.big;
	uint64_t n = q->tail - q->policy.empty_since;

	q->policy.empty_since = q->tail;
	if (!big && ++q->policy.empties < q->policy.empties_needed)
		return;
	for (int i = 0; big && i < QV_N_CLASSES; i++)
		qv_index_free(&q->ix[i], q->overflow.mem);
	q->policy.big = 0;
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
	       all_slots(q, q->active & QV_INDEXES) <= QV_TRIAL_SLOTS * (n + QV_TICK);
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
	int big = q->policy.big || q->ring_mask >= QV_BIG;

	if (qv_queue_len(q) > q->policy.peak)
		q->policy.peak = qv_queue_len(q);
	if (q->tail / QV_TICK % (big ? QV_WINDOW_BIG : QV_WINDOW) == 0)
		shrink(a, q);
	if (q->mode == QV_AUTO_HASH &&
	    !(list_is_worth_a_trial(q) && qv_queue_to_list(a, q) == QV_OK)) {
		if (q->side == QV_POSTED)
			qv_posted_tick(a, q);
		else
			qv_unexpected_tick(a, q);
	} else if (q->policy.expected) {
		meet_expected(a, q);
	}
	qv_queue_set_path(q); /* tables may have changed */
	qv_queue_tables_changed(q);
	/* Not "else": the mode may just have changed. */
	return q->mode == QV_AUTO_LIST ? list_tick(a, q) : QV_OK;
}
