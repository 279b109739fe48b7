/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * autotune_v.c - `auto` of variable-length blocks, and of neighbours' ones. No rank
 * knows how much the others send, so now and then all tell each other, in a blocking call: a fence.
 * A model says what would be fastest for the average. If that is something else than before, or
 * about quite other lengths, calls go to it and to the MPI in turn, and what was faster by a margin
 * does the rest, until a later fence. All ranks count the same calls, so all do the same in each.
 */
#include "mpi_glue/run/blocks.h"

#include <stdlib.h>

#define BEFORE   3    /* calls that go to the MPI before anything is asked */
#define LOGGED   4    /* the last ones before a fence tell what is sent */
#define NEXT     64   /* calls to the next fence, after a change */
#define FARTHEST 1024 /* and after many without one */
#define MARGIN   0.9  /* of what the model says of what is in use */
#define SAME     4    /* so many times the bytes, or less: what was measured still holds */

struct qv_mpi_autotune_v {
	struct qv_mpi_autotune_v *next;
	enum qv_mpi_name name;
	uint64_t rules; /* number of those it was made under */
	uint64_t calls, fence, interval;
	double degree, bytes; /* logged: messages, and bytes of all of them */
	int logged;           /* calls */
	bool judged, never;
	enum qv_mpi_reason why; /* never */
	struct qv_traffic traffic;
	struct qv_mpi_guess best;
	struct qv_mpi_trial trial; /* that the last change began, in less than NEXT calls */
};

/* Kept for each operation of a communicator. */

static struct qv_mpi_autotune_v *find(struct qv_mpi_comm *c, const struct qv_mpi_blocks_call *call)
{
	struct qv_mpi_autotune_v *s, *next;

	for (s = c->autotune_v; s; s = s->next)
		if (s->name == call->name)
			break;
	if (s && s->rules == qv_mpi.rules->number)
		return s;
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return NULL;
		s->next = c->autotune_v;
		c->autotune_v = s;
	}
	next = s->next;
	*s = (struct qv_mpi_autotune_v){.next = next,
					.name = call->name,
					.rules = qv_mpi.rules->number,
					.fence = BEFORE,
					.interval = NEXT,
					.trial = {.decided = true}};
	return s;
}

void qv_mpi_autotune_v_free(struct qv_mpi_comm *c)
{
	struct qv_mpi_autotune_v *next;

	for (struct qv_mpi_autotune_v *s = c->autotune_v; s; s = next) {
		next = s->next;
		free(s);
	}
}

/* What is sent. */

/* Of a gather or scatter, each rank but the root knows its own block, and counts it. */
static double measure_rooted(const struct qv_mpi_comm *c, const struct qv_mpi_blocks_call *call,
			     double *bytes)
{
	const struct qv_mpi_blocks_arg *arg = call->name == QV_MPI_GATHERV ? &call->in : &call->out;
	MPI_Count size = 0;

	*bytes = 0;
	if (c->rank == call->root)
		return 0;
	PMPI_Type_size_x(arg->type, &size);
	*bytes = (double)qv_mpi_blocks_count(arg, 0) * (double)size;
	return 1;
}

/* Messages to other ranks, if each block goes straight; bytes of all of them. */
static double measure(const struct qv_mpi_comm *c, const struct qv_mpi_blocks_call *call,
		      double *bytes)
{
	const bool in_place = call->in.buf == MPI_IN_PLACE;
	const struct qv_mpi_blocks_arg *arg = in_place ? &call->out : &call->in;
	const bool neighbor = qv_mpi_is_neighbor(call->name);
	const int n = neighbor ? (int)c->pattern->out.n : c->ranks;
	double messages = 0, elements = 0;
	MPI_Count size = 0;

	if (qv_mpi_is_rooted_v(call->name))
		return measure_rooted(c, call, bytes);
	PMPI_Type_size_x(arg->type, &size);
	for (int i = 0; i < n; i++) {
		const int slot = neighbor ? c->pattern->out.slots[i] : i;
		const MPI_Count count =
			qv_mpi_blocks_count(arg, call->name == QV_MPI_ALLGATHERV ? c->rank : slot);
		const int to = neighbor ? (int)c->pattern->out.ranks[i] : i;

		if (to != c->rank && (count > 0 || call->name != QV_MPI_ALLTOALLV)) {
			messages++;
			elements += (double)count;
		}
	}
	*bytes = elements * (double)size;
	return messages;
}

static void log_call(struct qv_mpi_autotune_v *s, const struct qv_mpi_comm *c,
		     const struct qv_mpi_blocks_call *call)
{
	double bytes;

	s->degree += measure(c, call, &bytes);
	s->bytes += bytes;
	s->logged++;
}

/* Fences. */

static bool far_from(double a, double b, double times)
{
	return a > times * b || b > times * a;
}

/* Whether what is in use must be judged by the clock again; QV_ENOMEM. */
static int ask_new(const struct qv_mpi_autotune_v *s, struct qv_mpi_comm *c,
		   const struct qv_traffic *t, const struct qv_mpi_guess *best, bool *is_new)
{
	double seconds = 0;
	int rc = QV_OK;

	*is_new = true;
	if (!s->judged || far_from(t->bytes + 1, s->traffic.bytes + 1, SAME) ||
	    far_from(t->degree + 1, s->traffic.degree + 1, SAME))
		return rc;
	*is_new = !qv_mpi_rule_equal(&s->best.rule, &best->rule);
	if (*is_new) {
		rc = qv_mpi_model_seconds(c, s->name, t, &s->best.rule, &seconds);
		*is_new = best->seconds < MARGIN * seconds;
	}
	return rc;
}

static void begin_trial(struct qv_mpi_autotune_v *s, const struct qv_traffic *traffic,
			const struct qv_mpi_guess *best)
{
	qv_mpi.changed += s->judged;
	s->judged = true;
	s->traffic = *traffic;
	s->best = *best;
	s->trial = (struct qv_mpi_trial){.varies = true};
	s->interval = NEXT;
}

/* All tell each other what they send; false: an error, the MPI's or that there is no memory. */
static bool fence(struct qv_mpi_autotune_v *s, struct qv_mpi_comm *c,
		  struct qv_mpi_blocks_call *call)
{
	const double mine[2] = {s->degree, s->bytes};
	double all[2] = {0, 0};
	struct qv_traffic traffic = {.ranks = (uint32_t)c->ranks};
	struct qv_mpi_guess best;
	bool is_new;

	/* Whole numbers: their sum is the same on all ranks, whatever the order. */
	call->error = QV_REAL(Allreduce)(mine, all, 2, MPI_DOUBLE, MPI_SUM, c->comm);
	if (call->error) /* others may have the sums */
		return false;
	traffic.degree = all[0] / ((double)c->ranks * s->logged);
	traffic.bytes = all[0] > 0 ? all[1] / all[0] : 0;
	s->degree = s->bytes = 0;
	s->logged = 0;
	qv_mpi.judged++;
	if (qv_mpi_model_best(c, s->name, &traffic, &best) ||
	    ask_new(s, c, &traffic, &best, &is_new))
		return false;
	if (is_new)
		begin_trial(s, &traffic, &best);
	else if (s->interval < FARTHEST)
		s->interval *= 2;
	s->fence = s->calls + s->interval;
	return true;
}

/* The call may wait for others: it can be a fence, and be timed. False as of fence. */
static bool pass(struct qv_mpi_autotune_v *s, struct qv_mpi_comm *c,
		 struct qv_mpi_blocks_call *call)
{
	const uint64_t number = s->calls++;

	if (number == s->fence && !s->judged && qv_mpi_is_neighbor(s->name)) {
		s->why = qv_mpi_pattern_of(c, call->form);
		if (s->why == QV_MPI_FAILED)
			return false;
		s->never = s->why != QV_MPI_TAKEN;
	}
	if (s->never || !s->trial.decided)
		return true;
	if (number == s->fence || (s->judged && number + LOGGED > s->fence))
		log_call(s, c, call);
	if (number == s->fence && !fence(s, c, call))
		return false;
	if (s->trial.decided && !s->trial.ours && s->calls + LOGGED < s->fence) {
		struct qv_mpi_passing *p = &c->passing[s->name];

		p->left = s->fence - LOGGED - s->calls;
		p->rules = s->rules;
		s->calls += p->left;
	}
	return true;
}

/* Trials. */

int qv_mpi_autotune_v_end(struct qv_mpi_blocks_call *call, int rc)
{
	struct qv_mpi_autotune_v *s = call->timed;

	rc = qv_mpi_trial_end(&s->trial, call->comm, call->bytes, rc);
	if (s->trial.decided && !s->trial.ours &&
	    (s->best.rule.by == QV_MPI_BY_WAY || s->best.rule.k > 1))
		qv_mpi.refuted++;
	return rc;
}

void qv_mpi_blocks_come_again(struct qv_mpi_blocks_call *call)
{
	struct qv_mpi_autotune_v *s = call->turned;
	struct qv_mpi_passing *p;

	call->timed = NULL;
	if (!s)
		return;
	p = &qv_mpi_comm_of(call->comm)->passing[s->name];
	if (p->left &&
	    p->rules == s->rules) /* since this call: then the next try is passed on, too */
		p->left++;
	else
		s->trial.again = true;
}

const struct qv_mpi_rule *qv_mpi_autotune_v_turn(struct qv_mpi_comm *c,
						 struct qv_mpi_blocks_call *call,
						 enum qv_mpi_reason *why)
{
	struct qv_mpi_autotune_v *s = find(c, call);
	bool ours, again = s && s->trial.again;

	if (!s || (call->form == QV_MPI_BLOCKING && !again && !pass(s, c, call))) {
		*why = QV_MPI_FAILED;
		return NULL;
	}
	if (call->form == QV_MPI_BLOCKING)
		call->turned = s;
	ours = s->trial.ours;
	if (!s->never && !s->trial.decided && call->form == QV_MPI_BLOCKING) {
		call->timed = s;
		measure(c, call, &call->bytes);
		ours = qv_mpi_trial_begin(&s->trial, c->comm);
	} else if (call->form == QV_MPI_BLOCKING) {
		s->trial.again = false;
	}
	if (!ours)
		*why = s->never                        ? s->why
		       : s->judged && s->trial.decided ? QV_MPI_SLOWER
						       : QV_MPI_TRIED;
	return &s->best.rule;
}
