/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * expect.c - when the ranks of a communicator are expected in its next reduction: what the program
 * has said, or else what they have observed. In blocking reductions for which `auto` was asked, or
 * an algorithm that is built from arrivals, all tell each other now and then how long each takes from
 * one reduction to the next. So all know the same from the next call on. Exchanges are so far apart
 * that they take little time, and the clock is read in the calls before one only.
 */
#include "mpi_glue/glue.h"

#include <stdlib.h>
#include <string.h>

#define LEAST   10   /* calls from one exchange to the next, and before the first */
#define MOST    1024 /* the same */
#define SOON    5    /* if some rank did something unusual: whether it does so again */
#define SHARE   100  /* one part in so many of the time is for exchanges, */
#define CALLS   60   /* and so many of the time in reductions */
#define WATCHED 4    /* calls before an exchange in which the clock is read */
#define LATE    4    /* some rank is late by more than a call takes, divided by this */
#define IN_TIME 8    /* and none is any more */
#define AT_ONCE 2000 /* ns; ranks leave a call as far apart, and that is not late */

enum { GAP, NEWEST, CALL, COST, N_TOLD }; /* what a rank tells, ns */

struct qv_mpi_expect {
	uint64_t left;         /* calls to the next exchange */
	uint64_t began, ended; /* this call, and the one before, ns; 0: it is not observed */
	uint64_t gaps[3];      /* the last ones from a reduction to the next, ns */
	uint64_t sum, n;       /* of what calls took since the last exchange, ns */
	uint64_t cost;         /* of the last exchange, and of plans made since, ns */
	bool soon;             /* the next exchange is */
	bool known;            /* what follows */
	uint64_t *arrive;      /* when each rank is expected, ns */
	uint64_t (*told)[N_TOLD];
};

static uint64_t now(void)
{
	return (uint64_t)(PMPI_Wtime() * 1e9) + 1; /* in a simulation, the simulated time */
}

void qv_mpi_expect_close(struct qv_mpi_comm *c)
{
	struct qv_mpi_expect *x = c->expect;

	if (!x)
		return;
	free(x->arrive);
	free(x->told);
	free(x);
	c->expect = NULL;
}

static int open_expect(struct qv_mpi_comm *c)
{
	const size_t ranks = (size_t)c->ranks;
	struct qv_mpi_expect *x = calloc(1, sizeof(*x));

	if (!x)
		return QV_ENOMEM;
	c->expect = x;
	x->left = LEAST;
	x->arrive = calloc(ranks, sizeof(*x->arrive));
	x->told = calloc(ranks, sizeof(*x->told));
	if (x->arrive && x->told)
		return QV_OK;
	qv_mpi_expect_close(c);
	return QV_ENOMEM;
}

static void observe(struct qv_mpi_expect *x, uint64_t gap)
{
	x->gaps[0] = x->gaps[1];
	x->gaps[1] = x->gaps[2];
	x->gaps[2] = gap;
}

/* The median of three: once is no habit. */
static uint64_t usual_gap(const struct qv_mpi_expect *x)
{
	const uint64_t a = x->gaps[0], b = x->gaps[1], c = x->gaps[2];

	if ((a <= b) == (b <= c))
		return b;
	return (b <= a) == (a <= c) ? a : c;
}

int qv_mpi_expect_begin(struct qv_mpi_comm *c)
{
	struct qv_mpi_expect *x = c->expect;
	uint64_t t;

	if (!x && open_expect(c))
		return QV_ENOMEM;
	x = c->expect;
	x->left--;
	if (x->left >= WATCHED && !x->ended)
		return QV_OK;
	t = now();
	if (x->ended)
		observe(x, t - x->ended);
	x->ended = 0;
	x->began = x->left < WATCHED ? t : 0;
	return QV_OK;
}

bool qv_mpi_expect_idle(struct qv_mpi_comm *c)
{
	struct qv_mpi_expect *x = c->expect;

	if (!x || x->left <= WATCHED || x->ended)
		return false;
	x->left--;
	return true;
}

/* What all have told is the same on all, and so is what follows from it. */

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return greater(a, b) - lesser(a, b);
}

/* Each is expected when it told, after the first one. Where that is not quite another time than before,
 * nothing changes, and plans can stay. */
static void expect(struct qv_mpi_comm *c, uint64_t first, uint64_t least)
{
	struct qv_mpi_expect *x = c->expect;
	bool news = !x->known;

	for (int r = 0; r < c->ranks; r++)
		news = news || distance(x->told[r][GAP] - first, x->arrive[r]) > least;
	for (int r = 0; news && r < c->ranks; r++)
		x->arrive[r] = x->told[r][GAP] - first;
	x->known = true;
}

/* Calls to the next exchange. */
static uint64_t interval(uint64_t cost, uint64_t call, uint64_t gap)
{
	const uint64_t of_all = SHARE * cost / (call + gap + 1),
		       of_calls = CALLS * cost / (call + 1);

	return lesser(MOST, greater(LEAST, greater(of_all, of_calls)));
}

static void learn(struct qv_mpi_comm *c)
{
	struct qv_mpi_expect *x = c->expect;
	uint64_t first = UINT64_MAX, last = 0, gap = 0, call = 0, cost = UINT64_MAX, unusual = 0;

	for (int r = 0; r < c->ranks; r++) {
		const uint64_t *told = x->told[r];

		first = lesser(first, told[GAP]);
		last = greater(last, told[GAP]);
		gap += told[GAP] / (uint64_t)c->ranks;
		call = greater(call, told[CALL]);
		cost = lesser(cost, told[COST]); /* who came last did not wait for the others */
		unusual = greater(unusual, distance(told[GAP], told[NEWEST]));
	}
	c->late = last - first > greater(AT_ONCE, call / (c->late ? IN_TIME : LATE));
	expect(c, first, (last - first) / 4);
	x->soon = !x->soon && unusual > call / LATE;
	x->left = x->soon ? SOON : interval(cost, call, gap);
}

static void exchange(struct qv_mpi_comm *c)
{
	struct qv_mpi_expect *x = c->expect;
	const uint64_t begun = now();
	uint64_t *mine = x->told[c->rank];

	mine[GAP] = usual_gap(x);
	mine[NEWEST] = x->gaps[2];
	mine[CALL] = x->sum / x->n;
	mine[COST] = x->cost;
	x->left = LEAST;
	if (!QV_REAL(Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, x->told, N_TOLD, MPI_UINT64_T,
				c->comm))
		learn(c);
	x->sum = x->n = 0;
	x->ended = now(); /* all leave it together */
	x->cost = x->ended - begun;
}

void qv_mpi_expect_end(struct qv_mpi_comm *c, enum qv_coll coll)
{
	struct qv_mpi_expect *x = c->expect;
	uint64_t t;

	if (!x->began)
		return;
	t = now();
	x->sum += t - x->began;
	x->n++;
	x->began = 0;
	x->ended = coll == QV_COLL_REDUCE ? 0 : t; /* from a reduce the root comes last */
	if (!x->left)
		exchange(c);
}

void qv_mpi_expect_planned(struct qv_mpi_comm *c, double since)
{
	if (c->expect)
		c->expect->cost += (uint64_t)((PMPI_Wtime() - since) * 1e9);
}

const uint64_t *qv_mpi_arrivals(const struct qv_mpi_comm *c, const struct qv_mpi_call *call)
{
	const struct qv_mpi_expect *x = c->expect;

	if (c->told || !x || call->coll > QV_COLL_REDUCE_SCATTER)
		return c->arrive;
	return x->known && (c->late || qv_select_wants_arrivals(qv_mpi.rules->select, call->coll))
		       ? x->arrive
		       : NULL;
}

static uint64_t spread(const uint64_t *arrive, int ranks)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (int r = 0; r < ranks; r++) {
		first = lesser(first, arrive[r]);
		last = greater(last, arrive[r]);
	}
	return last - first;
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
	c->late = copy && spread(copy, c->ranks) > AT_ONCE;
	c->told = true;
	return QV_OK;
}
