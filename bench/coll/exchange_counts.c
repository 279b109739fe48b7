/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange_counts.c - what an exchange by a schedule sends in one call, and what its plan took. */
#include "worker.h"

void qv_bx_count_begin(struct qv_bx_counts *counts)
{
	qv_mpi_sent(&counts->messages, &counts->bytes);
	qv_mpi_planned(&counts->plans, &counts->seconds);
}

void qv_bx_count_print(const struct qv_bl_rank *r, const struct qv_bl_case *c, const char *impl,
		       const struct qv_bx_counts *before)
{
	struct qv_bx_counts now;
	uint64_t sent[2], most[2];
	double seconds;

	qv_bx_count_begin(&now);
	sent[0] = now.messages - before->messages;
	sent[1] = now.bytes - before->bytes;
	now.seconds -= before->seconds;
	MPI_Reduce(sent, most, 2, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
	MPI_Reduce(&now.seconds, &seconds, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	if (!r->rank && most[0])
		printf("count %s %s %llu %llu\n", c->name, impl, (unsigned long long)most[0],
		       (unsigned long long)most[1]);
	if (!r->rank && now.plans > before->plans)
		printf("row %s" QV_BX_PLANNING " %s checked %.3f\n", c->name, impl, 1e6 * seconds);
}
