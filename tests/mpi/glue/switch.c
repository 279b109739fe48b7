/* SPDX-License-Identifier: BSD-2-Clause */
/* switch.c - `auto` of variable-length blocks: right answers before fences, in
 * trials and after them, while what is sent changes; and ranks that judge at the same calls. Also trials and
 * schedules after an MPI_Comm_idup, during which the library makes no communicator. */
#include "blocks.h"

#include <string.h>

#define MOST  64
#define BLOCK 2000 /* the most ints */

/* Fences are after 3 calls, after 64 more, which finds that what is sent has changed, and after 64 more,
 * which finds nothing new. */
#define CHANGE 40
#define CALLS  140

static int sent[MOST * BLOCK], got[MOST * BLOCK];

/* How long a block is; `late`: quite other lengths than before. */
static int length(int vary, int from, int to, int late)
{
	const int n = vary ? glue_draw(7, from, to, 3) : 2;

	return late ? 500 * (n + 1) : n;
}

static int value(int from, int to, int call, int i)
{
	return from * 100000 + to * 1000 + call * 7 + i;
}

static int max(int a, int b)
{
	return a > b ? a : b;
}

/* A graph on which some ranks are alone. */

struct lists {
	int in_n, out_n, in[MOST], out[MOST];
};

static int is_edge(int from, int to)
{
	if (glue_ranks == 2)
		return from != to;
	if (from == 0 && to == glue_ranks - 1)
		return 1; /* there is something to be sent in any graph */
	return from != 1 && to != 1 && glue_draw(3, from, to, 100) < 70;
}

static MPI_Comm make_graph(struct lists *l)
{
	int weights[MOST] = {0};
	MPI_Comm comm;

	l->in_n = l->out_n = 0;
	for (int r = 0; r < glue_ranks; r++) {
		if (is_edge(glue_rank, r))
			l->out[l->out_n++] = r;
		if (is_edge(r, glue_rank))
			l->in[l->in_n++] = r;
	}
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, l->in_n, l->in, weights, l->out_n, l->out,
				       weights, MPI_INFO_NULL, 0, &comm);
	return comm;
}

/* One call. */

static int is_gather(enum glue_blocks_kind kind)
{
	return kind == GLUE_ALLGATHERV || kind == GLUE_NEIGHBOR_ALLGATHER ||
	       kind == GLUE_NEIGHBOR_ALLGATHERV;
}

static int is_vary(enum glue_blocks_kind kind)
{
	return kind != GLUE_NEIGHBOR_ALLGATHER && kind != GLUE_NEIGHBOR_ALLTOALL;
}

struct shape {
	int in_n, out_n;
	int in_counts[MOST], in_displs[MOST], out_counts[MOST], out_displs[MOST];
};

static void make_shape(struct shape *s, enum glue_blocks_kind kind, const struct lists *l, int late)
{
	const int gather = is_gather(kind), vary = is_vary(kind);
	int at = 0;

	s->in_n = gather ? 1 : l->out_n;
	s->out_n = l->in_n;
	s->in_counts[0] = s->out_counts[0] = length(vary, glue_rank, 0, late);
	for (int i = 0; i < s->in_n; i++) {
		s->in_counts[i] = length(vary, glue_rank, gather ? 0 : l->out[i], late);
		s->in_displs[i] = at;
		at += s->in_counts[i];
	}
	at = 0;
	for (int i = 0; i < s->out_n; i++) {
		s->out_counts[i] = length(vary, l->in[i], gather ? 0 : glue_rank, late);
		s->out_displs[i] = at;
		at += s->out_counts[i];
	}
}

static void make_call(const struct shape *s, enum glue_blocks_kind kind, MPI_Comm comm)
{
	const int *n = s->in_counts, *m = s->out_counts;
	const int *at = s->in_displs, *to = s->out_displs;

	switch (kind) {
	case GLUE_ALLGATHERV: MPI_Allgatherv(sent, *n, MPI_INT, got, m, to, MPI_INT, comm); break;
	case GLUE_ALLTOALLV: MPI_Alltoallv(sent, n, at, MPI_INT, got, m, to, MPI_INT, comm); break;
	case GLUE_NEIGHBOR_ALLGATHER:
		MPI_Neighbor_allgather(sent, *n, MPI_INT, got, *m, MPI_INT, comm);
		break;
	case GLUE_NEIGHBOR_ALLGATHERV:
		MPI_Neighbor_allgatherv(sent, *n, MPI_INT, got, m, to, MPI_INT, comm);
		break;
	case GLUE_NEIGHBOR_ALLTOALL:
		MPI_Neighbor_alltoall(sent, *n, MPI_INT, got, *m, MPI_INT, comm);
		break;
	default: MPI_Neighbor_alltoallv(sent, n, at, MPI_INT, got, m, to, MPI_INT, comm); break;
	}
}

/* The same as nonblocking, of two kinds: they take what is in use, and change nothing. */
static void make_later(const struct shape *s, enum glue_blocks_kind kind, MPI_Comm comm)
{
	MPI_Request request;

	if (kind == GLUE_ALLTOALLV)
		MPI_Ialltoallv(sent, s->in_counts, s->in_displs, MPI_INT, got, s->out_counts,
			       s->out_displs, MPI_INT, comm, &request);
	else
		MPI_Ineighbor_alltoallv(sent, s->in_counts, s->in_displs, MPI_INT, got,
					s->out_counts, s->out_displs, MPI_INT, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void one(enum glue_blocks_kind kind, const struct lists *l, MPI_Comm comm, int call)
{
	const int gather = is_gather(kind);
	struct shape s;

	make_shape(&s, kind, l, call >= CHANGE);
	for (int b = 0; b < s.in_n; b++)
		for (int i = 0; i < s.in_counts[b]; i++)
			sent[s.in_displs[b] + i] =
				value(glue_rank, gather ? 0 : l->out[b], call, i);
	for (int later = 0; later < 2; later++) {
		if (later &&
		    ((kind != GLUE_ALLTOALLV && kind != GLUE_NEIGHBOR_ALLTOALLV) || call % 5))
			continue;
		memset(got, 0xff, sizeof(int) * (size_t)max(1, s.out_n) * BLOCK);
		later ? make_later(&s, kind, comm) : make_call(&s, kind, comm);
		for (int b = 0; b < s.out_n; b++)
			for (int i = 0; i < s.out_counts[b]; i++)
				CHECK(got[s.out_displs[b] + i] ==
					      value(l->in[b], gather ? 0 : glue_rank, call, i),
				      "%s, call %d, block %d: wrong", glue_blocks_name(kind), call,
				      b);
	}
}

/* All ranks must have judged as often, and have seen the change, and nothing else. */
static void many(enum glue_blocks_kind kind, const struct lists *l, MPI_Comm comm)
{
	uint64_t before[2], after[2], least[2], most[2];
	char setting[64];

	snprintf(setting, sizeof(setting), "%s=auto", glue_blocks_name(kind));
	CHECK(!qv_mpi_set(setting), "%s: refused", setting);
	qv_mpi_judged(&before[0], &before[1]);
	for (int call = 0; call < CALLS; call++)
		one(kind, l, comm, call);
	qv_mpi_judged(&after[0], &after[1]);
	for (int i = 0; i < 2; i++)
		after[i] -= before[i];
	MPI_Allreduce(after, least, 2, MPI_UINT64_T, MPI_MIN, comm);
	MPI_Allreduce(after, most, 2, MPI_UINT64_T, MPI_MAX, comm);
	CHECK(!memcmp(least, most, sizeof(least)), "%s: not all have judged alike", setting);
	CHECK(after[0] == 3 && after[1] == 1, "%s: judged %d times, %d anew", setting,
	      (int)after[0], (int)after[1]);
}

void glue_switch(void)
{
	struct lists all = {glue_ranks, glue_ranks, {0}, {0}}, near;
	MPI_Comm comm;

	CHECK(glue_ranks <= MOST, "too many ranks for this test");
	for (int r = 0; r < glue_ranks; r++)
		all.in[r] = all.out[r] = r;
	many(GLUE_ALLGATHERV, &all, MPI_COMM_WORLD);
	many(GLUE_ALLTOALLV, &all, MPI_COMM_WORLD);
	for (int kind = GLUE_NEIGHBOR_ALLGATHER; kind < GLUE_BLOCKS_KINDS; kind++) {
		comm = make_graph(&near);
		many((enum glue_blocks_kind)kind, &near, comm);
		MPI_Comm_free(&comm);
	}
}

static int sum(MPI_Comm comm)
{
	int one = 1, all = -1;

	MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
	return all;
}

/* An MPI_Comm_idup is over when its communicator is freed, though it was not used, or has a message, or a
 * collective that is the MPI's. */
static void idup_is_over(int used)
{
	const uint64_t before = qv_mpi_taken();
	MPI_Comm unused, comm;
	MPI_Request request;

	CHECK(!qv_mpi_set(""), "refused");
	MPI_Comm_split(MPI_COMM_WORLD, 0, glue_rank, &comm);
	MPI_Comm_idup(MPI_COMM_WORLD, &unused, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (used == 2)
		MPI_Bcast(got, 1, MPI_INT, 0, unused);
	else if (used)
		MPI_Sendrecv(&used, 1, MPI_INT, glue_rank, 0, got, 1, MPI_INT, glue_rank, 0, unused,
			     MPI_STATUS_IGNORE);
	else
		MPI_Comm_free(&unused);
	CHECK(!qv_mpi_set("allreduce=binomial"), "refused");
	CHECK(sum(comm) == glue_ranks && qv_mpi_taken() == before + 1, "not taken, used %d", used);
	if (used)
		MPI_Comm_free(&unused);
	MPI_Comm_free(&comm);
}

void glue_unused(void)
{
	idup_is_over(0);
	idup_is_over(1);
	idup_is_over(2);
}

static void spread(MPI_Comm comm)
{
	int from[64], to[64], counts[64], at[64];

	for (int r = 0; r < glue_ranks; r++) {
		from[r] = glue_rank;
		counts[r] = 1;
		at[r] = r;
	}
	MPI_Alltoallv(from, counts, at, MPI_INT, to, counts, at, MPI_INT, comm);
	for (int r = 0; r < glue_ranks; r++)
		CHECK(to[r] == r, "%d from %d", to[r], r);
}

static void scatter(MPI_Comm comm)
{
	int in[64], out = -1;

	for (int r = 0; r < glue_ranks; r++)
		in[r] = r;
	MPI_Reduce_scatter_block(in, &out, 1, MPI_INT, MPI_SUM, comm);
	CHECK(out == glue_rank * glue_ranks, "the sum is %d", out);
}

static void one_of(int is_v, MPI_Comm comm)
{
	if (is_v)
		spread(comm);
	else
		scatter(comm);
}

/* While one is under way the MPI runs all calls. `auto` must not take that for a trial. */
static void idup_in_trial(const char *settings, int is_v)
{
	MPI_Comm comm, dup;
	MPI_Request request;
	uint64_t before;

	CHECK(!qv_mpi_set(""), "refused");
	MPI_Comm_split(MPI_COMM_WORLD, 0, glue_rank, &comm);
	CHECK(!qv_mpi_set(settings), "refused");
	MPI_Comm_idup(MPI_COMM_WORLD, &dup, &request);
	for (int i = 0; i < 16; i++)
		one_of(is_v, comm);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Barrier(dup);
	MPI_Comm_free(&dup);
	before = qv_mpi_taken();
	for (int i = 0; i < 32; i++)
		one_of(is_v, comm);
	CHECK(qv_mpi_taken() > before, "%s: no trial", settings);
	MPI_Comm_free(&comm);
}

void glue_retried(void)
{
	idup_in_trial("reduce_scatter=auto", 0);
	idup_in_trial("alltoallv=auto", 1);
}
