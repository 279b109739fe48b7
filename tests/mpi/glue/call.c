/* SPDX-License-Identifier: BSD-2-Clause */
/* call.c - one call in any form, made by schedules and by the MPI. */
#include "glue.h"

#include <string.h>

static const char *const operations[GLUE_KINDS] = {"reduce",         "allreduce", "reduce_scatter",
						   "reduce_scatter", "scan",      "exscan"};

static int is_scan(const struct glue_call *call)
{
	return call->kind == GLUE_SCAN || call->kind == GLUE_EXSCAN;
}

static int is_scatter(const struct glue_call *call)
{
	return call->kind == GLUE_SCATTER || call->kind == GLUE_SCATTER_BLOCK;
}

/* Scans have two of the algorithms, and a reduce_scatter all but one. */
static const char *known(const struct glue_call *call, const char *algorithm)
{
	if (is_scan(call))
		return !strcmp(algorithm, "pipeline") ? algorithm : "binomial";
	return is_scatter(call) && !strcmp(algorithm, "unit") ? "ring" : algorithm;
}

static int *equal_counts(const struct glue_call *call, int ranks)
{
	int *counts = malloc((size_t)ranks * sizeof(*counts));

	CHECK(counts, "no memory");
	for (int i = 0; i < ranks; i++)
		counts[i] = call->count;
	return counts;
}

static void blocking(const struct glue_call *c, const void *in, void *out, const int *counts)
{
	switch (c->kind) {
	case GLUE_REDUCE: MPI_Reduce(in, out, c->count, c->type, c->op, c->root, c->comm); break;
	case GLUE_ALLREDUCE: MPI_Allreduce(in, out, c->count, c->type, c->op, c->comm); break;
	case GLUE_SCATTER: MPI_Reduce_scatter(in, out, counts, c->type, c->op, c->comm); break;
	case GLUE_SCAN: MPI_Scan(in, out, c->count, c->type, c->op, c->comm); break;
	case GLUE_EXSCAN: MPI_Exscan(in, out, c->count, c->type, c->op, c->comm); break;
	default: MPI_Reduce_scatter_block(in, out, c->count, c->type, c->op, c->comm); break;
	}
}

static void nonblocking(const struct glue_call *c, const void *in, void *out, const int *counts,
			MPI_Request *r)
{
	switch (c->kind) {
	case GLUE_REDUCE:
		MPI_Ireduce(in, out, c->count, c->type, c->op, c->root, c->comm, r);
		break;
	case GLUE_ALLREDUCE: MPI_Iallreduce(in, out, c->count, c->type, c->op, c->comm, r); break;
	case GLUE_SCATTER: MPI_Ireduce_scatter(in, out, counts, c->type, c->op, c->comm, r); break;
	case GLUE_SCAN: MPI_Iscan(in, out, c->count, c->type, c->op, c->comm, r); break;
	case GLUE_EXSCAN: MPI_Iexscan(in, out, c->count, c->type, c->op, c->comm, r); break;
	default: MPI_Ireduce_scatter_block(in, out, c->count, c->type, c->op, c->comm, r); break;
	}
}

#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSIST(name) MPIX_##name
#else
#define PERSIST(name) MPI_##name
#endif

static void init(const struct glue_call *c, const void *in, void *out, const int *counts,
		 MPI_Request *r)
{
	const MPI_Info none = MPI_INFO_NULL;

	switch (c->kind) {
	case GLUE_REDUCE:
		PERSIST(Reduce_init)
		(in, out, c->count, c->type, c->op, c->root, c->comm, none, r);
		break;
	case GLUE_ALLREDUCE:
		PERSIST(Allreduce_init)(in, out, c->count, c->type, c->op, c->comm, none, r);
		break;
	case GLUE_SCATTER:
		PERSIST(Reduce_scatter_init)(in, out, counts, c->type, c->op, c->comm, none, r);
		break;
	case GLUE_SCAN:
		PERSIST(Scan_init)(in, out, c->count, c->type, c->op, c->comm, none, r);
		break;
	case GLUE_EXSCAN:
		PERSIST(Exscan_init)(in, out, c->count, c->type, c->op, c->comm, none, r);
		break;
	default:
		PERSIST(Reduce_scatter_block_init)
		(in, out, c->count, c->type, c->op, c->comm, none, r);
		break;
	}
}
#else
/* This MPI has none: let the other forms be tested once more. */
static void init(const struct glue_call *c, const void *in, void *out, const int *counts,
		 MPI_Request *r)
{
	MPI_Recv_init(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, c->comm, r);
	blocking(c, in, out, counts);
}
#endif

static void make(const struct glue_call *call, enum glue_form form, const void *in, void *out,
		 const int *counts)
{
	MPI_Request r;

	if (form == GLUE_BLOCKING) {
		blocking(call, in, out, counts);
		return;
	}
	if (form == GLUE_NONBLOCKING) {
		nonblocking(call, in, out, counts, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		CHECK(r == MPI_REQUEST_NULL, "the request is still there");
		return;
	}
	init(call, in, out, counts, &r);
	MPI_Start(&r);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	CHECK(r != MPI_REQUEST_NULL, "a persistent request went away");
	MPI_Request_free(&r);
}

void *glue_make(const struct glue_call *call, enum glue_form form, glue_fill *fill, size_t *bytes)
{
	int rank, ranks;

	MPI_Comm_rank(call->comm, &rank);
	MPI_Comm_size(call->comm, &ranks);
	const size_t elements = (size_t)call->count * (size_t)(is_scatter(call) ? ranks : 1);
	const int place = call->in_place && (call->kind != GLUE_REDUCE || rank == call->root);
	const size_t room = (elements + 1) * call->item;
	char *in = calloc(1, room), *out = calloc(1, room);
	int *counts = equal_counts(call, ranks);

	CHECK(in && out, "no memory");
	memset(out, 0x5a, room); /* what must not be written stays */
	fill(in, elements, rank);
	if (place)
		memcpy(out, in, elements * call->item);
	make(call, form, place ? MPI_IN_PLACE : in, out, counts);
	*bytes = (size_t)call->count * call->item;
	if (is_scatter(call) && place) /* the rest of the vector is not defined any more */
		memset(out + *bytes, 0, room - *bytes);
	else
		*bytes = room;
	if (call->kind == GLUE_EXSCAN && !rank) /* there is no result */
		memset(out, 0, room);
	free(in);
	free(counts);
	return out;
}

void glue_compare(const struct glue_call *call, const char *algorithm, enum glue_form form,
		  glue_fill *fill, int taken)
{
	char setting[64];
	size_t bytes, i;
	unsigned char *mpi, *ours;
	uint64_t before;

	CHECK(!qv_mpi_set(""), "no settings: refused");
	before = qv_mpi_taken();
	mpi = glue_make(call, form, fill, &bytes);
	CHECK(qv_mpi_taken() == before, "a call was taken that nobody has chosen");
	snprintf(setting, sizeof(setting), "%s=%s", operations[call->kind], known(call, algorithm));
	CHECK(!qv_mpi_set(setting), "%s: refused", setting);
	ours = glue_make(call, form, fill, &bytes);
	CHECK(taken < 0 || (int)(qv_mpi_taken() - before) == taken,
	      "%s, form %d: taken %d instead of %d", setting, (int)form,
	      (int)(qv_mpi_taken() - before), taken);
	for (i = 0; i < bytes && mpi[i] == ours[i]; i++)
		;
	CHECK(i == bytes,
	      "%s, form %d, kind %d, %d elements of %d bytes, root %d, in place %d: "
	      "byte %d is %02x, the MPI says %02x",
	      setting, (int)form, (int)call->kind, call->count, (int)call->item, call->root,
	      call->in_place, (int)i, ours[i], mpi[i]);
	free(mpi);
	free(ours);
}
