/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.cl - exact MPI-ordered matching of a batch: three ways to the same answer.
 *
 * OpenCL C 1.2, 32-bit atomics, no subgroups. A key is three ulongs: tag, the bits of the tag that
 * are compared, source with the compared bits of the source above it (all or none). keys holds n
 * entries, then m queries; out gets m indexes of entries (or NONE), then the seal.
 *
 * Deferred acceptance (Gale and Shapley, McVitie and Wilson): every query proposes to the entries
 * that accept it, oldest first; an entry keeps the oldest query that has proposed, and the one that
 * it drops goes on behind it. The outcome is the only stable matching, which is the sequential one,
 * whatever the order of the proposals: work-items wait for nobody and share only holder[].
 * Its price is long chains of drops where many queries are alike. For these there is the bit
 * matrix: who accepts whom in parallel, then one work-group goes through the queries in order.
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

/* ---- deferred acceptance, one work-group, one launch ------------------------------------------
 */
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

/* ---- the same, any number of work-groups, three launches ---------------------------------------
 */
__kernel void match_begin(__global uint *out, __global uint *holder, uint n, uint m, uint nonce)
{
	const uint i = get_global_id(0);

	if (i < n)
		holder[i] = NONE;
	if (i < m)
		out[i] = NONE;
	if (i == 0)
		out[m] = nonce;
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

/* ---- bit matrix, then in order -----------------------------------------------------------------
 */
/* Row q of bits: which entries accept query q, 32 to a word. */
__kernel void match_bits(__global const ulong *keys, __global uint *bits, uint n, uint m)
{
	const uint word = get_global_id(0), query = get_global_id(1);
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
