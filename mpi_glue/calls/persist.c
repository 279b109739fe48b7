/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * persist.c - persistent forms. The program's request is a persistent receive from
 * ourselves, which the MPI keeps, starts and waits for as any other; at the end of the operation we
 * send what it waits for.
 */
#include "mpi_glue/glue.h"
#include "mpi_glue/trace/trace.h"

#include <stdlib.h>

#ifdef QV_MPI_PERSISTENT
struct qv_mpi_persistent {
	struct qv_mpi_persistent *next;
	MPI_Request handle;
	int tag;
	struct qv_mpi_op *op;
	bool active, freed;
};

static struct {
	struct qv_mpi_persistent *first;
	struct qv_mpi_persistent *spare; /* of no request, with tags that nobody waits for */
	MPI_Comm self;                   /* where what completes the receives is sent */
	int tags;
} all = {.self = MPI_COMM_NULL};

static struct qv_mpi_persistent **find(MPI_Request handle)
{
	struct qv_mpi_persistent **at = &all.first;

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

/* One with a tag that no other request has; NULL: no memory. */
static struct qv_mpi_persistent *get(void)
{
	struct qv_mpi_persistent *p;

	pthread_mutex_lock(&qv_mpi.lock);
	p = all.spare;
	if (p) {
		all.spare = p->next;
		*p = (struct qv_mpi_persistent){.tag = p->tag};
	} else {
		p = calloc(1, sizeof(*p));
		if (p)
			p->tag = all.tags++;
	}
	pthread_mutex_unlock(&qv_mpi.lock);
	return p;
}

static void put(struct qv_mpi_persistent *p)
{
	pthread_mutex_lock(&qv_mpi.lock);
	p->next = all.spare;
	all.spare = p;
	pthread_mutex_unlock(&qv_mpi.lock);
}

/* Nothing of it runs, and the program has freed its request, or the MPI ends. */
static void destroy(struct qv_mpi_persistent *p)
{
	qv_mpi_op_release(p->op);
	put(p);
}

void qv_mpi_persist_open(void)
{
	qv_mpi_comm_twin(MPI_COMM_SELF, &all.self);
}

int qv_mpi_persist(struct qv_mpi_op *op, MPI_Request *request)
{
	struct qv_mpi_persistent *p;
	int rc = qv_mpi_op_refused(op);
	MPI_Comm comm;

	if (rc)
		return rc;
	comm = op->c->comm;
	p = get();
	rc = p ? MPI_SUCCESS : MPI_ERR_NO_MEM;
	if (!rc && all.self == MPI_COMM_NULL)
		rc = MPI_ERR_OTHER;
	if (!rc)
		rc = QV_REAL(Recv_init)(NULL, 0, MPI_BYTE, 0, p->tag, all.self, &p->handle);
	if (rc) {
		if (p)
			put(p);
		op->c->persistent--; /* the next try is the same one */
		qv_mpi_op_release(op);
		PMPI_Comm_call_errhandler(comm, rc);
		return rc;
	}
	p->op = op;
	op->persistent = p;
	*request = p->handle;
	pthread_mutex_lock(&qv_mpi.lock);
	p->next = all.first;
	all.first = p;
	pthread_mutex_unlock(&qv_mpi.lock);
	return MPI_SUCCESS;
}

/* The program's receive has room for nothing, so a byte ends it with an error. Open MPI frees it then, and may
 * give its handle to another request. */
void qv_mpi_persist_done(struct qv_mpi_op *op)
{
	static const char byte;
	struct qv_mpi_persistent *p = op->persistent;
	const int tag = p->tag, bytes = op->error ? 1 : 0;
	MPI_Request message;
	bool freed;

	if (op->error)
		atomic_store(&qv_mpi.failed, true);
	if (op->error && op->c->comm != MPI_COMM_NULL)
		PMPI_Comm_call_errhandler(op->c->comm, op->error);
	pthread_mutex_lock(&qv_mpi.lock);
	if (op->error && !p->freed) {
		*find(p->handle) = p->next;
		p->freed = true;
	}
	p->active = false; /* from now on MPI_Request_free may destroy it */
	freed = p->freed;
	pthread_mutex_unlock(&qv_mpi.lock);
	if (!QV_REAL(Isend)(&byte, bytes, MPI_BYTE, 0, tag, all.self, &message))
		QV_REAL(Request_free)(&message);
	if (freed)
		destroy(p);
}

void qv_mpi_persist_close_all(void)
{
	struct qv_mpi_persistent *next;

	for (struct qv_mpi_persistent *p = all.first; p; p = next) {
		next = p->next;
		destroy(p);
	}
	all.first = NULL;
	for (struct qv_mpi_persistent *p = all.spare; p; p = next) {
		next = p->next;
		free(p);
	}
	all.spare = NULL;
	if (all.self != MPI_COMM_NULL)
		PMPI_Comm_free(&all.self);
}

static void begin(MPI_Request handle)
{
	struct qv_mpi_persistent *p;

	pthread_mutex_lock(&qv_mpi.lock);
	p = *find(handle);
	if (p)
		p->active = true;
	pthread_mutex_unlock(&qv_mpi.lock);
	if (!p)
		return;
	qv_mpi_op_start(p->op);
	qv_mpi_nonblocking_go_on(p->op);
}

static void started(int count, const MPI_Request *requests)
{
	for (int i = 0; all.first && i < count; i++)
		begin(requests[i]);
}

/* Out of the list: the MPI may give another request the same handle. */
static struct qv_mpi_persistent *unlink_request(MPI_Request handle)
{
	struct qv_mpi_persistent **at, *p;
	bool active = false;

	pthread_mutex_lock(&qv_mpi.lock);
	at = find(handle);
	p = *at;
	if (p) {
		*at = p->next;
		p->freed = true;
		active = p->active;
	}
	pthread_mutex_unlock(&qv_mpi.lock);
	return active ? NULL : p;
}

static void freed(MPI_Request request)
{
	struct qv_mpi_persistent *p = all.first ? unlink_request(request) : NULL;

	if (p)
		destroy(p);
}
#else
void qv_mpi_persist_open(void)
{
}

void qv_mpi_persist_close_all(void)
{
}

#ifndef QV_MPI_SIMULATED
static void started(int count, const MPI_Request *requests)
{
}

static void freed(MPI_Request request)
{
}
#endif
#endif

#ifndef QV_MPI_SIMULATED
/* The MPI's requests, those that are ours, and what a trace has of both. */

static int start(int count, MPI_Request *requests, int rc)
{
	if (!rc)
		started(count, requests);
	else if (qv_mpi_traces() && requests)
		qv_mpi_trace_not_started(count, requests);
	return rc;
}

QV_API int MPI_Start(MPI_Request *request)
{
	if (qv_mpi_traces() && request)
		qv_mpi_trace_start(1, request);
	return start(1, request, QV_REAL(Start)(request));
}
QV_MPI_BOTH(Start)

QV_API int MPI_Startall(int count, MPI_Request requests[])
{
	if (qv_mpi_traces() && requests)
		qv_mpi_trace_start(count, requests);
	return start(count, requests, QV_REAL(Startall)(count, requests));
}
QV_MPI_BOTH(Startall)

QV_API int MPI_Request_free(MPI_Request *request)
{
	if (request) {
		freed(*request);
		if (qv_mpi_traces())
			qv_mpi_trace_forget(*request);
	}
	return QV_REAL(Request_free)(request);
}
QV_MPI_BOTH(Request_free)
#endif
