/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * autotune.c - `auto` against the MPI's own call. A model says which schedule is fastest, but
 * not whether the MPI is faster still: the first calls of each kind on a communicator go to both in
 * turn, and what was faster by a margin, over all ranks, does the rest; ours only if it was so
 * twice, for the first time may be chance. All ranks count the same calls, so they take the same
 * turns. They begin each of them together: else the shortest time of a rank is that of the call in
 * which it had nobody to wait for, which says nothing of the latency.
 */
#include "mpi_glue/glue.h"
#include "engine/base/clock.h"

#include <stdlib.h>

#define TURNS  6   /* of each; the shortest counts */
#define MARGIN 0.9 /* ours must take less than this share: six calls do not tell less apart */

struct qv_mpi_autotune {
	struct qv_mpi_autotune *next;
	enum qv_coll coll;
	int size; /* class of the length: its binary logarithm */
	bool ordered, expects;
	int calls;
	bool decided, ours;
	bool won;           /* once; by chance, maybe, so it must do so again */
	double shortest[2]; /* the MPI, ours; seconds */
};

static struct qv_mpi_autotune *find(struct qv_mpi_comm *c, enum qv_coll coll, size_t bytes,
				    bool ordered)
{
	const bool expects = c->arrive != NULL;
	struct qv_mpi_autotune *t;
	int size = 0;

	for (; bytes > 1; bytes /= 2)
		size++;
	for (t = c->autotune; t; t = t->next)
		if (t->coll == coll && t->size == size && t->ordered == ordered &&
		    t->expects == expects)
			return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct qv_mpi_autotune){.next = c->autotune,
				      .coll = coll,
				      .size = size,
				      .ordered = ordered,
				      .expects = expects};
	c->autotune = t;
	return t;
}

void qv_mpi_autotune_free(struct qv_mpi_comm *c)
{
	struct qv_mpi_autotune *next;

	for (struct qv_mpi_autotune *t = c->autotune; t; t = next) {
		next = t->next;
		free(t);
	}
}

bool qv_mpi_autotune_turn(struct qv_mpi_comm *c, struct qv_mpi_call *call, size_t bytes,
			  bool ordered, enum qv_mpi_reason *why)
{
	struct qv_mpi_autotune *t = find(c, call->coll, bytes, ordered);

	if (!t) {
		*why = QV_MPI_FAILED;
		return false;
	}
	*why = t->decided ? QV_MPI_SLOWER : QV_MPI_TRIED;
	if (t->decided || call->form != QV_MPI_BLOCKING)
		return t->ours;
	QV_REAL(Barrier)(c->comm);
	call->autotune = t;
	call->began = qv_clock_seconds();
	return t->calls % 2;
}

int qv_mpi_autotune_end(struct qv_mpi_call *call, int rc)
{
	struct qv_mpi_autotune *t = call->autotune;
	const double seconds = qv_clock_seconds() - call->began;
	const int mine = t->calls % 2;
	double longest[2];

	if (t->calls < 2 || seconds < t->shortest[mine])
		t->shortest[mine] = seconds;
	if (++t->calls < 2 * TURNS || rc)
		return rc;
	rc = QV_REAL(Allreduce)(t->shortest, longest, 2, MPI_DOUBLE, MPI_MAX, call->comm);
	t->ours = !rc && longest[1] < MARGIN * longest[0];
	t->decided = !t->ours || t->won;
	t->won = t->ours;
	if (!t->decided) {
		t->ours = false;
		t->calls = 0;
	}
	return rc;
}
