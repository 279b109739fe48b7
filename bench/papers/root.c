/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * root.c - one receiver that everybody sends to (rows Q2, Q3 and Q6 of
 * Ghazimirsaeed's thesis, whose application was FDS): every source takes part in a gather to rank
 * 0, and a few neighbours of rank 0 send it much besides. Rank 0 is late, so that all of an
 * iteration is unexpected; then it is early, and all receives wait.
 */
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* The heuristic finds 13 and 14 clusters in FDS: so many sources send nearly all there is. */
#define HOT 13

/* By enum qv_pp_root_class. */
static const char *const class_name[] = {"umq",     "prq",     "umq-coll",   "prq-coll",
					 "umq-p2p", "prq-p2p", "umq-append", "prq-append"};

#define BIT(c) (1u << (c))

struct root {
	struct qv_pp_trace *t;
	uint32_t n, m; /* sources; what a hot one sends */
	uint32_t hot[HOT];
};

static void gather(struct root *r, uint32_t src)
{
	qv_pp_op(r->t, QV_PP_COLLECTIVE | 1, 0, src);
}

static void p2p(struct root *r, uint32_t hot, uint32_t k)
{
	qv_pp_op(r->t, k, 0, r->hot[hot]);
}

/* Messages of the hot sources k = from .. to - 1 of each, in any order between sources. */
static void p2p_arrive(struct root *r, uint32_t from, uint32_t to)
{
	uint32_t next[HOT], n = (to - from) * HOT, *order = qv_pp_shuffled(r->t, n);

	for (uint32_t h = 0; h < HOT; h++)
		next[h] = from;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t h = order[i] % HOT;

		p2p(r, h, next[h]++);
	}
	free(order);
}

/* Receives for them: all of one source, then of the next. */
static void p2p_post(struct root *r, uint32_t from, uint32_t to)
{
	for (uint32_t h = 0; h < HOT; h++)
		for (uint32_t k = from; k < to; k++)
			p2p(r, h, k);
}

static void gather_arrive(struct root *r)
{
	uint32_t *order = qv_pp_shuffled(r->t, r->n);

	for (uint32_t i = 0; i < r->n; i++)
		gather(r, order[i]);
	free(order);
}

static void gather_post(struct root *r)
{
	for (uint32_t i = 0; i < r->n; i++)
		gather(r, i);
}

/* All at once, in any order between sources; k messages of each hot one. */
static void all_arrive(struct root *r)
{
	uint32_t n = r->n + HOT * r->m, *order = qv_pp_shuffled(r->t, n), next[HOT] = {0};
	uint32_t *gathers = qv_pp_shuffled(r->t, r->n), g = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t h = order[i] % HOT; /* as often each from n on */

		if (order[i] < r->n)
			gather(r, gathers[g++]);
		else
			p2p(r, h, next[h]++);
	}
	free(gathers);
	free(order);
}

void qv_pp_root_make(struct qv_pp *pp, struct qv_pp_trace *t, uint32_t n)
{
	struct root r = {.t = t, .n = n, .m = n / 2};
	uint32_t *sources, *counts = calloc(n, sizeof(*counts)), half = r.m / 2;

	if (!counts)
		abort();
	*t = qv_pp_trace_new(class_name, QV_PP_ROOT_CLASSES);
	sources = qv_pp_shuffled(t, n);
	memcpy(r.hot, sources, sizeof(r.hot));
	free(sources);
	qv_pp_phase(t, QV_PP_ARRIVE, BIT(QV_PP_UMQ_APPEND));
	all_arrive(&r);
	qv_pp_phase(t, QV_PP_POST, BIT(QV_PP_UMQ) | BIT(QV_PP_UMQ_P2P));
	p2p_post(&r, 0, half);
	qv_pp_phase(t, QV_PP_POST, BIT(QV_PP_UMQ) | BIT(QV_PP_UMQ_COLL));
	gather_post(&r);
	qv_pp_phase(t, QV_PP_POST, BIT(QV_PP_UMQ) | BIT(QV_PP_UMQ_P2P));
	p2p_post(&r, half, r.m);
	qv_pp_phase(t, QV_PP_POST, BIT(QV_PP_PRQ_APPEND));
	gather_post(&r);
	p2p_post(&r, 0, r.m);
	qv_pp_phase(t, QV_PP_ARRIVE, BIT(QV_PP_PRQ) | BIT(QV_PP_PRQ_P2P));
	p2p_arrive(&r, 0, half);
	qv_pp_phase(t, QV_PP_ARRIVE, BIT(QV_PP_PRQ) | BIT(QV_PP_PRQ_COLL));
	gather_arrive(&r);
	qv_pp_phase(t, QV_PP_ARRIVE, BIT(QV_PP_PRQ) | BIT(QV_PP_PRQ_P2P));
	p2p_arrive(&r, half, r.m);
	qv_pp_solve(t);
	for (uint32_t i = 0; i < t->ops; i++)
		counts[t->key[i].src]++;
	t->settings.sources = n;
	t->settings.collective_mask = QV_PP_COLLECTIVE;
	t->settings.collective_op = 15;
	t->settings.profile = qv_pp_profile(pp, counts, n);
	free(counts);
}

/* Q2, Q3, Q6. */

enum { LL, CLU_H, CLU_KM, PNP, PNP_FREE, PNP_PRESENT, PNP_STATIC, COL_LL, COL_PNP, AUTO, SIDES };

static const struct qv_pp_side sides[SIDES] = {
	[LL] = {"ll", false},
	[CLU_H] = {"clu", false},
	[CLU_KM] = {"clu:kmeans=16", false},
	[PNP] = {"pnp:t=100", false},
	[PNP_FREE] = {"pnp:t=100,c=64", false}, /* room for every source */
	[PNP_PRESENT] = {"pnp:t=100,present", false},
	[PNP_STATIC] = {"pnp-static", false},
	[COL_LL] = {"col-ll", false},
	[COL_PNP] = {"col-pnp", false},
	[AUTO] = {"auto", false},
};

static struct qv_bench_interval gain(struct qv_pp *pp, size_t row, int a, int b, int class)
{
	return qv_pp_gain(pp, row + (size_t)(a * QV_PP_ROOT_CLASSES + class),
			  row + (size_t)(b * QV_PP_ROOT_CLASSES + class));
}

static void report_root(struct qv_pp *pp, size_t row, uint32_t n)
{
	const double bar = n == 2048 ? 1 : NAN; /* the bounds are those of 2048 sources */

	for (int q = QV_PP_UMQ; q <= QV_PP_PRQ; q++) {
		const char *name = class_name[q];

		qv_pp_line(pp, "Q2", "44x", "x", gain(pp, row, LL, CLU_H, q), 20 * bar, NAN,
			   "clu over ll, %s, %u sources", name, n);
		qv_pp_line(pp, "Q2", "22x", "x", gain(pp, row, CLU_KM, CLU_H, q), 1.5 * bar, NAN,
			   "clu over clu:kmeans=16, %s, %u sources", name, n);
		qv_pp_line(pp, "Q3", "up to 28x", "x", gain(pp, row, LL, PNP_FREE, q), 15 * bar,
			   NAN, "pnp, unbounded, over ll, %s, %u sources", name, n);
		qv_pp_line(pp, "Q3", "", "x", gain(pp, row, LL, PNP, q), NAN, NAN,
			   "pnp over ll, %s, %u sources", name, n);
		qv_pp_line(pp, "Q3", "", "x", gain(pp, row, LL, PNP_PRESENT, q), NAN, NAN,
			   "pnp:present over ll, %s, %u sources", name, n);
		qv_pp_line(pp, "Q3", "", "x", gain(pp, row, LL, PNP_STATIC, q), NAN, NAN,
			   "pnp-static over ll, %s, %u sources", name, n);
		qv_pp_line(pp, "Q3", "at least 1, mostly", "x", gain(pp, row, PNP, PNP_STATIC, q),
			   0.9 * bar, NAN, "pnp-static over pnp, %s, %u sources", name, n);
		qv_pp_line(pp, "Q6", "80x", "x", gain(pp, row, LL, COL_PNP, q + QV_PP_UMQ_COLL),
			   30 * bar, NAN, "col-pnp over ll, collective, %s, %u sources", name, n);
		qv_pp_line(pp, "Q6", q == QV_PP_UMQ ? "4.4x" : "73x", "x",
			   gain(pp, row, LL, COL_PNP, q + QV_PP_UMQ_P2P), 20 * bar, NAN,
			   "col-pnp over ll, point to point, %s, %u", name, n);
		qv_pp_line(pp, "Q6", q == QV_PP_UMQ ? "3.34x" : "71x", "x",
			   gain(pp, row, LL, COL_LL, q + QV_PP_UMQ_P2P), NAN, NAN,
			   "col-ll over ll, point to point, %s, %u", name, n);
		qv_pp_line(pp, "auto", "", "x", gain(pp, row, LL, AUTO, q), NAN, NAN,
			   "auto over ll, %s, %u sources", name, n);
	}
}

void qv_pp_root(struct qv_pp *pp)
{
	for (uint32_t n = pp->quick ? 2048 : 512; n <= 2048; n *= 2) {
		struct qv_pp_trace t;
		char name[QV_BENCH_NAME];

		qv_pp_root_make(pp, &t, n);
		snprintf(name, sizeof(name), "root/%u", n);
		report_root(pp, qv_pp_measure(pp, name, &t, sides, SIDES, 1), n);
		qv_pp_trace_free(&t);
	}
}

/* What the thesis asks for next: lists of arrays and of vectors under the structures. */
void qv_pp_inner(struct qv_pp *pp)
{
	static const struct qv_pp_side inner[] = {
		{"clu", false},       {"clu:lla", false},       {"clu:llv", false},
		{"pnp:t=100", false}, {"pnp:lla,t=100", false}, {"pnp:llv,t=100", false},
		{"col-pnp", false},   {"col-pnp:lla", false},   {"col-pnp:llv", false},
	};
	const uint32_t n = pp->quick ? 512 : 2048;
	struct qv_pp_trace t;
	char name[QV_BENCH_NAME];
	size_t row;

	qv_pp_root_make(pp, &t, n);
	snprintf(name, sizeof(name), "inner/%u", n);
	row = qv_pp_measure(pp, name, &t, inner, sizeof(inner) / sizeof(inner[0]), 1);
	for (int i = 0; i < 9; i++) {
		if (i % 3 == 0)
			continue;
		for (int q = QV_PP_UMQ; q <= QV_PP_PRQ; q++)
			qv_pp_line(pp, "next", "", "x", gain(pp, row, i - i % 3, i, q), NAN, NAN,
				   "%s over %s, %s, %u sources", inner[i].structure,
				   inner[i - i % 3].structure, class_name[q], n);
	}
	qv_pp_trace_free(&t);
}
