/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.c - when the ranks of a communicator are expected in its next reduction: what the program
 * has said, or else, where an algorithm is named that wants to know, what the ranks have observed
 * in its blocking reductions (agree.h).
 */
#include "mpi_glue/glue.h"
#include "engine/base/clock.h"

#include <stdlib.h>
#include <string.h>

/* This rank may wait for it: all have begun it. */
static void end_exchange(struct qv_mpi_comm *c)
{
	const int rc = QV_REAL(Wait)(&c->exchange, MPI_STATUS_IGNORE);

	qv_expect_over(c->expect, rc ? QV_EPROTO : QV_OK);
}

/* On the duplicate: an operation under way keeps its communicator, and ours must not keep the
 * program's. It is there after the first call that was taken; while none was (the operations
 * did not commute), nobody is told anything. */
static void begin_exchange(struct qv_mpi_comm *c)
{
	qv_expect_begun(c->expect);
	if (c->dup != MPI_COMM_NULL &&
	    !QV_REAL(Iallgather)(MPI_IN_PLACE, 1, MPI_UINT64_T, qv_expect_told(c->expect), 1,
				 MPI_UINT64_T, c->dup, &c->exchange))
		return;
	c->exchange = MPI_REQUEST_NULL;
	qv_expect_over(c->expect, QV_EPROTO);
}

/* In a blocking reduction; QV_ENOMEM. */
static int predict(struct qv_mpi_comm *c)
{
	const uint64_t now = qv_clock_ns();
	int due;

	if (!c->expect &&
	    qv_expect_open((uint32_t)c->ranks, (uint32_t)c->rank, QV_EXPECT_EVERY, &c->expect))
		return QV_ENOMEM;
	while ((due = qv_expect_due(c->expect)) == QV_EAGAIN)
		end_exchange(c);
	if (due)
		begin_exchange(c);
	qv_expect_called(c->expect, now);
	return QV_OK;
}

int qv_mpi_arrivals(struct qv_mpi_comm *c, const struct qv_mpi_call *call, const uint64_t **arrive)
{
	*arrive = c->arrive;
	if (c->told || call->coll > QV_COLL_REDUCE_SCATTER ||
	    !qv_select_wants_arrivals(qv_mpi.rules->select, call->coll))
		return QV_OK;
	if (call->form == QV_MPI_BLOCKING && predict(c))
		return QV_ENOMEM;
	*arrive = c->expect ? qv_expect_arrivals(c->expect) : NULL;
	return QV_OK;
}

void qv_mpi_expect_ended(struct qv_mpi_comm *c)
{
	if (c->expect)
		qv_expect_ended(c->expect, qv_clock_ns());
}

void qv_mpi_expect_close(struct qv_mpi_comm *c)
{
	if (c->exchange != MPI_REQUEST_NULL)
		QV_REAL(Wait)(&c->exchange, MPI_STATUS_IGNORE);
	qv_expect_close(c->expect);
	c->expect = NULL;
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
