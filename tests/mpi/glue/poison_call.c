/* SPDX-License-Identifier: BSD-2-Clause */
/* poison_call.c - every collective that libquiver-mpi takes, in every form. */
#include "poison.h"

#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define PERSIST(name) MPIX_##name
#elif defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define PERSIST(name) MPI_##name
#endif

/* A program that is built with Open MPI 4 may run over Open MPI 5, which has other names for them. */
int poison_has(enum glue_form form)
{
#ifdef PERSIST
	char version[MPI_MAX_LIBRARY_VERSION_STRING];
	int length, major = 0;

	MPI_Get_library_version(version, &length);
	sscanf(version, "Open MPI v%d", &major);
	return form < (major == OMPI_MAJOR_VERSION ? GLUE_FORMS : GLUE_PERSISTENT);
#else
	return form < GLUE_PERSISTENT;
#endif
}

#ifdef PERSIST
#define LAST(name, ...) PERSIST(name##_init)(__VA_ARGS__ call->comm, MPI_INFO_NULL, &call->request)
#else
#define LAST(name, ...) CHECK(0, "this MPI has no " #name "_init")
#endif

/* Arguments before the communicator end with a comma. */
#define FORMS(name, later, ...)                                                              \
	do {                                                                                 \
		switch (call->form) {                                                        \
		case GLUE_BLOCKING: MPI_##name(__VA_ARGS__ call->comm); break;               \
		case GLUE_NONBLOCKING: MPI_I##later(__VA_ARGS__ call->comm, &call->request); \
			break;                                                               \
		default: LAST(name, __VA_ARGS__); break;                                     \
		}                                                                            \
	} while (0)

#define REDUCED i->buf, o->buf, o->count, o->type, MPI_SUM,
#define ALIKE   i->buf, i->count, i->type, o->buf, o->count, o->type,
#define GATHER  i->buf, i->count, i->type, o->buf, o->counts, o->displs, o->type,
#define VARIOUS i->buf, i->counts, i->displs, i->type, o->buf, o->counts, o->displs, o->type,

void poison_begin(struct poison_call *call)
{
	const struct poison_side *i = &call->in, *o = &call->out;

	call->request = MPI_REQUEST_NULL;
	switch (call->kind) {
	case POISON_REDUCE: FORMS(Reduce, reduce, REDUCED call->root, ); break;
	case POISON_ALLREDUCE: FORMS(Allreduce, allreduce, REDUCED); break;
	case POISON_SCAN: FORMS(Scan, scan, REDUCED); break;
	case POISON_EXSCAN: FORMS(Exscan, exscan, REDUCED); break;
	case POISON_SCATTER:
		FORMS(Reduce_scatter, reduce_scatter, i->buf, o->buf, o->counts, o->type,
		      MPI_SUM, );
		break;
	case POISON_SCATTER_BLOCK:
		FORMS(Reduce_scatter_block, reduce_scatter_block, REDUCED);
		break;
	case POISON_BARRIER: FORMS(Barrier, barrier, ); break;
	case POISON_BCAST: FORMS(Bcast, bcast, o->buf, o->count, o->type, call->root, ); break;
	case POISON_ALLGATHER: FORMS(Allgather, allgather, ALIKE); break;
	case POISON_ALLTOALL: FORMS(Alltoall, alltoall, ALIKE); break;
	case POISON_ALLGATHERV: FORMS(Allgatherv, allgatherv, GATHER); break;
	case POISON_ALLTOALLV: FORMS(Alltoallv, alltoallv, VARIOUS); break;
	case POISON_NEIGHBOR_ALLGATHER: FORMS(Neighbor_allgather, neighbor_allgather, ALIKE); break;
	case POISON_NEIGHBOR_ALLGATHERV:
		FORMS(Neighbor_allgatherv, neighbor_allgatherv, GATHER);
		break;
	case POISON_NEIGHBOR_ALLTOALL: FORMS(Neighbor_alltoall, neighbor_alltoall, ALIKE); break;
	default: FORMS(Neighbor_alltoallv, neighbor_alltoallv, VARIOUS); break;
	}
}

void poison_end(struct poison_call *call)
{
	if (call->form == GLUE_PERSISTENT)
		MPI_Start(&call->request);
	MPI_Wait(&call->request, MPI_STATUS_IGNORE);
}
