/* SPDX-License-Identifier: BSD-2-Clause */
/* cases.c - the program's operations, communicators, memory, errors. */
#include "glue.h"

#include <malloc.h>
#include <string.h>

static void fill(void *buf, size_t n, int rank)
{
	for (size_t i = 0; i < n; i++)
		((int *)buf)[i] = (int)i + rank;
}

static struct glue_call call_of(enum glue_kind kind, int count, MPI_Comm comm)
{
	return (struct glue_call){kind, MPI_INT, sizeof(int), MPI_SUM, count, 0, 0, comm};
}

/* The program's own operations. */

/* Maps x -> a*x + b modulo a prime, a and b in one number: to apply one after the other is
 * associative and does not commute. */
#define PRIME 251

static void maps(void *in, void *inout, int *n, MPI_Datatype *type)
{
	const uint32_t *first = in;
	uint32_t *then = inout;

	for (int i = 0; i < *n; i++) {
		const uint32_t a = first[i] >> 16, b = first[i] & 0xffff;
		const uint32_t c = then[i] >> 16, d = then[i] & 0xffff;

		then[i] = a * c % PRIME << 16 | (c * b + d) % PRIME;
	}
}

static void fill_maps(void *buf, size_t n, int rank)
{
	for (size_t i = 0; i < n; i++)
		((uint32_t *)buf)[i] = (uint32_t)(((i + (size_t)rank) % 249 + 2) << 16 |
						  (i * 31 + (size_t)rank * 77) % PRIME);
}

static void larger(void *in, void *inout, int *n, MPI_Datatype *type)
{
	const int *a = in;
	int *b = inout;

	for (int i = 0; i < *n; i++)
		if (a[i] > b[i])
			b[i] = a[i];
}

void glue_user(void)
{
	MPI_Op product, most;

	MPI_Op_create(maps, 0, &product);
	MPI_Op_create(larger, 1, &most);
	for (int a = 0; glue_algorithms[a]; a++)
		for (int kind = 0; kind < GLUE_KINDS; kind++) {
			struct glue_call call = {
				(enum glue_kind)kind, MPI_UINT32_T, 4, product, 61, 0, a % 2,
				MPI_COMM_WORLD};

			call.root = kind ? 0 : (a + 1) % glue_ranks;
			/* The last four have no order: the MPI does it. */
			glue_compare(&call, glue_algorithms[a], GLUE_BLOCKING, fill_maps,
				     a < 6 || kind >= GLUE_SCAN);
			call.type = MPI_INT;
			call.op = most;
			glue_compare(&call, glue_algorithms[a], GLUE_BLOCKING, fill, 1);
			if (a == 0)
				glue_compare(&call, glue_algorithms[a], GLUE_NONBLOCKING, fill, 0);
			if (a == 0 && kind <= GLUE_ALLREDUCE) {
				glue_compare(&call, "memory", GLUE_BLOCKING, fill, 1);
				call.type = MPI_UINT32_T;
				call.op = product;
				call.count = 5000;
				glue_compare(&call, "memory", GLUE_BLOCKING, fill_maps,
					     glue_in_order());
			}
		}
	/* Factors that are named, on 4 ranks; on others their prime factors. */
	for (int kind = 0; kind <= GLUE_SCATTER_BLOCK; kind++) {
		const struct glue_call call = {
			(enum glue_kind)kind, MPI_UINT32_T, 4, product, 61, 0, 0, MPI_COMM_WORLD};

		glue_compare(&call, "radix:4", GLUE_BLOCKING, fill_maps, 1);
	}
	MPI_Op_free(&product);
	MPI_Op_free(&most);
}

/* Types of the program, without gaps. */

#define SHORT 3
#define LONG  20 /* longer than what memory of a node combines */

/* The type tells how many numbers an element has. */
static void maps_of(void *in, void *inout, int *n, MPI_Datatype *type)
{
	int size, numbers;

	MPI_Type_size(*type, &size);
	numbers = *n * size / (int)sizeof(uint32_t);
	maps(in, inout, &numbers, NULL);
}

static void fill_short(void *buf, size_t n, int rank)
{
	fill_maps(buf, n * SHORT, rank);
}

static void fill_long(void *buf, size_t n, int rank)
{
	fill_maps(buf, n * LONG, rank);
}

/* Numbers whose order in the type is not that in memory. */
static void backwards(int numbers, MPI_Datatype *type)
{
	int lengths[LONG], at[LONG];

	for (int i = 0; i < numbers; i++) {
		lengths[i] = 1;
		at[i] = numbers - 1 - i;
	}
	MPI_Type_indexed(numbers, lengths, at, MPI_UINT32_T, type);
}

void glue_derived(void)
{
	MPI_Datatype types[2];
	MPI_Op product;

	backwards(SHORT, &types[0]);
	MPI_Type_contiguous(LONG, MPI_UINT32_T, &types[1]);
	MPI_Op_create(maps_of, 0, &product);
	for (int t = 0; t < 2; t++) {
		glue_fill *const fill_type = t ? fill_long : fill_short;
		struct glue_call call = {.item = (t ? LONG : SHORT) * sizeof(uint32_t),
					 .op = product,
					 .count = 301,
					 .comm = MPI_COMM_WORLD};

		MPI_Type_commit(&types[t]);
		call.type = types[t];
		for (int kind = 0; kind < GLUE_KINDS; kind++)
			for (int a = 0; a < 6; a++) { /* those that keep the order */
				call.kind = (enum glue_kind)kind;
				call.in_place = a % 2;
				glue_compare(&call, glue_algorithms[a], GLUE_BLOCKING, fill_type,
					     1);
			}
		call.kind = GLUE_ALLREDUCE;
		glue_compare(&call, "memory", GLUE_BLOCKING, fill_type, !t && glue_in_order());
		glue_compare(&call, "binomial", GLUE_NONBLOCKING, fill_type, 0);
		MPI_Type_free(&types[t]);
	}
	MPI_Op_free(&product);
}

/* Communicators. */

/* Many that come and go, with halves that overlap the whole, and one that is freed in use. */
void glue_comms(void)
{
	for (int i = 0; i < 20; i++) {
		const enum glue_form form = (enum glue_form)(i % GLUE_FORMS);
		struct glue_call call;
		MPI_Comm dup, half;

		MPI_Comm_dup(MPI_COMM_WORLD, &dup);
		MPI_Comm_split(dup, glue_rank % 2, -glue_rank, &half);
		call = call_of(GLUE_ALLREDUCE, 100 + i, dup);
		glue_compare(&call, glue_algorithms[i % 9], GLUE_BLOCKING, fill, 1);
		call.comm = half; /* alone in it on two ranks */
		if (glue_ranks >= 4)
			glue_compare(&call, glue_algorithms[(i + 3) % 9], GLUE_BLOCKING, fill, 1);
		call.comm = dup;
		glue_compare(&call, glue_algorithms[(i + 1) % 9], form, fill, -1);
		MPI_Comm_free(&half);
		MPI_Comm_free(&dup);
	}
	CHECK(!qv_mpi_set("allreduce=binomial"), "refused");
	for (int i = 0; i < 10; i++) {
		int one = glue_rank, sum = -1;
		MPI_Comm dup;
		MPI_Request r;

		MPI_Comm_dup(MPI_COMM_WORLD, &dup);
		MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup, &r);
		MPI_Comm_free(&dup);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		CHECK(sum == glue_ranks * (glue_ranks - 1) / 2, "the sum is %d", sum);
	}
}

/* Memory. */

/* So many bytes of those that malloc has got from the system by themselves. */
static size_t long_memory(void)
{
	return mallinfo2().hblkhd;
}

/* Each root has a plan of its own, and a rank that is not the root needs room for two vectors. */
void glue_room(void)
{
	enum { N = 1 << 20 };
	int *in = calloc(N, sizeof(*in)), *out = malloc(N * sizeof(*out));
	size_t before;

	CHECK(in && out, "no memory");
	CHECK(!qv_mpi_set("reduce=ring,scan=binomial,exscan=binomial"), "refused");
	MPI_Barrier(MPI_COMM_WORLD);
	before = long_memory();
	for (int root = 0; root < glue_ranks; root++)
		MPI_Reduce(in, out, N, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
	MPI_Scan(in, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Exscan(MPI_IN_PLACE, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(long_memory() < before + 3 * N * sizeof(*in), "%zu bytes stay allocated",
	      long_memory() - before);
	free(in);
	free(out);
}

/* Errors. */

static int handled, handled_code;

static void on_error(MPI_Comm *comm, int *code, ...)
{
	handled++;
	handled_code = *code;
}

static void keep_right(void *in, void *inout, int *n, MPI_Datatype *type)
{
}

/* The type of this reduction is not committed: its error. */
static int uncommitted(MPI_Comm comm)
{
	int in[2] = {1, 2}, out[2] = {0}, rc;
	MPI_Datatype pair;
	MPI_Op op;

	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Op_create(keep_right, 1, &op);
	rc = MPI_Reduce(in, out, 1, pair, op, 0, comm);
	MPI_Op_free(&op);
	MPI_Type_free(&pair);
	return rc;
}

/* What is wrong is told by the MPI, to the handler that the program has set, as without us. */
void glue_errors(void)
{
	const MPI_Datatype of_root = glue_rank ? MPI_DATATYPE_NULL : MPI_INT;
	int in = 1, out = 2, all[64], rc;
	MPI_Errhandler handler;
	MPI_Comm dup;

	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_create_errhandler(on_error, &handler);
	MPI_Comm_set_errhandler(dup, handler);
	CHECK(!qv_mpi_set("allreduce=ring,reduce=binomial,allgather=ring,alltoall=direct,"
			  "gather=binomial,allgatherv=ring,alltoallv=direct"),
	      "refused");
	rc = MPI_Allreduce(&in, &out, -1, MPI_INT, MPI_SUM, dup);
	CHECK(rc && handled == 1 && handled_code == rc, "negative count: %d, handled %d", rc,
	      handled);
	rc = MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, glue_ranks, dup);
	CHECK(rc && handled == 2, "no such root: %d, handled %d", rc, handled);
	rc = MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_OP_NULL, dup);
	CHECK(rc && handled == 3, "no operation: %d, handled %d", rc, handled);
	rc = MPI_Allreduce(&in, &out, 1, MPI_DATATYPE_NULL, MPI_SUM, dup);
	CHECK(rc && handled == 4, "no type: %d, handled %d", rc, handled);
	CHECK(out == 2, "something was written");
	rc = uncommitted(dup);
	CHECK(rc && handled == 5, "a type that is not committed: %d, handled %d", rc, handled);
	rc = MPI_Allgather(&in, 1, MPI_INT, all, 1, MPI_DATATYPE_NULL, dup);
	CHECK(rc && handled == 6, "no type of what comes: %d, handled %d", rc, handled);
	rc = MPI_Alltoall(all, 1, MPI_INT, all, 1, MPI_DATATYPE_NULL, dup);
	CHECK(rc && handled == 7, "alltoall, no type of what comes: %d, handled %d", rc, handled);
	rc = MPI_Gather(&in, 1, of_root, all, 1, MPI_DATATYPE_NULL, 0, dup);
	CHECK(rc && handled == 8, "no type of what is gathered: %d, handled %d", rc, handled);
	rc = MPI_Allgatherv(&in, 0, MPI_INT, all, NULL, NULL, MPI_INT, dup);
	CHECK(rc && handled == 9, "no counts of what comes: %d, handled %d", rc, handled);
	rc = MPI_Alltoallv(all, NULL, NULL, MPI_INT, all, NULL, NULL, MPI_INT, dup);
	CHECK(rc && handled == 10, "alltoallv, no counts: %d, handled %d", rc, handled);
	MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
	rc = MPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_BAND, dup);
	CHECK(rc && handled == 10, "bits of a float: %d, handled %d", rc, handled);
	MPI_Errhandler_free(&handler);
	MPI_Comm_free(&dup);
	CHECK(qv_mpi_set("allreduce=fastest") == QV_EINVAL, "an unknown algorithm was accepted");
	CHECK(qv_mpi_set("sum=ring") == QV_EINVAL, "an unknown operation was accepted");
	CHECK(qv_mpi_set("allreduce") == QV_EINVAL, "no algorithm was accepted");
}

/* What the MPI keeps. */

static void fill_vector(void *buf, size_t n, int rank)
{
	memset(buf, rank, n * 2 * sizeof(int));
}

static void add_first(void *in, void *inout, int *n, MPI_Datatype *type)
{
	for (int i = 0; i < *n; i++)
		((int *)inout)[2 * i] += ((int *)in)[2 * i];
}

static void intercomm(void)
{
	const int half = glue_ranks / 2, low = glue_rank < half;
	int in = 1, out = 0, there;
	MPI_Comm mine, inter;
	uint64_t before = qv_mpi_taken();

	MPI_Comm_split(MPI_COMM_WORLD, low, glue_rank, &mine);
	MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, low ? half : 0, 5, &inter);
	MPI_Comm_remote_size(inter, &there);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, inter);
	CHECK(out == there && qv_mpi_taken() == before, "the sum is %d instead of %d", out, there);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&mine);
}

void glue_through(void)
{
	struct glue_call call = call_of(GLUE_ALLREDUCE, 0, MPI_COMM_WORLD);
	int *counts = calloc((size_t)glue_ranks, sizeof(*counts));
	int in[256], out[256] = {0};
	MPI_Datatype gaps;
	MPI_Op op;

	CHECK(counts, "no memory");
	glue_compare(&call, "binomial", GLUE_BLOCKING, fill, 0);
	call.count = 5;
	call.comm = MPI_COMM_SELF;
	glue_compare(&call, "binomial", GLUE_BLOCKING, fill, 0);
	call.comm = MPI_COMM_WORLD;
	glue_compare(&call, "mpi", GLUE_BLOCKING, fill, 0);
	MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gaps);
	MPI_Type_commit(&gaps);
	MPI_Op_create(add_first, 1, &op);
	call = (struct glue_call){GLUE_ALLREDUCE, gaps, 2 * sizeof(int), op, 9, 0, 0,
				  MPI_COMM_WORLD};
	glue_compare(&call, "ring", GLUE_BLOCKING, fill_vector, 0);
	MPI_Op_free(&op);
	MPI_Type_free(&gaps);
	CHECK(!qv_mpi_set("allreduce=ring,reduce_scatter=ring"), "refused");
	intercomm();
	for (int i = 0; i < glue_ranks; i++)
		counts[i] = i; /* blocks of different lengths */
	fill(in, 256, glue_rank);
	MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0, at = glue_rank * (glue_rank - 1) / 2; i < glue_rank; i++)
		CHECK(out[i] == (at + i) * glue_ranks + glue_ranks * (glue_ranks - 1) / 2,
		      "element %d is %d", i, out[i]);
	free(counts);
}

/* Calls that are counted and not taken, on a communicator that has no duplicate. */
void glue_untold(void)
{
	uint32_t all, mine, in, out;
	MPI_Request request;
	MPI_Comm dup;
	MPI_Op product;
	int one = 1;

	CHECK(!qv_mpi_set("allreduce=clairvoyant"), "refused");
	MPI_Comm_idup(MPI_COMM_WORLD, &dup, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Op_create(maps, 0, &product);
	fill_maps(&all, 1, 0);
	for (int i = 1; i < glue_ranks; i++, all = mine) {
		fill_maps(&mine, 1, i);
		maps(&all, &mine, &one, NULL);
	}
	fill_maps(&in, 1, glue_rank);
	for (int i = 0; i < 20; i++) {
		out = 0;
		MPI_Allreduce(&in, &out, 1, MPI_UINT32_T, product, dup);
		CHECK(out == all, "call %d: %x instead of %x", i, out, all);
	}
	MPI_Op_free(&product);
	MPI_Comm_free(&dup);
}
