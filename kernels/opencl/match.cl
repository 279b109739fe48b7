/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.cl - exact MPI-ordered matching of a batch: four ways to the same answer.
 *
 * OpenCL C 1.2, 32-bit atomics, no subgroups. A key is three ulongs: tag, the bits of the tag that
 * are compared, source with the compared bits of the source above it (all or none). keys holds n
 * entries, then m queries; out gets m indexes of entries (or NONE), then the seal, then whether a
 * work-item gave up (of the index only).
 *
 * Deferred acceptance (Gale and Shapley, McVitie and Wilson): every query proposes to the entries
 * that accept it, oldest first; an entry keeps the oldest query that has proposed, and the one that
 * it drops goes on behind it. The outcome is the only stable matching, which is the sequential one,
 * whatever the order of the proposals: work-items wait for nobody and share only holder[].
 * A query finds the entries that accept it in a hash table, or where that does not serve by looking
 * at all. Long chains of drops are the price where many queries are alike. For these there is the
 * bit matrix: who accepts whom in parallel, then one work-group goes through the queries in order.
 *
 * The seal is the sum of a hash of each pair, and of a number that the host draws for each batch:
 * results that were not written, or not by this launch, or changed on their way, do not fit it.
 */
#define NONE 0xffffffffu

typedef ulong3 key_t;

static key_t get_key(__global const ulong *keys, uint i)
{
	return vload3(i, keys);
}

static uint accepts(key_t e, key_t q)
{
	const ulong tag = (e.x ^ q.x) & e.y & q.y;
	const ulong src = (e.z ^ q.z) & (e.z >> 32) & (q.z >> 32);

	return (tag | src) == 0;
}

static uint seal_of(uint query, uint entry)
{
	uint x = query * 0x9e3779b1u ^ (entry + 0x7f4a7c15u) * 0x85ebca77u;

	x = (x ^ x >> 15) * 0x2c1b3c6du;
	return x ^ x >> 13;
}

/* Deferred acceptance, one work-group, one launch. */

__kernel void match_small(__global const ulong *keys, __global uint *out, uint n, uint m,
			  uint nonce, volatile __local uint *holder)
{
	const uint me = get_local_id(0), all = get_local_size(0);
	__local uint seal;

	if (me == 0)
		seal = nonce;
	for (uint i = me; i < n; i += all)
		holder[i] = NONE;
	for (uint i = me; i < m; i += all)
		out[i] = NONE;
	barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
	for (uint first = me; first < m; first += all) {
		uint query = first;
		key_t q = get_key(keys, n + query);

		for (uint e = 0; e < n; e++) {
			uint dropped;

			if (!accepts(get_key(keys, e), q))
				continue;
			dropped = atomic_min(&holder[e], query);
			if (dropped <= query)
				continue;
			if (dropped == NONE)
				break;
			query = dropped;
			q = get_key(keys, n + query);
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint e = me; e < n; e += all) {
		const uint query = holder[e];

		if (query == NONE)
			continue;
		out[query] = e;
		atomic_add(&seal, seal_of(query, e));
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (me == 0)
		out[m] = seal;
}

/* The same, any number of work-groups, three launches. */

__kernel void match_begin(__global uint *out, __global uint *holder, uint n, uint m, uint nonce)
{
	const uint i = get_global_id(0);

	if (i < n)
		holder[i] = NONE;
	if (i < m)
		out[i] = NONE;
	if (i == 0) {
		out[m] = nonce;
		out[m + 1] = 0;
	}
}

__kernel void match_propose(__global const ulong *keys, volatile __global uint *holder, uint n,
			    uint m)
{
	uint query = get_global_id(0);
	key_t q;

	if (query >= m)
		return;
	q = get_key(keys, n + query);
	for (uint e = 0; e < n; e++) {
		uint dropped;

		if (!accepts(get_key(keys, e), q))
			continue;
		dropped = atomic_min(&holder[e], query);
		if (dropped <= query)
			continue;
		if (dropped == NONE)
			return;
		query = dropped;
		q = get_key(keys, n + query);
	}
}

__kernel void match_settle(__global const uint *holder, volatile __global uint *out, uint n,
			   uint m)
{
	const uint e = get_global_id(0);
	const uint query = e < n ? holder[e] : NONE;
	__local uint seal;

	if (get_local_id(0) == 0)
		seal = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	if (query != NONE) {
		out[query] = e;
		atomic_add(&seal, seal_of(query, e));
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (get_local_id(0) == 0)
		atomic_add(&out[m], seal);
}

/* The same, with an index. */

/*
 * Keys with wildcards are of several kinds, one for each mask. Behind the keys there are two ulongs
 * for each: the bits of the tag, and of the source, that are compared. If the entries have them, an
 * entry is in the table of its kind, and a query looks in the tables of all. If the queries have
 * them (posts), an entry is in every table, and a query looks in its own.
 *
 * A table is 1 << bits heads of chains, of entries in no order; the links of the entries lie behind
 * the heads of all tables. The hash is keyed by a secret of the host's, so that nobody can aim at
 * one chain; keys that are alike share one all the same. So a work-item gives up after `limit`
 * links, and the batch is then matched in another way.
 */
typedef struct {
	__global const ulong *keys, *masks;
	volatile __global uint *head;
	volatile __global uint *next;
	ulong secret0, secret1;
	uint n, kinds, posts, bits;
} index_t;

static ulong mix(ulong a, ulong b)
{
	return a * b ^ mul_hi(a, b);
}

/* The head of the chain of a key in the table of a kind. */
static uint chain_of(const index_t *ix, key_t k, uint kind)
{
	const ulong tag = k.x & ix->masks[2 * kind], src = k.z & ix->masks[2 * kind + 1];
	const ulong once = mix(tag ^ ix->secret0, src ^ ix->secret1);
	const ulong twice = mix(once ^ ix->secret1, ix->secret0);

	return (kind << ix->bits) + (uint)(twice >> (64 - ix->bits));
}

static uint kind_of(const index_t *ix, key_t k)
{
	uint i = 0;

	while (i + 1 < ix->kinds && (ix->masks[2 * i] != k.y || ix->masks[2 * i + 1] != k.z >> 32))
		i++;
	return i;
}

/* The oldest entry from `from` on that accepts q, or NONE. */
static uint oldest(const index_t *ix, key_t q, uint from, uint *links, uint limit)
{
	const uint first = ix->posts ? kind_of(ix, q) : 0;
	const uint last = ix->posts ? first + 1 : ix->kinds;
	uint best = NONE;

	for (uint kind = first; kind < last; kind++) {
		const uint at = ix->posts ? kind * ix->n : 0;
		uint e = ix->head[chain_of(ix, q, kind)];

		for (; e != NONE && *links < limit; ++*links) {
			if (e >= from && e < best && accepts(get_key(ix->keys, e), q))
				best = e;
			e = ix->next[at + e];
		}
	}
	return best;
}

#define INDEX_PARAMETERS                                                                       \
	__global const ulong *keys, volatile __global uint *table, ulong secret0, ulong secret1, \
		uint n, uint m, uint kinds, uint posts, uint bits
#define INDEX                                                                                  \
	{                                                                                      \
		keys, keys + 3 * ((size_t)n + m), table, table + (kinds << bits), secret0, secret1, \
			n, kinds, posts, bits                                                  \
	}

__kernel void match_empty(volatile __global uint *table, uint heads)
{
	if (get_global_id(0) < heads)
		table[get_global_id(0)] = NONE;
}

__kernel void match_index(INDEX_PARAMETERS)
{
	const index_t ix = INDEX;
	const uint e = get_global_id(0);
	uint first = 0, last = kinds;
	key_t k;

	if (e >= n)
		return;
	k = get_key(keys, e);
	if (!posts) {
		first = kind_of(&ix, k);
		last = first + 1;
	}
	for (uint i = first; i < last; i++)
		ix.next[(posts ? i * n : 0) + e] = atomic_xchg(&ix.head[chain_of(&ix, k, i)], e);
}

__kernel void match_find(INDEX_PARAMETERS, volatile __global uint *holder,
			 volatile __global uint *out, uint limit)
{
	const index_t ix = INDEX;
	uint query = get_global_id(0), from = 0, links = 0;
	key_t q;

	if (query >= m)
		return;
	q = get_key(keys, n + query);
	for (;;) {
		const uint e = oldest(&ix, q, from, &links, limit);
		uint dropped;

		if (links >= limit) {
			atomic_or(&out[m + 1], 1);
			return;
		}
		if (e == NONE)
			return;
		from = e + 1;
		dropped = atomic_min(&holder[e], query);
		if (dropped <= query)
			continue;
		if (dropped == NONE)
			return;
		query = dropped;
		q = get_key(keys, n + query);
	}
}

/* Bit matrix, then in order. */

/* Row q of bits: which entries accept query q, 32 to a word. Work-items side by side have queries
 * side by side and the same entries, which are then read once for all. */
__kernel void match_bits(__global const ulong *keys, __global uint *bits, uint n, uint m)
{
	const uint query = get_global_id(0), word = get_global_id(1);
	const uint words = (n + 31) / 32, first = word * 32;
	uint row = 0;
	key_t q;

	if (word >= words || query >= m)
		return;
	q = get_key(keys, n + query);
	for (uint i = 0; i < min(32u, n - first); i++)
		row |= accepts(get_key(keys, first + i), q) << i;
	bits[(size_t)query * words + word] = row;
}

/* One work-group. taken: a bit for each entry. lowest[] is used in turn, so that one is cleared
 * while the other is read. */
__kernel void match_resolve(__global const uint *bits, __global uint *out, uint n, uint m,
			    uint nonce, __local uint *taken)
{
	const uint me = get_local_id(0), all = get_local_size(0), words = (n + 31) / 32;
	volatile __local uint lowest[2];
	uint seal = nonce;

	for (uint w = me; w < words; w += all)
		taken[w] = 0;
	if (me == 0)
		lowest[0] = lowest[1] = NONE;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (uint query = 0; query < m; query++) {
		__global const uint *row = bits + (size_t)query * words;
		const uint turn = query & 1;
		uint e = NONE;

		for (uint w = me; w < words && e == NONE; w += all) {
			const uint left = row[w] & ~taken[w];

			if (left)
				e = w * 32 + 31 - clz(left & (0u - left));
		}
		if (e != NONE)
			atomic_min(&lowest[turn], e);
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me == 0) {
			e = lowest[turn];
			out[query] = e;
			lowest[turn ^ 1] = NONE;
			if (e != NONE) {
				taken[e / 32] |= 1u << e % 32;
				seal += seal_of(query, e);
			}
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (me == 0)
		out[m] = seal;
}
