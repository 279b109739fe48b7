/* SPDX-License-Identifier: BSD-2-Clause */
/* late.c - ranks that are late by habit. */
#include "glue.h"

#include <string.h>
#include <time.h>

/* The last rank is late for so many calls; whether sums are right. */
static void late_calls(int calls, MPI_Comm comm)
{
	const struct timespec late = {0, 3000000};

	for (int i = 0; i < calls; i++) {
		int in[3] = {i, glue_rank, 7}, out[3] = {0};

		if (glue_rank == glue_ranks - 1)
			nanosleep(&late, NULL);
		if (i % 3)
			MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, comm);
		else
			MPI_Reduce(in, out, 3, MPI_INT, MPI_SUM, 0, comm);
		CHECK((i % 3 == 0 && glue_rank) || (out[0] == i * glue_ranks &&
						    out[1] == glue_ranks * (glue_ranks - 1) / 2 &&
						    out[2] == 7 * glue_ranks),
		      "call %d: the sum is %d, %d, %d", i, out[0], out[1], out[2]);
	}
}

/* The last rank is late for so many calls, each rank is the root in turn; whether all get its word. */
static void late_bcasts(int calls, MPI_Comm comm)
{
	const struct timespec late = {0, 3000000};

	for (int i = 0; i < calls; i++) {
		const int root = i % glue_ranks;
		int word[2] = {glue_rank == root ? i : -1, glue_rank};

		if (glue_rank == glue_ranks - 1)
			nanosleep(&late, NULL);
		MPI_Bcast(word, 2, MPI_INT, root, comm);
		CHECK(word[0] == i && word[1] == root, "call %d: the word is %d, %d", i, word[0],
		      word[1]);
	}
}

/* The last rank is late before each reduction, and nobody before the broadcast that follows. */
static void late_mixed(int calls, MPI_Comm comm)
{
	const struct timespec late = {0, 3000000};

	for (int i = 0; i < calls; i++) {
		int in = i + glue_rank, out = 0, word = glue_rank ? -1 : i;

		if (glue_rank == glue_ranks - 1)
			nanosleep(&late, NULL);
		MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
		MPI_Bcast(&word, 1, MPI_INT, 0, comm);
		CHECK(out == i * glue_ranks + glue_ranks * (glue_ranks - 1) / 2 && word == i,
		      "call %d: the sum is %d, the word %d", i, out, word);
	}
}

/* How many calls were by arrival since so many, the same on all ranks. */
static int by_arrival_since(uint64_t before)
{
	const int mine = (int)(qv_mpi_by_arrival() - before);
	int least, most;

	MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	CHECK(least == most, "%d to %d calls by arrival, here %d", least, most, mine);
	return mine;
}

/* Nonblocking reductions of each kind, one after the other begun; they are right. */
static void later_calls(MPI_Comm comm)
{
	for (int i = 0; i < 10; i++) {
		int in = i + glue_rank, out[2] = {0};
		MPI_Request q[2];

		MPI_Iallreduce(&in, &out[0], 1, MPI_INT, MPI_SUM, comm, &q[0]);
		MPI_Ireduce(&in, &out[1], 1, MPI_INT, MPI_SUM, 0, comm, &q[1]);
		MPI_Wait(&q[1], MPI_STATUS_IGNORE);
		MPI_Wait(&q[0], MPI_STATUS_IGNORE);
		for (int k = 0; k < (glue_rank ? 1 : 2); k++)
			CHECK(out[k] == i * glue_ranks + glue_ranks * (glue_ranks - 1) / 2,
			      "call %d: the sum is %d", i, out[k]);
	}
}

/* `auto` runs nonblocking reductions by what is expected where that gains, though none of their kind was
 * tried against the MPI's, and no more when nobody is expected late. With three ranks or less nothing is
 * gained. */
static void later_forms(void)
{
	uint64_t arrive[64] = {0}, before;
	MPI_Comm dup;
	int n;

	CHECK(!qv_mpi_set("allreduce=auto:faithful,reduce=auto:faithful,broadcast=binomial"),
	      "refused");
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Bcast(&n, 1, MPI_INT, 0, dup); /* makes the library's own communicator */
	late_calls(60, dup);
	before = qv_mpi_by_arrival();
	later_calls(dup);
	n = by_arrival_since(before);
	CHECK(n || !GLUE_TAKES(GLUE_NONBLOCKING) || glue_ranks < 4,
	      "nothing by what blocking calls have told");
	arrive[glue_ranks - 1] = 3000000;
	CHECK(!qv_mpi_expect(MPI_Comm_c2f(dup), arrive), "refused");
	before = qv_mpi_by_arrival();
	later_calls(dup);
	n = by_arrival_since(before);
	CHECK(n == 20 || !GLUE_TAKES(GLUE_NONBLOCKING) || glue_ranks < 4, "%d by arrival", n);
	arrive[glue_ranks - 1] = 0;
	CHECK(!qv_mpi_expect(MPI_Comm_c2f(dup), arrive), "refused");
	before = qv_mpi_by_arrival();
	later_calls(dup);
	CHECK(!by_arrival_since(before), "by arrival, though nobody is late");
	MPI_Comm_free(&dup);
}

/* So it is where a broadcast follows each reduction. */
static void later_mixed(void)
{
	uint64_t before;
	MPI_Comm dup;
	int n = 0;

	CHECK(!qv_mpi_set("allreduce=auto:faithful,reduce=auto:faithful,broadcast=clairvoyant"),
	      "refused");
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	late_mixed(60, dup); /* its broadcasts make the library's own communicator */
	before = qv_mpi_by_arrival();
	later_calls(dup);
	n = by_arrival_since(before);
	CHECK(n || !GLUE_TAKES(GLUE_NONBLOCKING) || glue_ranks < 4,
	      "nothing by what blocking reductions between broadcasts have told");
	MPI_Comm_free(&dup);
}

/* So it is with nonblocking broadcasts, where some who are late would pass something on in any tree. */
static void later_bcasts(void)
{
	uint64_t arrive[64] = {0}, before = qv_mpi_by_arrival();
	MPI_Comm dup;
	int n = 0;

	CHECK(!qv_mpi_set("broadcast=auto:faithful,allreduce=binomial"), "refused");
	MPI_Comm_dup(MPI_COMM_WORLD, &dup);
	MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_SUM, dup); /* makes the library's own */
	arrive[1] = 3000000; /* a leaf of the binomial tree, not of the binary one */
	arrive[glue_ranks / 2] = 3000000;
	CHECK(!qv_mpi_expect(MPI_Comm_c2f(dup), arrive), "refused");
	for (int i = 0; i < 10; i++) {
		int word = glue_rank ? -1 : i;
		MPI_Request q;

		MPI_Ibcast(&word, 1, MPI_INT, 0, dup, &q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
		CHECK(word == i, "call %d: the word is %d", i, word);
	}
	n = by_arrival_since(before);
	CHECK(n == 10 || !GLUE_TAKES(GLUE_NONBLOCKING) || glue_ranks < 4, "%d by arrival", n);
	MPI_Comm_free(&dup);
}

/* One rank is always late: soon all ranks expect that, all alike, and results stay right. So it is with
 * `auto`, which need not find that it pays. */
void glue_late(void)
{
	static const struct {
		const char *setting;
		void (*make)(int calls, MPI_Comm comm);
		int calls, least; /* that are by arrival */
	} cases[] = {{"allreduce=clairvoyant:faithful,reduce=segmented", late_calls, 48, 16},
		     {"allreduce=auto,reduce=auto", late_calls, 150, 0},
		     {"broadcast=clairvoyant:faithful", late_bcasts, 80, 8},
		     {"broadcast=auto", late_bcasts, 60, 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t before[2] = {qv_mpi_by_arrival(), qv_mpi_taken()}, mine[2], all[128] = {0};
		MPI_Comm dup;

		CHECK(!qv_mpi_set(cases[i].setting), "refused");
		MPI_Comm_dup(MPI_COMM_WORLD, &dup);
		cases[i].make(cases[i].calls, dup);
		later_calls(dup);
		MPI_Comm_free(&dup);
		mine[0] = qv_mpi_by_arrival() - before[0];
		mine[1] = qv_mpi_taken() - before[1];
		MPI_Allgather(mine, 2, MPI_UINT64_T, all, 2, MPI_UINT64_T, MPI_COMM_WORLD);
		for (int r = 0; r < glue_ranks; r++)
			CHECK(!memcmp(&all[2 * r], mine, sizeof(mine)) &&
				      mine[0] >= (uint64_t)cases[i].least,
			      "%s: rank %d took %d calls, %d by arrival, here %d and %d",
			      cases[i].setting, r, (int)all[2 * r + 1], (int)all[2 * r],
			      (int)mine[1], (int)mine[0]);
	}
	later_forms();
	later_mixed();
	later_bcasts();
}
