/* SPDX-License-Identifier: BSD-2-Clause */
/* vectors_write.c - the corpus: which batches and arrays it has. */
#include "tests/kernel/combine_ref.h"
#include "vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST     1500 /* entries or queries of one batch */
#define ELEMENTS 257

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(struct qv_offload_key) == 24,
	       "memory is written as it is");

static void put(FILE *out, const void *data, size_t bytes)
{
	static const char zeroes[8];

	fwrite(data, 1, bytes, out);
	fwrite(zeroes, 1, -bytes % 8, out);
}

/* Match. */

struct batch {
	struct qv_offload_key entries[MOST], queries[MOST];
	uint32_t result[MOST];
	uint8_t taken[MOST];
};

static void put_match(FILE *out, struct batch *b, uint32_t n, uint32_t m)
{
	const uint32_t head[2] = {n, m};

	qv_vec_match(b->entries, n, b->queries, m, b->taken, b->result);
	put(out, head, sizeof(head));
	put(out, b->entries, n * sizeof(*b->entries));
	put(out, b->queries, m * sizeof(*b->queries));
	put(out, b->result, m * sizeof(*b->result));
}

/* Around one and two words of a bit matrix, a work-group, and what has one side only. */
static const uint32_t edges[][2] = {{1, 1},     {1, 40},    {40, 1},      {31, 33},    {32, 32},
				    {33, 31},   {2, 2},     {40, 40},     {16, 8},     {8, 16},
				    {64, 64},   {63, 65},   {65, 63},     {1, 300},    {300, 1},
				    {256, 256}, {257, 255}, {1024, 1024}, {1500, 700}, {700, 1500}};
#define EDGES       (sizeof(edges) / sizeof(edges[0]))
#define SMALL_EDGES 10

static uint32_t match_count(enum qv_vec_size size)
{
	return QV_VEC_KINDS * (size == QV_VEC_SMALL ? SMALL_EDGES + 2 : EDGES + 40);
}

static int put_matches(FILE *out, enum qv_vec_size size)
{
	const uint32_t fixed = size == QV_VEC_SMALL ? SMALL_EDGES : EDGES;
	const uint32_t each = match_count(size) / QV_VEC_KINDS;
	const uint32_t limit = size == QV_VEC_SMALL ? 40 : 300;
	struct batch *b = calloc(1, sizeof(*b));
	struct qv_vec_rnd rnd = {1};

	if (!b)
		return -1;
	for (uint32_t i = 0; i < each * QV_VEC_KINDS; i++) {
		const uint32_t at = i / QV_VEC_KINDS;
		const uint32_t n =
			at < fixed ? edges[at][0] : 1 + (uint32_t)(qv_vec_random(&rnd) % limit);
		const uint32_t m =
			at < fixed ? edges[at][1] : 1 + (uint32_t)(qv_vec_random(&rnd) % limit);

		qv_vec_draw(&rnd, i % QV_VEC_KINDS, b->entries, n, b->queries, m);
		put_match(out, b, n, m);
	}
	free(b);
	return 0;
}

/* Combine. */

/* The one NaN that stands for all that a sum or a product can give. */
#define ONE_NAN(t, name, nan)                                                 \
	static void name(char *p, size_t bytes)                               \
	{                                                                     \
		const t one = nan;                                            \
		t x;                                                          \
                                                                              \
		for (size_t at = 0; at < bytes; at += sizeof(x)) {            \
			memcpy(&x, p + at, sizeof(x));                        \
			if (isnan(x))                                         \
				memcpy(p + at, &one, qv_min_size(sizeof(x))); \
		}                                                             \
	}
static size_t qv_min_size(size_t bytes)
{
	return bytes > QV_REF_LONG_DOUBLE ? QV_REF_LONG_DOUBLE : bytes;
}
ONE_NAN(float, float_nan, NAN)
ONE_NAN(double, double_nan, (double)NAN)
ONE_NAN(long double, long_double_nan, (long double)NAN)

static void one_nan(enum qv_op op, enum qv_type type, char *p)
{
	if (op != QV_OP_SUM && op != QV_OP_PROD)
		return;
	switch (type) {
	case QV_TYPE_FLOAT:
	case QV_TYPE_FLOAT_COMPLEX: float_nan(p, qv_type_size(type)); break;
	case QV_TYPE_DOUBLE:
	case QV_TYPE_DOUBLE_COMPLEX: double_nan(p, qv_type_size(type)); break;
	case QV_TYPE_LONG_DOUBLE:
	case QV_TYPE_LONG_DOUBLE_COMPLEX: long_double_nan(p, qv_type_size(type)); break;
	default: break;
	}
}

/* What lies in the padding of a long double is left to chance: the corpus has zeroes. */
static void clear_padding(enum qv_type type, char *p)
{
	if (type != QV_TYPE_LONG_DOUBLE && type != QV_TYPE_LONG_DOUBLE_COMPLEX)
		return;
	for (size_t at = 0; at < qv_type_size(type); at += sizeof(long double))
		memset(p + at + QV_REF_LONG_DOUBLE, 0, sizeof(long double) - QV_REF_LONG_DOUBLE);
}

struct arrays {
	char src[QV_VEC_ARRAYS][ELEMENTS * QV_REF_ITEM];
	char result[ELEMENTS * QV_REF_ITEM];
};

static void put_combine(FILE *out, struct arrays *a, enum qv_op op, enum qv_type type, uint32_t k,
			uint32_t count)
{
	const uint32_t head[4] = {op, type, k, count};
	const size_t item = qv_type_size(type);

	for (uint32_t i = 0; i < count; i++) {
		char *r = a->result + i * item;

		for (uint32_t j = 0; j < k; j++) {
			qv_ref_draw(type, a->src[j] + i * item);
			clear_padding(type, a->src[j] + i * item);
		}
		memcpy(r, a->src[0] + i * item, item);
		for (uint32_t j = 1; j < k; j++)
			qv_ref_combine(op, type, r, r, a->src[j] + i * item);
		one_nan(op, type, r);
		clear_padding(type, r);
	}
	put(out, head, sizeof(head));
	for (uint32_t j = 0; j < k; j++)
		put(out, a->src[j], count * item);
	put(out, a->result, count * item);
}

/* k, and the number of elements, for simulators and for all. */
static const uint32_t shapes[][2] = {{2, 33}, {3, 9}, {2, 1}, {2, ELEMENTS}, {3, 100}, {8, 17}};
#define SHAPES       (sizeof(shapes) / sizeof(shapes[0]))
#define SMALL_SHAPES 2

static uint32_t combine_count(enum qv_vec_size size)
{
	uint32_t pairs = 0;

	for (int op = 0; op < QV_N_OPS; op++)
		for (int type = 0; type < QV_N_TYPES; type++)
			pairs += (uint32_t)qv_combine_defined(op, type);
	return pairs * (size == QV_VEC_SMALL ? SMALL_SHAPES : SHAPES);
}

static int put_combines(FILE *out, enum qv_vec_size size)
{
	const size_t n = size == QV_VEC_SMALL ? SMALL_SHAPES : SHAPES;
	struct arrays *a = calloc(1, sizeof(*a));

	if (!a)
		return -1;
	for (int op = 0; op < QV_N_OPS; op++)
		for (int type = 0; type < QV_N_TYPES; type++)
			for (size_t i = 0; i < n && qv_combine_defined(op, type); i++)
				put_combine(out, a, op, type, shapes[i][0], shapes[i][1]);
	free(a);
	return 0;
}

int qv_vec_write(FILE *out, enum qv_vec_size size)
{
	const uint32_t counts[2] = {match_count(size), combine_count(size)};

	put(out, QV_VEC_MAGIC, 8);
	put(out, counts, sizeof(counts));
	if (put_matches(out, size) || put_combines(out, size))
		return -1;
	return fflush(out) || ferror(out) ? -1 : 0;
}
