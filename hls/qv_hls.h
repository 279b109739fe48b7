/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_hls.h - what the kernels for FPGAs and whoever calls them agree on: names, memory, numbers.
 * C and C++; nothing of the vendor's.
 */
#ifndef QV_HLS_H
#define QV_HLS_H

#include <stdint.h>

/* In every answer; another number is another contract. */
#define QV_HLS_VERSION UINT32_C(0x51560001)

#define QV_HLS_MATCH   "qv_match_hls"
#define QV_HLS_COMBINE "qv_combine_hls"

/* So many entries the match unit holds. Each costs some 300 LUTs. */
#ifndef QV_HLS_DEPTH
#define QV_HLS_DEPTH 64
#endif

#define QV_HLS_NONE UINT32_MAX

/* A receive or a message: two of them are one beat of 512 bits. */
struct qv_hls_key {
	uint64_t tag;
	uint64_t care;     /* the bits of the tag that are compared */
	uint32_t src;      /* of the source; */
	uint32_t src_care; /* ... all ones, or 0: any source */
	uint64_t unused;   /* 0 */
};

/* What one cycle moves. */
struct qv_hls_beat {
	uint64_t lane[8];
};

/*
 * qv_match_hls(entries, queries, out, n, m, nonce): of the m queries in order, each takes the first
 * of the n entries that accepts it and that none before it has taken. n above QV_HLS_DEPTH counts
 * as QV_HLS_DEPTH: who misses has to look in the other entries, which are younger. out: m indexes
 * of entries or QV_HLS_NONE, then
 */
enum qv_hls_match_word {
	/* Added up: nonce, qv_hls_seal of each pair, qv_hls_print of each entry i that the unit has
	 * looked at with i, and of each query i with QV_HLS_DEPTH + i. */
	QV_HLS_MATCH_SEAL = 0,
	QV_HLS_MATCH_VERSION = 1,
	QV_HLS_MATCH_DEPTH = 2,
	QV_HLS_MATCH_WORDS = 3,
};

/*
 * qv_combine_hls(a, b, out, beats, what, nonce): out[i] = a[i] op b[i] for `beats` beats, then one
 * beat more, with the version, the nonce, what and beats in its first two lanes, and in the third 1
 * if the kernel does not know `what`. out may be a or b.
 *
 * what: the operation as in enum qv_op, and above it the kind of the elements.
 */
#define QV_HLS_SIGNED 8u  /* kind: log2 of the element's bytes, 0 to 4, and these two */
#define QV_HLS_REAL   16u /* IEEE 754, 4 or 8 bytes */

static inline uint32_t qv_hls_what(uint32_t op, uint32_t kind)
{
	return op | kind << 8;
}

/* A number for a pair, so that their sum shows an answer to other questions. */
static inline uint32_t qv_hls_seal(uint32_t query, uint32_t entry)
{
	uint32_t x = query * 0x9e3779b1u ^ (entry + 0x7f4a7c15u) * 0x85ebca77u;

	x = (x ^ x >> 15) * 0x2c1b3c6du;
	return x ^ x >> 13;
}

/* A number for a key at its place, so that their sum shows keys that are not those
 * that were sent. */
static inline uint32_t qv_hls_print(const struct qv_hls_key *key, uint32_t place)
{
	const uint64_t src = (uint64_t)key->src_care << 32 | key->src;
	const uint64_t x = key->tag ^ (key->care << 13 | key->care >> 51) ^
			   (src << 29 | src >> 35) ^ (uint64_t)place << 20;

	return ((uint32_t)x ^ (uint32_t)(x >> 32) * 0x9e3779b1u) * 0x85ebca77u;
}

#ifdef __cplusplus
extern "C" {
#endif
void qv_match_hls(const struct qv_hls_key *entries, const struct qv_hls_key *queries, uint32_t *out,
		  uint32_t n, uint32_t m, uint32_t nonce);
void qv_combine_hls(const struct qv_hls_beat *a, const struct qv_hls_beat *b,
		    struct qv_hls_beat *out, uint32_t beats, uint32_t what, uint32_t nonce);
#ifdef __cplusplus
}
#endif

#endif /* QV_HLS_H */
