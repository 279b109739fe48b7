/* SPDX-License-Identifier: BSD-2-Clause */
/* forms.c - nonblocking and persistent forms, beside other traffic. */
#include "glue.h"

#include <string.h>

static void fill(void *buf, size_t n, int rank)
{
	for (size_t i = 0; i < n; i++)
		((long *)buf)[i] = (long)i * 3 + rank;
}

static struct glue_call call_of(enum glue_kind kind, int count, int root)
{
	return (struct glue_call){kind, MPI_LONG, sizeof(long),  MPI_SUM, count,
				  root, 0,        MPI_COMM_WORLD};
}

/* Whether forms other than blocking can be taken here: Open MPI's progress engine is needed. */
static int later_possible(void)
{
#ifdef OPEN_MPI
	return 1;
#else
	return 0;
#endif
}

void glue_forms(void)
{
	static const int counts[] = {1, 100, 20000};

	for (int form = GLUE_NONBLOCKING;
	     form <= (later_possible() ? GLUE_PERSISTENT : GLUE_NONBLOCKING); form++)
		for (int kind = 0; kind < GLUE_KINDS; kind++)
			for (int i = 0; i < 3; i++) {
				struct glue_call call = call_of((enum glue_kind)kind, counts[i],
								kind ? 0 : i % glue_ranks);

				call.in_place = i == 1;
				glue_compare(&call, glue_algorithms[(kind + i) % 9],
					     (enum glue_form)form, fill, later_possible());
			}
}

static long expected(size_t i)
{
	return (long)i * 3 * glue_ranks + (long)glue_ranks * (glue_ranks - 1) / 2;
}

/* Rank 0 waits in another kind of call while its reduction must go on for the others. */
static void wait_elsewhere(int way)
{
	const int last = glue_ranks - 1, other = glue_rank ? 0 : last;
	long in[500], out[500];
	char token = 0;
	int got;
	MPI_Request r;
	MPI_Status status;
	MPI_Comm comm;

	fill(in, 500, glue_rank);
	MPI_Iallreduce(in, out, 500, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &r);
	if (glue_rank == last) {
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		if (way < 2)
			MPI_Send(&token, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
	} else if (!glue_rank && way == 0) {
		MPI_Recv(&token, 1, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else if (!glue_rank && way == 1) {
		MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
		MPI_Recv(&token, 1, MPI_BYTE, status.MPI_SOURCE, 1, MPI_COMM_WORLD, &status);
	}
	if (way == 2)
		MPI_Barrier(MPI_COMM_WORLD);
	if (way == 3)
		MPI_Bcast(&token, 1, MPI_BYTE, last, MPI_COMM_WORLD);
	if (way == 4) {
		MPI_Comm_split(MPI_COMM_WORLD, 0, glue_rank, &comm);
		MPI_Comm_free(&comm);
	}
	if (way == 5 && other != glue_rank && (!glue_rank || glue_rank == last))
		MPI_Sendrecv(&glue_rank, 1, MPI_INT, other, 2, &got, 1, MPI_INT, other, 2,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (glue_rank != last)
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	for (size_t i = 0; i < 500; i++)
		CHECK(out[i] == expected(i), "way %d: element %d is %ld", way, (int)i, out[i]);
}

/* Requests of ours and of the MPI in one array, waited for in every way there is. */
static void mixed(int way)
{
	enum { N = 6 };
	const int right = (glue_rank + 1) % glue_ranks,
		  left = (glue_rank + glue_ranks - 1) % glue_ranks;
	static long in[N][3000], out[N][3000];
	long got = -1, token = glue_rank;
	MPI_Request r[N + 2];
	MPI_Status statuses[N + 2];
	int done = 0, flag = 0, n, which, indices[N + 2];

	MPI_Irecv(&got, 1, MPI_LONG, left, 7, MPI_COMM_WORLD, &r[N]);
	for (int i = 0; i < N; i++) {
		fill(in[i], 3000, glue_rank);
		memset(out[i], 0, sizeof(out[i]));
		MPI_Iallreduce(in[i], out[i], 500 * (i + 1), MPI_LONG, MPI_SUM, MPI_COMM_WORLD,
			       &r[i]);
	}
	MPI_Isend(&token, 1, MPI_LONG, right, 7, MPI_COMM_WORLD, &r[N + 1]);
	switch (way) {
	case 0: MPI_Waitall(N + 2, r, statuses); break;
	case 1:
		for (int i = 0; i < N + 2; i++)
			MPI_Waitany(N + 2, r, &which, MPI_STATUS_IGNORE);
		break;
	case 2:
		for (; done < N + 2; done += n)
			MPI_Waitsome(N + 2, r, &n, indices, statuses);
		break;
	case 3:
		while (!flag)
			MPI_Testall(N + 2, r, &flag, statuses);
		break;
	case 4:
		for (; done < N + 2; done += flag)
			MPI_Testany(N + 2, r, &which, &flag, MPI_STATUS_IGNORE);
		break;
	case 5:
		for (; done < N + 2; done += n)
			MPI_Testsome(N + 2, r, &n, indices, statuses);
		break;
	default:
		for (int i = N + 1; i >= 0; i--) {
			for (flag = 0; !flag;)
				MPI_Request_get_status(r[i], &flag, MPI_STATUS_IGNORE);
			for (flag = 0; !flag;)
				MPI_Test(&r[i], &flag, MPI_STATUS_IGNORE);
		}
	}
	for (int i = 0; i < N + 2; i++)
		CHECK(r[i] == MPI_REQUEST_NULL, "way %d: request %d is still there", way, i);
	CHECK(got == left, "way %d: the token is %ld", way, got);
	for (int i = 0; i < N; i++)
		for (size_t k = 0; k < 500 * (size_t)(i + 1); k++)
			CHECK(out[i][k] == expected(k), "way %d: element %d of %d is %ld", way,
			      (int)k, i, out[i][k]);
}

/* More at once than there are tags for: later ones wait for earlier ones. */
static void many(void)
{
	enum { N = 200 };
	static long in[N], out[N];
	MPI_Request r[N];
	MPI_Status statuses[N];

	for (int i = 0; i < N; i++) {
		in[i] = glue_rank + i;
		MPI_Iallreduce(&in[i], &out[i], 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &r[i]);
	}
	MPI_Waitall(N, r, statuses);
	for (int i = 0; i < N; i++)
		CHECK(out[i] == (long)i * glue_ranks + (long)glue_ranks * (glue_ranks - 1) / 2,
		      "sum %d is %ld", i, out[i]);
}

void glue_overlap(void)
{
	static const char *const settings[] = {"allreduce=ring", "allreduce=binomial",
					       "allreduce=direct"};
	uint64_t before = qv_mpi_taken();

	for (int s = 0; s < 3; s++) {
		CHECK(!qv_mpi_set(settings[s]), "%s: refused", settings[s]);
		for (int way = 0; way < 6; way++)
			wait_elsewhere(way);
		for (int way = 0; way < 7; way++)
			mixed(way);
		many();
	}
	CHECK(!later_possible() || qv_mpi_taken() - before >= 3 * (6 + 7 * 6 + 200),
	      "only %d calls were taken", (int)(qv_mpi_taken() - before));
}
