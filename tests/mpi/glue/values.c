/* SPDX-License-Identifier: BSD-2-Clause */
/* values.c - which operations on which types, with values whose result has one answer. */
#include "glue.h"

#include <complex.h>
#include <string.h>

/* Small numbers: sums and products of a few are exact in every type, in any order. None is
 * negative, since Open MPI 4.1 does not let sums of short unsigned numbers wrap around. */
static int small(size_t i, int rank)
{
	return (int)((i * 7 + (size_t)rank * 5 + i * (size_t)rank) % 3);
}

#define FILL(name, type, value)                         \
	static void name(void *buf, size_t n, int rank) \
	{                                               \
		type *v = buf;                          \
                                                        \
		for (size_t i = 0; i < n; i++)          \
			v[i] = (type)(value);           \
	}

FILL(fill_1, signed char, small(i, rank))
FILL(fill_2, short, small(i, rank))
FILL(fill_4, int, small(i, rank))
FILL(fill_8, int64_t, small(i, rank))
FILL(fill_float, float, small(i, rank))
FILL(fill_double, double, small(i, rank))
/* Imaginary at one rank only, or the sign of a product that is 0 would depend on the order. */
FILL(fill_complex_f, float complex, small(i, rank) + (rank ? 0 : small(i, 1)) * I)
FILL(fill_complex, double complex, small(i, rank) + (rank ? 0 : small(i, 1)) * I)
FILL(fill_bool, unsigned char, small(i, rank) > 0)
FILL(fill_logical, int, small(i, rank) > 0)

static void fill_long_double(void *buf, size_t n, int rank)
{
	long double *v = buf;

	memset(buf, 0, n * sizeof(*v)); /* padding is compared, too */
	for (size_t i = 0; i < n; i++)
		v[i] = small(i, rank);
}

struct pair_of_ints {
	int value, index;
};

struct pair_of_double {
	double value;
	int index, none;
};

static void fill_2int(void *buf, size_t n, int rank)
{
	struct pair_of_ints *v = buf;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct pair_of_ints){small(i, rank), rank};
}

static void fill_double_int(void *buf, size_t n, int rank)
{
	struct pair_of_double *v = buf;

	for (size_t i = 0; i < n; i++)
		v[i] = (struct pair_of_double){small(i, rank), rank, 0};
}

#define MAX_OPS 10

struct kind {
	MPI_Datatype type;
	glue_fill *fill;
	const char *name;
	MPI_Op ops[MAX_OPS + 1];
};

#define ALL                                                                                  \
	MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, \
		MPI_BXOR
#define MULTI MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR
#define REAL  MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX
#define PLANE MPI_SUM, MPI_PROD
#define LOGIC MPI_LAND, MPI_LOR, MPI_LXOR
#define PLACE MPI_MINLOC, MPI_MAXLOC

static const struct kind *kinds(size_t *n)
{
	static const struct kind all[] = {
		{MPI_SIGNED_CHAR, fill_1, "signed char", {ALL, MPI_OP_NULL}},
		{MPI_UNSIGNED_CHAR, fill_1, "unsigned char", {ALL, MPI_OP_NULL}},
		{MPI_SHORT, fill_2, "short", {ALL, MPI_OP_NULL}},
		{MPI_UNSIGNED_SHORT, fill_2, "unsigned short", {ALL, MPI_OP_NULL}},
		{MPI_INT, fill_4, "int", {ALL, MPI_OP_NULL}},
		{MPI_UNSIGNED, fill_4, "unsigned", {ALL, MPI_OP_NULL}},
		{MPI_LONG, fill_8, "long", {ALL, MPI_OP_NULL}},
		{MPI_UNSIGNED_LONG_LONG, fill_8, "unsigned long long", {ALL, MPI_OP_NULL}},
		{MPI_UINT8_T, fill_1, "uint8_t", {ALL, MPI_OP_NULL}},
		{MPI_INT64_T, fill_8, "int64_t", {ALL, MPI_OP_NULL}},
		{MPI_AINT, fill_8, "aint", {MULTI, MPI_OP_NULL}},
		{MPI_INTEGER, fill_4, "integer", {MULTI, MPI_OP_NULL}},
		{MPI_FLOAT, fill_float, "float", {REAL, MPI_OP_NULL}},
		{MPI_REAL, fill_float, "real", {REAL, MPI_OP_NULL}},
		{MPI_DOUBLE, fill_double, "double", {REAL, MPI_OP_NULL}},
		{MPI_DOUBLE_PRECISION, fill_double, "double precision", {REAL, MPI_OP_NULL}},
		{MPI_LONG_DOUBLE, fill_long_double, "long double", {REAL, MPI_OP_NULL}},
		{MPI_C_FLOAT_COMPLEX, fill_complex_f, "float complex", {PLANE, MPI_OP_NULL}},
		{MPI_C_DOUBLE_COMPLEX, fill_complex, "double complex", {PLANE, MPI_OP_NULL}},
		{MPI_BYTE, fill_1, "byte", {MPI_BAND, MPI_BOR, MPI_BXOR, MPI_OP_NULL}},
		{MPI_C_BOOL, fill_bool, "bool", {LOGIC, MPI_OP_NULL}},
		{MPI_LOGICAL, fill_logical, "logical", {LOGIC, MPI_OP_NULL}},
		{MPI_2INT, fill_2int, "2int", {PLACE, MPI_OP_NULL}},
		{MPI_DOUBLE_INT, fill_double_int, "double_int", {PLACE, MPI_OP_NULL}},
	};

	*n = sizeof(all) / sizeof(all[0]);
	return all;
}

int glue_pair(size_t i, struct glue_pair *pair)
{
	size_t n;
	const struct kind *k = kinds(&n);

	for (size_t t = 0; t < n; t++)
		for (size_t o = 0; k[t].ops[o] != MPI_OP_NULL; o++)
			if (i-- == 0) {
				*pair = (struct glue_pair){k[t].type, k[t].ops[o], k[t].fill,
							   k[t].name};
				return 1;
			}
	return 0;
}

static size_t extent_of(MPI_Datatype type)
{
	MPI_Aint low, extent;

	MPI_Type_get_extent(type, &low, &extent);
	return (size_t)extent;
}

static int has_gaps(MPI_Datatype type)
{
	int size;

	MPI_Type_size(type, &size);
	return (size_t)size != extent_of(type);
}

static int n_algorithms(void)
{
	int n = 0;

	while (glue_algorithms[n])
		n++;
	return n;
}

/* Every operation on every type, by every kind of reduction; the rest takes turns. */
void glue_values(void)
{
	const int n = n_algorithms();
	struct glue_pair pair;

	for (size_t i = 0; glue_pair(i, &pair); i++)
		for (int kind = 0; kind < GLUE_KINDS; kind++) {
			const struct glue_call call = {
				.kind = (enum glue_kind)kind,
				.type = pair.type,
				.item = extent_of(pair.type),
				.op = pair.op,
				.count = 1 + (int)(i % 40),
				.root = kind == GLUE_REDUCE ? (int)i % glue_ranks : 0,
				.in_place = (int)(i / 2) % 2,
				.comm = MPI_COMM_WORLD,
			};

			glue_compare(&call, glue_algorithms[(int)(i + (size_t)kind) % n],
				     GLUE_BLOCKING, pair.fill, !has_gaps(pair.type));
		}
}

/* MPICH 4.0 ends in a segmentation fault when a root other than 0 reduces 5 KB in place. */
static int mpi_can(int kind, int place)
{
#ifdef MPICH
	return kind != GLUE_REDUCE || !place;
#else
	return 1;
#endif
}

static void sizes_up_to(int most)
{
	static const int counts[] = {1, 2, 3, 5, 64, 1000, 4099, 30001, 500000, 2000003};

	for (int a = 0; glue_algorithms[a]; a++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			for (int kind = 0; kind < GLUE_KINDS && counts[i] <= most; kind++)
				for (int place = 0; place < 2; place++) {
					const struct glue_call call = {
						.kind = (enum glue_kind)kind,
						.type = MPI_DOUBLE,
						.item = sizeof(double),
						.op = MPI_SUM,
						.count = counts[i],
						.root = kind ? 0 : (int)(i + 1) % glue_ranks,
						.in_place = place && mpi_can(kind, place),
						.comm = MPI_COMM_WORLD,
					};

					glue_compare(&call, glue_algorithms[a], GLUE_BLOCKING,
						     fill_double, 1);
				}
}

/* Every algorithm, from less than an element per rank to what cannot be eager. */
void glue_sizes(void)
{
	sizes_up_to(30001);
	for (int root = 0; root < glue_ranks; root++)
		for (int a = 0; glue_algorithms[a]; a++) {
			const struct glue_call call = {
				GLUE_REDUCE, MPI_INT, sizeof(int), MPI_SUM,
				17,          root,    root % 2,    MPI_COMM_WORLD};

			glue_compare(&call, glue_algorithms[a], GLUE_BLOCKING, fill_4, 1);
		}
}

void glue_big(void)
{
	sizes_up_to(2000003);
}
