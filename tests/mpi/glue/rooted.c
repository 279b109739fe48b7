/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rooted.c - gather and scatter in all forms, of blocks that are alike or of other lengths, by every root,
 * in place, with other types at each rank. What is not significant off the root is poison there.
 */
#include "glue.h"

#include <string.h>

#define UNTOUCHED 0x33333333

/* Pairs of ints, plain or every second one of twice as many. */
struct side {
	int gaps;
	int *ints;
	const void *buf; /* ints, MPI_IN_PLACE or poison */
	int count;
	const int *counts, *displs; /* of the v forms, at the root */
	MPI_Datatype type;
};

/* One call. */
struct rooted {
	int scatter, v, root, n, in_place;
	enum glue_form form;
	struct side in, out;
};

/* Elements of a rank's block: of some none. */
static int length(const struct rooted *t, int rank)
{
	return t->v ? (rank + t->n / 2) % 3 * t->n : t->n;
}

/* Where it begins at the root: those of the v forms in turned order, with room behind each. */
static int place(const struct rooted *t, int rank)
{
	return t->v ? (glue_ranks - 1 - rank) * 2 * t->n : rank * t->n;
}

static int ints_of(const struct side *s, int blocks, const struct rooted *t)
{
	return (s->gaps ? 2 : 1) * (t->v ? 2 : 1) * blocks * t->n + 1;
}

static void open_side(const struct rooted *t, struct side *s, int gaps)
{
	MPI_Datatype pair;

	*s = (struct side){.gaps = gaps, .type = MPI_INT};
	const int room = ints_of(s, glue_ranks, t);

	s->ints = malloc((size_t)room * sizeof(int));
	CHECK(s->ints, "no memory");
	for (int i = 0; i < room; i++)
		s->ints[i] = UNTOUCHED;
	s->buf = s->ints;
	if (!gaps)
		return;
	MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
	MPI_Type_create_resized(pair, 0, 4 * (MPI_Aint)sizeof(int), &s->type);
	MPI_Type_commit(&s->type);
	MPI_Type_free(&pair);
}

/* What the program says of a side: of the root's, lengths and places of all blocks; of another, one. */
static void describe(const struct rooted *t, struct side *s, int *counts, int *displs)
{
	const int unit = s->gaps ? 2 : 1;

	s->count = length(t, t->v ? glue_rank : 0) / unit;
	s->counts = counts;
	s->displs = displs;
	for (int rank = 0; rank < glue_ranks; rank++) {
		counts[rank] = length(t, rank) / unit;
		displs[rank] = counts[rank] ? place(t, rank) / unit : -7;
	}
}

static void close_side(const struct side *s)
{
	MPI_Datatype type = s->type;

	if (s->gaps)
		MPI_Type_free(&type);
	free(s->ints);
}

static int *element(const struct side *s, int i)
{
	return &s->ints[s->gaps ? 2 * i : i];
}

/* Element i of the block of a rank. */
static int value(const struct rooted *t, int rank, int i, int turn)
{
	return t->root * 1000003 + rank * 1009 + i * 7 + turn * 31 + 1;
}

/* The three forms of a call, whose arguments before the communicator are these. */
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define LAST(name, ...) MPIX_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, q)
#else
#define LAST(name, ...) CHECK(0, "this MPI has no " #name "_init")
#endif
#define MAKE(name, later, ...)                              \
	do {                                                \
		if (t->form == GLUE_BLOCKING)               \
			MPI_##name(__VA_ARGS__, comm);      \
		else if (t->form == GLUE_NONBLOCKING)       \
			MPI_I##later(__VA_ARGS__, comm, q); \
		else                                        \
			LAST(name, __VA_ARGS__);            \
	} while (0)

static void start(const struct rooted *t, const struct side *s, const struct side *r,
		  MPI_Request *q)
{
	void *out = (void *)(uintptr_t)r->buf;
	const MPI_Comm comm = MPI_COMM_WORLD;

	*q = MPI_REQUEST_NULL;
	if (t->v && t->scatter)
		MAKE(Scatterv, scatterv, s->buf, s->counts, s->displs, s->type, out, r->count,
		     r->type, t->root);
	else if (t->v)
		MAKE(Gatherv, gatherv, s->buf, s->count, s->type, out, r->counts, r->displs,
		     r->type, t->root);
	else if (t->scatter)
		MAKE(Scatter, scatter, s->buf, s->count, s->type, out, r->count, r->type, t->root);
	else
		MAKE(Gather, gather, s->buf, s->count, s->type, out, r->count, r->type, t->root);
}

static void fill(const struct rooted *t, int turn)
{
	const int here = glue_rank == t->root;

	for (int rank = 0; rank < glue_ranks; rank++)
		for (int i = 0; i < length(t, rank); i++) {
			if (t->scatter && here)
				*element(&t->in, place(t, rank) + i) = value(t, rank, i, turn);
			else if (!t->scatter && t->in_place && rank == glue_rank)
				*element(&t->out, place(t, rank) + i) = value(t, rank, i, turn);
			else if (!t->scatter && rank == glue_rank)
				*element(&t->in, i) = value(t, rank, i, turn);
		}
}

static void check_block(const struct rooted *t, int rank, int first, int turn)
{
	const struct side *out = &t->out;

	for (int i = 0; i < length(t, rank); i++) {
		int *at = element(out, first + i);

		CHECK(*at == value(t, rank, i, turn),
		      "scatter %d, v %d, form %d, root %d, in place %d, %d ints: %d of %d is %x",
		      t->scatter, t->v, (int)t->form, t->root, t->in_place, t->n, i, rank,
		      (unsigned int)*at);
		*at = UNTOUCHED;
	}
}

/* The blocks are right, and nothing else has been written. */
static void check(const struct rooted *t, int turn)
{
	for (int rank = 0; rank < glue_ranks; rank++)
		if (t->scatter ? rank == glue_rank && !t->in_place : glue_rank == t->root)
			check_block(t, rank, t->scatter ? 0 : place(t, rank), turn);
	for (int i = 0; i < ints_of(&t->out, glue_ranks, t); i++)
		CHECK(t->out.ints[i] == UNTOUCHED, "scatter %d, v %d: int %d was written",
		      t->scatter, t->v, i);
}

static void one(int scatter, int v, int root, enum glue_form form, int n, int in_place)
{
	int *const nowhere = (int *)(uintptr_t)0x10, counts[2][64], displs[2][64];
	const struct side poison = {.buf = nowhere,
				    .count = -3,
				    .counts = nowhere,
				    .displs = nowhere,
				    .type = MPI_DATATYPE_NULL};
	const int here = glue_rank == root;
	struct rooted t = {scatter, v, root, n, in_place && here, form, {0}, {0}};
	struct side s, r;
	MPI_Request q;

	open_side(&t, &t.in, (glue_rank + n / 2) % 2);
	open_side(&t, &t.out, (glue_rank + (int)form) % 3 == 0);
	describe(&t, &t.in, counts[0], displs[0]);
	describe(&t, &t.out, counts[1], displs[1]);
	s = here || !scatter ? t.in : poison;
	r = here || scatter ? t.out : poison;
	if (t.in_place) {
		*(scatter ? &r : &s) = poison;
		(scatter ? &r : &s)->buf = MPI_IN_PLACE;
	}
	fill(&t, 0);
	start(&t, &s, &r, &q);
	for (int turn = 0; turn < (form == GLUE_PERSISTENT ? 3 : 1); turn++) {
		if (form == GLUE_PERSISTENT) {
			fill(&t, turn);
			MPI_Start(&q);
		}
		MPI_Wait(&q, MPI_STATUS_IGNORE);
		check(&t, turn);
	}
	if (form == GLUE_PERSISTENT)
		MPI_Request_free(&q);
	close_side(&t.in);
	close_side(&t.out);
}

static void all_of(int scatter, int v, const char *algorithm)
{
	static const int ints[] = {2, 6, 1000, 20000};
	const uint64_t before = qv_mpi_taken();
	char setting[64];
	int calls = 0;

	snprintf(setting, sizeof(setting), "%s%s=%s", scatter ? "scatter" : "gather", v ? "v" : "",
		 algorithm);
	CHECK(!qv_mpi_set(setting), "%s: refused", setting);
	for (int form = 0; form < GLUE_HERE; form++)
		for (int i = 0; i < 4; i++)
			for (int root = 0; root < glue_ranks; root++)
				for (int in_place = 0; in_place < 2; in_place++) {
					one(scatter, v, root, (enum glue_form)form, ints[i],
					    in_place);
					calls += GLUE_TAKES(form);
				}
	CHECK(!strcmp(algorithm, "auto") || (int)(qv_mpi_taken() - before) == calls,
	      "%s: %d calls were taken, not %d", setting, (int)(qv_mpi_taken() - before), calls);
}

/* On an intercommunicator, where other arguments are significant: the MPI's. */
static void between(void)
{
	const int left = glue_rank < glue_ranks / 2;
	int in = glue_rank, out[64] = {0};
	const uint64_t before = qv_mpi_taken();
	MPI_Comm half, inter;

	CHECK(!qv_mpi_set("gather=binomial,scatter=binomial"), "refused");
	MPI_Comm_split(MPI_COMM_WORLD, left, 0, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, left ? glue_ranks / 2 : 0, 1, &inter);
	if (left)
		MPI_Gather(NULL, -3, MPI_DATATYPE_NULL, out, 1, MPI_INT,
			   glue_rank ? MPI_PROC_NULL : MPI_ROOT, inter);
	else
		MPI_Gather(&in, 1, MPI_INT, NULL, -3, MPI_DATATYPE_NULL, 0, inter);
	for (int i = 0; i < glue_ranks - glue_ranks / 2 && !glue_rank; i++)
		CHECK(out[i] == i + glue_ranks / 2, "between groups: block %d is %d", i, out[i]);
	CHECK(qv_mpi_taken() == before, "one between groups was taken");
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
}

/* So are empty ones. */
static void empty(void)
{
	const uint64_t before = qv_mpi_taken();
	int word = 0;

	MPI_Gather(&word, 0, MPI_INT, &word, 0, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Scatter(&word, 0, MPI_INT, &word, 0, MPI_INT, 0, MPI_COMM_WORLD);
	CHECK(qv_mpi_taken() == before, "an empty one was taken");
}

void glue_rooted(void)
{
	static const char *const algorithms[] = {"binomial", "direct", "auto"};

	for (int scatter = 0; scatter < 2; scatter++)
		for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
			all_of(scatter, 0, algorithms[i]);
			all_of(scatter, 1, algorithms[i]);
		}
	between();
	empty();
}
