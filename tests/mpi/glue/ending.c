/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ending.c - what a program calls from functions that delete attributes of MPI_COMM_SELF, with which
 * MPI_Finalize begins: the library is there until the last of them.
 */
#include "poison.h"

int glue_rank, glue_ranks;

static struct poison_call kept;
static int ran;

/* Rank 0 comes from MPI_Finalize, the others come from before it. */
static void barrier(const char *from)
{
	const uint64_t before = qv_mpi_taken();

	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(qv_mpi_taken() == before + 1, "a barrier from %s was not taken", from);
}

static void sum(const char *which)
{
	const uint64_t before = qv_mpi_taken();
	int in = 1, out = 0;

	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(out == glue_ranks, "the sum of %s function is %d", which, out);
	CHECK(qv_mpi_taken() == before + 1, "the sum of %s function was not taken", which);
}

static int on_last(MPI_Comm comm, int keyval, void *value, void *extra)
{
	CHECK(ran++ == 1, "the function that was set first is not the last");
	sum("the last");
	return MPI_SUCCESS;
}

static int on_first(MPI_Comm comm, int keyval, void *value, void *extra)
{
	CHECK(!ran++, "the function that was set last is not the first");
	if (!glue_rank)
		barrier("MPI_Finalize");
	if (poison_has(GLUE_PERSISTENT)) {
		poison_end(&kept);
		MPI_Request_free(&kept.request);
		CHECK(*(int *)kept.out.buf == glue_ranks, "the kept sum is %d",
		      *(int *)kept.out.buf);
	}
	sum("the first");
	return MPI_SUCCESS;
}

static void set(MPI_Comm_delete_attr_function *fn)
{
	int keyval;

	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, fn, &keyval, NULL);
	MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
	MPI_Comm_free_keyval(&keyval);
}

int main(int argc, char **argv)
{
	static int one = 1, result;
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &glue_ranks);
	CHECK(!qv_mpi_set("barrier=dissemination,allreduce=ring"), "refused");
	kept = (struct poison_call){.kind = POISON_ALLREDUCE,
				    .form = GLUE_PERSISTENT,
				    .in = {.buf = &one, .count = 1, .type = MPI_INT},
				    .out = {.buf = &result, .count = 1, .type = MPI_INT},
				    .comm = MPI_COMM_WORLD};
	if (poison_has(GLUE_PERSISTENT))
		poison_begin(&kept);
	set(on_last);
	set(on_first);
	MPI_Barrier(MPI_COMM_SELF); /* so that the library knows it */
	if (glue_rank)
		barrier("before MPI_Finalize");
	MPI_Finalize();
	if (!glue_rank)
		printf("passed on %d ranks\n", glue_ranks);
	return ran != 2;
}
