/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * autotune.c - `auto` against the MPI's own call. A model says which schedule is fastest, but not
 * whether the MPI is faster still. So the first calls of each kind on a communicator are a trial:
 * they go to both in turn, and what was faster by a margin, over all ranks, does the rest. All
 * ranks count the same calls, so they take the same turns.
 */
#include "mpi_glue/glue.h"

#include <stdlib.h>

#define RENEWALS 8 /* of a trial, where others are late */
#define TRIES    4 /* of a trial, where both got calls of other lengths, or the verdicts change */
#define ALIKE    1.25 /* as many times the bytes of the other, and the times compare */

/* Calls of a trial, half of them to the MPI; the median of each half counts. */
static int turns_of(const struct qv_mpi_trial *t)
{
	return t->stubborn ? QV_MPI_TURNS : QV_MPI_TURNS / 2;
}

/* Ours must take less than this share of the MPI's time: six calls of each do not tell a tenth apart,
 * twelve do not tell a twentieth. */
static double margin_of(const struct qv_mpi_trial *t)
{
	return t->stubborn ? 0.95 : 0.9;
}

struct qv_mpi_autotune {
	struct qv_mpi_autotune *next;
	enum qv_coll coll;
	int size; /* class of the length: its binary logarithm */
	bool ordered, memory;
	uint32_t late; /* as in struct qv_mpi_habit */
	int renewals;
	struct qv_mpi_trial trial;
};

/* Trials. */

/* Whose turn it is, in an order (of Thue and Morse) that no program's own turns follow: those of one
 * class may be of two lengths in turn. */
static bool is_ours(const struct qv_mpi_trial *t)
{
	return __builtin_popcount((unsigned int)t->turns) % 2;
}

bool qv_mpi_trial_begin(struct qv_mpi_trial *t, MPI_Comm comm)
{
	/* Else the time of a rank could be that of a call in which it had nobody to wait for, which
	 * says nothing of the latency. Where always the same ranks come late, the others' time is that
	 * of waiting for them, and of what is left to be done then. */
	if (!t->apart && !t->again)
		QV_REAL(Barrier)(comm);
	t->again = false;
	t->began = PMPI_Wtime();
	return is_ours(t);
}

/* By the slowest rank's time. Ours must be faster twice, for once may be chance; slower, too,
 * where it is stubborn. */
static void judge(struct qv_mpi_trial *t, const double *longest, const double *bytes)
{
	const bool faster = longest[1] < margin_of(t) * longest[0];

	if (bytes[0] > ALIKE * bytes[1] ||
	    bytes[1] > ALIKE * bytes[0]) { /* times of other things */
		t->decided = ++t->tries == TRIES;
		return;
	}
	t->ours = faster && t->won;
	t->decided = faster ? t->won : t->lost || !t->stubborn;
	if (!t->decided && (t->won || t->lost)) /* now so, now so */
		t->decided = ++t->tries == TRIES;
	t->lost = !faster;
	t->won = faster;
}

/* The times of each are kept in order. Of turns 0 and 1, 2 and 3 and so on one is ours. */
static void note(struct qv_mpi_trial *t, bool ours, double seconds)
{
	double *of = t->seconds[ours];
	int at = t->turns / 2;

	for (; at > 0 && of[at - 1] > seconds; at--)
		of[at] = of[at - 1];
	of[at] = seconds;
}

int qv_mpi_trial_end(struct qv_mpi_trial *t, MPI_Comm comm, double bytes, int rc)
{
	const double seconds = PMPI_Wtime() - t->began;
	const bool ours = is_ours(t);
	const int middle = (turns_of(t) / 2 - 1) / 2;
	double mine[2], longest[2], sums[2] = {1, 1};
	int ended;

	note(t, ours, seconds);
	t->bytes[ours] += bytes + 1;
	if (++t->turns < turns_of(t))
		return rc;
	mine[0] = t->seconds[0][middle];
	mine[1] = t->seconds[1][middle];
	ended = QV_REAL(Allreduce)(mine, longest, 2, MPI_DOUBLE, MPI_MAX, comm);
	if (!ended && t->varies)
		ended = QV_REAL(Allreduce)(t->bytes, sums, 2, MPI_DOUBLE, MPI_SUM, comm);
	if (ended)
		t->decided = true;
	else
		judge(t, longest, sums);
	t->turns = 0;
	t->bytes[0] = t->bytes[1] = 0;
	return rc ? rc : ended;
}

/* Calls of one length. */

/* Where others are late than in the trial, a schedule from arrivals may be another one. All ranks know it
 * from the same call on. Where that goes on and on, the trials would cost more than they gain. */
static struct qv_mpi_autotune *renewed(struct qv_mpi_autotune *t, uint32_t late)
{
	if (t->late != late && !t->memory && qv_expect_serves(t->coll) && t->renewals < RENEWALS) {
		t->trial = (struct qv_mpi_trial){.apart = true};
		t->renewals++;
	}
	t->late = late;
	return t;
}

static struct qv_mpi_autotune *find(struct qv_mpi_comm *c, enum qv_coll coll, size_t bytes,
				    bool ordered, bool memory)
{
	const uint32_t late = qv_mpi_late(c, coll);
	struct qv_mpi_autotune *t;
	int size = 0;

	for (; bytes > 1; bytes /= 2)
		size++;
	for (t = c->autotune; t; t = t->next)
		if (t->coll == coll && t->size == size && t->ordered == ordered &&
		    !t->late == !late && t->memory == memory)
			return renewed(t, late);
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct qv_mpi_autotune){.next = c->autotune,
				      .coll = coll,
				      .size = size,
				      .ordered = ordered,
				      .late = late,
				      .memory = memory,
				      .trial = {.stubborn = memory, .apart = late}};
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

/* Plans are kept, so the time of the call is not that of making one. */
static void plan_ahead(struct qv_mpi_comm *c, const struct qv_mpi_call *call, size_t bytes,
		       const struct qv_mpi_reduce *r)
{
	enum qv_mpi_reason why; /* the call asks again, and finds the same */
	struct qv_mpi_plan *plan = qv_mpi_plan_of(c, call, bytes, r->ordered, &why);

	if (plan)
		qv_mpi_plan_put(plan);
}

bool qv_mpi_autotune_turn(struct qv_mpi_comm *c, struct qv_mpi_call *call, size_t bytes,
			  const struct qv_mpi_reduce *r, bool memory, enum qv_mpi_reason *why)
{
	struct qv_mpi_autotune *t = find(c, call->coll, bytes, r->ordered, memory);

	if (!t) {
		*why = QV_MPI_FAILED;
		return false;
	}
	*why = t->trial.decided ? QV_MPI_SLOWER : QV_MPI_TRIED;
	if (t->trial.decided || call->form != QV_MPI_BLOCKING)
		return t->trial.ours;
	call->trial = &t->trial;
	if (!memory && is_ours(&t->trial))
		plan_ahead(c, call, bytes, r);
	return qv_mpi_trial_begin(&t->trial, c->comm);
}
