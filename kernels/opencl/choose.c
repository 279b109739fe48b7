/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.c - which way a batch goes.
 *
 * What a batch costs each way depends on how many of its keys are alike, which is not known before
 * it is looked at. An index is tried first, since the device notices itself where it does not
 * serve; then the CPU counts, and no index is tried for 1, 2, 4 ... 64 batches.
 */
#include "internal.h"
#include "hash.h"
#include "engine/base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* One launch by one work-group pays up to so many comparisons. */
#define SMALL_WORK 65536u
#define SMALL_KEYS 1024u
/* Below, chains of drops are short whatever the keys. */
#define BITS_MIN 256u
/* The bit matrix may take so much memory. */
#define BITS_BYTES ((size_t)512 << 20)
/* Most batches that no index is tried for. */
#define UNINDEXED 64u

void qv_cl_draw_secret(struct qv_offload_dev *dev)
{
	uint64_t now;

	if (getrandom(dev->secret, sizeof(dev->secret), GRND_NONBLOCK) == sizeof(dev->secret))
		return;
	now = qv_clock_ns();
	dev->secret[0] = qv_cl_mix((uintptr_t)dev ^ now, 0x9e3779b97f4a7c15u);
	dev->secret[1] = qv_cl_mix((uintptr_t)&now ^ now, 0xc2b2ae3d27d4eb4fu);
}

/* Alike? */

static bool same(const struct qv_offload_key *a, const struct qv_offload_key *b)
{
	return a->tag == b->tag && a->ignore == b->ignore && a->src == b->src;
}

/* Whether at least half of the queries are like an earlier one. table: room for `slots` indexes, a
 * power of two above m. */
static bool crowded(const struct qv_offload_dev *dev, const struct qv_offload_key *queries,
		    uint32_t m, uint32_t *table, uint32_t slots)
{
	uint32_t alike = 0;

	memset(table, 0xff, slots * sizeof(*table));
	for (uint32_t i = 0; i < m; i++) {
		const struct qv_offload_key *q = &queries[i];
		uint32_t at =
			(uint32_t)(qv_cl_hash(dev->secret, q->tag ^ q->ignore * 3, q->src) >> 32) &
			(slots - 1);

		while (table[at] != QV_OFFLOAD_NONE && !same(&queries[table[at]], q))
			at = (at + 1) & (slots - 1);
		if (table[at] == QV_OFFLOAD_NONE)
			table[at] = i;
		else
			alike++;
	}
	return alike >= m / 2;
}

/* Masks. */

/* The masks of n keys, at most QV_CL_KINDS; 0: there are more. */
static uint32_t find_kinds(const struct qv_offload_key *keys, uint32_t n,
			   uint64_t masks[QV_CL_KINDS][2])
{
	uint32_t kinds = 0, at = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t tag = ~keys[i].ignore;
		const uint64_t src = keys[i].src == QV_SRC_ANY ? 0 : UINT32_MAX;

		if (kinds && masks[at][0] == tag && masks[at][1] == src)
			continue;
		for (at = 0; at < kinds && (masks[at][0] != tag || masks[at][1] != src); at++)
			;
		if (at == QV_CL_KINDS)
			return 0;
		masks[at][0] = tag;
		masks[at][1] = src;
		kinds += at == kinds;
	}
	return kinds;
}

static bool exact(uint32_t kinds, uint64_t masks[QV_CL_KINDS][2])
{
	return kinds == 1 && masks[0][0] == UINT64_MAX && masks[0][1] == UINT32_MAX;
}

/* One side must have no wildcards. */
static void describe(struct qv_cl_batch *b)
{
	uint64_t masks[QV_CL_KINDS][2];
	const uint32_t queries = find_kinds(b->queries, b->m, masks);
	uint32_t all;

	b->kinds = find_kinds(b->entries, b->n, b->masks);
	b->posts = 0;
	if (!exact(queries, masks)) {
		b->posts = 1;
		b->kinds = exact(b->kinds, b->masks) ? queries : 0;
		memcpy(b->masks, masks, sizeof(masks));
	}
	all = b->n;
	for (b->bits = 6; b->bits < 18 && 1u << b->bits < 2 * all; b->bits++)
		;
}

/* What fits. */

size_t qv_cl_bits_bytes(uint32_t n, uint32_t m)
{
	return (size_t)((n + 31) / 32) * m * sizeof(uint32_t);
}

size_t qv_cl_table_bytes(const struct qv_cl_batch *b)
{
	const size_t heads = (size_t)b->kinds << b->bits;
	const size_t links = (size_t)b->n * (b->posts ? b->kinds : 1);

	return (heads + links) * sizeof(uint32_t);
}

static bool fits_small(const struct qv_offload_dev *dev, uint32_t n)
{
	return n * sizeof(uint32_t) + 64 <= dev->local_bytes && n <= SMALL_KEYS;
}

static bool fits_bits(const struct qv_offload_dev *dev, uint32_t n, uint32_t m)
{
	const size_t bytes = qv_cl_bits_bytes(n, m);

	return bytes <= BITS_BYTES && bytes <= dev->alloc_bytes &&
	       (n + 31) / 32 * sizeof(uint32_t) + 64 <= dev->local_bytes;
}

static bool fits_index(const struct qv_offload_dev *dev, const struct qv_cl_batch *b)
{
	return b->kinds && qv_cl_table_bytes(b) <= dev->alloc_bytes;
}

/* The choice. */

/* Without an index. */
static enum qv_opencl_way compare_all(const struct qv_offload_dev *dev, const struct qv_cl_batch *b)
{
	uint32_t *table, slots = 512;
	bool many = false;

	if (b->m < BITS_MIN || b->n < BITS_MIN || !fits_bits(dev, b->n, b->m))
		return QV_OPENCL_LARGE;
	while (slots < 2 * b->m)
		slots *= 2;
	table = malloc(slots * sizeof(*table));
	if (table)
		many = crowded(dev, b->queries, b->m, table, slots);
	free(table);
	return many ? QV_OPENCL_BITS : QV_OPENCL_LARGE;
}

static enum qv_opencl_way forced(const struct qv_offload_dev *dev, struct qv_cl_batch *b)
{
	if (dev->force == QV_OPENCL_INDEX)
		describe(b);
	if ((dev->force == QV_OPENCL_BITS && fits_bits(dev, b->n, b->m)) ||
	    (dev->force == QV_OPENCL_SMALL && fits_small(dev, b->n)) ||
	    (dev->force == QV_OPENCL_INDEX && fits_index(dev, b)))
		return dev->force;
	return QV_OPENCL_LARGE;
}

enum qv_opencl_way qv_cl_choose(struct qv_offload_dev *dev, struct qv_cl_batch *b)
{
	b->kinds = 0;
	if (dev->force != QV_OPENCL_AUTO)
		return forced(dev, b);
	if (fits_small(dev, b->n) && (uint64_t)b->n * b->m <= SMALL_WORK)
		return QV_OPENCL_SMALL;
	if (dev->unindexed) {
		dev->unindexed--;
		return compare_all(dev, b);
	}
	describe(b);
	return fits_index(dev, b) ? QV_OPENCL_INDEX : compare_all(dev, b);
}

enum qv_opencl_way qv_cl_choose_again(struct qv_offload_dev *dev, const struct qv_cl_batch *b)
{
	if (dev->force != QV_OPENCL_AUTO)
		return QV_OPENCL_LARGE;
	dev->unindexed_next = dev->unindexed_next ? 2 * dev->unindexed_next : 1;
	if (dev->unindexed_next > UNINDEXED)
		dev->unindexed_next = UNINDEXED;
	dev->unindexed = dev->unindexed_next;
	return compare_all(dev, b);
}
