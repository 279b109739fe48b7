/* SPDX-License-Identifier: BSD-2-Clause */
/* reduce.h - how elements are combined: by our kernels, by the MPI, or by a device. */
#ifndef QV_MPI_REDUCE_H
#define QV_MPI_REDUCE_H

#include <mpi.h>
#include <stdbool.h>

#include <quiver/combine.h>

#include "mpi_glue/rules.h"

/* From type.c. */

/* How elements are combined. */
struct qv_mpi_reduce {
	size_t item; /* bytes of an element */
	bool local;  /* by MPI_Reduce_local, else by our kernels */
	bool ordered;
	bool user; /* the operation is the program's, which may free it at any time */
	enum qv_op op;
	enum qv_type type;
	MPI_Op mpi_op;
	MPI_Datatype mpi_type;
};

/* QV_MPI_TAKEN with *r, or why not. */
enum qv_mpi_reason qv_mpi_reduce_of(MPI_Op op, MPI_Datatype type, struct qv_mpi_reduce *r);
/* Else messages of it are refused. Where that cannot be known: true. */
bool qv_mpi_is_committed(MPI_Datatype type);
/* A qv_reduce_fn; context is a struct qv_mpi_reduce. */
void qv_mpi_combine(void *context, void *dst, const void *a, const void *b, size_t count);

/* offload.c: long arrays combined by a device. */

#define QV_MPI_DEVICE_ROOM 128

/* QUIVER_MPI_OFFLOAD and what belongs to it, as rank 0 has them. */
struct qv_mpi_offload_told {
	int on, calibrate;
	unsigned long long min_bytes; /* ULLONG_MAX: not given */
	char device[QV_MPI_DEVICE_ROOM];
};

/* From the environment. What is wrong is said, and the CPU combines. */
void qv_mpi_offload_read(struct qv_mpi_offload_told *told);
/* In every process, before the first collective. */
void qv_mpi_offload_begin(const struct qv_mpi_offload_told *told);
/* As qv_combine_to. */
void qv_mpi_offload_combine(const struct qv_mpi_reduce *r, void *dst, const void *a, const void *b,
			    size_t count);
/* A device is asked for, on all ranks alike, whether or not this one has it. */
bool qv_mpi_offload_wanted(void);
/* Print the counters of all ranks; collective over MPI_COMM_WORLD. */
void qv_mpi_offload_report(void);
void qv_mpi_offload_end(void);

#endif /* QV_MPI_REDUCE_H */
