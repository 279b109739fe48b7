/* SPDX-License-Identifier: BSD-2-Clause */
/* glue.h - what the tests of libquiver-mpi share: calls made twice, by schedules and by the
 * MPI. */
#ifndef QV_MPI_GLUE_H
#define QV_MPI_GLUE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <quiver/mpi_control.h>

extern int glue_rank, glue_ranks;

/* Ends the job with a line when it does not hold. */
#define CHECK(cond, ...)                                                                    \
	do {                                                                                \
		if (!(cond)) {                                                              \
			fprintf(stderr, "%s:%d: rank %d: ", __FILE__, __LINE__, glue_rank); \
			fprintf(stderr, __VA_ARGS__);                                       \
			fputc('\n', stderr);                                                \
			MPI_Abort(MPI_COMM_WORLD, 1);                                       \
		}                                                                           \
	} while (0)

/* One call of any of the reductions. */
enum glue_kind {
	GLUE_REDUCE,
	GLUE_ALLREDUCE,
	GLUE_SCATTER,
	GLUE_SCATTER_BLOCK,
	GLUE_SCAN,
	GLUE_EXSCAN,
	GLUE_KINDS,
};

struct glue_call {
	enum glue_kind kind;
	MPI_Datatype type;
	size_t item; /* extent of the type */
	MPI_Op op;
	int count; /* per block, of those that scatter */
	int root;
	int in_place;
	MPI_Comm comm;
};

/* How calls are made. */
enum glue_form { GLUE_BLOCKING, GLUE_NONBLOCKING, GLUE_PERSISTENT, GLUE_FORMS };

/* The forms below GLUE_HERE can be called by MPI_ or MPIX_ names with this MPI; those for which GLUE_TAKES
 * holds, the library takes. */
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define GLUE_HERE GLUE_FORMS
#else
#define GLUE_HERE GLUE_PERSISTENT
#endif
#ifdef OPEN_MPI
#define GLUE_TAKES(form) 1
#else
#define GLUE_TAKES(form) ((form) == GLUE_BLOCKING)
#endif

/*
 * Make the call by the MPI and by `algorithm`, in one form, and compare every byte of the results.
 *   fill   sets so many elements of rank's contribution
 *   taken  1: schedules must run it; 0: the MPI must; -1: either may
 */
typedef void glue_fill(void *buf, size_t elements, int rank);
void glue_compare(const struct glue_call *call, const char *algorithm, enum glue_form form,
		  glue_fill *fill, int taken);

/* The call itself, into a buffer of its own; the result, to be freed, or NULL where
 * there is none. */
void *glue_make(const struct glue_call *call, enum glue_form form, glue_fill *fill, size_t *bytes);

/* All algorithms that schedules have, NULL at the end; the first six keep the order of ranks. */
extern const char *const glue_algorithms[];

/* Operations on types, and how contributions are filled. */
struct glue_pair {
	MPI_Datatype type;
	MPI_Op op;
	glue_fill *fill;
	const char *name;
};

/* The pair number i, or 0 if there are no more. */
int glue_pair(size_t i, struct glue_pair *pair);

void glue_values(void);
void glue_sizes(void);
void glue_big(void);
void glue_forms(void);
void glue_overlap(void);
void glue_persistent(void);
void glue_outlive(void);
void glue_many(void);
void glue_user(void);
void glue_derived(void);
void glue_comms(void);
void glue_room(void);
void glue_errors(void);
void glue_through(void);
void glue_move(void);
void glue_exchange(void);
void glue_misfit(void);
void glue_bottom(void);
void glue_rooted(void);
void glue_trial(void);
void glue_late(void);
void glue_untold(void);
void glue_vector(void);
void glue_neighbor(void);
void glue_switch(void);
void glue_poison(void);
void glue_attributes(void);
void glue_idup(void);
void glue_unused(void);
void glue_info(void);
void glue_wrong(void);
void glue_wrong_buffer(void);
void glue_retried(void);
void glue_contexts(void);
void glue_thread(void);
void glue_large(void);
void glue_uneven(void);
void glue_memory(void);
/* Whether ranks of a node follow each other. */
int glue_in_order(void);
void glue_local(void);
void glue_huge(void);
void glue_huge_data(void);

#endif /* QV_MPI_GLUE_H */
