/* SPDX-License-Identifier: BSD-2-Clause */
/* local.c - MPI_Reduce_local: by our kernels the same bytes as by the MPI. */
#include "glue.h"

#include <string.h>

enum { MOST = 1000, WIDEST = 32 };

static unsigned char in[MOST * WIDEST + 1], base[MOST * WIDEST + 1], ours[MOST * WIDEST + 1],
	mpis[MOST * WIDEST + 1];

static void compare(const struct glue_pair *pair, int count)
{
	const size_t bytes = sizeof(in);
	uint64_t before;

	memset(in, 0, bytes);
	memset(base, 0, bytes);
	pair->fill(in, (size_t)count, glue_rank);
	pair->fill(base, (size_t)count, glue_rank + 1);
	memcpy(ours, base, bytes);
	memcpy(mpis, base, bytes);
	CHECK(!qv_mpi_set("reduce_local=mpi"), "refused");
	before = qv_mpi_taken();
	MPI_Reduce_local(in, mpis, count, pair->type, pair->op);
	CHECK(qv_mpi_taken() == before, "the MPI's was taken");
	CHECK(!qv_mpi_set("reduce_local=kernel"), "refused");
	MPI_Reduce_local(in, ours, count, pair->type, pair->op);
	CHECK(!memcmp(ours, mpis, bytes), "%s, %d elements: not as the MPI's", pair->name, count);
}

/* Doubles are ours, pairs of a value and a place are the MPI's. */
static void is_taken(void)
{
	double a[2] = {1, 2}, b[2] = {3, 4};
	int pair[2] = {1, 2}, other[2] = {3, 4};
	uint64_t before;

	CHECK(!qv_mpi_set("reduce_local=auto"), "refused");
	before = qv_mpi_taken();
	for (int i = 0; i < 3; i++)
		MPI_Reduce_local(a, b, 2, MPI_DOUBLE, MPI_SUM);
	CHECK(qv_mpi_taken() == before + 3, "not taken");
	CHECK(b[0] == 6 && b[1] == 10, "sums are %g and %g", b[0], b[1]);
	MPI_Reduce_local(pair, other, 1, MPI_2INT, MPI_MINLOC);
	CHECK(qv_mpi_taken() == before + 3, "a pair was taken");
	CHECK(other[0] == 1 && other[1] == 2, "least is %d at %d", other[0], other[1]);
	MPI_Reduce_local(a, b, 0, MPI_DOUBLE, MPI_SUM);
	CHECK(qv_mpi_taken() == before + 3 && b[0] == 6, "nothing was taken");
}

static void last_minus(void *from, void *to, int *n, MPI_Datatype *type)
{
	const int *a = from;
	int *b = to;

	for (int i = 0; i < *n; i++)
		b[i] = a[i] - b[i];
}

/* Those of the program are the MPI's, and keep their order. */
static void of_the_program(void)
{
	int a[2] = {7, 9}, b[2] = {3, 4};
	MPI_Op op;

	MPI_Op_create(last_minus, 0, &op);
	MPI_Reduce_local(a, b, 2, MPI_INT, op);
	MPI_Op_free(&op);
	CHECK(b[0] == 4 && b[1] == 5, "differences are %d and %d", b[0], b[1]);
}

void glue_local(void)
{
	static const int counts[] = {1, 7, 64, MOST};
	struct glue_pair pair;

	for (size_t i = 0; glue_pair(i, &pair); i++)
		for (int c = 0; c < 4; c++)
			compare(&pair, counts[c]);
	is_taken();
	of_the_program();
	CHECK(qv_mpi_set("reduce_local=ring") == QV_EINVAL, "an unknown way was accepted");
	CHECK(qv_mpi_set("reduce_local") == QV_EINVAL, "no way was accepted");
}
