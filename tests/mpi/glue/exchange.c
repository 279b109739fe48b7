/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c - allgather and alltoall in all forms, in place, with other types at each
 * rank. */
#include "glue.h"

#include <string.h>

/* What a rank sends or receives: pairs of ints, plain or every second one of twice as many. */
struct side {
	int gaps;
	int *buf;
	int count;
	MPI_Datatype type;
};

static void open_side(struct side *s, int gaps, int pairs, int blocks)
{
	const size_t ints = 4 * (size_t)pairs * (size_t)blocks + 1;

	*s = (struct side){gaps, malloc(ints * sizeof(int)), gaps ? pairs : 2 * pairs, MPI_INT};
	CHECK(s->buf, "no memory");
	memset(s->buf, 0x33, ints * sizeof(int));
	if (!gaps)
		return;
	MPI_Type_vector(2, 1, 2, MPI_INT, &s->type);
	MPI_Type_create_resized(s->type, 0, 4 * (MPI_Aint)sizeof(int), &s->type);
	MPI_Type_commit(&s->type);
}

static int *element(const struct side *s, int i)
{
	return &s->buf[s->gaps ? 2 * i : i];
}

static void close_side(struct side *s)
{
	if (s->gaps)
		MPI_Type_free(&s->type);
	free(s->buf);
}

/* Element i of what one rank has for another; an allgather has the same for all. */
static int value(int all, int from, int to, int i)
{
	return from * 100003 + (all ? to * 1009 : 0) + i * 7 + 1;
}

static void call(int all, enum glue_form form, const void *in, const struct side *s,
		 const struct side *r)
{
	MPI_Request request = MPI_REQUEST_NULL;

	if (form == GLUE_BLOCKING && all)
		MPI_Alltoall(in, s->count, s->type, r->buf, r->count, r->type, MPI_COMM_WORLD);
	else if (form == GLUE_BLOCKING)
		MPI_Allgather(in, s->count, s->type, r->buf, r->count, r->type, MPI_COMM_WORLD);
	else if (form == GLUE_NONBLOCKING && all)
		MPI_Ialltoall(in, s->count, s->type, r->buf, r->count, r->type, MPI_COMM_WORLD,
			      &request);
	else if (form == GLUE_NONBLOCKING)
		MPI_Iallgather(in, s->count, s->type, r->buf, r->count, r->type, MPI_COMM_WORLD,
			       &request);
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
	else if (all)
		MPIX_Alltoall_init(in, s->count, s->type, r->buf, r->count, r->type, MPI_COMM_WORLD,
				   MPI_INFO_NULL, &request);
	else
		MPIX_Allgather_init(in, s->count, s->type, r->buf, r->count, r->type,
				    MPI_COMM_WORLD, MPI_INFO_NULL, &request);
#endif
	if (form == GLUE_PERSISTENT)
		MPI_Start(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (form == GLUE_PERSISTENT)
		MPI_Request_free(&request);
}

static void fill(int all, int in_place, int n, const struct side *s, const struct side *r)
{
	for (int to = 0; to < glue_ranks; to++)
		for (int i = 0; i < n; i++) {
			if (!in_place && (all || !to))
				*element(s, (all ? to * n : 0) + i) = value(all, glue_rank, to, i);
			else if (in_place && (all || to == glue_rank))
				*element(r, to * n + i) = value(all, glue_rank, to, i);
		}
}

static void one(int all, enum glue_form form, int pairs, int in_place)
{
	const int n = 2 * pairs;
	struct side s, r;

	open_side(&s, (glue_rank + pairs) % 2, pairs, glue_ranks);
	open_side(&r, (glue_rank + form) % 3 == 0, pairs, glue_ranks);
	fill(all, in_place, n, &s, &r);
	call(all, form, in_place ? MPI_IN_PLACE : s.buf, &s, &r);
	for (int from = 0; from < glue_ranks; from++)
		for (int i = 0; i < n; i++)
			CHECK(*element(&r, from * n + i) == value(all, from, glue_rank, i),
			      "alltoall %d, form %d, in place %d: %d of %d from %d is %x", all,
			      form, in_place, i, n, from, (unsigned int)*element(&r, from * n + i));
	for (int i = 0; i < n * glue_ranks && r.gaps; i++)
		CHECK(r.buf[2 * i + 1] == 0x33333333, "gap %d was written", i);
	CHECK(r.gaps || r.buf[n * glue_ranks] == 0x33333333, "written behind the end");
	close_side(&s);
	close_side(&r);
}

static void exchanges(int all, const char *algorithm)
{
	static const int pairs[] = {1, 3, 500, 20000};
	uint64_t before = qv_mpi_taken();
	char setting[64];
	int calls = 0;

	snprintf(setting, sizeof(setting), "%s=%s", all ? "alltoall" : "allgather", algorithm);
	CHECK(!qv_mpi_set(setting), "%s: refused", setting);
	for (int form = 0; form < GLUE_HERE; form++)
		for (int i = 0; i < 4; i++)
			for (int in_place = 0; in_place < 2; in_place++) {
				one(all, (enum glue_form)form, pairs[i], in_place);
				calls += GLUE_TAKES(form) && (!form || strcmp(algorithm, "memory"));
			}
	CHECK(strstr(setting, "auto") || (int)(qv_mpi_taken() - before) == calls,
	      "%s: %d calls were taken, not %d", setting, (int)(qv_mpi_taken() - before), calls);
}

/* A persistent one takes what is in its buffer at each start. */
static void again(void)
{
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
	int in[64], out[64] = {0};
	MPI_Request r;

	CHECK(!qv_mpi_set("alltoall=mesh2"), "refused");
	MPIX_Alltoall_init(in, 1, MPI_INT, out, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
	for (int turn = 0; turn < 3; turn++) {
		for (int to = 0; to < glue_ranks; to++)
			in[to] = value(1, glue_rank, to, turn);
		MPI_Start(&r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		for (int from = 0; from < glue_ranks; from++)
			CHECK(out[from] == value(1, from, glue_rank, turn), "turn %d: wrong", turn);
	}
	MPI_Request_free(&r);
#endif
}

/* Counts of 0 are the MPI's. */
static void through(void)
{
	uint64_t before = qv_mpi_taken();

	CHECK(!qv_mpi_set("alltoall=mesh2,allgather=ring"), "refused");
	MPI_Alltoall(&before, 0, MPI_INT, &before, 0, MPI_INT, MPI_COMM_WORLD);
	MPI_Allgather(&before, 0, MPI_INT, &before, 0, MPI_INT, MPI_COMM_WORLD);
	CHECK(qv_mpi_taken() == before, "an empty one was taken");
	CHECK(qv_mpi_set("sum=binomial"), "sum is not ours");
}

void glue_exchange(void)
{
	static const char *const gather[] = {"ring",
					     "dissemination",
					     "direct",
					     "prefix",
					     "kprefix",
					     "kshift",
					     "mesh2",
					     "mesh3",
					     "hypercube",
					     "hybrid",
					     "memory",
					     "auto",
					     "kshift:2:paced=1",
					     "kprefix:paced=2"};
	static const char *const alltoall[] = {"direct",         "prefix",        "mesh2",  "mesh3",
					       "hypercube",      "hybrid",        "memory", "auto",
					       "direct:paced=1", "prefix:paced=2"};

	for (size_t i = 0; i < sizeof(gather) / sizeof(gather[0]); i++)
		exchanges(0, gather[i]);
	for (size_t i = 0; i < sizeof(alltoall) / sizeof(alltoall[0]); i++)
		exchanges(1, alltoall[i]);
	again();
	through();
}
