/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pnp.c - partners and non-partners (rows Q4, Q5 and Q8 of Ghazimirsaeed's thesis):
 * short queues, the parameters t and c, and what the structure costs besides searching.
 */
#include "run.h"

#include <stdlib.h>

static const char *const queue_name[] = {"umq", "prq"};

/* Q4: queues that never get long. */

static void fill_and_empty(struct qv_pp_trace *t, uint32_t n, int prq)
{
	uint32_t *order = qv_pp_shuffled(t, n);

	qv_pp_phase(t, prq ? QV_PP_POST : QV_PP_ARRIVE, 0);
	for (uint32_t i = 0; i < n; i++)
		qv_pp_op(t, i, 0, i % 26);
	qv_pp_phase(t, prq ? QV_PP_ARRIVE : QV_PP_POST, 1u << prq);
	for (uint32_t i = 0; i < n; i++)
		qv_pp_op(t, order[i], 0, order[i] % 26);
	free(order);
}

void qv_pp_q4(struct qv_pp *pp)
{
	static const struct qv_pp_side two[] = {{"ll", false}, {"pnp:t=100", false}};

	for (uint32_t n = 16; n <= 96; n += 40) {
		struct qv_pp_trace t = qv_pp_trace_new(queue_name, 2);
		char name[QV_BENCH_NAME];
		size_t row;

		t.settings.sources = 1024;
		/* Of many orders, or the processor learns the one there is by heart. */
		for (int i = 0; i < QV_PP_PHASES / 2; i++)
			fill_and_empty(&t, n, i % 2);
		qv_pp_solve(&t);
		snprintf(name, sizeof(name), "q4/%u", n);
		row = qv_pp_measure(pp, name, &t, two, 2, 1);
		for (size_t prq = 0; prq < 2; prq++)
			qv_pp_line(pp, "Q4", "no loss", "x",
				   qv_pp_gain(pp, row + prq, row + 2 + prq), 0.95, NAN,
				   "pnp over ll, %s, %u entries, below t", queue_name[prq], n);
		qv_pp_trace_free(&t);
	}
}

/* Q5: what t and c do. */

enum { LL, T25, T100, T400, T1600, NEVER, C1, C2, C4, C8, SIDES };

/* t with room for every source, then c at the usual t. */
static const struct qv_pp_side sweep[SIDES] = {
	[LL] = {"ll", false},
	[T25] = {"pnp:t=25,c=64", false},
	[T100] = {"pnp:t=100,c=64", false},
	[T400] = {"pnp:t=400,c=64", false},
	[T1600] = {"pnp:t=1600,c=64", false},
	[NEVER] = {"pnp:t=1000000", false},
	[C1] = {"pnp:t=100,c=1", false},
	[C2] = {"pnp:t=100,c=2", false},
	[C4] = {"pnp:t=100,c=4", false},
	[C8] = {"pnp:t=100,c=8", false},
};

static size_t at(size_t row, int side, int q)
{
	return row + (size_t)(side * QV_PP_ROOT_CLASSES + q);
}

static void report_sweep(struct qv_pp *pp, size_t row, int q)
{
	static const int by_c[] = {C1, C2, C4, C8, T100}, t_of[] = {0, 25, 100, 400, 1600};
	struct qv_bench_interval t;
	int best = T25, losses = 0;

	for (int i = 1; i < SIDES; i++)
		qv_pp_line(pp, "Q5", i == NEVER ? "1x" : "", "x",
			   qv_pp_gain(pp, at(row, LL, q), at(row, i, q)), i == NEVER ? 0.95 : NAN,
			   i == NEVER ? 1.05 : NAN, "%s over ll, %s, 1024 sources",
			   sweep[i].structure, queue_name[q]);
	for (int i = T100; i <= T1600; i++)
		if (qv_pp_gain(pp, at(row, best, q), at(row, i, q)).value > 1)
			best = i;
	/* Between those that are not surely slower. */
	t = qv_pp_exact(t_of[best]);
	for (int i = T25; i <= T1600; i++)
		if (i != best && qv_pp_gain(pp, at(row, best, q), at(row, i, q)).high >= 1) {
			t.low = t_of[i] < t.low ? t_of[i] : t.low;
			t.high = t_of[i] > t.high ? t_of[i] : t.high;
		}
	qv_pp_line(pp, "Q5", "100 (of 25 to 1600)", "", t, 100, 400, "best t, %s", queue_name[q]);
	/* A loss is one beyond what rounds of the same differ by. */
	for (int i = 1; i < 5; i++)
		losses += qv_pp_gain(pp, at(row, by_c[i - 1], q), at(row, by_c[i], q)).high < 0.95;
	qv_pp_line(pp, "Q5", "grows with c", "", qv_pp_exact(losses), NAN, 0,
		   "steps of c from 1 to 64 that lose, %s", queue_name[q]);
}

void qv_pp_q5(struct qv_pp *pp)
{
	struct qv_pp_trace t;
	size_t row;

	qv_pp_root_make(pp, &t, 1024);
	row = qv_pp_measure(pp, "q5", &t, sweep, SIDES, 1);
	qv_pp_trace_free(&t);
	for (int q = QV_PP_UMQ; q <= QV_PP_PRQ; q++)
		report_sweep(pp, row, q);
}

/* Q8: what the structure costs besides searching. */

/* Appends and the making of queues, beyond what ll needs, in the first iterations of a new engine;
 * to the time that ll searches: as many are searched for as are appended. */
static struct qv_bench_interval overhead(const struct qv_pp *pp, size_t row, int q)
{
	const struct qv_bench_row *ll = &pp->bench.rows[row];
	const struct qv_bench_row *own = &pp->bench.rows[row + QV_PP_ROOT_CLASSES];
	double extra[64], search[64];
	size_t append = (size_t)q + QV_PP_UMQ_APPEND, rounds = ll[append].rounds;

	if (!rounds || own[append].rounds != rounds || rounds > 64)
		return qv_pp_exact(NAN);
	for (size_t i = 0; i < rounds; i++) {
		extra[i] = own[append].medians[i] - ll[append].medians[i];
		search[i] = ll[q].medians[i];
	}
	return qv_bench_ratio(extra, search, rounds);
}

void qv_pp_q8(struct qv_pp *pp)
{
	static const struct qv_pp_side two[] = {{"ll", false}, {"col-pnp", false}};
	static const uint32_t sizes[] = {16, 64, 512, 1024, 2048};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char name[QV_BENCH_NAME];
		struct qv_pp_trace t;
		size_t row;

		if (pp->quick && sizes[i] == 512)
			continue;
		qv_pp_root_make(pp, &t, sizes[i]);
		snprintf(name, sizeof(name), "q8/%u", sizes[i]);
		row = qv_pp_measure(pp, name, &t, two, 2, sizes[i] < 512 ? -100 : -4);
		for (int q = QV_PP_UMQ; q <= QV_PP_PRQ; q++)
			qv_pp_line(pp, "Q8", sizes[i] < 512 ? ".0138 to .1563" : ".0020 to .0027",
				   "", overhead(pp, row, q), NAN, sizes[i] < 512 ? 0.16 : 0.005,
				   "overhead of col-pnp to search time, %s, %u", queue_name[q],
				   sizes[i]);
		qv_pp_trace_free(&t);
	}
}
