/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_auto_collect.c - HASH keeps no order: gather all entries and sort them by sequence number. */
#include "match/qv_auto.h"

#define RADIX_BITS 11
#define RADIX      (1u << RADIX_BITS)
/* Below this, sorting by insertion beats clearing the counters of a radix sort. */
#define FEW 48

static void each_in_index(const struct qv_index *ix, enum qv_side side,
			  void (*fn)(void *ctx, uint64_t *e), void *ctx)
{
	uint32_t n = qv_index_slots(ix);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t *head = qv_entry(ix->slots[i]);

		for (; head; head = qv_entry(qv_links(ix, side, head)[QV_BUCKET]))
			for (uint64_t *e = head; e; e = qv_entry(qv_links(ix, side, e)[QV_NEXT]))
				fn(ctx, e);
	}
}

void qv_line_each(const struct qv_line *q, void (*fn)(void *ctx, uint64_t *e), void *ctx)
{
	uint32_t rest = q->active & QV_INDEXES;

	if (q->side == QV_UNEXPECTED) { /* each index has all */
		each_in_index(&q->ix[__builtin_ctz(rest)], QV_UNEXPECTED, fn, ctx);
		return;
	}
	for (; rest; rest &= rest - 1)
		each_in_index(&q->ix[__builtin_ctz(rest)], QV_POSTED, fn, ctx);
	for (uint64_t *e = NULL; (e = qv_vlist_next(&q->log, e));)
		fn(ctx, e);
}

struct cursor {
	struct qv_ordered *at;
};

static void add(void *ctx, uint64_t *e)
{
	struct cursor *c = ctx;

	*c->at++ = (struct qv_ordered){e[QV_SEQ], e};
}

static void sort_few(struct qv_ordered *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct qv_ordered x = v[i];
		uint32_t j = i;

		for (; j && (int64_t)(x.seq - v[j - 1].seq) < 0; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

/* One pass: from v to w, stable, by RADIX_BITS bits of seq - base from shift on. */
static void radix_pass(const struct qv_ordered *v, struct qv_ordered *w, uint32_t n, uint64_t base,
		       unsigned int shift)
{
	uint32_t start[RADIX] = {0};
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		start[(v[i].seq - base) >> shift & (RADIX - 1)]++;
	for (uint32_t i = 0; i < RADIX; i++) {
		uint32_t count = start[i];

		start[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n; i++)
		w[start[(v[i].seq - base) >> shift & (RADIX - 1)]++] = v[i];
}

/* v has room for 2 * n; the upper half is scratch. */
static void sort_many(struct qv_ordered *v, uint32_t n)
{
	struct qv_ordered *from = v, *to = v + n, *swap;
	uint64_t base = v[0].seq, span = 0;

	for (uint32_t i = 1; i < n; i++)
		if ((int64_t)(v[i].seq - base) < 0)
			base = v[i].seq;
	for (uint32_t i = 0; i < n; i++)
		if (v[i].seq - base > span)
			span = v[i].seq - base;
	for (unsigned int shift = 0; shift < 64 && span >> shift; shift += RADIX_BITS) {
		radix_pass(from, to, n, base, shift);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}

static size_t ordered_size(const struct qv_line *q)
{
	return ((size_t)qv_line_len(q) * 2 + 1) * sizeof(struct qv_ordered);
}

struct qv_ordered *qv_line_collect(struct qv_auto *a, const struct qv_line *q)
{
	struct qv_ordered *v = qv_mem_get(&a->base.mem, ordered_size(q));
	struct cursor c = {v};

	if (!v)
		return NULL;
	qv_line_each(q, add, &c);
	if (qv_line_len(q) < FEW)
		sort_few(v, qv_line_len(q));
	else
		sort_many(v, qv_line_len(q));
	return v;
}

void qv_line_collect_done(struct qv_auto *a, const struct qv_line *q, struct qv_ordered *v)
{
	qv_mem_put(&a->base.mem, v, ordered_size(q));
}
