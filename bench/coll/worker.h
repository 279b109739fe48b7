/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.h - what one rank of `quiver bench coll` and `quiver bench exchange` does. */
#ifndef BENCH_COLL_WORKER_H
#define BENCH_COLL_WORKER_H

#include "coll.h"

#include <mpi.h>
#include <quiver/mpi_control.h>

/* Who exchanges how much with whom: doubles for each neighbour, or for each rank. */
struct qv_bx_shape {
	MPI_Comm comm; /* MPI_COMM_WORLD, or a graph */
	int *sends, *sends_at, *recvs, *recvs_at;
	size_t in, out; /* in all */
	struct qv_bx_spmm *spmm;
};

struct qv_bl_rank {
	int rank, ranks;
	double *in, *out, *expected;
	size_t room, n; /* doubles: of the buffers, of the case */
	struct qv_bx_shape shape;
};

/* From calls.c. */

/* Room and values for the case; the answer of the MPI's own call is kept. */
void qv_bl_prepare(struct qv_bl_rank *r, const struct qv_bl_case *c);
/* The call itself. work: seconds of other work, between the halves of a nonblocking one, after another. */
void qv_bl_call(struct qv_bl_rank *r, const struct qv_bl_case *c, double work);
/* Whether, on all ranks, a call now gives what the MPI gave. */
int qv_bl_check(struct qv_bl_rank *r, const struct qv_bl_case *c);
/* One message between the ranks of each pair of a pairing, then combining it: us each. */
void qv_bl_pairs(struct qv_bl_rank *r, const struct qv_bl_case *c, int pairing, float *transfer,
		 float *combine);
/* Element i of a rank's contribution: small whole numbers, whose sums are exact in any order. */
double qv_bl_value(int rank, size_t i);

/* From clock.c. */

/* Seconds of a clock that is the same on all ranks. */
double qv_bl_now(void);
/* Returns at that time of it. */
void qv_bl_wait_until(double when);
/* Find out how far it is from this rank's own, which goes its own way: now and then. Collective. */
void qv_bl_agree(const struct qv_bl_rank *r);

/* From exchange_calls.c. */

/* The shape of the case on this rank; the one before is given back. Collective. */
void qv_bx_prepare(struct qv_bl_rank *r, const struct qv_bl_case *c);
void qv_bx_call(struct qv_bl_rank *r, const struct qv_bl_case *c);
void qv_bx_release(struct qv_bl_rank *r);

/* From exchange_counts.c. */

/* What this rank's schedules have sent, and its plans taken, so far. */
struct qv_bx_counts {
	uint64_t messages, bytes, plans;
	double seconds; /* of the plans */
};

void qv_bx_count_begin(struct qv_bx_counts *counts);
/* One call later, what the rank that sent most has sent since then, and how long the slowest rank
 * planned; rank 0 says it. Collective. */
void qv_bx_count_print(const struct qv_bl_rank *r, const struct qv_bl_case *c, const char *impl,
		       const struct qv_bx_counts *before);

/* From exchange_spmm.c. */

/* Whether rows of one rank's stripe of the dense factor are needed by another. */
bool qv_bx_spmm_needs(const struct qv_bl_case *c, int to, int from);
/* Once the shape is there. */
void qv_bx_spmm_open(struct qv_bl_rank *r, const struct qv_bl_case *c);
void qv_bx_spmm_free(struct qv_bx_spmm *spmm);
/* Gather, and multiply. */
void qv_bx_spmm_call(struct qv_bl_rank *r, const struct qv_bl_case *c);
/* Whether this rank's rows of the product are those of the serial one. */
bool qv_bx_spmm_is_right(const struct qv_bl_rank *r);

/* From stream_calls.c. */

/* One sample, us an item; what is to be said of the answer. */
const char *qv_bx_stream(struct qv_bl_rank *r, const struct qv_bl_case *c, const char *impl,
			 float *us);

#endif /* BENCH_COLL_WORKER_H */
