/* SPDX-License-Identifier: BSD-2-Clause */
/* send.c - calls that send a message. It is recorded before: whoever gets it does so later. */
#include "trace.h"

#ifndef QV_MPI_SIMULATED
static int sent(uint64_t number, int rc)
{
	if (rc)
		qv_mpi_trace_not_sent(number);
	return rc;
}

#define SEND(name, count_t)                                                                       \
	QV_API int MPI_##name(const void *buf, count_t count, MPI_Datatype type, int to, int tag, \
			      MPI_Comm comm)                                                      \
	{                                                                                         \
		uint64_t number;                                                                  \
		int rc;                                                                           \
                                                                                                  \
		if (!qv_mpi_traces_on(comm))                                                      \
			return QV_REAL(name)(buf, count, type, to, tag, comm);                    \
		number = qv_mpi_trace_send(qv_mpi_traced_of(comm), to, tag);                      \
		QV_TRACED(rc, QV_REAL(name)(buf, count, type, to, tag, comm));                    \
		return sent(number, rc);                                                          \
	}                                                                                         \
	QV_MPI_BOTH(name)

#define ISEND(name, count_t)                                                                      \
	QV_API int MPI_##name(const void *buf, count_t count, MPI_Datatype type, int to, int tag, \
			      MPI_Comm comm, MPI_Request *request)                                \
	{                                                                                         \
		uint64_t number;                                                                  \
		int rc;                                                                           \
                                                                                                  \
		if (!qv_mpi_traces_on(comm))                                                      \
			return QV_REAL(name)(buf, count, type, to, tag, comm, request);           \
		number = qv_mpi_trace_send(qv_mpi_traced_of(comm), to, tag);                      \
		QV_TRACED(rc, QV_REAL(name)(buf, count, type, to, tag, comm, request));           \
		return sent(number, rc);                                                          \
	}                                                                                         \
	QV_MPI_BOTH(name)

#define SEND_INIT(name, count_t)                                                                  \
	QV_API int MPI_##name(const void *buf, count_t count, MPI_Datatype type, int to, int tag, \
			      MPI_Comm comm, MPI_Request *request)                                \
	{                                                                                         \
		const int rc = QV_REAL(name)(buf, count, type, to, tag, comm, request);           \
                                                                                                  \
		if (!rc && qv_mpi_traces_on(comm))                                                \
			qv_mpi_trace_keep_persistent(*request, comm, to, tag, true);              \
		return rc;                                                                        \
	}                                                                                         \
	QV_MPI_BOTH(name)

#define ALL(suffix, count_t)                   \
	SEND(Send##suffix, count_t)            \
	SEND(Bsend##suffix, count_t)           \
	SEND(Ssend##suffix, count_t)           \
	SEND(Rsend##suffix, count_t)           \
	ISEND(Isend##suffix, count_t)          \
	ISEND(Ibsend##suffix, count_t)         \
	ISEND(Issend##suffix, count_t)         \
	ISEND(Irsend##suffix, count_t)         \
	SEND_INIT(Send_init##suffix, count_t)  \
	SEND_INIT(Bsend_init##suffix, count_t) \
	SEND_INIT(Ssend_init##suffix, count_t) \
	SEND_INIT(Rsend_init##suffix, count_t)

ALL(, int)
#ifdef QV_MPI_LARGE
ALL(_c, MPI_Count)
#endif
#endif
