/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * poison.c - whatever MPI calls not significant on a rank is drawn there from aliases,
 * garbage and NULL, on each rank for itself: every operation in every form from every root must
 * give the right values, by the same way on all ranks.
 */
#include "poison.h"

#include <string.h>

#define SEED 20261122

static const char *const algorithms[POISON_KINDS][4] = {
	{"binomial", "unit", "pipeline", "auto"},
	{"butterfly", "segmented", "direct", "auto"},
	{"binomial", "pipeline", "binomial", "auto"},
	{"binomial", "pipeline", "binomial", "auto"},
	{"ring", "butterfly", "radix", "auto"},
	{"ring", "clairvoyant", "redirect", "auto"},
	{"dissemination", "binomial", "dissemination", "auto"},
	{"binomial", "ring", "pipeline", "auto"},
	{"ring", "hypercube", "mesh2", "auto"},
	{"direct", "hypercube", "mesh3", "auto"},
	{"ring", "direct", "hypercube", "auto"},
	{"direct", "crystal", "mesh2", "auto"},
	{"direct", "friends", "nodes", "auto"},
	{"direct", "friends", "nodes", "auto"},
	{"direct", "friends", "nodes", "auto"},
	{"direct", "friends", "nodes", "auto"},
};

/* All ranks have gone the same way; told by messages, which are nobody's but the MPI's. */
static void compare_ways(const struct shot *s, uint64_t before)
{
	int mine = (int)(qv_mpi_taken() - before), other;

	CHECK(s->must < 0 || mine == s->must,
	      "%s, form %d, in place %d, %d elements: taken %d, not %d", poison_names[s->call.kind],
	      (int)s->call.form, s->in_place, s->n, mine, s->must);
	if (glue_rank)
		MPI_Send(&mine, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
	for (int r = 1; r < glue_ranks && !glue_rank; r++) {
		MPI_Recv(&other, 1, MPI_INT, r, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(other == mine, "%s, form %d: taken %d by rank %d, %d here",
		      poison_names[s->call.kind], (int)s->call.form, other, r, mine);
	}
}

static int must_take(const struct shot *s)
{
	int form_ok = s->call.form == GLUE_BLOCKING;

#ifdef OPEN_MPI
	form_ok = 1;
#endif
	if (!strcmp(s->algorithm, "auto"))
		return -1;
	return form_ok && (s->n || varies(s) || is_neighbor(s) || s->call.kind == POISON_BARRIER);
}

static void shoot(struct shot *s, const int *lists, int left, int right)
{
	const uint64_t before = qv_mpi_taken();
	struct poison_call *c = &s->call;

	s->must = must_take(s);
	s->mild = s->must != 1 && c->form != GLUE_BLOCKING;
	if (s->mild && c->kind == POISON_ALLTOALLV) /* Open MPI 4.1 gives wrong values */
		s->in_place = 0;
#ifndef OPEN_MPI
	if (s->must != 1 && c->kind == POISON_REDUCE && c->root) /* MPICH 4.0's own crashes */
		s->in_place = 0;
#endif
	s->room = s->n * 2 + 2;
	if (is_scatter(s))
		s->room = s->n * glue_ranks + 2;
	s->in = malloc(sizeof(int) * (size_t)(s->room * (glue_ranks + 1)));
	s->out = malloc(sizeof(int) * (size_t)(s->room * (glue_ranks + 1)));
	CHECK(s->in && s->out, "no memory");
	poison_set(s, lists, left, right);
	for (int turn = 0; turn < (c->form == GLUE_PERSISTENT ? 2 : 1); turn++) {
		poison_fill(s);
		if (!turn)
			poison_begin(c);
		poison_end(c);
		poison_check(s);
	}
	if (c->form == GLUE_PERSISTENT)
		MPI_Request_free(&c->request);
	compare_ways(s, before);
	free(s->in);
	free(s->out);
}

/* Every form, length, root and place of an operation. */
static void all_of(enum poison_kind kind, const char *algorithm, MPI_Comm comm, const int *lists,
		   int left, int right)
{
	static const int lengths[] = {0, 1, 37, 5000};
	const int rooted = kind == POISON_REDUCE || kind == POISON_BCAST;
	const int can_be_in_place =
		kind < POISON_NEIGHBOR_ALLGATHER && kind != POISON_BARRIER && kind != POISON_BCAST;
	char setting[64];

	snprintf(setting, sizeof(setting), "%s=%s", poison_names[kind], algorithm);
	CHECK(!qv_mpi_set(setting), "%s: refused", setting);
	for (int form = 0; form < GLUE_FORMS; form++)
		for (int root = 0; root < (rooted ? glue_ranks : 1); root++)
			for (int k = 0; k < 4; k++)
				for (int in_place = 0; in_place <= can_be_in_place; in_place++) {
					struct shot s = {.call = {.kind = kind,
								  .form = (enum glue_form)form,
								  .root = root,
								  .comm = comm},
							 .algorithm = algorithm,
							 .in_place = in_place,
							 .n = lengths[k],
							 .salt = poison_draw(&poison_state, 1000)};

					if (poison_has(s.call.form))
						shoot(&s, lists, left, right);
				}
}

/* A chain whose ends have no neighbour on one side, and a ring without rank 0, which has none. */
static void neighbors(const char *const *which, int kind)
{
	int dims[1] = {glue_ranks}, periods[1] = {0}, lists[4], weight = 1, n = glue_ranks - 1;
	int next = glue_rank % (n ? n : 1) + 1, before = (glue_rank + n - 2) % (n ? n : 1) + 1;
	MPI_Comm chain, ring;

	CHECK(!qv_mpi_set("neighbor_allgather=direct"), "refused");
	MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &chain);
	MPI_Cart_shift(chain, 0, 1, &lists[0], &lists[1]);
	for (int i = 0; i < 2; i++)
		lists[2 + i] = lists[i] = lists[i] == MPI_PROC_NULL ? -1 : lists[i];
	for (int a = 0; a < 4; a++)
		all_of((enum poison_kind)kind, which[a], chain, lists, 2, 2);
	MPI_Comm_free(&chain);
	CHECK(!qv_mpi_set("neighbor_allgather=direct"), "refused");
	n = glue_rank && glue_ranks > 2;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, &before, &weight, n, &next, &weight,
				       MPI_INFO_NULL, 0, &ring);
	lists[0] = before;
	lists[1] = next;
	for (int a = 0; a < 4; a++)
		all_of((enum poison_kind)kind, which[a], ring, lists, n, n);
	MPI_Comm_free(&ring);
}

/* One buffer for both is in place, here as on ranks that say so: nobody waits for another call. */
static void one_buffer(void)
{
	const uint64_t before = qv_mpi_taken();
	int buf[3] = {glue_rank, 1, 7};

	CHECK(!qv_mpi_set("allreduce=ring"), "refused");
	MPI_Allreduce(glue_rank % 2 ? MPI_IN_PLACE : (void *)buf, buf, 3, MPI_INT, MPI_SUM,
		      MPI_COMM_WORLD);
	CHECK(buf[0] == glue_ranks * (glue_ranks - 1) / 2 && buf[1] == glue_ranks &&
		      buf[2] == 7 * glue_ranks && qv_mpi_taken() == before + 1,
	      "one buffer: %d, %d, %d", buf[0], buf[1], buf[2]);
}

void glue_poison(void)
{
	const char *seed = getenv("QV_POISON_SEED");

	CHECK(glue_ranks <= 64, "too many ranks for this test");
	poison_state = seed ? strtoull(seed, NULL, 0) : SEED;
	poison_own = poison_state + (uint64_t)glue_rank * 7919 + 1;
	if (!glue_rank)
		printf("poison: QV_POISON_SEED=%llu\n", (unsigned long long)poison_state);
	for (int kind = 0; kind < POISON_NEIGHBOR_ALLGATHER; kind++)
		for (int a = 0; a < 4; a++)
			all_of((enum poison_kind)kind, algorithms[kind][a], MPI_COMM_WORLD, NULL, 0,
			       0);
	for (int kind = POISON_NEIGHBOR_ALLGATHER; kind < POISON_KINDS; kind++)
		neighbors(algorithms[kind], kind);
	one_buffer();
}
