/* SPDX-License-Identifier: BSD-2-Clause */
/* poison.h - calls whose arguments that are not significant are poison. */
#ifndef QV_MPI_GLUE_POISON_H
#define QV_MPI_GLUE_POISON_H

#include "glue.h"

enum poison_kind {
	POISON_REDUCE,
	POISON_ALLREDUCE,
	POISON_SCAN,
	POISON_EXSCAN,
	POISON_SCATTER,
	POISON_SCATTER_BLOCK,
	POISON_BARRIER,
	POISON_BCAST,
	POISON_ALLGATHER,
	POISON_ALLTOALL,
	POISON_ALLGATHERV,
	POISON_ALLTOALLV,
	POISON_NEIGHBOR_ALLGATHER,
	POISON_NEIGHBOR_ALLGATHERV,
	POISON_NEIGHBOR_ALLTOALL,
	POISON_NEIGHBOR_ALLTOALLV,
	POISON_KINDS,
};

/* Of one side; counts and displs where the operation has them. */
struct poison_side {
	void *buf;
	int count;
	int *counts, *displs;
	MPI_Datatype type;
};

struct poison_call {
	enum poison_kind kind;
	enum glue_form form;
	struct poison_side in, out; /* in.buf may be MPI_IN_PLACE */
	int root;
	MPI_Comm comm;
	MPI_Request request; /* of the forms that have one */
};

/* Make the call; of the persistent form, only the request. */
void poison_begin(struct poison_call *call);
/* Start it, where that is apart, and wait. */
void poison_end(struct poison_call *call);
/* Whether this MPI has persistent collectives. */
int poison_has(enum glue_form form);

/* One call, with what it is about. */
struct shot {
	struct poison_call call;
	int in_place, n, salt;
	const char *algorithm;
	int must; /* be taken; -1: may be */
	int mild; /* Open MPI 4.1 itself may get it, and stumbles over more */
	int from[64], to[64], ins, outs; /* of which rank each block comes, and for whom it is */
	int room;                        /* ints of a block with what is behind it */
	int *in, *out;
	int counts[4][64];
};

static inline int is_reduction(const struct shot *s)
{
	return s->call.kind <= POISON_SCATTER_BLOCK;
}

static inline int is_scatter(const struct shot *s)
{
	return s->call.kind == POISON_SCATTER || s->call.kind == POISON_SCATTER_BLOCK;
}

static inline int is_neighbor(const struct shot *s)
{
	return s->call.kind >= POISON_NEIGHBOR_ALLGATHER;
}

static inline int is_gather(const struct shot *s)
{
	return s->call.kind == POISON_ALLGATHER || s->call.kind == POISON_ALLGATHERV ||
	       s->call.kind == POISON_NEIGHBOR_ALLGATHER ||
	       s->call.kind == POISON_NEIGHBOR_ALLGATHERV;
}

/* Whose blocks are of variable length. */
static inline int varies(const struct shot *s)
{
	return s->call.kind == POISON_ALLGATHERV || s->call.kind == POISON_ALLTOALLV ||
	       s->call.kind == POISON_NEIGHBOR_ALLGATHERV ||
	       s->call.kind == POISON_NEIGHBOR_ALLTOALLV;
}

/* poison_data.c: say where blocks are, and poison what may be; then, for each start, fill
 * the buffers, and look at what has come. */
void poison_set(struct shot *s, const int *lists, int left, int right);
void poison_fill(struct shot *s);
void poison_check(const struct shot *s);

/* Numbers that all ranks draw alike, and that each draws for itself. */
extern uint64_t poison_state, poison_own;
int poison_draw(uint64_t *s, int limit);

/* In settings. */
extern const char *const poison_names[POISON_KINDS];

#endif /* QV_MPI_GLUE_POISON_H */
