/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vectors.h - the vector corpus: batches to match and arrays to combine, with their answers.
 * qv-vectors writes it; every kind of kernel (CPU, OpenCL, HLS, RTL) is held against the same file.
 *
 * All numbers are little-endian and every record begins at a multiple of 8 bytes:
 *     header    8 bytes "QVVEC001"; uint32 number of match records; uint32 of combine records
 *     match     uint32 n, m; n entries, m queries (struct qv_offload_key, 24 bytes each);
 *               m uint32 answers; zeroes
 *     combine   uint32 op, type (enum qv_op, enum qv_type), k, count; k arrays of count elements,
 *               each with zeroes behind it; the answer likewise
 * Where a sum or a product is a NaN, which one is not defined: the corpus has the positive quiet
 * one without payload. The padding bytes of a long double are 0.
 */
#ifndef QV_VECTORS_H
#define QV_VECTORS_H

#include <quiver/offload.h>

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QV_VEC_MAGIC "QVVEC001"

/* Random batches. */

struct qv_vec_rnd {
	uint64_t state;
};

uint64_t qv_vec_random(struct qv_vec_rnd *rnd);

enum qv_vec_kind {
	QV_VEC_UNIQUE =
		0,       /* each entry has a tag of its own, queries are a permutation, some miss */
	QV_VEC_SAME = 1, /* all alike */
	QV_VEC_FEW = 2,  /* few tags and sources, exact */
	QV_VEC_WILD = 3, /* the entries are receives, many with wildcards */
	QV_VEC_WILD_POST = 4, /* the queries are receives, many with wildcards */
	QV_VEC_MASKS = 5,     /* entries with any ignore mask; tags and sources at their limits */
};

#define QV_VEC_KINDS 6

/* Fill in n entries and m queries. */
void qv_vec_draw(struct qv_vec_rnd *rnd, enum qv_vec_kind kind, struct qv_offload_key *entries,
		 uint32_t n, struct qv_offload_key *queries, uint32_t m);

/* The answers, by the definition: one query after the other looks at all entries. taken: room for n
 * bytes. */
void qv_vec_match(const struct qv_offload_key *entries, uint32_t n,
		  const struct qv_offload_key *queries, uint32_t m, uint8_t *taken,
		  uint32_t *result);

/* The corpus. */

enum qv_vec_size {
	QV_VEC_SMALL = 0, /* batches of at most 40, arrays of at most 40 elements: for simulators */
	QV_VEC_FULL = 1,  /* batches up to 1500 */
};

/* Write it. 0, or -1 if out cannot be written. */
int qv_vec_write(FILE *out, enum qv_vec_size size);

struct qv_vec_match {
	uint32_t n, m;
	const struct qv_offload_key *entries, *queries;
	const uint32_t *result;
};

#define QV_VEC_ARRAYS 8

struct qv_vec_combine {
	enum qv_op op;
	enum qv_type type;
	uint32_t k, count;
	const void *src[QV_VEC_ARRAYS];
	const void *result;
};

/* A corpus in memory. */
struct qv_vectors {
	unsigned char *data;
	size_t bytes, at;
	uint32_t matches, combines; /* how many there are */
	uint32_t match_at, combine_at;
	uint64_t sum; /* FNV-1a of the whole file */
};

/* Read a file. 0, or -1 after a line on stderr. */
int qv_vec_open(struct qv_vectors *v, const char *file);
void qv_vec_close(struct qv_vectors *v);

/* The next record of its kind: match records come first, and are passed over by the first call for
 * the others. 1, or 0 after the last. Pointers are into v. Ends
 * the program where the file is broken. */
int qv_vec_next_match(struct qv_vectors *v, struct qv_vec_match *out);
int qv_vec_next_combine(struct qv_vectors *v, struct qv_vec_combine *out);

#ifdef __cplusplus
}
#endif
#endif /* QV_VECTORS_H */
