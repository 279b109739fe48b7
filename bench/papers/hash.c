/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hash.c - the evaluation of Moraru et al., SBAC-PAD 2022: the four paths through one
 * hash table (hash) and through four (nm), shuffle and burst. Of their times, which are of whole
 * requests over a network, only the matching is measured here.
 */
#include "run.h"

#include <stdlib.h>

static const char *const path_name[] = {"post-miss", "arrive-hit", "arrive-miss", "post-hit"};

/* n keys, and the same keys in another order; what waits is found by the other. */
static struct qv_pp_trace make_four(uint32_t n)
{
	struct qv_pp_trace t = qv_pp_trace_new(path_name, 4);
	struct qv_pp_key *key = malloc(n * sizeof(*key));

	if (!key)
		abort();
	t.settings.sources = 501;
	for (uint32_t path = 0; path < 4; path++) {
		uint32_t *order = qv_pp_shuffled(&t, n);

		if (path % 2 == 0)
			for (uint32_t i = 0; i < n; i++)
				key[i] = (struct qv_pp_key){(uint64_t)qv_pp_draw(&t, 101) << 32 |
								    qv_pp_draw(&t, 101),
							    0, qv_pp_draw(&t, 501)};
		qv_pp_phase(&t, path % 3 == 0 ? QV_PP_POST : QV_PP_ARRIVE, 1u << path);
		for (uint32_t i = 0; i < n; i++) {
			const struct qv_pp_key *k = &key[path % 2 ? order[i] : i];

			qv_pp_op(&t, k->tag, 0, k->src);
		}
		free(order);
	}
	free(key);
	qv_pp_solve(&t);
	return t;
}

/* Of two rows the faster. */
static size_t better(const struct qv_pp *pp, size_t a, size_t b)
{
	return qv_pp_time(pp, a).value <= qv_pp_time(pp, b).value ? a : b;
}

static void report_path(struct qv_pp *pp, size_t row, int path, uint32_t n)
{
	static const double paper[4][2] = {{440, 440}, {300, 300}, {440, 1250}, {300, 420}};
	const size_t hash = row + (size_t)path, nm = hash + 4;
	char text[28];

	snprintf(text, sizeof(text), "%.0f ns", paper[path][0]);
	qv_pp_line(pp, "H1", text, "ns", qv_pp_time(pp, hash), NAN, paper[path][0],
		   "%s, %u keys, hash", path_name[path], n);
	snprintf(text, sizeof(text), "%.0f ns", paper[path][1]);
	qv_pp_line(pp, "H2", text, "ns", qv_pp_time(pp, nm), NAN, paper[path][1], "%s, %u keys, nm",
		   path_name[path], n);
	snprintf(text, sizeof(text), "%.2fx", paper[path][1] / paper[path][0]);
	qv_pp_line(pp, "H2/H1", text, "x", qv_pp_gain(pp, nm, hash), NAN, NAN,
		   "%s, %u keys, time of nm to hash", path_name[path], n);
	qv_pp_line(pp, "auto", "", "x", qv_pp_gain(pp, hash + 8, better(pp, hash, nm)), NAN, 1.05,
		   "%s, %u keys, time of auto to the better", path_name[path], n);
}

void qv_pp_four(struct qv_pp *pp)
{
	static const struct qv_pp_side sides[] = {{"hash", false}, {"nm", false}, {"auto", false}};

	for (uint32_t n = 1024; n <= (pp->quick ? 1024 : 16384); n *= 16) {
		struct qv_pp_trace t = make_four(n);
		char name[QV_BENCH_NAME];
		size_t row;

		snprintf(name, sizeof(name), "four/%u", n);
		row = qv_pp_measure(pp, name, &t, sides, 3, 1);
		for (int path = 0; path < 4; path++)
			report_path(pp, row, path, n);
		qv_pp_trace_free(&t);
	}
}

/* n receives with tags in order; messages in order (burst) or in random order (shuffle). */
static struct qv_pp_trace make_fill(uint32_t n, bool shuffle)
{
	static const char *const only[] = {""};
	struct qv_pp_trace t = qv_pp_trace_new(only, 1);
	uint32_t *order = qv_pp_shuffled(&t, n);

	t.settings.sources = 2;
	qv_pp_phase(&t, QV_PP_POST, 1);
	for (uint32_t i = 0; i < n; i++)
		qv_pp_op(&t, i, 0, 1);
	qv_pp_phase(&t, QV_PP_ARRIVE, 1);
	for (uint32_t i = 0; i < n; i++)
		qv_pp_op(&t, shuffle ? order[i] : i, 0, 1);
	free(order);
	qv_pp_solve(&t);
	return t;
}

void qv_pp_shuffle(struct qv_pp *pp)
{
	static const struct qv_pp_side sides[] = {{"ll", false}, {"hash", false}, {"auto", false}};
	const uint32_t largest = pp->quick ? 1024 : 4096;

	for (int shuffle = 0; shuffle <= 1; shuffle++) {
		const char *what = shuffle ? "shuffle" : "burst";

		for (uint32_t n = 64; n <= largest; n *= n < 1024 ? 16 : 4) {
			struct qv_pp_trace t = make_fill(n, shuffle);
			char name[QV_BENCH_NAME];
			struct qv_bench_interval hash;
			size_t row;

			snprintf(name, sizeof(name), "%s/%u", what, n);
			row = qv_pp_measure(pp, name, &t, sides, 3, 1);
			hash = qv_pp_gain(pp, row + 1, row);
			/* 93 % less time, at the size where it is most. */
			qv_pp_line(pp, what, shuffle ? "down to 0.07x" : "above 1", "x", hash, NAN,
				   shuffle && n == largest ? 0.07 : NAN, "time of hash to ll, %u",
				   n);
			qv_pp_line(pp, what, "", "x",
				   qv_pp_gain(pp, row + 2, better(pp, row, row + 1)), NAN, 1.05,
				   "time of auto to the better, %u", n);
			qv_pp_trace_free(&t);
		}
	}
}
