/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.c - what the network of a group is like, measured when it is joined. Barriers tell what a
 * message costs, and allgathers what a byte costs. Each member measures how fast it combines. All
 * tell all their figures and agree on one set of them, for all must choose the same schedules.
 */
#include "coll.h"
#include "engine/base/clock.h"

#include <stdlib.h>

#define BARRIERS 5 /* the shortest counts */
#define GATHERS  3
#define BYTES    32768 /* about so many reach each member in an allgather */

struct qv_fi_measure {
	unsigned turn;
	uint64_t began, barrier, gather; /* ns */
	size_t block;                    /* bytes of an allgather from each */
	char *memory;
	double *room;                /* for n */
	struct qv_network figures[]; /* by rank */
};

/* Messages of the barrier, one after the other: what the model makes of an alpha of 1. */
static double rounds_of(uint32_t n)
{
	return qv_model_seconds(&(struct qv_network){.alpha = 1}, QV_COLL_BARRIER,
				QV_ALG_DISSEMINATION, n, 0, 0);
}

static struct qv_network seen(const struct qv_fi_group *group)
{
	const struct qv_fi_measure *m = group->measure;
	const double alpha = 1e-9 * (double)m->barrier / rounds_of(group->n);
	const double more = 1e-9 * ((double)m->gather - (double)m->barrier);
	const double bytes = (double)(m->block * (group->n - 1));

	return (struct qv_network){
		.alpha = alpha > 1e-9 ? alpha : 1e-9,
		.beta = more > 0 ? more / bytes : 0,
		.gamma = qv_network_gamma(group->ep->coll->combine, qv_clock_seconds, m->memory)};
}

static int start_turn(struct qv_fi_group *group)
{
	struct qv_fi_coll *coll = group->ep->coll;
	struct qv_fi_measure *m = group->measure;

	m->began = qv_clock_ns();
	if (m->turn < BARRIERS)
		return qv_fi_coll_start_measure(coll, group, QV_COLL_BARRIER, m->memory, 1);
	if (m->turn < BARRIERS + GATHERS)
		return qv_fi_coll_start_measure(coll, group, QV_COLL_ALLGATHER, m->memory,
						m->block);
	m->figures[group->rank] = seen(group);
	return qv_fi_coll_start_measure(coll, group, QV_COLL_ALLGATHER, m->figures,
					sizeof(m->figures[0]));
}

static void apply(struct qv_fi_group *group)
{
	struct qv_fi_measure *m = group->measure;
	struct qv_network network;

	/* If nobody's figures can be, all keep what they had. */
	if (qv_network_agree(m->figures, group->n, m->room, &network) ||
	    qv_select_network(group->select, &network))
		return;
	QV_FI_INFO(EP_CTRL,
		   "a group of %u: %.3g us a message, %.3g ns a byte, %.3g ns to combine it\n",
		   group->n, 1e6 * network.alpha, 1e9 * network.beta, 1e9 * network.gamma);
}

void qv_fi_measure_free(struct qv_fi_group *group)
{
	if (group->measure) {
		free(group->measure->memory);
		free(group->measure->room);
	}
	free(group->measure);
	group->measure = NULL;
}

int qv_fi_measure_begin(struct qv_fi_group *group)
{
	struct qv_fi_measure *m = calloc(1, sizeof *m + (size_t)group->n * sizeof(m->figures[0]));
	int ret = -FI_ENOMEM;
	size_t gathered;

	group->measure = m;
	if (!m)
		return ret;
	m->barrier = m->gather = UINT64_MAX;
	m->block = BYTES / (group->n - 1) + 1;
	gathered = m->block * group->n;
	m->memory = calloc(1, gathered > QV_GAMMA_ROOM ? gathered : QV_GAMMA_ROOM);
	m->room = calloc(group->n, sizeof(*m->room));
	if (m->memory && m->room)
		ret = start_turn(group);
	if (ret)
		qv_fi_measure_free(group);
	return ret;
}

void qv_fi_measure_next(struct qv_fi_group *group, int status)
{
	struct qv_fi_measure *m = group->measure;
	const uint64_t took = qv_clock_ns() - m->began;

	if (!status && m->turn < BARRIERS && took < m->barrier)
		m->barrier = took;
	else if (!status && m->turn >= BARRIERS && took < m->gather)
		m->gather = took;
	if (!status && m->turn++ < BARRIERS + GATHERS) {
		status = start_turn(group) ? QV_ENOMEM : QV_OK;
		if (!status)
			return;
	}
	if (!status)
		apply(group);
	qv_fi_measure_free(group);
	qv_fi_group_ready(group, status);
}
