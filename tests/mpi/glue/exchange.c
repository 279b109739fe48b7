/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c - allgather and alltoall in all forms, in place, with other types at each
 * rank; these and gather and scatter where one rank has less room than comes, or more. */
#include "glue.h"

#include <string.h>

#include <quiver/schedule.h>

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

/* The last rank, which is the root, has room for fewer ints of each block than come, or for more. */

#define SENT 4
#define MOST 6

static int sent; /* by this rank */

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define LAST(name, ...) MPIX_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, q)
#else
#define LAST(name, ...) MPI_ERR_OTHER
#endif
#define MAKE(name, later, ...)                                           \
	(form == GLUE_BLOCKING      ? MPI_##name(__VA_ARGS__, comm)      \
	 : form == GLUE_NONBLOCKING ? MPI_I##later(__VA_ARGS__, comm, q) \
				    : LAST(name, __VA_ARGS__))

static int make(enum qv_coll coll, enum glue_form form, const int *in, int *out, int n,
		MPI_Datatype type, MPI_Comm comm, MPI_Request *q)
{
	const int root = glue_ranks - 1;

	switch (coll) {
	case QV_COLL_GATHER: return MAKE(Gather, gather, in, sent, MPI_INT, out, n, type, root);
	case QV_COLL_SCATTER: return MAKE(Scatter, scatter, in, sent, MPI_INT, out, n, type, root);
	case QV_COLL_ALLGATHER: return MAKE(Allgather, allgather, in, sent, MPI_INT, out, n, type);
	default: return MAKE(Alltoall, alltoall, in, sent, MPI_INT, out, n, type);
	}
}

/* Its error class. */
static int run(enum qv_coll coll, enum glue_form form, const int *in, int *out, int n,
	       MPI_Datatype type, MPI_Comm comm)
{
	MPI_Request q = MPI_REQUEST_NULL;
	int rc = make(coll, form, in, out, n, type, comm, &q), class = MPI_SUCCESS;

	if (!rc && form == GLUE_PERSISTENT)
		rc = MPI_Start(&q);
	if (!rc)
		rc = MPI_Wait(&q, MPI_STATUS_IGNORE);
	if (q != MPI_REQUEST_NULL && form == GLUE_PERSISTENT)
		MPI_Request_free(&q);
	MPI_Error_class(rc, &class);
	return class;
}

/* Room for so many ints of each block, as ints or as pairs. */
static void misfit(enum qv_coll coll, enum glue_form form, int room, MPI_Datatype pair,
		   MPI_Comm comm)
{
	const int last = glue_rank == glue_ranks - 1, stride = last ? room : SENT;
	const int each = coll == QV_COLL_ALLTOALL || coll == QV_COLL_SCATTER;
	const int blocks = coll == QV_COLL_SCATTER           ? 1
			   : coll == QV_COLL_GATHER && !last ? 0
							     : glue_ranks;
	int in[SENT * 64], out[MOST * 64], class;

	memset(out, 0x33, sizeof(out));
	for (int i = 0; i < SENT * glue_ranks; i++)
		in[i] = value(each, glue_rank, i / SENT, i % SENT);
	class = pair == MPI_INT ? run(coll, form, in, out, stride, pair, comm)
				: run(coll, form, in, out, stride / 2, pair, comm);
	CHECK(class == (stride < SENT ? MPI_ERR_TRUNCATE : MPI_SUCCESS),
	      "coll %d, form %d, room for %d: error %d", (int)coll, (int)form, stride, class);
	for (int i = 0; i < MOST * 64; i++) {
		const int block = stride ? i / stride : blocks, at = i - block * stride;
		const int from = coll == QV_COLL_SCATTER ? glue_ranks - 1 : block;
		const int there = block < blocks && at < SENT;

		CHECK(out[i] == (there ? value(each, from, glue_rank, at) : 0x33333333),
		      "coll %d, form %d, room for %d: int %d is %x", (int)coll, (int)form, stride,
		      i, (unsigned int)out[i]);
	}
}

/* The last rank sends blocks of another length than all wait for: whatever they get, all of them end, and are together
 * in the next call. */
static void misfit_sent(enum qv_coll coll, enum glue_form form, int n, MPI_Comm comm)
{
	int in[MOST * 64] = {0}, out[MOST * 64];

	memset(out, 0x33, sizeof(out));
	if (glue_rank == glue_ranks - 1)
		sent = n;
	run(coll, form, in, out, SENT, MPI_INT, comm);
	sent = SENT;
	for (int i = SENT * glue_ranks; i < MOST * 64; i++)
		CHECK(out[i] == 0x33333333, "coll %d: int %d was written", (int)coll, i);
}

void glue_misfit(void)
{
	static const struct {
		enum qv_coll coll;
		const char *setting;
	} ways[] = {
		{QV_COLL_ALLGATHER, "allgather=memory"}, {QV_COLL_ALLGATHER, "allgather=ring"},
		{QV_COLL_ALLGATHER, "allgather=kshift"}, {QV_COLL_ALLTOALL, "alltoall=memory"},
		{QV_COLL_ALLTOALL, "alltoall=direct"},   {QV_COLL_ALLTOALL, "alltoall=prefix"},
		{QV_COLL_GATHER, "gather=direct"},       {QV_COLL_GATHER, "gather=binomial"},
		{QV_COLL_SCATTER, "scatter=direct"},     {QV_COLL_SCATTER, "scatter=binomial"},
	};
	static const int rooms[] = {SENT, 2, SENT, MOST, SENT, 0};
	MPI_Datatype pair;
	MPI_Comm comm;

	sent = SENT;
	MPI_Type_contiguous(2, MPI_INT, &pair);
	MPI_Type_commit(&pair);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* of generalised requests */
	for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)
		for (int form = 0; form < GLUE_HERE; form++) {
			const int memory = strstr(ways[w].setting, "memory") != NULL;
			const int ours = GLUE_TAKES(form) && (!form || !memory);

			CHECK(!qv_mpi_set(ways[w].setting), "%s: refused", ways[w].setting);
			for (int i = 0; ours && i < 12; i++) {
				if (!memory) /* which gives up for good */
					misfit_sent(ways[w].coll, (enum glue_form)form,
						    i % 2 ? SENT / 2 : MOST, comm);
				misfit(ways[w].coll, (enum glue_form)form, rooms[i / 2],
				       i % 2 ? pair : MPI_INT, comm);
			}
		}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Comm_free(&comm);
	MPI_Type_free(&pair);
}
