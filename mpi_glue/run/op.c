/* SPDX-License-Identifier: BSD-2-Clause */
/* op.c - one operation of one rank: its messages on the duplicated communicator. */
#include "mpi_glue/glue.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Made, kept, freed. */

void qv_mpi_op_free(struct qv_mpi_op *op)
{
	if (!op)
		return;
	qv_run_free(op->run);
	qv_mpi_blocks_free(op->blocks);
	free(op->requests);
	free(op->steps);
	free(op->indices);
	free(op->statuses);
	free(op->room);
	free(op);
}

static struct qv_mpi_op *make(const struct qv_mpi_comm *c, struct qv_mpi_plan *plan)
{
	const struct qv_port port = {.send = qv_mpi_port_send, .receive = qv_mpi_port_receive};
	struct qv_mpi_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	if ((plan->schedule && qv_run_create(plan->schedule, &port, op, &op->run)) ||
	    (plan->made && qv_mpi_blocks_open(op, c, plan)) || qv_mpi_port_open(op, c, plan)) {
		qv_mpi_op_free(op);
		return NULL;
	}
	return op;
}

/* Give back what qv_mpi_op_get and qv_mpi_plan_of took; op, if there is one, is kept for the next
 * call. */
static void put(struct qv_mpi_comm *c, struct qv_mpi_plan *plan, struct qv_mpi_op *op)
{
	void *room = NULL;
	bool last;

	pthread_mutex_lock(&qv_mpi.lock);
	plan->busy--;
	last = !--c->busy && c->freed;
	if (op) {
		room = qv_mpi_leave_room(c, op);
		op->next = plan->spare;
		plan->spare = op;
	}
	pthread_mutex_unlock(&qv_mpi.lock);
	free(room);
	if (last)
		qv_mpi_comm_destroy(c);
}

struct qv_mpi_op *qv_mpi_op_get(struct qv_mpi_comm *c, struct qv_mpi_plan *plan)
{
	struct qv_mpi_op *op;

	pthread_mutex_lock(&qv_mpi.lock);
	op = plan->spare;
	if (op)
		plan->spare = op->next;
	c->busy++;
	pthread_mutex_unlock(&qv_mpi.lock);
	if (!op)
		op = make(c, plan);
	if (op) {
		op->c = c;
		op->plan = plan;
		op->error = 0;
		op->result = NULL;
		op->packed = op->sent = MPI_DATATYPE_NULL;
		op->persistent = NULL;
	} else {
		put(c, plan, NULL);
	}
	return op;
}

struct qv_mpi_op *qv_mpi_op_failed(MPI_Comm comm, int error, bool told)
{
	static _Thread_local struct qv_mpi_op failed; /* there is no memory, maybe */

	failed = (struct qv_mpi_op){.comm = comm, .error = error, .told = told};
	return &failed;
}

int qv_mpi_op_dropped(struct qv_mpi_op *op)
{
	const int error = op->error;

	if (!error)
		return MPI_SUCCESS;
	op->error = MPI_SUCCESS; /* no message uses its arrays */
	qv_mpi_op_release(op);
	return error;
}

int qv_mpi_op_refused(const struct qv_mpi_op *op)
{
	const int error = op->error;

	if (op->plan)
		return MPI_SUCCESS;
	if (!op->told)
		PMPI_Comm_call_errhandler(op->comm, error);
	return error;
}

void qv_mpi_op_release(struct qv_mpi_op *op)
{
	struct qv_mpi_comm *c = op->c;
	struct qv_mpi_plan *plan = op->plan;

	if (op->packed != MPI_DATATYPE_NULL)
		PMPI_Type_free(&op->packed);
	if (op->sent != MPI_DATATYPE_NULL)
		PMPI_Type_free(&op->sent);
	if (op->blocks)
		qv_mpi_blocks_release(op);
	if (op->error && !op->over) { /* messages that never end may still use its arrays */
		put(c, plan, NULL);
		return;
	}
	put(c, plan, op);
}

/* Running. */

static int pack(struct qv_mpi_op *op)
{
	return qv_mpi_pack(op->out, op->out_count, op->packed, op->room, (int)op->data.count,
			   op->c->dup);
}

static int unpack(struct qv_mpi_op *op)
{
	return qv_mpi_unpack_blocks(op->result, op->out_bytes / (size_t)op->out_blocks,
				    op->out_blocks, op->out, op->out_count, op->packed, op->c->dup);
}

static int pack_contribution(struct qv_mpi_op *op)
{
	return qv_mpi_pack(op->from, op->from_count, op->sent, op->to, (int)op->to_bytes,
			   op->c->dup);
}

void qv_mpi_op_open(struct qv_mpi_op *op, enum qv_mpi_form form)
{
	op->form = form;
	if (op->error)
		return;
	if (form != QV_MPI_INIT) {
		qv_mpi_op_start(op);
		return;
	}
	/* They are started in any order, but made in one. */
	op->number = (uint64_t)op->c->persistent++;
	op->tag = (QV_MPI_SLOTS + (int)op->number) * qv_mpi.slot;
}

/* Not for want of memory any more: that would mean that it has not begun, and may be tried again. */
static void end(struct qv_mpi_op *op, int error)
{
	op->error = qv_mpi_error_under_way(error);
	op->state = QV_MPI_OP_DONE;
}

void qv_mpi_op_start(struct qv_mpi_op *op)
{
	if (op->form != QV_MPI_INIT) {
		op->number = op->c->started;
		op->tag = (int)(op->number % QV_MPI_SLOTS) * qv_mpi.slot;
	}
	op->n = 0;
	op->cut = op->over = false;
	if (!op->error && op->packed != MPI_DATATYPE_NULL && op->is_root)
		op->error = pack(op);
	if (!op->error && op->sent != MPI_DATATYPE_NULL)
		op->error = pack_contribution(op);
	if (!op->error && op->blocks)
		op->error = qv_mpi_blocks_start(op);
	else if (!op->error && qv_run_start(op->run, &op->data))
		op->error = MPI_ERR_INTERN;
	op->state = QV_MPI_OP_WAITS;
	/* The number is taken last. Who has failed until now has sent nothing, and the program's next try is this
	 * one, but of a persistent one, whose request is lost. */
	if (op->form == QV_MPI_INIT && op->error)
		end(op, op->error);
	else if (op->form != QV_MPI_INIT && !op->error)
		op->c->started++;
}

static void fail(struct qv_mpi_op *op, int error)
{
	for (int i = 0; i < op->n; i++) {
		QV_REAL(Cancel)(&op->requests[i]);
		QV_REAL(Request_free)(&op->requests[i]);
	}
	op->n = 0;
	end(op, error);
}

/* A message has failed. One of another length than was expected ends its step all the same: others wait for what
 * this rank hands on. */
static void note(struct qv_mpi_op *op, int error)
{
	int class = MPI_SUCCESS;

	PMPI_Error_class(error, &class);
	if (class == MPI_ERR_TRUNCATE && !op->blocks)
		op->cut = true;
	else
		op->error = error;
}

/* n requests have ended; those that have not move to the front. */
static void ended(struct qv_mpi_op *op, int n, int rc)
{
	const int before = op->n;
	int kept = 0;

	for (int i = 0; i < n; i++) {
		if (rc == MPI_ERR_IN_STATUS && op->statuses[i].MPI_ERROR)
			note(op, op->statuses[i].MPI_ERROR);
		if (op->blocks)
			qv_mpi_blocks_done(op, op->steps[op->indices[i]], &op->statuses[i]);
		else
			qv_run_done(op->run, op->steps[op->indices[i]], QV_OK);
	}
	for (int i = 0; i < op->n; i++) {
		if (op->requests[i] == MPI_REQUEST_NULL)
			continue;
		op->requests[kept] = op->requests[i];
		op->steps[kept++] = op->steps[i];
	}
	op->n = kept;
	/* The MPI may free others that have failed, and not say which. */
	if (rc && (rc != MPI_ERR_IN_STATUS || kept != before - n) && !op->error)
		op->error = rc == MPI_ERR_IN_STATUS ? MPI_ERR_OTHER : rc;
}

static void finish(struct qv_mpi_op *op)
{
	op->over = true;
	if (op->packed == MPI_DATATYPE_NULL && op->result)
		memcpy(op->out, op->result, op->out_bytes);
	if (op->packed != MPI_DATATYPE_NULL && !op->is_root)
		op->error = unpack(op);
	if (op->blocks)
		op->error = qv_mpi_blocks_finish(op);
	end(op, op->cut && !op->error ? MPI_ERR_TRUNCATE : op->error);
}

static void go_on(struct qv_mpi_op *op)
{
	int rc = op->blocks ? qv_mpi_blocks_progress(op) : qv_run_progress(op->run);

	if (op->error || (rc && rc != QV_EAGAIN))
		fail(op, op->error ? op->error : qv_mpi_error_of(rc));
	else if (!rc)
		finish(op);
}

bool qv_mpi_op_begin(struct qv_mpi_op *op)
{
	if (op->state != QV_MPI_OP_WAITS)
		return true;
	/* Another one with its tags would have to end first. */
	if (op->form != QV_MPI_INIT &&
	    op->number >= qv_mpi_nonblocking_oldest(op->c) + QV_MPI_SLOTS)
		return false;
	op->state = QV_MPI_OP_RUNS;
	return true;
}

void qv_mpi_op_progress(struct qv_mpi_op *op)
{
	int n = 0, rc;

	if (op->state != QV_MPI_OP_RUNS)
		return;
	if (op->n) {
		rc = QV_REAL(Testsome)(op->n, op->requests, &n, op->indices, op->statuses);
		if (!n && !rc)
			return;
		ended(op, n, rc);
	}
	go_on(op);
}

/* Blocking calls. */

/* Where ranks share cores, who has nothing to do leaves the core to the others: at first for a
 * turn, then for longer and longer. */
static void leave_core(unsigned int *idle)
{
	struct timespec pause = {0, 1000};

	if (++*idle < 16) {
		sched_yield();
		return;
	}
	pause.tv_nsec <<= *idle < 16 + 6 ? *idle - 16 : 6; /* 64 us at most */
	nanosleep(&pause, NULL);
}

/* Messages are under way: wait for some of them. */
static void wait_some(struct qv_mpi_op *op)
{
	int n = 0, rc;

	rc = QV_REAL(Waitsome)(op->n, op->requests, &n, op->indices, op->statuses);
	ended(op, n, rc);
	go_on(op);
}

static void run(struct qv_mpi_op *op)
{
	unsigned int idle = 0;
	int before;

	while (op->state == QV_MPI_OP_WAITS) {
		pthread_mutex_lock(&qv_mpi.lock);
		qv_mpi_op_begin(op);
		pthread_mutex_unlock(&qv_mpi.lock);
		if (op->state == QV_MPI_OP_WAITS)
			qv_mpi_nonblocking_poll();
	}
	if (op->state == QV_MPI_OP_RUNS)
		go_on(op);
	while (op->state == QV_MPI_OP_RUNS) {
		if (!qv_mpi.crowded) {
			wait_some(op);
			continue;
		}
		before = op->n;
		qv_mpi_op_progress(op);
		if (op->n == before)
			leave_core(&idle);
		else
			idle = 0;
	}
}

int qv_mpi_finish(struct qv_mpi_op *op)
{
	MPI_Comm comm;
	int error;

	if (!op->plan)
		return op->error ? qv_mpi_op_refused(op) : MPI_SUCCESS; /* it is over */
	comm = op->c->comm;
	run(op);
	error = op->error;
	qv_mpi_op_release(op);
	if (error)
		PMPI_Comm_call_errhandler(comm, error);
	return error;
}
