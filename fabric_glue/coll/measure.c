/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure.c - what the network of a group is like, measured when it is joined: barriers
 * tell what a message costs, allgathers what a byte does, and each member how fast it combines. All
 * tell all what they have seen and take the medians, for all must choose the same schedules.
 */
#include "coll.h"
#include "engine/base/clock.h"

#include <quiver/predict.h>

#include <stdlib.h>

#define BARRIERS 5 /* the shortest counts */
#define GATHERS  3
#define BYTES    32768 /* about so many reach each member in an allgather */

struct qv_fi_measure {
	unsigned turn;
	uint64_t began, barrier, gather; /* ns */
	size_t block;                    /* bytes of an allgather from each */
	char *memory;
	double *sorted;              /* room for n */
	struct qv_network figures[]; /* by rank */
};

static double seconds_per_byte(const struct qv_combine *combine, void *memory)
{
	double *a = memory, *b = a + BYTES / sizeof(*a), shortest = 1;

	for (int i = 0; i < 4; i++) { /* the first of them brings the code */
		const uint64_t begin = qv_clock_ns();
		double s;

		qv_combine_to(combine, QV_OP_SUM, QV_TYPE_DOUBLE, a, a, b, BYTES / sizeof(*a));
		s = 1e-9 * (double)(qv_clock_ns() - begin);
		shortest = s < shortest ? s : shortest;
	}
	return shortest / BYTES;
}

/* Of a dissemination over n members: so many messages one after the other. */
static double rounds_of(uint32_t n)
{
	double rounds = 0;

	for (uint64_t reached = 1; reached < n; reached *= 2)
		rounds++;
	return rounds;
}

static struct qv_network seen(const struct qv_fi_group *group)
{
	const struct qv_fi_measure *m = group->measure;
	const double alpha = 1e-9 * (double)m->barrier / rounds_of(group->n);
	const double more = 1e-9 * ((double)m->gather - (double)m->barrier);
	const double bytes = (double)(m->block * (group->n - 1));

	return (struct qv_network){.alpha = alpha > 1e-9 ? alpha : 1e-9,
				   .beta = more > 0 ? more / bytes : 0,
				   .gamma = seconds_per_byte(group->ep->coll->combine, m->memory)};
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

static int by_value(const void *x, const void *y)
{
	const double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* The median over all members of the figure that stands so many bytes behind the first. */
static double median(const struct qv_fi_group *group, size_t offset)
{
	const struct qv_fi_measure *m = group->measure;

	for (uint32_t r = 0; r < group->n; r++)
		m->sorted[r] = *(const double *)((const char *)&m->figures[r] + offset);
	qsort(m->sorted, group->n, sizeof(*m->sorted), by_value);
	return m->sorted[group->n / 2];
}

static void apply(struct qv_fi_group *group)
{
	const struct qv_network network = {
		.alpha = median(group, offsetof(struct qv_network, alpha)),
		.beta = median(group, offsetof(struct qv_network, beta)),
		.gamma = median(group, offsetof(struct qv_network, gamma))};

	QV_FI_INFO(EP_CTRL,
		   "a group of %u: %.3g us a message, %.3g ns a byte, %.3g ns to combine it\n",
		   group->n, 1e6 * network.alpha, 1e9 * network.beta, 1e9 * network.gamma);
	/* What cannot be, another member has sent: then all keep what they had. */
	(void)qv_select_network(group->select, &network);
}

void qv_fi_measure_free(struct qv_fi_group *group)
{
	if (group->measure) {
		free(group->measure->memory);
		free(group->measure->sorted);
	}
	free(group->measure);
	group->measure = NULL;
}

int qv_fi_measure_begin(struct qv_fi_group *group)
{
	struct qv_fi_measure *m = calloc(1, sizeof *m + (size_t)group->n * sizeof(m->figures[0]));
	int ret = -FI_ENOMEM;
	size_t room;

	group->measure = m;
	if (!m)
		return ret;
	m->barrier = m->gather = UINT64_MAX;
	m->block = BYTES / (group->n - 1) + 1;
	room = m->block * group->n < 2 * BYTES ? 2 * BYTES : m->block * group->n;
	m->memory = calloc(1, room);
	m->sorted = calloc(group->n, sizeof(*m->sorted));
	if (m->memory && m->sorted)
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
