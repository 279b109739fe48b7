/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rooted.c - gather and scatter in all forms, by every root, in place, with other types at each rank.
 * What is not significant off the root is poison there.
 */
#include "glue.h"

#include <string.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define FORMS GLUE_FORMS
#else
#define FORMS GLUE_PERSISTENT
#endif

#ifdef OPEN_MPI
#define TAKEN(form) 1
#else
#define TAKEN(form) ((form) == GLUE_BLOCKING)
#endif

#define UNTOUCHED 0x33333333

/* Pairs of ints, plain or every second one of twice as many. */
struct side {
	int gaps;
	int *ints;
	const void *buf; /* ints, MPI_IN_PLACE or poison */
	int count;
	MPI_Datatype type;
};

/* One call. */
struct rooted {
	int scatter, root, n, in_place;
	enum glue_form form;
	struct side in, out;
};

static struct side open_side(int gaps, int n, int blocks)
{
	const size_t room = 2 * (size_t)n * (size_t)blocks + 1;
	struct side s = {gaps, malloc(room * sizeof(int)), NULL, gaps ? n / 2 : n, MPI_INT};
	MPI_Datatype pair;

	CHECK(s.ints, "no memory");
	for (size_t i = 0; i < room; i++)
		s.ints[i] = UNTOUCHED;
	s.buf = s.ints;
	if (!gaps)
		return s;
	MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
	MPI_Type_create_resized(pair, 0, 4 * (MPI_Aint)sizeof(int), &s.type);
	MPI_Type_commit(&s.type);
	MPI_Type_free(&pair);
	return s;
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

static void start(const struct rooted *t, const struct side *s, const struct side *r,
		  MPI_Request *q)
{
	void *out = (void *)(uintptr_t)r->buf;
	const MPI_Comm comm = MPI_COMM_WORLD;

	*q = MPI_REQUEST_NULL;
	if (t->form == GLUE_BLOCKING && t->scatter)
		MPI_Scatter(s->buf, s->count, s->type, out, r->count, r->type, t->root, comm);
	else if (t->form == GLUE_BLOCKING)
		MPI_Gather(s->buf, s->count, s->type, out, r->count, r->type, t->root, comm);
	else if (t->form == GLUE_NONBLOCKING && t->scatter)
		MPI_Iscatter(s->buf, s->count, s->type, out, r->count, r->type, t->root, comm, q);
	else if (t->form == GLUE_NONBLOCKING)
		MPI_Igather(s->buf, s->count, s->type, out, r->count, r->type, t->root, comm, q);
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
	else if (t->scatter)
		MPIX_Scatter_init(s->buf, s->count, s->type, out, r->count, r->type, t->root, comm,
				  MPI_INFO_NULL, q);
	else
		MPIX_Gather_init(s->buf, s->count, s->type, out, r->count, r->type, t->root, comm,
				 MPI_INFO_NULL, q);
#endif
}

static void fill(const struct rooted *t, int turn)
{
	const int here = glue_rank == t->root;

	for (int rank = 0; rank < glue_ranks; rank++)
		for (int i = 0; i < t->n; i++) {
			if (t->scatter && here)
				*element(&t->in, rank * t->n + i) = value(t, rank, i, turn);
			else if (!t->scatter && t->in_place && rank == glue_rank)
				*element(&t->out, rank * t->n + i) = value(t, rank, i, turn);
			else if (!t->scatter && rank == glue_rank)
				*element(&t->in, i) = value(t, rank, i, turn);
		}
}

static void check(const struct rooted *t, int turn)
{
	const struct side *out = &t->out;
	const int here = glue_rank == t->root;
	const int n = t->scatter ? (t->in_place ? 0 : t->n) : here ? t->n * glue_ranks : 0;

	for (int i = 0; i < n; i++) {
		const int rank = t->scatter ? glue_rank : i / t->n;

		CHECK(*element(out, i) == value(t, rank, i % t->n, turn),
		      "scatter %d, form %d, root %d, in place %d, %d ints: %d is %x", t->scatter,
		      (int)t->form, t->root, t->in_place, t->n, i, (unsigned int)*element(out, i));
		CHECK(!out->gaps || out->ints[2 * i + 1] == UNTOUCHED, "gap %d was written", i);
	}
	CHECK(out->ints[out->gaps ? 2 * n : n] == UNTOUCHED, "written behind the end");
}

static void one(int scatter, int root, enum glue_form form, int n, int in_place)
{
	const struct side poison = {0, NULL, (const void *)(uintptr_t)0x10, -3, MPI_DATATYPE_NULL};
	const int here = glue_rank == root;
	struct rooted t = {scatter,
			   root,
			   n,
			   in_place && here,
			   form,
			   open_side((glue_rank + n / 2) % 2, n, glue_ranks),
			   open_side((glue_rank + (int)form) % 3 == 0, n, glue_ranks)};
	struct side s, r;
	MPI_Request q;

	s = here || !scatter ? t.in : poison;
	r = here || scatter ? t.out : poison;
	if (t.in_place && scatter)
		r = (struct side){.buf = MPI_IN_PLACE, .count = -3, .type = MPI_DATATYPE_NULL};
	else if (t.in_place)
		s = (struct side){.buf = MPI_IN_PLACE, .count = -3, .type = MPI_DATATYPE_NULL};
	fill(&t, 0);
	start(&t, &s, &r, &q);
	for (int turn = 0; turn < (form == GLUE_PERSISTENT ? 3 : 1); turn++) {
		fill(&t, turn);
		if (form == GLUE_PERSISTENT)
			MPI_Start(&q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
		check(&t, turn);
	}
	if (form == GLUE_PERSISTENT)
		MPI_Request_free(&q);
	close_side(&t.in);
	close_side(&t.out);
}

static void all_of(int scatter, const char *algorithm)
{
	static const int ints[] = {2, 6, 1000, 20000};
	const uint64_t before = qv_mpi_taken();
	char setting[64];
	int calls = 0;

	snprintf(setting, sizeof(setting), "%s=%s", scatter ? "scatter" : "gather", algorithm);
	CHECK(!qv_mpi_set(setting), "%s: refused", setting);
	for (int form = 0; form < FORMS; form++)
		for (int i = 0; i < 4; i++)
			for (int root = 0; root < glue_ranks; root++)
				for (int in_place = 0; in_place < 2; in_place++) {
					one(scatter, root, (enum glue_form)form, ints[i], in_place);
					calls += TAKEN(form);
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
	for (int i = glue_ranks / 2; i < glue_ranks && !glue_rank; i++)
		CHECK(out[i - glue_ranks / 2] == i, "between groups: %d instead of %d",
		      out[i - glue_ranks / 2], i);
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
		for (size_t i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++)
			all_of(scatter, algorithms[i]);
	between();
	empty();
}
