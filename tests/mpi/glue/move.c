/* SPDX-License-Identifier: BSD-2-Clause */
/* move.c - barrier and broadcast in all forms, with other types at each rank. */
#include "glue.h"

#include <string.h>
#include <time.h>

/* Start a persistent request some times, or wait for another one. */
static void go(MPI_Request *r, int form)
{
	if (form == GLUE_PERSISTENT)
		MPI_Start(r);
	MPI_Wait(r, MPI_STATUS_IGNORE);
	if (form == GLUE_PERSISTENT)
		MPI_Request_free(r);
}

static void bcast(int form, void *buf, int count, MPI_Datatype type, int root)
{
	MPI_Request r = MPI_REQUEST_NULL;

	if (form == GLUE_BLOCKING)
		MPI_Bcast(buf, count, type, root, MPI_COMM_WORLD);
	else if (form == GLUE_NONBLOCKING)
		MPI_Ibcast(buf, count, type, root, MPI_COMM_WORLD, &r);
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
	else
		MPIX_Bcast_init(buf, count, type, root, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
#endif
	if (form != GLUE_BLOCKING)
		go(&r, form);
}

/* 2*n ints: plain, or every second one of twice as many, by turns of the ranks. */
static void one_bcast(int form, int n, int root)
{
	const int gaps = (glue_rank + n) % 2, step = gaps ? 2 : 1;
	int *buf = malloc(sizeof(int) * 4 * (size_t)n + sizeof(int));
	MPI_Datatype pairs;

	CHECK(buf, "no memory");
	memset(buf, 0x33, sizeof(int) * 4 * (size_t)n);
	for (int i = 0; glue_rank == root && i < 2 * n; i++)
		buf[i * step] = i * 5 + root;
	MPI_Type_vector(n, 1, 2, MPI_INT, &pairs);
	MPI_Type_create_resized(pairs, 0, (MPI_Aint)sizeof(int) * 2 * n, &pairs);
	MPI_Type_commit(&pairs);
	if (gaps)
		bcast(form, buf, 2, pairs, root);
	else
		bcast(form, buf, 2 * n, MPI_INT, root);
	MPI_Type_free(&pairs);
	for (int i = 0; i < 2 * n; i++)
		CHECK(buf[i * step] == i * 5 + root, "form %d, %d of %d from %d is %x", form, i,
		      2 * n, root, (unsigned int)buf[i * step]);
	for (int i = 0; i < 2 * n && gaps; i++)
		CHECK(buf[2 * i + 1] == 0x33333333, "gap %d was written", i);
	free(buf);
}

static void bcasts(const char *setting)
{
	static const int counts[] = {1, 3, 500, 40000};
	uint64_t before = qv_mpi_taken();
	const int memory = strstr(setting, "memory") != NULL;
	int calls = 0;

	CHECK(!qv_mpi_set(setting), "%s: refused", setting);
	for (int form = 0; form < GLUE_HERE; form++)
		for (int i = 0; i < 4; i++)
			for (int root = 0; root < glue_ranks; root++) {
				one_bcast(form, counts[i], root);
				calls += GLUE_TAKES(form) && (!form || !memory);
			}
	CHECK(strstr(setting, "auto") || (int)(qv_mpi_taken() - before) == calls,
	      "%s: %d calls were taken, not %d", setting, (int)(qv_mpi_taken() - before), calls);
}

static void nap(long ns)
{
	const struct timespec t = {0, ns};

	nanosleep(&t, NULL);
}

/* Ranks are on one machine: they share this clock, but not that of MPI_Wtime. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nobody leaves before the last one has come. */
static void barriers(const char *setting)
{
	const int memory = strstr(setting, "memory") != NULL;

	CHECK(!qv_mpi_set(setting), "%s: refused", setting);
	for (int form = 0; form < GLUE_HERE; form++)
		for (int late = 0; late < glue_ranks; late++) {
			double came, left, last = 0;
			MPI_Request r = MPI_REQUEST_NULL;
			uint64_t before = qv_mpi_taken();

			if (glue_rank == late)
				nap(2000000);
			came = now();
			if (form == GLUE_BLOCKING)
				MPI_Barrier(MPI_COMM_WORLD);
			else if (form == GLUE_NONBLOCKING)
				MPI_Ibarrier(MPI_COMM_WORLD, &r);
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
			else
				MPIX_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &r);
#endif
			if (form != GLUE_BLOCKING)
				go(&r, form);
			left = now();
			CHECK((int)(qv_mpi_taken() - before) ==
				      (GLUE_TAKES(form) && (!form || !memory)),
			      "%s: not taken", setting);
			MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
			CHECK(left >= last, "%s, form %d: left %g s early", setting, form,
			      last - left);
		}
}

/* With `auto` calls go to both in turn, then to the faster: right in any case, and the same on all
 * ranks. No rank is expected to be late. */
void glue_trial(void)
{
	static double in[2000], out[2000];
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	CHECK(!qv_mpi_expect(MPI_Comm_c2f(comm), NULL), "refused");
	CHECK(!qv_mpi_set("allreduce=auto,reduce=auto,barrier=auto"), "refused");
	for (int i = 0; i < 60; i++) {
		const int n = i % 2 ? 2000 : 1;
		uint64_t before = qv_mpi_taken(), mine, most;

		for (int k = 0; k < n; k++)
			in[k] = glue_rank + k + i;
		MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, comm);
		for (int k = 0; k < n; k++)
			CHECK(out[k] == (double)glue_ranks * (k + i) +
						glue_ranks * (glue_ranks - 1) / 2,
			      "call %d: element %d is %g", i, k, out[k]);
		mine = qv_mpi_taken() - before;
		PMPI_Barrier(comm);
		MPI_Reduce(&mine, &most, 1, MPI_UINT64_T, MPI_MAX, 0, comm);
		CHECK(glue_rank || most == mine, "call %d: taken by some ranks only", i);
		/* Two lengths, in turn: six of the first twelve of each are ours. */
		CHECK(i >= 24 || mine == (uint64_t)(__builtin_popcount((unsigned)i / 2) % 2),
		      "call %d: taken %d", i, (int)mine);
	}
	MPI_Comm_free(&comm);
}

/* A long one has its trial, too. */
static void long_trial(void)
{
	static double data[8192];
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	CHECK(!qv_mpi_set("broadcast=auto"), "refused");
	for (int i = 0; i < 60; i++) {
		const uint64_t before = qv_mpi_taken();

		for (int k = 0; k < 8192; k++)
			data[k] = glue_rank ? 0 : i + k;
		MPI_Bcast(data, 8192, MPI_DOUBLE, 0, comm);
		for (int k = 0; k < 8192; k++)
			CHECK(data[k] == i + k, "call %d: element %d is %g", i, k, data[k]);
		CHECK(i >= 12 ||
			      (int)(qv_mpi_taken() - before) == __builtin_popcount((unsigned)i) % 2,
		      "call %d: taken %d", i, (int)(qv_mpi_taken() - before));
	}
	MPI_Comm_free(&comm);
}

void glue_move(void)
{
	bcasts("broadcast=binomial");
	bcasts("broadcast=ring");
	bcasts("broadcast=pipeline");
	bcasts("broadcast=binary");
	bcasts("broadcast=clairvoyant");
	bcasts("broadcast=memory");
	bcasts("broadcast=auto");
	long_trial();
	barriers("barrier=dissemination");
	barriers("barrier=binomial");
	barriers("barrier=memory");
}
