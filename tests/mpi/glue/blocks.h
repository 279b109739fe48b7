/* SPDX-License-Identifier: BSD-2-Clause */
/* blocks.h - calls on variable-length blocks, made by the MPI and by ours. */
#ifndef QV_MPI_GLUE_BLOCKS_H
#define QV_MPI_GLUE_BLOCKS_H

#include "glue.h"

enum glue_blocks_kind {
	GLUE_ALLGATHERV,
	GLUE_ALLTOALLV,
	GLUE_NEIGHBOR_ALLGATHER,
	GLUE_NEIGHBOR_ALLGATHERV,
	GLUE_NEIGHBOR_ALLTOALL,
	GLUE_NEIGHBOR_ALLTOALLV,
	GLUE_BLOCKS_KINDS,
};

/* What a rank sends, or receives: elements are ints, or pairs of them with gaps. */
struct glue_side {
	int n; /* blocks; counts are of so many */
	int *counts, *displs;
	MPI_Datatype type;
	int *buf;
	size_t ints; /* of buf */
};

struct glue_blocks {
	enum glue_blocks_kind kind;
	MPI_Comm comm;
	struct glue_side in, out;
	int in_place;
};

/* The operation's name in settings. */
const char *glue_blocks_name(enum glue_blocks_kind kind);

/* So many blocks of the counts that `count` says, which stand in order, behind each other or, with
 * layout not 0, in another order with room between them. Elements are pairs with gaps where gaps is
 * not 0. */
void glue_side_open(struct glue_side *s, int n, const int *counts, int layout, int gaps);
void glue_side_close(struct glue_side *s);

/* Make the call by the MPI, and by `algorithm` in one form, `starts` times if it is persistent, and
 * compare every byte; taken as in glue_compare. */
void glue_blocks_compare(struct glue_blocks *b, const char *algorithm, enum glue_form form,
			 int starts, int taken);

/* A number that all ranks draw alike from x and y, below the limit. */
int glue_draw(int seed, int x, int y, int limit);

/* Whether this MPI has the form, and whether ours takes it. */
int glue_has(enum glue_form form);
int glue_takes(enum glue_form form);

#endif /* QV_MPI_GLUE_BLOCKS_H */
