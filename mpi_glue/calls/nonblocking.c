/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nonblocking.c - operations that run while the program does something else.
 *
 * Whatever call a rank waits in, for a request, for a message, for another collective, its
 * operations must go on: others wait for them. Open MPI's progress engine runs a function of ours
 * whenever it turns. To the program such an operation is a generalised request, so every function
 * that waits or tests knows it. MPIs that offer no such place keep their own nonblocking forms.
 */
#include "mpi_glue/glue.h"

#include <sched.h>
#ifndef QV_MPI_SIMULATED
#include <dlfcn.h>
#endif

static struct {
	struct qv_mpi_op *first, **last;
	atomic_int n;
	bool hooked;
} list = {.last = &list.first};

/* The request. */

static int on_query(void *extra, MPI_Status *status)
{
	const struct qv_mpi_op *op = extra;

	PMPI_Status_set_elements(status, MPI_BYTE, 0);
	PMPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	return op->error;
}

static int on_free(void *extra)
{
	qv_mpi_op_release(extra);
	return MPI_SUCCESS;
}

static int on_cancel(void *extra, int complete)
{
	return MPI_SUCCESS; /* collectives cannot be cancelled */
}

/* Progress. */

/* Take those that have ended out of the list. */
static struct qv_mpi_op *turn(void)
{
	struct qv_mpi_op *done = NULL, **at = &list.first;

	while (*at) {
		struct qv_mpi_op *op = *at;

		if (qv_mpi_op_begin(op))
			qv_mpi_op_progress(op);
		if (op->state != QV_MPI_OP_DONE) {
			at = &op->next;
			continue;
		}
		*at = op->next;
		if (!*at)
			list.last = at;
		op->next = done;
		done = op;
	}
	return done;
}

int qv_mpi_nonblocking_poll(void)
{
	struct qv_mpi_op *done, *next;
	int n = 0;

	/* Our own calls of the MPI come back here: then the lock is ours already. */
	if (!atomic_load_explicit(&list.n, memory_order_acquire) ||
	    pthread_mutex_trylock(&qv_mpi.lock))
		return 0;
	done = turn();
	pthread_mutex_unlock(&qv_mpi.lock);
	for (; done; done = next, n++) {
		next = done->next;
		atomic_fetch_sub(&list.n, 1);
		if (done->form == QV_MPI_NONBLOCKING)
			PMPI_Grequest_complete(done->handle);
#ifdef QV_MPI_PERSISTENT
		else
			qv_mpi_persist_done(done);
#endif
	}
	return n;
}

#ifdef QV_MPI_SIMULATED
bool qv_mpi_nonblocking_possible(void)
{
	return false;
}

static void hook(void)
{
}
#else
typedef int progress_fn(void);
typedef int register_fn(progress_fn *);

static register_fn *find_hook(void)
{
	return (register_fn *)dlsym(RTLD_DEFAULT, "opal_progress_register");
}

bool qv_mpi_nonblocking_possible(void)
{
#ifdef OPEN_MPI
	return find_hook() != NULL;
#else
	return false;
#endif
}

static void hook(void)
{
	if (!list.hooked)
		find_hook()(qv_mpi_nonblocking_poll);
	list.hooked = true;
}
#endif

void qv_mpi_nonblocking_go_on(struct qv_mpi_op *op)
{
	op->next = NULL;
	pthread_mutex_lock(&qv_mpi.lock);
	hook();
	*list.last = op;
	list.last = &op->next;
	atomic_fetch_add(&list.n, 1);
	pthread_mutex_unlock(&qv_mpi.lock);
	qv_mpi_nonblocking_poll();
}

int qv_mpi_nonblocking(struct qv_mpi_op *op, MPI_Request *request)
{
	int rc = qv_mpi_op_refused(op);

	if (rc)
		return rc;
	rc = PMPI_Grequest_start(on_query, on_free, on_cancel, op, &op->handle);
	if (rc) { /* others have begun: end it here */
		qv_mpi_finish(op);
		return rc;
	}
	*request = op->handle;
	qv_mpi_nonblocking_go_on(op);
	return MPI_SUCCESS;
}

int qv_mpi_wait_all(int n, MPI_Request *requests, MPI_Status *statuses)
{
	int all = MPI_SUCCESS;

	if (!atomic_load_explicit(&qv_mpi.failed, memory_order_relaxed) || n < 0 || !requests)
		return QV_REAL(Waitall)(n, requests, statuses);
	for (int i = 0; i < n; i++) {
		MPI_Status one = {0};
		const int rc = QV_REAL(Wait)(&requests[i], &one);

		one.MPI_ERROR = rc;
		if (statuses != MPI_STATUSES_IGNORE)
			statuses[i] = one;
		all = rc ? MPI_ERR_IN_STATUS : all;
	}
	return all;
}

/* What others ask. */

uint64_t qv_mpi_nonblocking_oldest(const struct qv_mpi_comm *c)
{
	for (const struct qv_mpi_op *op = list.first; op; op = op->next)
		if (op->c == c && op->form != QV_MPI_INIT)
			return op->number; /* they are in the order of their starts */
	return c->started;
}

/* Other ranks may start a persistent one behind MPI_Comm_free. */
static bool any(const struct qv_mpi_comm *c)
{
	bool found = false;

	pthread_mutex_lock(&qv_mpi.lock);
	for (const struct qv_mpi_op *op = list.first; op && !found; op = op->next)
		found = !c || (op->c == c && op->form != QV_MPI_INIT);
	pthread_mutex_unlock(&qv_mpi.lock);
	return found;
}

void qv_mpi_nonblocking_drain(const struct qv_mpi_comm *c)
{
	while (any(c))
		if (!qv_mpi_nonblocking_poll())
			sched_yield();
}
