/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lists.c - one queue, filled and emptied in a certain order (microbenchmarks MB4 and
 * MB5 of Ghazimirsaeed's thesis, rows Q9 to Q13): list, list of arrays, list of vectors.
 */
#include "run.h"

#include <stdlib.h>
#include <string.h>

enum side { UMQ, PRQ };

static const char *const side_name[] = {"umq", "prq"};

/* middle: from n/2 to the end, then from n/2 - 1 down; outward: alternately around n/2. */
enum order { FORWARD, MIDDLE, OUTWARD, REVERSE };

static const char *const order_name[] = {"forward", "middle", "outward", "reverse"};

static uint32_t nth(enum order order, uint32_t k, uint32_t n)
{
	switch (order) {
	case FORWARD: return k;
	case MIDDLE: return k < n - n / 2 ? n / 2 + k : n - 1 - k;
	case OUTWARD: return k % 2 ? n / 2 - (k + 1) / 2 : n / 2 + k / 2;
	default: return n - 1 - k;
	}
}

static const char *const only[] = {""};

struct shape {
	enum side side;
	enum order order;
	uint32_t n;
	bool any_tag;     /* every other receive */
	bool own_sources; /* entry i is of source i, else all of one */
};

static uint64_t ignore_of(const struct shape *s, uint32_t i)
{
	return s->any_tag && i % 2 ? QV_PP_ANY_TAG : 0;
}

/* Fill the queue, then search it: what is timed is the searches. */
static struct qv_pp_trace make(const struct shape *s)
{
	struct qv_pp_trace t = qv_pp_trace_new(only, 1);

	t.settings.sources = s->own_sources ? s->n : 2;
	qv_pp_phase(&t, s->side == UMQ ? QV_PP_ARRIVE : QV_PP_POST, 0);
	for (uint32_t i = 0; i < s->n; i++)
		qv_pp_op(&t, i, s->side == PRQ ? ignore_of(s, i) : 0, s->own_sources ? i : 1);
	qv_pp_phase(&t, s->side == UMQ ? QV_PP_POST : QV_PP_ARRIVE, 1);
	for (uint32_t k = 0; k < s->n; k++) {
		uint32_t i = nth(s->order, k, s->n);

		qv_pp_op(&t, i, s->side == UMQ ? ignore_of(s, i) : 0, s->own_sources ? i : 1);
	}
	qv_pp_solve(&t);
	return t;
}

static size_t measure(struct qv_pp *pp, const char *id, const struct shape *s,
		      const struct qv_pp_side *sides, size_t n)
{
	struct qv_pp_trace t = make(s);
	char name[QV_BENCH_NAME];
	size_t row;

	snprintf(name, sizeof(name), "%s/%s/%s/%u", id, order_name[s->order], side_name[s->side],
		 s->n);
	row = qv_pp_measure(pp, name, &t, sides, n, 1);
	qv_pp_trace_free(&t);
	return row;
}

/*
 * MB5 as it was: one source, every other receive takes any tag, and with it the oldest message; the
 * others ask for the last that is left.
 */
static struct qv_pp_trace make_any_tag(uint32_t n)
{
	struct qv_pp_trace t = qv_pp_trace_new(only, 1);
	uint32_t last = n;

	t.settings.sources = 2;
	qv_pp_phase(&t, QV_PP_ARRIVE, 0);
	for (uint32_t i = 0; i < n; i++)
		qv_pp_op(&t, i, 0, 1);
	qv_pp_phase(&t, QV_PP_POST, 1);
	for (uint32_t k = 0; k < n; k++)
		qv_pp_op(&t, k % 2 ? 0 : --last, k % 2 ? QV_PP_ANY_TAG : 0, 1);
	qv_pp_solve(&t);
	return t;
}

/* MB4: slots visited, and times. */

void qv_pp_slots(struct qv_pp *pp)
{
	/* At 2048 entries, blocks of 2048 (lla); llv's blocks have 64. */
	static const struct {
		enum order order;
		double ll, lla, llv;
	} closed[] = {
		{FORWARD, 1, 1, 16},
		{MIDDLE, 768.8, 1024.5, 1032},
		{OUTWARD, 513, 1024.5, 1032},
		{REVERSE, 1024.5, 1024.5, 1032},
	};

	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++) {
		struct shape s = {.side = UMQ, .order = closed[i].order, .n = 2048};
		struct qv_pp_trace t = make(&s);
		const char *name = order_name[s.order];
		char paper[3][16];

		snprintf(paper[0], sizeof(paper[0]), "%.5g", closed[i].ll);
		snprintf(paper[1], sizeof(paper[1]), "%.5g", closed[i].lla);
		snprintf(paper[2], sizeof(paper[2]), "%.5g", closed[i].llv);
		qv_pp_line(pp, "MB4", paper[0], "", qv_pp_exact(qv_pp_inspected(pp, &t, "ll")),
			   0.99 * closed[i].ll, 1.01 * closed[i].ll, "slots visited, %s, ll", name);
		qv_pp_line(pp, "MB4", paper[1], "",
			   qv_pp_exact(qv_pp_inspected(pp, &t, "lla:block=2048")),
			   0.99 * closed[i].lla, 1.01 * closed[i].lla, "slots visited, %s, lla",
			   name);
		/* It may visit fewer: the head first, and thin blocks are merged. */
		qv_pp_line(pp, "MB4", paper[2], "", qv_pp_exact(qv_pp_inspected(pp, &t, "llv")),
			   NAN, 1.01 * closed[i].llv, "slots visited, %s, llv", name);
		qv_pp_trace_free(&t);
	}
}

void qv_pp_mb4(struct qv_pp *pp)
{
	static const struct qv_pp_side sides[] = {
		{"ll", false}, {"lla:block=2048", false}, {"llv", false}, {"auto", false}};

	for (int side = UMQ; side <= PRQ; side++) {
		for (int order = FORWARD; order <= REVERSE; order++) {
			struct shape s = {.side = side, .order = order, .n = 2048};
			size_t row = measure(pp, "mb4", &s, sides, 4);

			qv_pp_line(pp, "MB4", order == REVERSE ? "up to 35.3x" : "", "x",
				   qv_pp_gain(pp, row, row + 2), NAN, NAN,
				   "llv over ll, %s, %s, 2048", order_name[order], side_name[side]);
		}
	}
}

/* Q9 to Q13. */

void qv_pp_q9(struct qv_pp *pp)
{
	for (int side = UMQ; side <= PRQ; side++) {
		const struct qv_pp_side sides[] = {
			{"ll", true}, {side == UMQ ? "lla:block=3" : "lla:block=2", true}};

		for (uint32_t n = 1024; n <= (pp->quick ? 1024 : 4096); n *= 4) {
			struct shape s = {.side = side, .order = REVERSE, .n = n};
			size_t row = measure(pp, "q9", &s, sides, 2);

			qv_pp_line(pp, "Q9", side == UMQ ? "2.9x (FDS)" : "4.5x (FDS)", "x",
				   qv_pp_gain(pp, row, row + 1), 2.5, NAN,
				   "lla, a cache line a block, over ll, %s, %u", side_name[side],
				   n);
		}
	}
}

/* Of llv beside ll: the bound was set where a vector has 16 lanes. Those of AVX2 have 8, those of NEON 4, so
 * half or a quarter of it is asked for. Without vectors there is no bound. */
static double by_lanes(double bound)
{
	switch (qv_isa_best()) {
	case QV_ISA_SCALAR: return NAN;
	case QV_ISA_AVX2: return bound / 2;
	case QV_ISA_NEON: return bound / 4;
	default: return bound;
	}
}

static const struct qv_pp_side vectors[] = {
	{"ll", false}, {"llv", false}, {"ll", true}, {"llv", true}};

void qv_pp_q10(struct qv_pp *pp)
{
	for (int side = UMQ; side <= PRQ; side++) {
		struct shape s = {.side = side, .order = REVERSE, .n = 1024};
		size_t row = measure(pp, "q10", &s, vectors, 4);

		qv_pp_line(pp, "Q10", "up to 35.3x", "x", qv_pp_gain(pp, row, row + 1),
			   by_lanes(12), NAN, "llv over ll, reverse, %s, 1024 in order",
			   side_name[side]);
		qv_pp_line(pp, "Q10", "up to 35.3x", "x", qv_pp_gain(pp, row + 2, row + 3),
			   by_lanes(30), NAN, "llv over ll, reverse, %s, 1024 scattered",
			   side_name[side]);
	}
}

void qv_pp_q11(struct qv_pp *pp)
{
	static const struct qv_pp_side sides[] = {{"lla:block=2048", false}, {"llv", false}};

	for (int side = UMQ; side <= PRQ; side++) {
		uint32_t crossing = 0;

		for (uint32_t n = 4; n <= 256; n *= 2) {
			struct shape s = {.side = side, .order = REVERSE, .n = n};
			size_t row = measure(pp, "q11", &s, sides, 2);

			if (qv_pp_gain(pp, row, row + 1).value < 1)
				crossing = 0;
			else if (!crossing)
				crossing = n;
		}
		qv_pp_line(pp, "Q11", "lla short, llv long", "",
			   qv_pp_exact(crossing ? crossing : NAN), NAN, 64,
			   "entries from which llv beats lla, reverse, %s", side_name[side]);
	}
}

void qv_pp_q12(struct qv_pp *pp)
{
	static const struct qv_pp_side sides[] = {{"ll", false}, {"llv", false}, {"auto", false}};

	for (int side = UMQ; side <= PRQ; side++) {
		struct shape s = {.side = side, .order = FORWARD, .n = 1024};
		size_t row = measure(pp, "q12", &s, sides, 3);

		qv_pp_line(pp, "Q12", "slower than ll", "ns", qv_pp_time(pp, row + 1), NAN, 20,
			   "llv, forward, %s, 1024", side_name[side]);
		qv_pp_line(pp, "Q12", "", "x", qv_pp_gain(pp, row + 2, row), NAN, 1.3,
			   "time of auto to ll, forward, %s, 1024", side_name[side]);
	}
}

static void report_any_tag(struct qv_pp *pp, size_t row, const char *what)
{
	qv_pp_line(pp, "Q13", "far above ll", "x", qv_pp_gain(pp, row, row + 1), by_lanes(0.7 * 12),
		   NAN, "MB5: llv over ll, %s, in order", what);
	qv_pp_line(pp, "Q13", "far above ll", "x", qv_pp_gain(pp, row + 2, row + 3),
		   by_lanes(0.7 * 30), NAN, "MB5: llv over ll, %s, scattered", what);
}

void qv_pp_q13(struct qv_pp *pp)
{
	struct qv_pp_trace t = make_any_tag(1024);

	report_any_tag(pp, qv_pp_measure(pp, "mb5/umq/1024", &t, vectors, 4, 1), "umq");
	qv_pp_trace_free(&t);
	/* Each entry of a source of its own, so that all searches go from the last to the first. */
	for (int side = UMQ; side <= PRQ; side++) {
		struct shape s = {.side = side,
				  .order = REVERSE,
				  .n = 1024,
				  .any_tag = true,
				  .own_sources = true};

		report_any_tag(pp, measure(pp, "mb5-own", &s, vectors, 4),
			       side == UMQ ? "umq, own sources" : "prq, own sources");
	}
}
