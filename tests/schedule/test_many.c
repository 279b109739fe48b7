/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_many.c - many cases: segmented schedules of random groups, exact sums of all
 * algorithms at all roots, lengths in rounds.
 *
 *     test_schedule_many [slow]      slow: the sizes of the literature, minutes
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sched_case.h"

static int slow;
static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (state >> 20) % below;
}

static struct qv_schedule *all[QV_CASE_RANKS];
static uint64_t arrive[QV_CASE_RANKS];

static void build_all(const struct qv_schedule_spec *spec)
{
	if (qv_schedule_build_all(spec, all))
		fail_msg("%s: cannot be built", qv_sched_case_name(spec));
}

static void free_all(uint32_t ranks)
{
	for (uint32_t r = 0; r < ranks; r++)
		qv_schedule_free(all[r]);
}

/* All at once, one late, some late, every second one, any. */
static void draw_arrivals(uint32_t ranks, uint64_t most)
{
	const uint64_t kind = draw(5);

	memset(arrive, 0, ranks * sizeof(*arrive));
	for (uint32_t r = 0; r < ranks; r++)
		if ((kind == 2 && draw(8) == 0) || (kind == 3 && r % 2))
			arrive[r] = most;
		else if (kind == 4)
			arrive[r] = draw(most + 1);
	if (kind == 1)
		arrive[draw(ranks)] = most;
}

/* Segmented schedules of random groups. */

static void test_random_groups(void **unused)
{
	const uint32_t cases = slow ? 20000 : 400;
	char why[160] = "";

	for (uint32_t i = 0; i < cases; i++) {
		/* Large groups take most of the time: one in fifty is. */
		const uint32_t most = i % 50 ? 64 : slow ? 512 : 128;
		struct qv_schedule_spec spec = {.algorithm = QV_ALG_SEGMENTED,
						.coll = (enum qv_coll)draw(3),
						.ranks = 1 + (uint32_t)draw(most),
						.segments = 1 + (uint32_t)draw(40),
						.arrive = arrive,
						.round = 1 + draw(20)};

		if (spec.coll == QV_COLL_REDUCE)
			spec.root = (uint32_t)draw(spec.ranks);
		draw_arrivals(spec.ranks, spec.round * draw(100));
		build_all(&spec);
		if (qv_schedule_check(&spec, all, why, sizeof(why)))
			fail_msg("case %u, %s: %s", i, qv_sched_case_name(&spec), why);
		free_all(spec.ranks);
	}
}

/* Exact sums at every root. */

#define COUNT 101 /* that no number of segments divides */

static uint32_t in[64][COUNT], work[64][COUNT];

static void add(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const uint32_t *x = a, *y = b;
	uint32_t *d = dst;

	for (size_t i = 0; i < count; i++)
		d[i] = x[i] + y[i];
}

static void sum_at(const struct qv_schedule_spec *spec)
{
	const struct qv_local_run run = {
		.reduce = add, .item = sizeof(in[0][0]), .count = COUNT, .seed = draw(1000)};
	const void *from[64];
	void *to[64];

	for (uint32_t r = 0; r < spec->ranks; r++) {
		from[r] = in[r];
		to[r] = work[r];
	}
	build_all(spec);
	assert_int_equal(qv_schedule_run_local(&run, all, spec->ranks, from, to), QV_OK);
	for (size_t i = 0; i < COUNT; i++) {
		uint32_t want = 0;

		for (uint32_t r = 0; r < spec->ranks; r++)
			want += in[r][i];
		if (work[spec->root][i] != want)
			fail_msg("%s: element %zu", qv_sched_case_name(spec), i);
	}
	free_all(spec->ranks);
}

static void test_sums(void **unused)
{
	for (uint32_t P = 2; P <= 64; P += slow || P < 8 ? 1 : 11) {
		const uint32_t step = slow || P < 8 ? 1 : P / 3;

		for (uint32_t r = 0; r < P; r++)
			for (size_t i = 0; i < COUNT; i++)
				in[r][i] = (uint32_t)draw(1u << 31);
		for (uint32_t root = 0; root < P; root += step)
			for (int algorithm = 0; algorithm < QV_N_ALGORITHMS; algorithm++) {
				const struct qv_schedule_spec spec = {
					.algorithm = (enum qv_algorithm)algorithm,
					.ranks = P,
					.root = root,
					.segments = 1 + (uint32_t)draw(30),
					.arrive = arrive,
					.round = 3};

				if (!qv_schedule_exists(spec.coll, spec.algorithm, 0))
					continue;
				draw_arrivals(P, 60);
				sum_at(&spec);
			}
	}
}

/* Lengths. */

/* In rounds, from arrivals in halves of a round. */
static double rounds_of(struct qv_schedule_spec spec)
{
	static const struct qv_network net = {.alpha = 1, .beta = 0, .gamma = 0};
	double at[QV_CASE_RANKS], leave[QV_CASE_RANKS], last = 0;

	spec.round = 2;
	build_all(&spec);
	for (uint32_t r = 0; r < spec.ranks; r++)
		at[r] = (double)arrive[r] / 2;
	assert_int_equal(qv_schedule_time(&net, all, spec.ranks, 0, at, leave), QV_OK);
	for (uint32_t r = 0; r < spec.ranks; r++)
		last = fmax(last, leave[r]);
	free_all(spec.ranks);
	return last;
}

static double segmented(uint32_t P, uint32_t N, int knows)
{
	return rounds_of((struct qv_schedule_spec){.algorithm = QV_ALG_SEGMENTED,
						   .ranks = P,
						   .segments = N,
						   .arrive = knows ? arrive : NULL});
}

/* n + N - 1 rounds; of other numbers of ranks, sometimes one more. */
static void test_lengths(void **unused)
{
	const uint32_t most = slow ? 512 : 64;

	memset(arrive, 0, sizeof(arrive));
	for (uint32_t P = 4; P <= most; P *= 2)
		for (uint32_t N = 4; N <= most; N *= 2)
			assert_float_equal(segmented(P, N, 0), log2(P) + N - 1, 1e-9);
	for (uint32_t P = 2; P <= 70; P += slow ? 1 : 9)
		for (uint32_t N = 1; N <= 33; N += slow ? 1 : 8)
			assert_true(segmented(P, N, 0) <= ceil(log2(P)) + N);
}

/* One of 128 late by a share of the time: how near to what cannot be beaten; never slower than the
 * schedule that does not know it. */
static void test_one_late(void **unused)
{
	static const struct {
		uint32_t N;
		double share, most;
	} cases[] = {{16, .25, 1.12}, {16, .5, 1},   {16, 1, 1},   {16, 2, 1},
		     {40, .25, 1},    {40, .5, 1},   {40, 1, 1},   {40, 2, 1},
		     {8, .25, 1.11},  {8, .5, 1.11}, {8, 1, 1.11}, {8, 2, 1.11}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint32_t N = cases[i].N;
		const double rounds = 7 + N - 1;
		double late, best, knows;

		memset(arrive, 0, sizeof(arrive));
		arrive[127] = (uint64_t)(2 * cases[i].share * rounds + .5);
		late = (double)arrive[127] / 2;
		best = fmax(rounds, late + N);
		knows = segmented(128, N, 1);
		print_message("%u segments, late by %.2f of the time: %.3f\n", N, cases[i].share,
			      knows / best);
		assert_true(knows <= (cases[i].most + .0001) * best);
		assert_true(knows <= segmented(128, N, 0));
	}
}

/* A tree of a power of two absorbs nothing of any arrivals. */
static void test_tree_absorbs_nothing(void **unused)
{
	for (uint32_t n = 1; n <= 8; n++)
		for (int i = 0; i < (slow ? 200 : 10); i++) {
			uint64_t last = 0;

			memset(arrive, 0, sizeof(arrive));
			draw_arrivals(1u << n, 40);
			for (uint32_t r = 0; r < 1u << n; r++)
				last = arrive[r] > last ? arrive[r] : last;
			assert_true(rounds_of((struct qv_schedule_spec){
					    .algorithm = QV_ALG_BINOMIAL, .ranks = 1u << n}) <=
				    (double)last / 2 + n);
		}
}

/* The whole schedule of four ranks and four segments, round by round. */
static void test_four_by_four(void **unused)
{
	/* by rank, then round: to whom, which; from whom, which; 9: nothing. + 10: stored */
	static const unsigned char want[4][5][4] = {
		{{1, 1, 1, 0}, {2, 2, 2, 0}, {1, 3, 11, 1}, {9, 9, 12, 2}, {9, 9, 11, 3}},
		{{0, 0, 0, 1}, {3, 2, 3, 1}, {0, 1, 0, 3}, {9, 9, 3, 3}, {0, 3, 9, 9}},
		{{3, 1, 3, 0}, {0, 0, 0, 2}, {3, 3, 3, 2}, {0, 2, 9, 9}, {9, 9, 9, 9}},
		{{2, 0, 2, 1}, {1, 1, 1, 2}, {2, 2, 2, 3}, {1, 3, 9, 9}, {9, 9, 9, 9}},
	};
	const struct qv_schedule_spec spec = {
		.algorithm = QV_ALG_SEGMENTED, .ranks = 4, .segments = 4};

	build_all(&spec);
	for (uint32_t r = 0; r < 4; r++) {
		unsigned char got[6][4];
		size_t n, round = 0;
		const struct qv_step *steps = qv_schedule_steps(all[r], &n);

		memset(got, 9, sizeof(got));
		for (size_t i = 2; i < n; i++) { /* behind the copy and its fence */
			const struct qv_step *s = &steps[i];

			assert_true(round < 5);
			if (s->kind == QV_STEP_FENCE) {
				round++;
				continue;
			}
			got[round][s->kind == QV_STEP_SEND ? 0 : 2] =
				(unsigned char)(s->peer + (s->kind == QV_STEP_STORE ? 10 : 0));
			got[round][s->kind == QV_STEP_SEND ? 1 : 3] = (unsigned char)s->first;
		}
		assert_memory_equal(got, want[r], sizeof(want[r]));
	}
	free_all(4);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_groups),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_one_late),
		cmocka_unit_test(test_tree_absorbs_nothing),
		cmocka_unit_test(test_four_by_four),
	};

	slow = argc > 1 && !strcmp(argv[1], "slow");
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
