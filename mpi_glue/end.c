/* SPDX-License-Identifier: BSD-2-Clause */
/* end.c - MPI_Finalize. */
#include "glue.h"
#include "mpi_glue/trace/trace.h"

static void close_library(void)
{
	qv_mpi_nonblocking_drain(NULL);
	if (qv_mpi.stats)
		qv_mpi_report();
	qv_mpi_offload_end();
	qv_mpi_persist_close_all();
	qv_mpi_comm_close_all();
	__atomic_store_n(&qv_mpi.on, false, __ATOMIC_RELEASE);
	pthread_mutex_lock(&qv_mpi.lock);
	qv_mpi_rules_put(qv_mpi.rules);
	qv_mpi.rules = NULL;
	pthread_mutex_unlock(&qv_mpi.lock);
}

static void end(void)
{
	if (qv_mpi.on)
		close_library();
	qv_mpi_trace_end();
}

#ifdef QV_MPI_SIMULATED
void qv_mpi_end_last(void)
{
}
#else
static int on_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
	end();
	return MPI_SUCCESS;
}

/* MPI_Finalize first deletes the attributes of MPI_COMM_SELF, and what was set first last: so the
 * program's functions that run there are before ours, and other ranks, which are not in MPI_Finalize
 * yet, may wait for what they call. */
void qv_mpi_end_last(void)
{
	int keyval;

	PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
	PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
	PMPI_Comm_free_keyval(&keyval);
}
#endif

QV_API int MPI_Finalize(void)
{
	qv_mpi_tool_before_end();
#ifdef QV_MPI_SIMULATED
	end();
#endif
	return QV_REAL(Finalize)();
}
QV_MPI_BOTH(Finalize)
