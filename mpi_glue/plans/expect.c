/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.c - when the ranks of a communicator are expected in its next reduction or broadcast: what the
 * program has said, or else what they have observed (agree.h), in blocking ones for which `auto` was
 * asked, or an algorithm that is built from arrivals. An exchange is the end of such a call, so all
 * know the same from the next call on. Reductions and broadcasts are observed each by themselves: who is
 * late before a reduction has waited in it for nobody, and comes to the broadcast behind it with the others.
 */
#include "mpi_glue/glue.h"

#define SAID 0x80000000u /* in a number for late ranks: the program has said so */

#include <stdlib.h>
#include <string.h>

static uint64_t now(void)
{
	return (uint64_t)(PMPI_Wtime() * 1e9) + 1; /* in a simulation, the simulated time */
}

void qv_mpi_expect_close(struct qv_mpi_comm *c)
{
	for (int i = 0; i < 2; i++)
		qv_expect_close(c->habits[i].expect);
}

int qv_mpi_expect_begin(struct qv_mpi_comm *c, enum qv_coll coll)
{
	struct qv_mpi_habit *h = qv_mpi_habit(c, coll);

	if (!h->expect && qv_expect_open((uint32_t)c->ranks, (uint32_t)c->rank, 0, &h->expect))
		return QV_ENOMEM;
	if (!h->again)
		h->timed = qv_expect_called(h->expect) && qv_expect_came(h->expect, now());
	h->again = false;
	return QV_OK;
}

static void exchange(struct qv_mpi_habit *h, MPI_Comm comm)
{
	int rc;

	qv_expect_begun(h->expect, now());
	rc = QV_REAL(Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, qv_expect_told(h->expect),
				QV_EXPECT_WORDS, MPI_UINT64_T, comm);
	qv_expect_over(h->expect, rc ? QV_EPEER : QV_OK, now());
	h->late = qv_expect_late(h->expect);
}

/* The root of a reduce leaves it last, that of a broadcast first. */
static bool is_left_together(enum qv_coll coll)
{
	return coll != QV_COLL_REDUCE && coll != QV_COLL_BROADCAST;
}

void qv_mpi_expect_end(struct qv_mpi_comm *c, enum qv_coll coll)
{
	struct qv_mpi_habit *h = qv_mpi_habit(c, coll);

	if (!h->timed)
		return;
	h->timed = false;
	qv_expect_ended(h->expect, now(), is_left_together(coll));
	if (qv_expect_due(h->expect))
		exchange(h, c->comm);
}

void qv_mpi_expect_planned(struct qv_mpi_comm *c, enum qv_coll coll, double since)
{
	const struct qv_mpi_habit *h = qv_mpi_habit(c, coll);

	if (h->expect)
		qv_expect_spent(h->expect, qv_mpi_ns_since(since));
}

const uint64_t *qv_mpi_arrivals(const struct qv_mpi_comm *c, const struct qv_mpi_call *call)
{
	const struct qv_mpi_habit *h = qv_mpi_habit_seen(c, call->coll);

	if (c->told || !h->expect || !qv_expect_serves(call->coll))
		return c->arrive;
	return h->late || qv_select_wants_arrivals(qv_mpi.rules->select, call->coll)
		       ? qv_expect_arrivals(h->expect)
		       : NULL;
}

static uint64_t spread(const uint64_t *arrive, int ranks)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (int r = 0; r < ranks; r++) {
		first = arrive[r] < first ? arrive[r] : first;
		last = arrive[r] > last ? arrive[r] : last;
	}
	return last - first;
}

/* From mpi_control.h. */

int qv_mpi_expect(int comm, const uint64_t *arrive)
{
	struct qv_mpi_comm *c;
	uint64_t *copy = NULL;
	bool late;

	if (!qv_mpi.on)
		return QV_ENOSYS;
	c = qv_mpi_comm_of(MPI_Comm_f2c(comm));
	if (!c && qv_mpi_comm_is_poor(MPI_Comm_f2c(comm)))
		return QV_ENOMEM;
	if (!c || c->inter)
		return QV_EINVAL;
	if (arrive) {
		copy = malloc((size_t)c->ranks * sizeof(*copy));
		if (!copy)
			return QV_ENOMEM;
		memcpy(copy, arrive, (size_t)c->ranks * sizeof(*copy));
	}
	late = copy && spread(copy, c->ranks) > QV_EXPECT_LATE;
	if (late && !(c->arrive && !memcmp(copy, c->arrive, (size_t)c->ranks * sizeof(*copy))))
		c->said++;
	free(c->arrive);
	c->arrive = copy;
	for (int i = 0; i < 2; i++)
		c->habits[i].late = late ? SAID | c->said : 0;
	c->told = true;
	return QV_OK;
}
