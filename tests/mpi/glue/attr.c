/* SPDX-License-Identifier: BSD-2-Clause */
/* attr.c - a program's attributes, error handler, name and info are its own affair: none of its functions
 * runs for the communicators that the library makes. Nor do these stop it, or take its room for more. */
#include "poison.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static int copies, deletes, handled;

static int on_copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	copies++;
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	deletes++;
	return MPI_SUCCESS;
}

static int on_copy_type(MPI_Datatype type, int keyval, void *extra, void *in, void *out, int *flag)
{
	return on_copy(MPI_COMM_NULL, keyval, extra, in, out, flag);
}

static int on_delete_type(MPI_Datatype type, int keyval, void *value, void *extra)
{
	return on_delete(MPI_COMM_NULL, keyval, value, extra);
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
	handled++;
}

/* By the library, which says how often it took them. */
static int calls(MPI_Comm comm, MPI_Datatype type)
{
	const uint64_t before = qv_mpi_taken();

	for (int form = 0; form < GLUE_FORMS; form++)
		for (int kind = POISON_ALLREDUCE; kind <= POISON_ALLTOALL; kind++) {
			int in[256] = {0}, out[256] = {0}, counts[16];
			const int plain = kind <= POISON_SCATTER_BLOCK;
			const MPI_Datatype as = plain ? MPI_INT : type;
			struct poison_call call = {
				.kind = (enum poison_kind)kind,
				.form = (enum glue_form)form,
				.in = {in, 3, NULL, NULL, as},
				.out = {out, 3, counts, NULL, as},
				.comm = comm,
			};

			for (int i = 0; i < 16; i++)
				counts[i] = 3;
			if (!poison_has(call.form))
				continue;
			poison_begin(&call);
			poison_end(&call);
			if (call.form == GLUE_PERSISTENT)
				MPI_Request_free(&call.request);
		}
	return (int)(qv_mpi_taken() - before);
}

static void check(const char *when, int copied, int deleted)
{
	CHECK(copies == copied && deletes == deleted && !handled,
	      "%s: %d copies and %d deletes, not %d and %d; %d errors", when, copies, deletes,
	      copied, deleted, handled);
}

/* Named before the communicator is made, or after. */
static void one_comm(int early)
{
	static const char *const all = "allreduce=ring,reduce_scatter=ring,barrier=binomial,"
				       "broadcast=ring,allgather=ring,alltoall=direct";
	char name[MPI_MAX_OBJECT_NAME];
	int key, type_key, n, there;
	MPI_Errhandler handler;
	MPI_Datatype pair;
	MPI_Comm dup;

	copies = deletes = handled = 0;
	CHECK(!qv_mpi_set(early ? all : ""), "refused");
	MPI_Comm_create_keyval(on_copy, on_delete, &key, NULL);
	MPI_Type_create_keyval(on_copy_type, on_delete_type, &type_key, NULL);
	MPI_Comm_create_errhandler(on_error, &handler);
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Comm_set_attr(dup, key, &key);
	MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
	MPI_Comm_set_errhandler(dup, handler);
	MPI_Comm_set_name(dup, "theirs");
	MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Type_set_attr(pair, type_key, &type_key);
	CHECK(!qv_mpi_set(all), "refused");
	n = calls(dup, pair);
	CHECK(n >= 7, "only %d calls were taken", n);
	check("in use", 0, 0);
	MPI_Type_free(&pair);
	check("the type is freed", 0, 1);
	MPI_Comm_get_name(dup, name, &there);
	CHECK(!strcmp(name, "theirs"), "its name is %s", name);
	MPI_Comm_free(&dup);
	check("the communicator is freed", 0, 2);
	MPI_Comm_delete_attr(MPI_COMM_SELF, key);
	check("MPI_COMM_SELF has lost it", 0, 3);
	MPI_Errhandler_free(&handler);
	MPI_Comm_free_keyval(&key);
	MPI_Type_free_keyval(&type_key);
}

/* What the program duplicates is copied once. */
static void duplicated(void)
{
	MPI_Comm one, two, three;
	MPI_Request request;
	int key;

	copies = deletes = 0;
	MPI_Comm_create_keyval(on_copy, on_delete, &key, NULL);
	MPI_Comm_dup(MPI_COMM_WORLD, &one);
	MPI_Comm_set_attr(one, key, &key);
	calls(one, MPI_INT);
	MPI_Comm_dup(one, &two);
	MPI_Comm_idup(one, &three, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	calls(two, MPI_INT);
	calls(three, MPI_INT);
	check("two duplicates", 2, 0);
	MPI_Comm_free(&one);
	MPI_Comm_free(&two);
	MPI_Comm_free(&three);
	check("three were freed", 2, 3);
	MPI_Comm_free_keyval(&key);
}

void glue_attributes(void)
{
	one_comm(0);
	one_comm(1);
	duplicated();
}

/* Communicators of the library's. */

static int sum_of(MPI_Comm comm)
{
	int one = 1, sum = -1;

	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	return sum;
}

/* So that the MPI begins with what it was asked for. */
static void let_it_go_on(void)
{
	for (int i = 0, found; i < 2000; i++) {
		MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
		usleep(10);
	}
}

/* The last rank calls MPI_Comm_idup only after a message that the first one sends behind the sum. Open MPI
 * makes communicators one after the other: one of the library's, made in the sum, would wait for ever. */
void glue_idup(void)
{
	const int last = glue_ranks - 1;
	int word = 0;
	uint64_t before;
	MPI_Comm others, dup;
	MPI_Request request;

	CHECK(!qv_mpi_set(""), "refused");
	MPI_Comm_split(MPI_COMM_WORLD, glue_rank == last, glue_rank, &others);
	CHECK(!qv_mpi_set("allreduce=binomial"), "refused");
	if (glue_rank == last)
		MPI_Recv(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Comm_idup(MPI_COMM_WORLD, &dup, &request);
	let_it_go_on();
	if (glue_rank != last)
		CHECK(sum_of(others) == last, "the sum is wrong");
	if (!glue_rank)
		MPI_Send(&word, 1, MPI_INT, last, 3, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	before = qv_mpi_taken();
	CHECK(sum_of(dup) == glue_ranks && qv_mpi_taken() == before + 1, "a sum behind it");
	MPI_Comm_free(&dup);
	MPI_Comm_free(&others);
}

/* Of MPI 4; not every mpi.h declares it, nor has every MPI the function. */
int MPI_Comm_idup_with_info(MPI_Comm old, MPI_Info info, MPI_Comm *comm, MPI_Request *request);

void glue_info(void)
{
	MPI_Comm dup;
	MPI_Request request;

	CHECK(!qv_mpi_set("allreduce=binomial"), "refused");
	MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &dup, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(sum_of(dup) == glue_ranks, "the sum is wrong");
	MPI_Comm_free(&dup);
}

static void *duplicate(void *comm)
{
	MPI_Comm_dup(MPI_COMM_WORLD, comm);
	return NULL;
}

/* The same with a second thread, which waits in MPI_Comm_dup for ranks that come behind the sum. */
void glue_thread(void)
{
	MPI_Comm others, dup, later;
	pthread_t thread;
	uint64_t before;

	CHECK(!qv_mpi_set(""), "refused");
	MPI_Comm_split(MPI_COMM_WORLD, 0, glue_rank, &others);
	CHECK(!qv_mpi_set("allreduce=binomial"), "refused");
	if (!glue_rank)
		CHECK(!pthread_create(&thread, NULL, duplicate, &dup), "no thread");
	let_it_go_on();
	CHECK(sum_of(others) == glue_ranks, "the sum is wrong");
	if (glue_rank)
		duplicate(&dup);
	else
		pthread_join(thread, NULL);
	MPI_Comm_split(MPI_COMM_WORLD, 0, glue_rank, &later);
	before = qv_mpi_taken();
	CHECK(sum_of(later) == glue_ranks && qv_mpi_taken() == before + 1, "a sum behind it");
	MPI_Comm_free(&later);
	MPI_Comm_free(&dup);
	MPI_Comm_free(&others);
}

/* MPICH 4.0 has some 2000 communicators. */
void glue_contexts(void)
{
	enum { N = 2500, NEEDED = 1500, EARLY = 100 };
	static MPI_Comm dups[N];
	const uint64_t before = qv_mpi_taken();
	MPI_Errhandler handler;
	int n = 0;

	handled = 0;
	CHECK(!qv_mpi_set("allreduce=binomial"), "refused");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_create_errhandler(on_error, &handler);
	while (n < N && !MPI_Comm_dup(MPI_COMM_WORLD, &dups[n])) {
		MPI_Comm_set_errhandler(dups[n], handler);
		CHECK(n >= EARLY || sum_of(dups[n]) == glue_ranks, "sum %d is wrong", n);
		n++;
	}
	CHECK(n >= NEEDED, "only %d communicators could be made", n);
	for (int i = 0; i < n; i++) /* with MPICH there is room for no more */
		CHECK(sum_of(dups[i]) == glue_ranks, "sum %d is wrong", i);
	CHECK(!handled, "%d errors", handled);
	CHECK(qv_mpi_taken() >= before + 2 * EARLY, "too few calls were taken");
	for (int i = 0; i < n; i++)
		MPI_Comm_free(&dups[i]);
	MPI_Errhandler_free(&handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}
