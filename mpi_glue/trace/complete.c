/* SPDX-License-Identifier: BSD-2-Clause */
/* complete.c - calls that wait for requests, or test them. The receives among these are looked up before:
 * afterwards the handles are gone. */
#include "mpi_glue/glue.h"
#include "trace.h"

#ifndef QV_MPI_SIMULATED
#include <stdlib.h>

#define FEW 32

/* A call on many requests. */
struct waits {
	struct qv_mpi_traced_request **of;
	MPI_Status *statuses; /* the program's, or our own */
	void *memory;
	struct qv_mpi_traced_request *few[FEW];
	MPI_Status few_statuses[FEW];
};

/* True: there are receives among them, and w.statuses goes to the MPI; w is to be freed. */
static bool begin(struct waits *w, int n, const MPI_Request *requests, MPI_Status *statuses)
{
	w->of = w->few;
	w->statuses = statuses == MPI_STATUSES_IGNORE ? w->few_statuses : statuses;
	w->memory = NULL;
	if (n <= 0 || !requests)
		return false;
	if (n > FEW) {
		w->memory = malloc((size_t)n * (sizeof(MPI_Status) + sizeof(void *)));
		if (!w->memory) {
			qv_mpi_trace_lose_all(n, requests);
			return false;
		}
		w->of = (struct qv_mpi_traced_request **)w->memory;
		if (statuses == MPI_STATUSES_IGNORE)
			w->statuses = (MPI_Status *)(w->of + n);
	}
	if (qv_mpi_trace_find(n, requests, w->of))
		return true;
	free(w->memory);
	return false;
}

/* Of several: number i, with an error of the call or without. */
static void over(const struct waits *w, int i, const MPI_Request *requests,
		 const MPI_Status *status, int rc)
{
	/* Persistent ones keep their handles: these are not over if nobody can tell. */
	if (!w->of[i] || (!qv_mpi_trace_has_message(rc) && requests[i] != MPI_REQUEST_NULL))
		return;
	qv_mpi_trace_over(w->of[i], qv_mpi_trace_has_message(rc) ? status : NULL);
	w->of[i] = NULL;
}

/* Those that are not over go on. */
static int end(struct waits *w, int n, int rc)
{
	qv_mpi_trace_not_over(n, w->of);
	free(w->memory);
	return rc;
}

/* The same of one alone. */
static int end_one(struct qv_mpi_traced_request *r, bool done, const MPI_Status *status, int rc)
{
	if (done)
		qv_mpi_trace_over(r, qv_mpi_trace_has_message(rc) ? status : NULL);
	else
		qv_mpi_trace_not_over(1, &r);
	return rc;
}

QV_API int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
	struct qv_mpi_traced_request *r;
	MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
	int rc;

	if (!qv_mpi_traces() || !request || !qv_mpi_trace_find(1, request, &r))
		return QV_REAL(Wait)(request, status);
	QV_TRACED(rc, QV_REAL(Wait)(request, s));
	return end_one(r, qv_mpi_trace_has_message(rc) || *request == MPI_REQUEST_NULL, s, rc);
}
QV_MPI_BOTH(Wait)

QV_API int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	struct qv_mpi_traced_request *r;
	MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
	int rc;

	if (!qv_mpi_traces() || !request || !qv_mpi_trace_find(1, request, &r))
		return QV_REAL(Test)(request, flag, status);
	QV_TRACED(rc, QV_REAL(Test)(request, flag, s));
	return end_one(r, rc ? qv_mpi_trace_has_message(rc) || *request == MPI_REQUEST_NULL : *flag,
		       s, rc);
}
QV_MPI_BOTH(Test)

/* One of n is over, or none. */
static int end_any(struct waits *w, int n, const MPI_Request *requests, int i,
		   const MPI_Status *status, int rc)
{
	if (i >= 0 && i < n)
		over(w, i, requests, status, rc);
	return end(w, n, rc);
}

QV_API int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
	MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
	struct waits w;
	int rc;

	if (!qv_mpi_traces() || !begin(&w, n, requests, &own))
		return QV_REAL(Waitany)(n, requests, index, status);
	QV_TRACED(rc, QV_REAL(Waitany)(n, requests, index, s));
	return end_any(&w, n, requests, *index, s, rc);
}
QV_MPI_BOTH(Waitany)

QV_API int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	MPI_Status own, *s = status == MPI_STATUS_IGNORE ? &own : status;
	struct waits w;
	int rc;

	if (!qv_mpi_traces() || !begin(&w, n, requests, &own))
		return QV_REAL(Testany)(n, requests, index, flag, status);
	QV_TRACED(rc, QV_REAL(Testany)(n, requests, index, flag, s));
	return end_any(&w, n, requests, rc || *flag ? *index : MPI_UNDEFINED, s, rc);
}
QV_MPI_BOTH(Testany)

/* The error of one of several, whose status is number i. */
static int error_of(const struct waits *w, int i, int rc)
{
	int class = MPI_SUCCESS;

	if (rc)
		PMPI_Error_class(rc, &class);
	return class == MPI_ERR_IN_STATUS ? w->statuses[i].MPI_ERROR : rc;
}

/* All of n are over; where the call has failed, those whose status says so. */
static int end_all(struct waits *w, int n, const MPI_Request *requests, bool done, int rc)
{
	for (int i = 0; i < n && (rc || done); i++)
		over(w, i, requests, &w->statuses[i], error_of(w, i, rc));
	return end(w, n, rc);
}

QV_API int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
	struct waits w;
	int rc;

	if (!qv_mpi_traces() || !begin(&w, n, requests, statuses))
		return qv_mpi_wait_all(n, requests, statuses);
	QV_TRACED(rc, qv_mpi_wait_all(n, requests, w.statuses));
	return end_all(&w, n, requests, true, rc);
}
QV_MPI_BOTH(Waitall)

QV_API int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	struct waits w;
	int rc;

	if (!qv_mpi_traces() || !begin(&w, n, requests, statuses))
		return QV_REAL(Testall)(n, requests, flag, statuses);
	QV_TRACED(rc, QV_REAL(Testall)(n, requests, flag, w.statuses));
	return end_all(&w, n, requests, rc || *flag, rc);
}
QV_MPI_BOTH(Testall)

/* Those that are named are over. */
static int end_some(struct waits *w, int n, const MPI_Request *requests, int done,
		    const int *indices, int rc)
{
	for (int i = 0; i < done && i < n; i++)
		if (indices[i] >= 0 && indices[i] < n)
			over(w, indices[i], requests, &w->statuses[i], error_of(w, i, rc));
	return end(w, n, rc);
}

QV_API int MPI_Waitsome(int n, MPI_Request requests[], int *done, int indices[],
			MPI_Status statuses[])
{
	struct waits w;
	int rc;

	if (!qv_mpi_traces() || !begin(&w, n, requests, statuses))
		return QV_REAL(Waitsome)(n, requests, done, indices, statuses);
	QV_TRACED(rc, QV_REAL(Waitsome)(n, requests, done, indices, w.statuses));
	return end_some(&w, n, requests, *done, indices, rc);
}
QV_MPI_BOTH(Waitsome)

QV_API int MPI_Testsome(int n, MPI_Request requests[], int *done, int indices[],
			MPI_Status statuses[])
{
	struct waits w;
	int rc;

	if (!qv_mpi_traces() || !begin(&w, n, requests, statuses))
		return QV_REAL(Testsome)(n, requests, done, indices, statuses);
	QV_TRACED(rc, QV_REAL(Testsome)(n, requests, done, indices, w.statuses));
	return end_some(&w, n, requests, *done, indices, rc);
}
QV_MPI_BOTH(Testsome)
#endif
