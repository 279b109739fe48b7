/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.c - when the ranks of a communicator are expected in its next reduction: what the
 * program has said, or else, where an algorithm is named that wants to know, what the ranks have
 * observed. Every few blocking calls all tell all others how long they took from the end of one to
 * the call of the next. What an exchange brings counts from the call on in which the next one
 * begins, so that nobody waits for it and all ranks expect the same in the same call.
 */
#include "mpi_glue/glue.h"
#include "engine/base/clock.h"

#include <stdlib.h>
#include <string.h>

#define EVERY 8 /* calls */

struct qv_mpi_watch {
	struct qv_predict *predict;
	MPI_Request exchange;
	uint64_t ended; /* ns, when the last blocking call did; 0: there was none */
	uint64_t mine;  /* of the exchange under way */
	uint64_t told[];
};

static struct qv_mpi_watch *open_watch(const struct qv_mpi_comm *c)
{
	struct qv_mpi_watch *w = calloc(1, sizeof(*w) + (size_t)c->ranks * sizeof(w->told[0]));

	if (!w || qv_predict_open((uint32_t)c->ranks, EVERY, &w->predict)) {
		free(w);
		return NULL;
	}
	w->exchange = MPI_REQUEST_NULL;
	return w;
}

/* The one before is over by now, as far as this rank may wait: all have begun it. On the duplicate,
 * which is there after the first call: an operation under way keeps its communicator, and ours must
 * not keep the program's. */
static void exchange(const struct qv_mpi_comm *c, struct qv_mpi_watch *w)
{
	if (w->exchange != MPI_REQUEST_NULL && !PMPI_Wait(&w->exchange, MPI_STATUS_IGNORE))
		qv_predict_learn(w->predict, w->told);
	w->mine = qv_predict_mine(w->predict);
	if (PMPI_Iallgather(&w->mine, 1, MPI_UINT64_T, w->told, 1, MPI_UINT64_T, c->dup,
			    &w->exchange))
		w->exchange = MPI_REQUEST_NULL;
}

int qv_mpi_arrivals(struct qv_mpi_comm *c, const struct qv_mpi_call *call, const uint64_t **arrive)
{
	struct qv_mpi_watch *w = c->watch;

	*arrive = c->arrive;
	if (c->told || call->coll > QV_COLL_REDUCE_SCATTER ||
	    !qv_select_wants_arrivals(qv_mpi.rules->select, call->coll))
		return QV_OK;
	if (call->form == QV_MPI_BLOCKING) {
		if (!w)
			w = c->watch = open_watch(c);
		if (!w)
			return QV_ENOMEM;
		if (w->ended)
			qv_predict_observe(w->predict, qv_clock_ns() - w->ended);
		if (qv_predict_due(w->predict) && w->ended)
			exchange(c, w);
	}
	*arrive = w ? qv_predict_arrivals(w->predict) : NULL;
	return QV_OK;
}

void qv_mpi_watch_ended(struct qv_mpi_comm *c)
{
	if (c->watch)
		c->watch->ended = qv_clock_ns();
}

void qv_mpi_watch_close(struct qv_mpi_comm *c)
{
	if (!c->watch)
		return;
	if (c->watch->exchange != MPI_REQUEST_NULL)
		PMPI_Wait(&c->watch->exchange, MPI_STATUS_IGNORE);
	qv_predict_close(c->watch->predict);
	free(c->watch);
	c->watch = NULL;
}

/* From mpi_control.h. */

int qv_mpi_expect(int comm, const uint64_t *arrive)
{
	struct qv_mpi_comm *c;
	uint64_t *copy = NULL;

	if (!qv_mpi.on)
		return QV_ENOSYS;
	c = qv_mpi_comm_of(MPI_Comm_f2c(comm));
	if (!c || c->inter)
		return QV_EINVAL;
	if (arrive) {
		copy = malloc((size_t)c->ranks * sizeof(*copy));
		if (!copy)
			return QV_ENOMEM;
		memcpy(copy, arrive, (size_t)c->ranks * sizeof(*copy));
	}
	free(c->arrive);
	c->arrive = copy;
	c->told = true;
	return QV_OK;
}
