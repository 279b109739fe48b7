/* SPDX-License-Identifier: BSD-2-Clause */
/* collect.c - HASH keeps no order: gather all entries and sort them by sequence number. */
#include "auto.h"

#define RADIX (1u << QV_RADIX_BITS)

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

void qv_queue_each(const struct qv_queue *q, void (*fn)(void *ctx, uint64_t *e), void *ctx)
{
	uint32_t rest = q->active & QV_INDEXES;

	if (q->side == QV_UNEXPECTED) { /* each index has all */
		each_in_index(&q->ix[__builtin_ctz(rest)], QV_UNEXPECTED, fn, ctx);
		return;
	}
	for (; rest; rest &= rest - 1)
		each_in_index(&q->ix[__builtin_ctz(rest)], QV_POSTED, fn, ctx);
	for (uint64_t *e = NULL; (e = qv_vlist_next(&q->overflow, e));)
		fn(ctx, e);
}

struct cursor {
	uint64_t **at;
};

static void add(void *ctx, uint64_t *e)
{
	struct cursor *c = ctx;

	*c->at++ = e;
}

static void sort_few(uint64_t **v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint64_t *e = v[i];
		uint32_t j = i;

		for (; j && qv_is_older(e, v[j - 1]); j--)
			v[j] = v[j - 1];
		v[j] = e;
	}
}

/* Sequence numbers from base on, QV_RADIX_BITS of them from shift on. */
struct digit {
	uint64_t base;
	unsigned int shift;
};

QV_INLINE uint32_t digit_of(const struct digit *d, const uint64_t *e)
{
	return (e[QV_SEQ] - d->base) >> d->shift & (RADIX - 1);
}

/* Entries may be in no near cache. */
QV_INLINE uint64_t *fetch(uint64_t *const *v, uint32_t i, uint32_t n)
{
	__builtin_prefetch(v[i + QV_BATCH < n ? i + QV_BATCH : i]);
	return v[i];
}

/* Bring each entry to the part of v that its digit has; part k ends at ends[k]. */
static void part_by_digit(uint64_t **v, uint32_t n, const struct digit *d, uint32_t *ends)
{
	uint32_t next[RADIX] = {0}, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		next[digit_of(d, fetch(v, i, n))]++;
	for (uint32_t k = 0; k < RADIX; k++) {
		uint32_t count = next[k];

		next[k] = sum;
		ends[k] = sum += count;
	}
	for (uint32_t k = 0; k < RADIX; k++) {
		while (next[k] < ends[k]) {
			uint64_t *e = v[next[k]], *other;
			uint32_t at = digit_of(d, e);

			for (; at != k; at = digit_of(d, e)) {
				other = v[next[at]];
				v[next[at]++] = e;
				e = other;
			}
			v[next[k]++] = e;
		}
	}
}

/* By their digits from the highest on, in place: memory is what a deep queue is short of. */
static void sort_digits(uint64_t **v, uint32_t n, struct digit d)
{
	uint32_t ends[RADIX], from = 0;

	if (n < QV_SORT_FEW) {
		sort_few(v, n);
		return;
	}
	part_by_digit(v, n, &d, ends);
	if (!d.shift)
		return;
	d.shift = d.shift < QV_RADIX_BITS ? 0 : d.shift - QV_RADIX_BITS;
	for (uint32_t k = 0; k < RADIX; k++) {
		sort_digits(v + from, ends[k] - from, d);
		from = ends[k];
	}
}

static void sort_many(uint64_t **v, uint32_t n)
{
	struct digit d = {v[0][QV_SEQ], 0};
	uint64_t span = 0;

	for (uint32_t i = 1; i < n; i++)
		if ((int64_t)(fetch(v, i, n)[QV_SEQ] - d.base) < 0)
			d.base = v[i][QV_SEQ];
	for (uint32_t i = 0; i < n; i++)
		if (fetch(v, i, n)[QV_SEQ] - d.base > span)
			span = v[i][QV_SEQ] - d.base;
	while (span >> d.shift >> QV_RADIX_BITS)
		d.shift++;
	sort_digits(v, n, d);
}

static size_t collected_size(const struct qv_queue *q)
{
	return ((size_t)qv_queue_len(q) + 1) * sizeof(uint64_t *);
}

uint64_t **qv_queue_collect(struct qv_auto *a, const struct qv_queue *q)
{
	uint64_t **v = qv_mem_get(&a->base.mem, collected_size(q));
	struct cursor c = {v};

	if (!v)
		return NULL;
	qv_queue_each(q, add, &c);
	if (qv_queue_len(q) < QV_SORT_FEW)
		sort_few(v, qv_queue_len(q));
	else
		sort_many(v, qv_queue_len(q));
	return v;
}

void qv_queue_collect_done(struct qv_auto *a, const struct qv_queue *q, uint64_t **v)
{
	qv_mem_put(&a->base.mem, v, collected_size(q));
}
