/* SPDX-License-Identifier: BSD-2-Clause */
/* upkeep.c - unexpected messages in HASH: which indexes are worth their upkeep. */
#include "hash.h"

/*
 * Where an index of a wider class has hardly two messages of a key, in the last ticks, a narrower
 * one costs more than it saves. So few insertions in a tick may meet a bucket in use; so many ticks
 * it takes, twice as many each time that the narrower index had to come back.
 */
#define CROWDED_FEW  12
#define CROWDED_MANY 44
/* And more than so many costs more. */
#define OFTEN 640
/*
 * Where so many searches in a tick, and one more for each message, find no index that answers at
 * once, for so many ticks in a row, it costs less to look at all messages. The same where there are
 * so many indexes after so many appends.
 */
#define FAR_FEW       8
#define FAR_TICKS     8
#define MANY_INDEXES  3
#define SETTLED       1024
#define TOLERANCE_MAX 4
/* Appends without a search until an index or the log goes. */
#define IDLE_INDEX 2048
#define IDLE_LOG   1024

static int is_idle(const struct qv_line *q, const struct qv_index *ix)
{
	return q->tail - ix->used > IDLE_INDEX + 8 * (uint64_t)qv_line_len(q);
}

/* Whether a wider index among `others` serves ix's class as well. */
static int is_spare(const struct qv_line *q, const struct qv_index *ix, uint32_t others)
{
	for (; others; others &= others - 1) {
		const struct qv_index *w = &q->ix[__builtin_ctz(others)];

		if (w->calm >= w->wary &&
		    qv_index_is_wider(w, ~ix->keep, ix->src_keep ? 0 : QV_SRC_ANY))
			return 1;
	}
	return 0;
}

/* Few messages, and indexes that are many or of little help: walking costs less, even though it may
 * be much. */
static int is_better_walked(const struct qv_line *q)
{
	uint64_t age = q->tail - q->hash_since;

	if (qv_line_len(q) > QV_TOLERANT_LEN)
		return 0;
	return q->far_ticks >= FAR_TICKS ||
	       (age > SETTLED && __builtin_popcount(q->active & QV_INDEXES) >= MANY_INDEXES);
}

/* The list in order would cost less than the index: messages share keys with others, so that it
 * cannot serve narrower receives, too; and the queue is short, or searches are few. */
static int is_no_index(const struct qv_line *q, const struct qv_index *ix)
{
	uint32_t n = qv_line_len(q);

	return (n <= QV_ORDER_MAX && ix->crowded > CROWDED_MANY) ||
	       (n <= QV_ORDER_LONG && ix->crowded > CROWDED_FEW &&
		ix->served * n < QV_AVERAGED * QV_SELDOM);
}

void qv_unexpected_upkeep(struct qv_auto *a, struct qv_line *q)
{
	q->far_ticks = q->far >= FAR_FEW + qv_line_len(q) ? q->far_ticks + 1 : 0;
	if (is_better_walked(q) && qv_line_to_list(a, q) == QV_OK) {
		q->tolerance = q->tolerance < TOLERANCE_MAX ? q->tolerance + 2 : TOLERANCE_MAX;
		return;
	}
	q->walked += q->far * (uint64_t)qv_line_len(q) - q->walked / QV_AVERAGED;
	if (qv_line_len(q) > QV_ORDER_MAX && q->walked > QV_AVERAGED * OFTEN)
		q->order_pays = 0;
	q->far = 0;
	for (int i = 0; i < QV_N_VIEWS; i++) {
		struct qv_index *ix = &q->ix[i];
		uint32_t others = q->active & QV_INDEXES & ~(1u << i);

		if (!(q->active >> i & 1))
			continue;
		if (others && is_no_index(q, ix)) {
			qv_index_clear(ix);
			qv_line_set_active(q, q->active & ~(1u << i));
			q->order_pays = 1;
			continue;
		}
		ix->debt /= 2;
		ix->calm = ix->crowded > CROWDED_FEW ? 0
			   : ix->calm < QV_WARY_MAX  ? ix->calm + 1
						     : QV_WARY_MAX;
		ix->crowded = 0;
		ix->served -= (uint16_t)(ix->served / QV_AVERAGED);
		if (others && (is_idle(q, ix) || is_spare(q, ix, others))) {
			qv_index_clear(ix);
			qv_line_set_active(q, q->active & ~(1u << i));
			continue;
		}
		qv_unexpected_fit(a, q, ix);
	}
	if (q->active & QV_ORDER_ACTIVE && q->tail - q->order_used > IDLE_LOG)
		qv_order_drop(q);
	if (q->active & QV_LOG_ACTIVE && q->tail - q->log_used > IDLE_LOG)
		qv_unexpected_drop_log(q);
}
