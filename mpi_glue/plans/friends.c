/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * friends.c - plans of neighbours: each rank makes its own part, in messages with those that have
 * neighbours in common with it. A part is made once for a rule, in a call that may wait for others.
 */
#include "mpi_glue/run/blocks.h"

#include <stdlib.h>
#include <string.h>

struct qv_planner_spec qv_mpi_planner_spec(const struct qv_mpi_comm *c,
					   const struct qv_mpi_pattern *p,
					   const struct qv_mpi_rule *rule)
{
	return (struct qv_planner_spec){
		.size = sizeof(struct qv_planner_spec),
		.ranks = (uint32_t)c->ranks,
		.rank = (uint32_t)c->rank,
		.out_n = p->out.n,
		.in_n = p->in.n,
		.out = p->out.ranks,
		.in = p->in.ranks,
		.node = rule->nodes ? qv_mpi.node : QV_ANY_NODE,
		.k = rule->k,
		.cumulative = rule->cumulative,
	};
}

/* Messages of a planner. */

struct sent {
	struct sent *next;
	MPI_Request request;
	uint32_t words[];
};

struct talk {
	const struct qv_mpi_comm *c;
	struct sent *sent;
	uint32_t *heard;
	int room; /* words of heard */
	int error;
};

static void say(void *context, uint32_t to, const uint32_t *words, size_t n)
{
	struct talk *t = context;
	struct sent *s = malloc(sizeof(*s) + n * sizeof(*words));

	if (!s) {
		t->error = QV_ENOMEM;
		return;
	}
	memcpy(s->words, words, n * sizeof(*words));
	if (QV_REAL(Isend)(s->words, (int)n, MPI_UINT32_T, (int)to, qv_mpi.plan_tag, t->c->dup,
			   &s->request)) {
		t->error = QV_EIO;
		free(s);
		return;
	}
	s->next = t->sent;
	t->sent = s;
}

/* Who fails says so to all: they would wait for what it does not say any more. Nothing of it needs memory. */
static void give_up(const struct talk *t)
{
	for (int i = 0; i < t->c->ranks; i++)
		if (i != t->c->rank)
			(void)QV_REAL(Send)(NULL, 0, MPI_UINT32_T, i, qv_mpi.plan_tag, t->c->dup);
}

/* QV_EPEER: another rank has given up. */
static int hear(struct talk *t, struct qv_planner *planner)
{
	MPI_Status status;
	int n = 0;

	if (QV_REAL(Probe)(MPI_ANY_SOURCE, qv_mpi.plan_tag, t->c->dup, &status) ||
	    PMPI_Get_count(&status, MPI_UINT32_T, &n) || n < 0)
		return QV_EIO;
	if (!n)
		return QV_EPEER;
	if (n > t->room) {
		free(t->heard);
		t->room = 2 * n;
		t->heard = malloc((size_t)t->room * sizeof(*t->heard));
		if (!t->heard)
			return QV_ENOMEM;
	}
	if (QV_REAL(Recv)(t->heard, n, MPI_UINT32_T, status.MPI_SOURCE, qv_mpi.plan_tag, t->c->dup,
			  MPI_STATUS_IGNORE))
		return QV_EIO;
	return qv_planner_hear(planner, (uint32_t)status.MPI_SOURCE, t->heard, (size_t)n);
}

static int run(struct talk *t, struct qv_planner *planner, struct qv_neighbor_plan **plan)
{
	int rc = qv_planner_start(planner);

	while (!rc && !t->error && (rc = qv_planner_result(planner, plan)) == QV_EAGAIN)
		rc = hear(t, planner);
	rc = rc ? rc : t->error;
	if (rc && rc != QV_EPEER)
		give_up(t);
	free(t->heard);
	return rc;
}

/* Where a rank has given up, some will never be heard: their memory is the MPI's. */
static void end_sends(struct talk *t, bool all_heard)
{
	for (struct sent *s = t->sent, *next; s; s = next) {
		int over = 1;

		next = s->next;
		if (all_heard)
			QV_REAL(Wait)(&s->request, MPI_STATUS_IGNORE);
		else
			QV_REAL(Test)(&s->request, &over, MPI_STATUS_IGNORE);
		if (over)
			free(s);
	}
	t->sent = NULL;
}

/* The greatest of all ranks; false: an error. */
static bool greatest(const struct qv_mpi_comm *c, int mine, int *all)
{
	return !QV_REAL(Allreduce)(&mine, all, 1, MPI_INT, MPI_MAX, c->comm);
}

/* By messages, all ranks at once. False: one of them has failed, and all know. There may be messages then that
 * nobody has heard, which another plan would take for its own: there is none by messages of this communicator. */
static bool plan_together(struct qv_mpi_comm *c, struct qv_planner *planner, struct talk *talk,
			  struct qv_mpi_friends *f)
{
	enum { NO_GROUPS, GROUPS, FAILED };
	struct qv_neighbor_stats stats = {0};
	int all = FAILED, mine = planner && f ? NO_GROUPS : FAILED;

	if (!greatest(c, mine, &all) || all == FAILED)
		return false;
	if (run(talk, planner, &f->plan)) {
		mine = FAILED;
	} else {
		qv_neighbor_stats(f->plan, &stats);
		mine = stats.groups ? GROUPS : NO_GROUPS;
	}
	if (!greatest(c, mine, &all))
		all = FAILED;
	end_sends(talk, all != FAILED);
	c->no_plans = all == FAILED;
	if (c->no_plans)
		return false;
	f->combines = all == GROUPS;
	return true;
}

/* Without groups no other rank is needed. */
static bool plan_alone(struct qv_planner *planner, struct qv_mpi_friends *f)
{
	return planner && f && !qv_planner_start(planner) && !qv_planner_result(planner, &f->plan);
}

static struct qv_mpi_friends *make(struct qv_mpi_comm *c, const struct qv_mpi_rule *rule)
{
	const double began = PMPI_Wtime();
	struct talk talk = {.c = c};
	struct qv_mpi_friends *f = calloc(1, sizeof(*f));
	struct qv_planner *planner = NULL;
	const struct qv_planner_spec spec = qv_mpi_planner_spec(c, c->pattern, rule);
	bool there;

	qv_planner_create(&spec, say, &talk, &planner);
	there = rule->k < 2 ? plan_alone(planner, f) : plan_together(c, planner, &talk, f);
	qv_planner_free(planner);
	if (there) {
		f->rule = *rule;
		qv_mpi.planned++;
		qv_mpi.planned_ns += qv_mpi_ns_since(began);
		return f;
	}
	if (f)
		qv_neighbor_free(f->plan);
	free(f);
	return NULL;
}

enum qv_mpi_reason qv_mpi_friends_of(struct qv_mpi_comm *c, const struct qv_mpi_rule *rule,
				     enum qv_mpi_form form, const struct qv_mpi_friends **friends)
{
	struct qv_mpi_friends *f = c->pattern->friends;

	while (f && !qv_mpi_rule_equal(&f->rule, rule))
		f = f->next;
	if (!f && rule->k > 1 && (form == QV_MPI_NONBLOCKING || c->no_plans))
		return QV_MPI_NOT_KNOWN;
	if (!f) {
		f = make(c, rule);
		if (!f) /* all ranks know */
			return c->no_plans ? QV_MPI_NOT_KNOWN : QV_MPI_FAILED;
		f->next = c->pattern->friends;
		c->pattern->friends = f;
	}
	*friends = f;
	return QV_MPI_TAKEN;
}
