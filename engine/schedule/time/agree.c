/* SPDX-License-Identifier: BSD-2-Clause */
/* agree.c - expectations of a group: what its members have observed, and what follows from that. */
#include "engine/schedule/agree.h"

#include <stdlib.h>

#define LEAST   10   /* calls from one exchange to the next, and before the first */
#define MOST    1024 /* the same */
#define SOON    5    /* if some rank did something unusual: whether it does so again */
#define SHARE   100  /* one part in so many of the time is for exchanges, */
#define CALLS   60   /* and so many of the time in reductions */
#define WATCHED 4    /* calls before an exchange in which the clock is read */
#define LATE    4    /* some rank is late by more than a call takes, divided by this */
#define IN_TIME 8    /* and none is any more */

enum { GAP, NEWEST, CALL, COST }; /* what a rank tells, ns */

struct qv_expect {
	uint32_t ranks, rank, delay;
	uint32_t wait;         /* calls until what is told counts */
	int pending;           /* it does not yet */
	int under_way, status; /* of the exchange */
	uint64_t left;         /* calls to the next exchange */
	uint64_t began, ended; /* this call, and the one before, ns; 0: it is not observed */
	uint64_t gaps[3];      /* the last ones from a reduction to the next, ns */
	uint64_t sum, n;       /* of what calls took since the last exchange, ns */
	uint64_t begun;        /* the exchange, ns */
	uint64_t cost;         /* of the last exchange, and of plans made since, ns */
	int soon;              /* the next exchange is */
	int known, late;       /* arrive holds something; some rank is late */
	uint32_t number;       /* for those who are late, or were the last time */
	uint64_t *arrive;      /* when each rank is expected, ns */
	unsigned char *behind; /* by rank: it is one of those */
	uint64_t told[][QV_EXPECT_WORDS];
};

int qv_expect_open(uint32_t ranks, uint32_t rank, uint32_t delay, struct qv_expect **expect)
{
	struct qv_expect *x;

	if (rank >= ranks)
		return QV_EINVAL;
	x = calloc(1, sizeof(*x) + ranks * (sizeof(x->told[0]) + sizeof(*x->arrive) + 1));
	if (!x)
		return QV_ENOMEM;
	x->ranks = ranks;
	x->rank = rank;
	x->delay = delay;
	x->left = LEAST;
	x->arrive = x->told[ranks];
	x->behind = (unsigned char *)(x->arrive + ranks);
	*expect = x;
	return QV_OK;
}

void qv_expect_close(struct qv_expect *expect)
{
	free(expect);
}

/* Observations. */

static void observe(struct qv_expect *x, uint64_t gap)
{
	x->gaps[0] = x->gaps[1];
	x->gaps[1] = x->gaps[2];
	x->gaps[2] = gap;
}

/* The median of three: once is no habit. */
static uint64_t usual_gap(const struct qv_expect *x)
{
	const uint64_t a = x->gaps[0], b = x->gaps[1], c = x->gaps[2];

	if ((a <= b) == (b <= c))
		return b;
	return (b <= a) == (a <= c) ? a : c;
}

static int is_watched(const struct qv_expect *x)
{
	return !x->pending && x->left < WATCHED;
}

int qv_expect_called(struct qv_expect *x)
{
	if (!x->pending)
		x->left--;
	else if (x->wait)
		x->wait--;
	return is_watched(x) || x->ended;
}

int qv_expect_idle(struct qv_expect *x)
{
	if (x->pending || x->left <= WATCHED || x->ended)
		return 0;
	x->left--;
	return 1;
}

void qv_expect_idle_again(struct qv_expect *x)
{
	x->left++;
}

int qv_expect_came(struct qv_expect *x, uint64_t now)
{
	if (x->ended && now)
		observe(x, now - x->ended);
	x->ended = 0;
	x->began = is_watched(x) ? now : 0;
	return x->began != 0;
}

void qv_expect_ended(struct qv_expect *x, uint64_t now, int together)
{
	if (x->began) { /* else another one has begun since */
		x->sum += now - x->began;
		x->n++;
	}
	x->began = 0;
	if (together)
		x->ended = now;
}

void qv_expect_spent(struct qv_expect *x, uint64_t ns)
{
	x->cost += ns;
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
static void expect(struct qv_expect *x, uint64_t first, uint64_t least)
{
	int news = !x->known;

	for (uint32_t r = 0; r < x->ranks; r++)
		news = news || distance(x->told[r][GAP] - first, x->arrive[r]) > least;
	for (uint32_t r = 0; news && r < x->ranks; r++)
		x->arrive[r] = x->told[r][GAP] - first;
	x->known = 1;
}

/* Those who are late are expected nearer to the last one than to the first one. */
static void number_late(struct qv_expect *x)
{
	uint64_t last = 0;
	int others = 0;

	for (uint32_t r = 0; r < x->ranks; r++)
		last = greater(last, x->arrive[r]);
	for (uint32_t r = 0; r < x->ranks; r++) {
		const unsigned char behind = x->arrive[r] > last / 2;

		others |= behind != x->behind[r];
		x->behind[r] = behind;
	}
	x->number += others;
}

/* Calls to the next exchange. */
static uint64_t interval(uint64_t cost, uint64_t call, uint64_t gap)
{
	const uint64_t of_all = SHARE * cost / (call + gap + 1),
		       of_calls = CALLS * cost / (call + 1);

	return lesser(MOST, greater(LEAST, greater(of_all, of_calls)));
}

static void learn(struct qv_expect *x)
{
	uint64_t first = UINT64_MAX, last = 0, gap = 0, call = 0, cost = UINT64_MAX, unusual = 0;
	int blind = 0;

	for (uint32_t r = 0; r < x->ranks; r++) {
		const uint64_t *told = x->told[r];

		first = lesser(first, told[GAP]);
		last = greater(last, told[GAP]);
		gap += told[GAP] / x->ranks;
		call = greater(call, told[CALL]);
		cost = lesser(cost, told[COST]); /* who came last did not wait for the others */
		unusual = greater(unusual, distance(told[GAP], told[NEWEST]));
		blind |= !told[CALL];
	}
	if (blind) { /* its calls have other operations beside them: nothing is known of it */
		x->known = x->late = 0;
		x->left = MOST;
		return;
	}
	x->late = last - first > greater(QV_EXPECT_LATE, call / (x->late ? IN_TIME : LATE));
	expect(x, first, (last - first) / 4);
	if (x->late)
		number_late(x);
	x->soon = !x->soon && unusual > call / LATE;
	x->left = x->soon ? SOON : interval(cost, call, gap);
}

/* Exchanges. */

static void settle(struct qv_expect *x)
{
	x->pending = 0;
	x->left = LEAST;
	if (x->status == QV_OK)
		learn(x);
	x->sum = x->n = 0;
}

int qv_expect_due(struct qv_expect *x)
{
	if (!x->pending)
		return x->left ? QV_OK : 1;
	if (x->wait)
		return QV_OK;
	if (x->under_way)
		return QV_EAGAIN;
	settle(x);
	return QV_OK;
}

uint64_t *qv_expect_told(struct qv_expect *expect)
{
	return expect->told[0];
}

void qv_expect_begun(struct qv_expect *x, uint64_t now)
{
	uint64_t *mine = x->told[x->rank];

	mine[GAP] = usual_gap(x);
	mine[NEWEST] = x->gaps[2];
	mine[CALL] = x->n ? greater(1, x->sum / x->n) : 0; /* 0: none was timed */
	mine[COST] = x->cost;
	x->begun = now;
	x->pending = x->under_way = 1;
	x->wait = x->delay;
}

void qv_expect_over(struct qv_expect *x, int status, uint64_t now)
{
	x->under_way = 0;
	x->status = status;
	x->cost = now - x->begun;
	if (x->wait + 1 < x->delay)
		observe(x, 0); /* it has come to the next call before the others came to this one */
	else
		x->ended = now; /* all leave it together */
	if (!x->delay)
		settle(x);
}

const uint64_t *qv_expect_arrivals(const struct qv_expect *expect)
{
	return expect->known ? expect->arrive : NULL;
}

uint32_t qv_expect_late(const struct qv_expect *expect)
{
	return expect->late ? expect->number : 0;
}
