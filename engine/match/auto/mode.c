/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode.c - changes between LIST and HASH, and the upkeep that happens each tick.
 *
 * To HASH: when the steps walked since the last tick or so (debt) would have paid for the index:
 * at most twice the cost of the better choice, whichever that is. Back to LIST: by trial, after
 * `patience` appends or `empties_max` times empty, at once after a burst; both double at each
 * change to HASH, so that traffic which needs the index pays for a vanishing number of trials, and
 * halve while LIST is calm.
 */
#include "hash.h"

#define PATIENCE_MIN 1024
#define PATIENCE_MAX (UINT64_C(1) << 26)
#define EMPTIES_MIN  16
#define EMPTIES_MAX  65536
#define CALM_DEBT    64
#define CALM_APPENDS 4096
/* Appends for each entry before LIST is tried: to gather the entries and to index them again, in
 * one index or several, costs as much as some ten. */
#define TRIAL_EACH 64
/* Ticks after which a short queue must show again that it is better walked. */
#define TOLERANCE_TICKS 512
/* Ticks in a window of the memory upkeep. */
#define WINDOW 1024
/* The same while the ring or a table has as many places as this: a megabyte or more. */
#define WINDOW_BIG 16
#define BIG        131072
/* Entries of a burst, at least: an index of fewer stays in the near caches. */
#define BURST 4096
/* So few insertions in a tick that meet other keys are no matter. */
#define BESIDE_FEW 2

/* Forget what HASH has built. Tables that are not active have no entries. */
static void drop_indexes(struct qv_line *q)
{
	for (uint32_t rest = q->active & QV_INDEXES; rest; rest &= rest - 1)
		qv_index_clear(&q->ix[__builtin_ctz(rest)]);
	qv_vlist_clear(&q->log);
	q->wide = NULL;
	qv_line_set_active(q, 0);
}

int qv_line_to_hash(struct qv_auto *a, struct qv_line *q, uint64_t ignore, uint32_t src)
{
	int err;

	if (q->side == QV_POSTED)
		err = qv_posted_fill(a, q);
	else
		err = qv_unexpected_fill(a, q, ignore, src);
	q->debt = 0;
	if (err) {
		drop_indexes(q);
		return err;
	}
	q->mode = QV_AUTO_HASH;
	qv_line_set_way(q);
	q->flips++;
	q->hash_since = q->tail;
	q->empty_since = q->tail - qv_line_len(q);
	q->empties = 0;
	if (q->patience < PATIENCE_MAX)
		q->patience *= 2;
	if (q->empties_max < EMPTIES_MAX)
		q->empties_max *= 2;
	return QV_OK;
}

static void enter_list(struct qv_line *q, uint32_t n)
{
	q->mode = QV_AUTO_LIST;
	qv_line_set_way(q);
	q->flips++;
	q->head = q->tail - n;
	q->debt = 0;
	q->calm_since = q->tail;
	q->expected = 0;
}

int qv_line_to_list(struct qv_auto *a, struct qv_line *q)
{
	uint32_t n = qv_line_len(q);
	uint64_t **v = qv_line_collect(a, q);

	if (!v)
		return QV_ENOMEM;
	if (n + 2 * QV_TICK > q->ring_mask + 1 && qv_ring_resize(a, q, n)) {
		qv_line_collect_done(a, q, v);
		return QV_ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		q->ring[(q->tail - n + i) & q->ring_mask] = v[i];
	qv_line_collect_done(a, q, v);
	drop_indexes(q);
	enter_list(q, n);
	return QV_OK;
}

/* The change to HASH was no failure of the list. */
static void forgive(struct qv_line *q)
{
	if (q->patience > PATIENCE_MIN)
		q->patience /= 2;
	if (q->empties_max > EMPTIES_MIN)
		q->empties_max /= 2;
}

/* Empty: give back tables of a megabyte or more together. Whether they were. */
static int free_big(struct qv_line *q)
{
	uint64_t slots = 0;

	for (int i = 0; i < QV_N_CLASSES; i++)
		slots += qv_index_slots(&q->ix[i]);
	if (slots < BIG)
		return 0;
	for (int i = 0; i < QV_N_CLASSES; i++)
		qv_index_free(&q->ix[i], q->log.mem);
	return 1;
}

/*
 * A burst whose last entry is its youngest has most likely been taken in order: the next one is a
 * list. After another one the indexes stay, but for tables that are too big to be kept for nothing.
 */
void qv_line_emptied(struct qv_line *q, const uint64_t *e)
{
	uint64_t n = q->tail - q->empty_since;
	int burst = n >= BURST, in_order = burst && e[QV_SEQ] == q->tail - 1, big;

	q->empty_since = q->tail;
	if (burst)
		q->hash_since = q->tail; /* no trial of LIST within the next burst */
	big = free_big(q);
	if (!big && !in_order && ++q->empties < q->empties_max)
		return;
	if (burst)
		forgive(q);
	/* No entries, so the tables are all zero: nothing to clear. */
	q->wide = NULL;
	qv_line_set_active(q, 0);
	enter_list(q, 0);
	if (big && !in_order)
		q->expected = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

QV_COLD void qv_line_harden(struct qv_auto *a, struct qv_line *q, struct qv_index *ix)
{
	/* Without memory the bucket stays long until the next insertion into it tries again. */
	if (ix->strong || qv_index_harden(ix, q->side, &a->base.mem, a->secret))
		return;
	if (q->only == ix && q->side == QV_POSTED)
		ix->live = qv_line_len(q) + 1; /* and the one that is being inserted */
	qv_line_set_active(q, q->active);
}

/*
 * The hash is good for keys that are counted up, and no worse than chance for others. Where meeting
 * other keys has cost as much as a larger table would, and the table is not big, it becomes larger.
 */
void qv_line_fit_index(struct qv_auto *a, struct qv_line *q, struct qv_index *ix, uint32_t n)
{
	uint64_t twice = 2 * (uint64_t)qv_index_slots(ix);

	ix->beside = ix->beside > BESIDE_FEW ? ix->beside - BESIDE_FEW : 0;
	if (ix->beside >= 2 * (uint64_t)n && twice <= 8 * (uint64_t)n && twice < BIG) {
		(void)qv_index_grow(ix, q->side, &a->base.mem);
		ix->beside = 0;
		return;
	}
	(void)qv_index_reserve(ix, q->side, &a->base.mem, n);
}

static int is_big(const struct qv_line *q)
{
	uint32_t slots = q->ring_mask;

	for (int i = 0; i < QV_N_CLASSES; i++)
		slots |= qv_index_slots(&q->ix[i]);
	return slots >= BIG;
}

/* Give back what the last two windows had no use for. */
static void shrink(struct qv_auto *a, struct qv_line *q)
{
	uint32_t n = q->peak > q->peak_before ? q->peak : q->peak_before;
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
			(void)qv_index_shrink(ix, q->side, &a->base.mem, n);
	}
	q->peak_before = q->peak;
	q->peak = 0;
}

static int list_is_worth_a_trial(const struct qv_line *q)
{
	uint64_t age = q->tail - q->hash_since, n = qv_line_len(q), slots = 0;

	for (int i = 0; i < QV_N_CLASSES; i++)
		if (q->active >> i & 1)
			slots += qv_index_slots(&q->ix[i]);
	return age > q->patience && age > TRIAL_EACH * n && slots <= 16 * (n + QV_TICK);
}

static void hash_tick(struct qv_auto *a, struct qv_line *q)
{
	if (list_is_worth_a_trial(q) && qv_line_to_list(a, q) == QV_OK)
		return;
	if (q->side == QV_POSTED)
		qv_posted_upkeep(a, q);
	else
		qv_unexpected_upkeep(a, q);
}

static int list_tick(struct qv_auto *a, struct qv_line *q)
{
	if (q->debt >= CALM_DEBT) {
		q->calm_since = q->tail;
	} else if (q->tail - q->calm_since >= CALM_APPENDS) {
		q->calm_since = q->tail;
		forgive(q);
	}
	q->debt /= 2;
	if (q->tolerance && q->tail / QV_TICK % TOLERANCE_TICKS == 0)
		q->tolerance--;
	if (qv_line_len(q) + QV_TICK > q->ring_mask)
		return qv_ring_resize(a, q, qv_line_len(q) + QV_TICK);
	return QV_OK;
}

/* The last quarter of a big burst is indexed as it comes, and the rest before that: the first
 * search need not wait, and the table is hardly larger than it must be for what is there. */
static void meet_expected(struct qv_auto *a, struct qv_line *q)
{
	struct qv_index *ix = &q->ix[0];

	if (qv_line_len(q) < q->expected - q->expected / 4 || q->head != q->empty_since)
		return;
	if (qv_index_reserve(ix, q->side, &a->base.mem, q->expected + 2 * QV_TICK) == QV_OK)
		(void)qv_line_to_hash(a, q, ~ix->keep, ix->src_keep ? 0 : QV_SRC_ANY);
	q->expected = 0;
}

int qv_line_tick(struct qv_auto *a, struct qv_line *q)
{
	if (qv_line_len(q) > q->peak)
		q->peak = qv_line_len(q);
	if (q->tail / QV_TICK % (is_big(q) ? WINDOW_BIG : WINDOW) == 0)
		shrink(a, q);
	if (q->mode == QV_AUTO_HASH)
		hash_tick(a, q);
	else if (q->expected)
		meet_expected(a, q);
	qv_line_set_way(q); /* tables may have changed */
	/* Not "else": the mode may just have changed. */
	return q->mode == QV_AUTO_LIST ? list_tick(a, q) : QV_OK;
}
