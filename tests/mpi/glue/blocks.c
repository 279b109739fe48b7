/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.c - one call on variable-length blocks, in any form. */
#include "blocks.h"

#include <string.h>

#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSIST(name) MPIX_##name
#elif defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define PERSIST(name) MPI_##name
#endif

static const char *const names[GLUE_BLOCKS_KINDS] = {"allgatherv",         "alltoallv",
						     "neighbor_allgather", "neighbor_allgatherv",
						     "neighbor_alltoall",  "neighbor_alltoallv"};

const char *glue_blocks_name(enum glue_blocks_kind kind)
{
	return names[kind];
}

int glue_has(enum glue_form form)
{
#ifdef PERSIST
	return form < GLUE_FORMS;
#else
	return form < GLUE_PERSISTENT;
#endif
}

int glue_takes(enum glue_form form)
{
#ifdef OPEN_MPI
	return form < GLUE_FORMS;
#else
	return form == GLUE_BLOCKING;
#endif
}

int glue_draw(int seed, int x, int y, int limit)
{
	uint64_t v = (uint64_t)seed * 0x9E3779B97F4A7C15u + (uint64_t)x * 0xBF58476D1CE4E5B9u +
		     (uint64_t)y * 0x94D049BB133111EBu + 1;

	v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
	v = (v ^ v >> 27) * 0x94D049BB133111EBu;
	return (int)((v ^ v >> 31) % (uint64_t)limit);
}

/* One side. */

static void open_type(struct glue_side *s)
{
	MPI_Datatype pair;

	MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
	MPI_Type_create_resized(pair, 0, 4 * (MPI_Aint)sizeof(int), &s->type);
	MPI_Type_commit(&s->type);
	MPI_Type_free(&pair);
}

void glue_side_open(struct glue_side *s, int n, const int *counts, int layout, int gaps)
{
	int at = 0;

	*s = (struct glue_side){.n = n, .type = MPI_INT};
	s->counts = calloc((size_t)n + 1, sizeof(int));
	s->displs = calloc((size_t)n + 1, sizeof(int));
	CHECK(s->counts && s->displs, "no memory");
	for (int k = 0; k < n; k++) {
		const int i = layout ? n - 1 - k : k;

		/* Two ints or one pair: the other side may have the other. */
		s->counts[i] = gaps ? counts[i] : 2 * counts[i];
		at += layout ? 1 + k % 3 : 0;
		s->displs[i] = at;
		at += s->counts[i];
	}
	s->ints = (size_t)(at + 2) * (gaps ? 4 : 1);
	s->buf = malloc(s->ints * sizeof(int));
	CHECK(s->buf, "no memory");
	if (gaps)
		open_type(s);
}

void glue_side_close(struct glue_side *s)
{
	if (s->type != MPI_INT)
		MPI_Type_free(&s->type);
	free(s->counts);
	free(s->displs);
	free(s->buf);
}

/* The call. */

#define IN     (b->in_place ? MPI_IN_PLACE : b->in.buf)
#define ALIKE  IN, in->counts[0], in->type, out->buf, out->counts[0], out->type, b->comm
#define GATHER IN, in->counts[0], in->type, out->buf, out->counts, out->displs, out->type, b->comm
#define VARIOUS \
	IN, in->counts, in->displs, in->type, out->buf, out->counts, out->displs, out->type, b->comm

static void blocking(const struct glue_blocks *b)
{
	const struct glue_side *in = &b->in, *out = &b->out;

	switch (b->kind) {
	case GLUE_ALLGATHERV: MPI_Allgatherv(GATHER); break;
	case GLUE_ALLTOALLV: MPI_Alltoallv(VARIOUS); break;
	case GLUE_NEIGHBOR_ALLGATHER: MPI_Neighbor_allgather(ALIKE); break;
	case GLUE_NEIGHBOR_ALLGATHERV: MPI_Neighbor_allgatherv(GATHER); break;
	case GLUE_NEIGHBOR_ALLTOALL: MPI_Neighbor_alltoall(ALIKE); break;
	default: MPI_Neighbor_alltoallv(VARIOUS); break;
	}
}

static void nonblocking(const struct glue_blocks *b, MPI_Request *r)
{
	const struct glue_side *in = &b->in, *out = &b->out;

	switch (b->kind) {
	case GLUE_ALLGATHERV: MPI_Iallgatherv(GATHER, r); break;
	case GLUE_ALLTOALLV: MPI_Ialltoallv(VARIOUS, r); break;
	case GLUE_NEIGHBOR_ALLGATHER: MPI_Ineighbor_allgather(ALIKE, r); break;
	case GLUE_NEIGHBOR_ALLGATHERV: MPI_Ineighbor_allgatherv(GATHER, r); break;
	case GLUE_NEIGHBOR_ALLTOALL: MPI_Ineighbor_alltoall(ALIKE, r); break;
	default: MPI_Ineighbor_alltoallv(VARIOUS, r); break;
	}
}

#ifdef PERSIST
static void init(const struct glue_blocks *b, MPI_Request *r)
{
	const struct glue_side *in = &b->in, *out = &b->out;
	const MPI_Info none = MPI_INFO_NULL;

	switch (b->kind) {
	case GLUE_ALLGATHERV: PERSIST(Allgatherv_init)(GATHER, none, r); break;
	case GLUE_ALLTOALLV: PERSIST(Alltoallv_init)(VARIOUS, none, r); break;
	case GLUE_NEIGHBOR_ALLGATHER: PERSIST(Neighbor_allgather_init)(ALIKE, none, r); break;
	case GLUE_NEIGHBOR_ALLGATHERV: PERSIST(Neighbor_allgatherv_init)(GATHER, none, r); break;
	case GLUE_NEIGHBOR_ALLTOALL: PERSIST(Neighbor_alltoall_init)(ALIKE, none, r); break;
	default: PERSIST(Neighbor_alltoallv_init)(VARIOUS, none, r); break;
	}
}
#else
static void init(const struct glue_blocks *b, MPI_Request *r)
{
	CHECK(0, "this MPI has no persistent collectives");
}
#endif

static void fill(struct glue_blocks *b, int turn)
{
	const int seed = glue_rank * 1000 + turn;

	for (size_t i = 0; i < b->in.ints; i++)
		b->in.buf[i] = glue_draw(seed, (int)i, 1, 1 << 30);
	for (size_t i = 0; i < b->out.ints; i++) /* what must not be written stays */
		b->out.buf[i] = glue_draw(b->in_place ? seed : turn, (int)i, 2, 1 << 30);
}

/* Start, wait, and keep what came. */
static void complete(struct glue_blocks *b, enum glue_form form, MPI_Request *r)
{
	if (form == GLUE_PERSISTENT)
		MPI_Start(r);
	MPI_Wait(r, MPI_STATUS_IGNORE);
}

/* All that came in all turns, to be freed. */
static int *make(struct glue_blocks *b, enum glue_form form, int turns)
{
	int *results = malloc((size_t)turns * b->out.ints * sizeof(int));
	MPI_Request r = MPI_REQUEST_NULL;

	CHECK(results, "no memory");
	if (form == GLUE_PERSISTENT)
		init(b, &r);
	for (int turn = 0; turn < turns; turn++) {
		fill(b, turn);
		if (form == GLUE_BLOCKING)
			blocking(b);
		else if (form == GLUE_NONBLOCKING)
			nonblocking(b, &r);
		if (form != GLUE_BLOCKING)
			complete(b, form, &r);
		memcpy(results + (size_t)turn * b->out.ints, b->out.buf, b->out.ints * sizeof(int));
	}
	if (form == GLUE_PERSISTENT)
		MPI_Request_free(&r);
	return results;
}

void glue_blocks_compare(struct glue_blocks *b, const char *algorithm, enum glue_form form,
			 int starts, int taken)
{
	const size_t ints = (size_t)starts * b->out.ints;
	uint64_t before;
	char setting[64];
	int *mpi, *ours, n, calls = form == GLUE_PERSISTENT ? 1 : starts;
	size_t i = 0;

	CHECK(!qv_mpi_set(""), "no settings: refused");
	before = qv_mpi_taken();
	mpi = make(b, GLUE_BLOCKING, starts);
	CHECK(qv_mpi_taken() == before, "a call was taken that nobody has chosen");
	snprintf(setting, sizeof(setting), "%s=%s", names[b->kind], algorithm);
	CHECK(!qv_mpi_set(setting), "%s: refused", setting);
	ours = make(b, form, starts);
	n = (int)(qv_mpi_taken() - before);
	CHECK(n == (taken ? calls : 0), "%s, form %d: taken %d times, not %d", setting, (int)form,
	      n, taken ? calls : 0);
	while (i < ints && mpi[i] == ours[i])
		i++;
	CHECK(i == ints, "%s, form %d, in place %d: int %d of %d is %x, the MPI says %x", setting,
	      (int)form, b->in_place, (int)i, (int)ints, (unsigned int)ours[i],
	      (unsigned int)mpi[i]);
	free(mpi);
	free(ours);
}
