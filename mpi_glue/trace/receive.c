/* SPDX-License-Identifier: BSD-2-Clause */
/* receive.c - calls that receive a message, or look for one. A receive is recorded before: its message
 * may come at once. */
#include "trace.h"

#ifndef QV_MPI_SIMULATED
bool qv_mpi_trace_has_message(int rc)
{
	int class = MPI_SUCCESS;

	if (rc)
		PMPI_Error_class(rc, &class);
	return !rc || class == MPI_ERR_TRUNCATE;
}

/* A blocking receive is over. */
static int received(struct qv_mpi_wanted *w, const MPI_Status *status, int rc)
{
	qv_mpi_trace_done(w, qv_mpi_trace_has_message(rc) ? status : NULL);
	return rc;
}

/* A request was made, or not. */
static int posted(struct qv_mpi_wanted *w, const MPI_Request *request, int rc)
{
	if (rc)
		qv_mpi_trace_done(w, NULL);
	else
		qv_mpi_trace_keep(*request, *w);
	return rc;
}

#define STATUS(own, status) ((status) == MPI_STATUS_IGNORE ? &(own) : (status))

#define RECV(name, count_t)                                                                   \
	QV_API int MPI_##name(void *buf, count_t count, MPI_Datatype type, int from, int tag, \
			      MPI_Comm comm, MPI_Status *status)                              \
	{                                                                                     \
		struct qv_mpi_wanted w;                                                       \
		MPI_Status own, *s = STATUS(own, status);                                     \
		int rc;                                                                       \
                                                                                              \
		if (!qv_mpi_traces_on(comm))                                                  \
			return QV_REAL(name)(buf, count, type, from, tag, comm, status);      \
		w = qv_mpi_trace_want(qv_mpi_traced_of(comm), from, tag);                     \
		QV_TRACED(rc, QV_REAL(name)(buf, count, type, from, tag, comm, s));           \
		return received(&w, s, rc);                                                   \
	}                                                                                     \
	QV_MPI_BOTH(name)

#define IRECV(name, count_t)                                                                  \
	QV_API int MPI_##name(void *buf, count_t count, MPI_Datatype type, int from, int tag, \
			      MPI_Comm comm, MPI_Request *request)                            \
	{                                                                                     \
		struct qv_mpi_wanted w;                                                       \
		int rc;                                                                       \
                                                                                              \
		if (!qv_mpi_traces_on(comm))                                                  \
			return QV_REAL(name)(buf, count, type, from, tag, comm, request);     \
		w = qv_mpi_trace_want(qv_mpi_traced_of(comm), from, tag);                     \
		QV_TRACED(rc, QV_REAL(name)(buf, count, type, from, tag, comm, request));     \
		return posted(&w, request, rc);                                               \
	}                                                                                     \
	QV_MPI_BOTH(name)

#define RECV_INIT(name, count_t)                                                              \
	QV_API int MPI_##name(void *buf, count_t count, MPI_Datatype type, int from, int tag, \
			      MPI_Comm comm, MPI_Request *request)                            \
	{                                                                                     \
		const int rc = QV_REAL(name)(buf, count, type, from, tag, comm, request);     \
                                                                                              \
		if (!rc && qv_mpi_traces_on(comm))                                            \
			qv_mpi_trace_keep_persistent(*request, comm, from, tag, false);       \
		return rc;                                                                    \
	}                                                                                     \
	QV_MPI_BOTH(name)

/* Both at once; out, in: the arguments of each half. */
#define BOTH_HALVES(name, parameters, arguments, arguments_own)                  \
	QV_API int MPI_##name parameters                                         \
	{                                                                        \
		struct qv_mpi_wanted w;                                          \
		MPI_Status own, *s = STATUS(own, status);                        \
		uint64_t number;                                                 \
		int rc;                                                          \
                                                                                 \
		if (!qv_mpi_traces_on(comm))                                     \
			return QV_REAL(name) arguments;                          \
		w = qv_mpi_trace_want(qv_mpi_traced_of(comm), from, in_tag);     \
		number = qv_mpi_trace_send(qv_mpi_traced_of(comm), to, out_tag); \
		QV_TRACED(rc, QV_REAL(name) arguments_own);                      \
		if (!qv_mpi_trace_has_message(rc))                               \
			qv_mpi_trace_not_sent(number);                           \
		return received(&w, s, rc);                                      \
	}                                                                        \
	QV_MPI_BOTH(name)

#define SENDRECV(name, count_t)                                                                  \
	BOTH_HALVES(name,                                                                        \
		    (const void *out, count_t out_n, MPI_Datatype out_type, int to, int out_tag, \
		     void *in, count_t in_n, MPI_Datatype in_type, int from, int in_tag,         \
		     MPI_Comm comm, MPI_Status *status),                                         \
		    (out, out_n, out_type, to, out_tag, in, in_n, in_type, from, in_tag, comm,   \
		     status),                                                                    \
		    (out, out_n, out_type, to, out_tag, in, in_n, in_type, from, in_tag, comm, s))

#define SENDRECV_REPLACE(name, count_t)                                                      \
	BOTH_HALVES(name,                                                                    \
		    (void *buf, count_t n, MPI_Datatype type, int to, int out_tag, int from, \
		     int in_tag, MPI_Comm comm, MPI_Status *status),                         \
		    (buf, n, type, to, out_tag, from, in_tag, comm, status),                 \
		    (buf, n, type, to, out_tag, from, in_tag, comm, s))

#define ALL(suffix, count_t)                  \
	RECV(Recv##suffix, count_t)           \
	IRECV(Irecv##suffix, count_t)         \
	RECV_INIT(Recv_init##suffix, count_t) \
	SENDRECV(Sendrecv##suffix, count_t)   \
	SENDRECV_REPLACE(Sendrecv_replace##suffix, count_t)

ALL(, int)

#ifdef QV_MPI_LARGE
ALL(_c, MPI_Count)

/* As Sendrecv, but with a request, whose status is the receive's. */
#define ISENDRECV(name, parameters, arguments)                                   \
	QV_API int MPI_##name parameters                                         \
	{                                                                        \
		struct qv_mpi_wanted w;                                          \
		uint64_t number;                                                 \
		int rc;                                                          \
                                                                                 \
		if (!qv_mpi_traces_on(comm))                                     \
			return QV_REAL(name) arguments;                          \
		w = qv_mpi_trace_want(qv_mpi_traced_of(comm), from, in_tag);     \
		number = qv_mpi_trace_send(qv_mpi_traced_of(comm), to, out_tag); \
		QV_TRACED(rc, QV_REAL(name) arguments);                          \
		if (rc)                                                          \
			qv_mpi_trace_not_sent(number);                           \
		return posted(&w, request, rc);                                  \
	}                                                                        \
	QV_MPI_BOTH(name)

#define ISENDRECVS(suffix, count_t)                                                            \
	ISENDRECV(Isendrecv##suffix,                                                           \
		  (const void *out, count_t out_n, MPI_Datatype out_type, int to, int out_tag, \
		   void *in, count_t in_n, MPI_Datatype in_type, int from, int in_tag,         \
		   MPI_Comm comm, MPI_Request *request),                                       \
		  (out, out_n, out_type, to, out_tag, in, in_n, in_type, from, in_tag, comm,   \
		   request))                                                                   \
	ISENDRECV(Isendrecv_replace##suffix,                                                   \
		  (void *buf, count_t n, MPI_Datatype type, int to, int out_tag, int from,     \
		   int in_tag, MPI_Comm comm, MPI_Request *request),                           \
		  (buf, n, type, to, out_tag, from, in_tag, comm, request))

ISENDRECVS(, int)
ISENDRECVS(_c, MPI_Count)
#endif

/* Those that look: recorded behind, when it is known what they have found. A message that MPI_Mprobe has
 * found is received by MPI_Mrecv, which matches nothing any more. */

QV_API int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status *status)
{
	MPI_Status own, *s = STATUS(own, status);
	int rc;

	if (!qv_mpi_traces_on(comm))
		return QV_REAL(Probe)(from, tag, comm, status);
	QV_TRACED(rc, QV_REAL(Probe)(from, tag, comm, s));
	if (!rc)
		qv_mpi_trace_probe(comm, from, tag, s, false);
	return rc;
}
QV_MPI_BOTH(Probe)

QV_API int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
	MPI_Status own, *s = STATUS(own, status);
	int rc;

	if (!qv_mpi_traces_on(comm))
		return QV_REAL(Iprobe)(from, tag, comm, flag, status);
	QV_TRACED(rc, QV_REAL(Iprobe)(from, tag, comm, flag, s));
	if (!rc)
		qv_mpi_trace_probe(comm, from, tag, *flag ? s : NULL, false);
	return rc;
}
QV_MPI_BOTH(Iprobe)

QV_API int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
	MPI_Status own, *s = STATUS(own, status);
	int rc;

	if (!qv_mpi_traces_on(comm))
		return QV_REAL(Mprobe)(from, tag, comm, message, status);
	QV_TRACED(rc, QV_REAL(Mprobe)(from, tag, comm, message, s));
	if (!rc)
		qv_mpi_trace_probe(comm, from, tag, s, true);
	return rc;
}
QV_MPI_BOTH(Mprobe)

QV_API int MPI_Improbe(int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
		       MPI_Status *status)
{
	MPI_Status own, *s = STATUS(own, status);
	int rc;

	if (!qv_mpi_traces_on(comm))
		return QV_REAL(Improbe)(from, tag, comm, flag, message, status);
	QV_TRACED(rc, QV_REAL(Improbe)(from, tag, comm, flag, message, s));
	if (!rc)
		qv_mpi_trace_probe(comm, from, tag, *flag ? s : NULL, true);
	return rc;
}
QV_MPI_BOTH(Improbe)
#endif
