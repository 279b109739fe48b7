/* SPDX-License-Identifier: BSD-2-Clause */
/* ompi.c - Open MPI's operators by MPI_Reduce_local, as a module of the bench. */
#include "combine.h"

#include <stdlib.h>

#include <mpi.h>

int qv_bc_ompi_open(char *version, size_t size)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;

	/* Nothing but this process is needed: no daemon, no network. */
	setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
	setenv("OMPI_MCA_pml", "ob1", 0);
	setenv("OMPI_MCA_btl", "self", 0);
	if (MPI_Init(NULL, NULL) || MPI_Get_library_version(text, &length))
		return -1;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	text[MPI_MAX_LIBRARY_VERSION_STRING - 1] = 0;
	snprintf(version, size, "%s", text);
	return 0;
}

void qv_bc_ompi_close(void)
{
	MPI_Finalize();
}

static MPI_Op op_of(enum qv_op op)
{
	switch (op) {
	case QV_OP_SUM: return MPI_SUM;
	case QV_OP_PROD: return MPI_PROD;
	case QV_OP_MIN: return MPI_MIN;
	case QV_OP_MAX: return MPI_MAX;
	case QV_OP_LAND: return MPI_LAND;
	case QV_OP_LOR: return MPI_LOR;
	case QV_OP_LXOR: return MPI_LXOR;
	case QV_OP_BAND: return MPI_BAND;
	case QV_OP_BOR: return MPI_BOR;
	case QV_OP_BXOR: return MPI_BXOR;
	}
	return MPI_OP_NULL;
}

static MPI_Datatype type_of(enum qv_type type)
{
	switch (type) {
	case QV_TYPE_INT8: return MPI_INT8_T;
	case QV_TYPE_UINT8: return MPI_UINT8_T;
	case QV_TYPE_INT16: return MPI_INT16_T;
	case QV_TYPE_UINT16: return MPI_UINT16_T;
	case QV_TYPE_INT32: return MPI_INT32_T;
	case QV_TYPE_UINT32: return MPI_UINT32_T;
	case QV_TYPE_INT64: return MPI_INT64_T;
	case QV_TYPE_UINT64: return MPI_UINT64_T;
	case QV_TYPE_FLOAT: return MPI_FLOAT;
	case QV_TYPE_DOUBLE: return MPI_DOUBLE;
	case QV_TYPE_LONG_DOUBLE: return MPI_LONG_DOUBLE;
	case QV_TYPE_FLOAT_COMPLEX: return MPI_C_FLOAT_COMPLEX;
	case QV_TYPE_DOUBLE_COMPLEX: return MPI_C_DOUBLE_COMPLEX;
	case QV_TYPE_LONG_DOUBLE_COMPLEX: return MPI_C_LONG_DOUBLE_COMPLEX;
	default: return MPI_DATATYPE_NULL; /* MPI has no 128-bit integers in C */
	}
}

int qv_bc_ompi_run(const struct qv_combine *unused, enum qv_op op, enum qv_type type, void *inout,
		   const void *in, size_t count)
{
	/* MPI's logical operations are of integers only. */
	if (op >= QV_OP_LAND && op <= QV_OP_LXOR && type >= QV_TYPE_FLOAT)
		return -1;
	if (type == QV_TYPE_INT128 || type == QV_TYPE_UINT128)
		return -1;
	return MPI_Reduce_local(in, inout, (int)count, type_of(type), op_of(op)) ? -1 : 0;
}
