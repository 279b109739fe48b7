/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_fat_tree.c - which permutations meet on a link of a fat tree, and that each round of the
 * straight schedules is one of those that do not.
 *
 * A k-ary n-tree has k^n leaves and n levels of switches. A message goes up to the first switch
 * that is above its destination, by any way that is free there, and down by the only one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sched_case.h"

#define LEAVES 256
#define LEVELS 4

/* Which way messages are sent up. */
enum up {
	UP_ADAPTIVE, /* any that no other message of the switch has taken */
	UP_SOURCE,   /* by the digit of the source */
	UP_DESTINATION,
};

static uint64_t state = 88172645463325252u;

static uint32_t draw(uint32_t n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (uint32_t)((state >> 20) % n);
}

/* Switches of a level are numbered by the digits of a leaf below it, the lowest left out; a link up
 * replaces digit `level` of them, from the right. */
static uint32_t digit(uint32_t w, uint32_t k, uint32_t at)
{
	while (at--)
		w /= k;
	return w % k;
}

static uint32_t with_digit(uint32_t w, uint32_t k, uint32_t at, uint32_t d)
{
	uint32_t unit = 1;

	while (at--)
		unit *= k;
	return w - w / unit % k * unit + d * unit;
}

/* Levels that a message goes up: those at which the switches of its ends differ. */
static uint32_t height(uint32_t s, uint32_t d, uint32_t k)
{
	uint32_t h = 0;

	for (s /= k, d /= k; s != d; s /= k, d /= k)
		h++;
	return h;
}

/* The most messages on one link, if leaf s sends to to[s]. */
static uint32_t contention(const uint32_t *to, uint32_t leaves, uint32_t k, enum up up)
{
	static unsigned char used[LEVELS][LEAVES][8], down[LEVELS][LEAVES][8];
	uint32_t at[LEAVES], worst = 0;

	memset(used, 0, sizeof(used));
	memset(down, 0, sizeof(down));
	for (uint32_t s = 0; s < leaves; s++)
		at[s] = s / k;
	for (uint32_t level = 0; level < LEVELS; level++)
		for (uint32_t s = 0; s < leaves; s++) {
			uint32_t way = digit(up == UP_DESTINATION ? to[s] : s, k, level);

			if (to[s] == s || height(s, to[s], k) <= level)
				continue;
			if (up == UP_ADAPTIVE)
				for (way = draw(k); used[level][at[s]][way];)
					way = (way + 1) % k;
			if (++used[level][at[s]][way] > worst)
				worst = used[level][at[s]][way];
			at[s] = with_digit(at[s], k, level, way);
		}
	for (uint32_t s = 0; s < leaves; s++)
		for (uint32_t level = height(s, to[s], k); to[s] != s && level-- > 0;) {
			const uint32_t way = digit(to[s] / k, k, level);
			const uint32_t from = at[s];

			at[s] = with_digit(at[s], k, level, way);
			if (++down[level][from][way] > worst)
				worst = down[level][from][way];
		}
	return worst;
}

static uint32_t shift(uint32_t leaves, uint32_t by, enum up up)
{
	uint32_t to[LEAVES], worst = 0;

	for (uint32_t s = 0; s < leaves; s++)
		to[s] = (s + by) % leaves;
	for (int i = 0; i < 20; i++) {
		const uint32_t c = contention(to, leaves, 4, up);

		worst = c > worst ? c : worst;
	}
	return worst;
}

/* With ways up that any message may take, those by 1, 2 or 3 times a power of four; where the source or
 * the destination says which way, all. */
static void test_shifts(void **unused)
{
	static const uint32_t free_ones[] = {1, 2, 3, 4, 8, 12, 16, 32, 48};

	for (uint32_t by = 1; by < 64; by++) {
		int known = 0;

		for (size_t i = 0; i < sizeof(free_ones) / sizeof(free_ones[0]); i++)
			known |= by == free_ones[i] || by == 64 - free_ones[i];
		assert_int_equal(shift(64, by, UP_ADAPTIVE) == 1, known);
		assert_int_equal(shift(64, by, UP_SOURCE), 1);
		assert_int_equal(shift(64, by, UP_DESTINATION), 1);
	}
}

/* Rounds of schedules. */

/* Rounds in which messages meet: the i-th message of every rank is one round. places: the leaf of
 * each rank. */
static uint32_t contended(enum qv_coll coll, enum qv_algorithm algorithm, uint32_t P, uint32_t k,
			  const uint32_t *places)
{
	static struct qv_sched_case c;
	const struct qv_schedule_spec spec = {
		.coll = coll, .algorithm = algorithm, .ranks = P, .k = k};
	size_t n, next[LEAVES] = {0};
	uint32_t bad = 0;

	qv_sched_case_open(&c, &spec);
	for (uint32_t round = 0; round < P - 1; round++) {
		uint32_t to[LEAVES];

		for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
			to[leaf] = leaf;
		for (uint32_t r = 0; r < P; r++) {
			const struct qv_step *steps = qv_schedule_steps(c.all[r], &n);

			while (steps[next[r]].kind != QV_STEP_SEND &&
			       steps[next[r]].kind != QV_STEP_SEND_IN)
				next[r]++;
			to[places[r]] = places[steps[next[r]++].peer];
		}
		bad += contention(to, LEAVES, 4, UP_ADAPTIVE) > 1;
	}
	qv_sched_case_close(&c);
	return bad;
}

static void test_schedules(void **unused)
{
	static const uint32_t P[] = {56, 64, 128, 144, 192, 248, 256};
	uint32_t places[LEAVES];

	for (uint32_t i = 0; i < LEAVES; i++)
		places[i] = i;
	for (size_t i = 0; i < sizeof(P) / sizeof(P[0]); i++) {
		const int power = (P[i] & (P[i] - 1)) == 0;

		assert_int_equal(contended(QV_COLL_ALLGATHER, QV_ALG_KPREFIX, P[i], 8, places), 0);
		assert_int_equal(contended(QV_COLL_ALLGATHER, QV_ALG_KSHIFT, P[i], 8, places), 0);
		assert_int_equal(contended(QV_COLL_ALLGATHER, QV_ALG_RING, P[i], 0, places), 0);
		if (!power)
			continue;
		assert_int_equal(contended(QV_COLL_ALLGATHER, QV_ALG_PREFIX, P[i], 0, places), 0);
		assert_int_equal(contended(QV_COLL_ALLTOALL, QV_ALG_PREFIX, P[i], 0, places), 0);
	}
}

/* One leaf or two of the machine are missing: many rounds of shifts are still free, none of prefixes. */
static void test_missing(void **unused)
{
	static const struct {
		uint32_t P, first, second; /* leaves that are missing */
	} rows[] = {{128, 41, LEAVES}, {128, 41, 90}, {240, 41, LEAVES}};

	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		const uint32_t P = rows[row].P;
		uint32_t places[LEAVES], shifts, prefixes;

		for (uint32_t i = 0; i < P; i++)
			places[i] = i + (i >= rows[row].first) + (i + 1 >= rows[row].second);
		shifts = contended(QV_COLL_ALLGATHER, QV_ALG_KSHIFT, P, 8, places);
		prefixes = contended(QV_COLL_ALLGATHER, QV_ALG_KPREFIX, P, 8, places);
		print_message("%u ranks: %u rounds of kshift meet, %u of kprefix\n", P, shifts,
			      prefixes);
		assert_in_range(prefixes, P - 2, P - 1);
		assert_true(shifts > 0 && shifts < (P - 1) * 3 / 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_shifts),
					   cmocka_unit_test(test_schedules),
					   cmocka_unit_test(test_missing)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
