/* SPDX-License-Identifier: BSD-2-Clause */
/* test_blocks.c - runs on blocks with lengths of their own, in places of their own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/schedule.h>

#include "tests/net/tagged.h"

#define RANKS 21
#define MOST  40 /* bytes of a block */
#define ROOM  65536

struct rank {
	struct qv_end end;
	struct qv_schedule *schedule;
	struct qv_run *run;
	size_t at[ROOM / 16], bytes[ROOM / 16], in_at[RANKS], in_bytes[RANKS];
	struct qv_run_blocks blocks;
	unsigned char in[2 * RANKS * MOST], work[2 * RANKS * MOST], temp[ROOM];
};

static struct rank ranks[RANKS];
static size_t length[RANKS][RANKS]; /* of what the first has for the second */

static void over(struct qv_end at, uint32_t step, size_t bytes, int status)
{
	qv_run_done(ranks[at.rank].run, step, status);
}

static const struct qv_port calls = {qv_tagged_send, qv_tagged_receive};

static unsigned char value(uint32_t from, uint32_t to, size_t i)
{
	return (unsigned char)(from * 31 + to * 17 + i * 7 + 3);
}

/* Where each block is: one behind the other, or with room between them, backwards. */
static void lay_out(size_t *at, const size_t *bytes, uint32_t n, int spread)
{
	size_t next = spread;

	for (uint32_t k = 0; k < n; k++) {
		const uint32_t i = spread ? n - 1 - k : k;

		at[i] = next;
		next += bytes[i] + (size_t)spread;
	}
}

static void open_rank(struct rank *r, const struct qv_schedule_spec *spec, int spread)
{
	const int all = spec->coll == QV_COLL_ALLTOALL;
	const uint32_t n = all ? spec->ranks : 1;
	size_t at = 0;

	assert_int_equal(qv_schedule_build(spec, r->end.rank, &r->schedule), QV_OK);
	assert_int_equal(qv_run_create(r->schedule, &calls, r, &r->run), QV_OK);
	for (uint32_t i = 0; i < n; i++)
		r->in_bytes[i] = length[r->end.rank][all ? i : 0];
	for (uint32_t i = 0; i < spec->ranks; i++)
		r->bytes[i] = length[i][all ? r->end.rank : 0];
	lay_out(r->in_at, r->in_bytes, n, spread);
	lay_out(r->at, r->bytes, spec->ranks, spread);
	assert_int_equal(qv_schedule_lengths(r->schedule, r->in_bytes, 0, r->bytes), 0);
	for (uint32_t i = 0; i < qv_schedule_scratch(r->schedule); i++) {
		r->at[spec->ranks + i] = at;
		at += r->bytes[spec->ranks + i];
	}
	assert_true(at <= ROOM);
	memset(r->work, 0xEE, sizeof(r->work));
	for (uint32_t i = 0; i < n; i++)
		for (size_t k = 0; k < r->in_bytes[i]; k++)
			r->in[r->in_at[i] + k] = value(r->end.rank, all ? i : 0, k);
	r->blocks = (struct qv_run_blocks){r->at, r->bytes, r->in_at, r->in_bytes};
}

/* Every byte of every block, and none beside them. */
static void check(const struct rank *r, const struct qv_schedule_spec *spec)
{
	const int all = spec->coll == QV_COLL_ALLTOALL;
	size_t written = 0, right = 0;

	for (uint32_t i = 0; i < spec->ranks; i++)
		for (size_t k = 0; k < r->bytes[i]; k++, right++)
			if (r->work[r->at[i] + k] != value(i, all ? r->end.rank : 0, k))
				fail_msg("algorithm %d, %u ranks: rank %u, block %u is wrong",
					 (int)spec->algorithm, spec->ranks, r->end.rank, i);
	for (size_t i = 0; i < sizeof(r->work); i++)
		written += r->work[i] != 0xEE;
	assert_true(written <= right);
}

static void run(const struct qv_schedule_spec *spec, int spread)
{
	uint32_t over = 0;

	for (uint32_t i = 0; i < spec->ranks; i++) {
		const struct rank *r = &ranks[i];
		const struct qv_run_data data = {.in = r->in,
						 .work = (void *)r->work,
						 .temp = (void *)r->temp,
						 .blocks = &r->blocks};

		ranks[i].end.rank = i;
		open_rank(&ranks[i], spec, spread);
		assert_int_equal(qv_run_start(r->run, &data), QV_OK);
	}
	for (int turns = 0; over < spec->ranks; turns++) {
		over = 0;
		for (uint32_t i = 0; i < spec->ranks; i++)
			over += qv_run_progress(ranks[i].run) == QV_OK;
		while (qv_tagged_deliver())
			;
		assert_true(turns < 10000);
	}
	assert_int_equal(qv_tagged_n(), 0);
	for (uint32_t i = 0; i < spec->ranks; i++) {
		check(&ranks[i], spec);
		qv_run_free(ranks[i].run);
		qv_schedule_free(ranks[i].schedule);
	}
}

static void draw_lengths(uint32_t n, unsigned int seed)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n; k++)
			length[i][k] = (i * 7 + k * 13 + seed * 5) % 4
					       ? (i * 11 + k * 3 + seed) % MOST
					       : 0;
}

static void test_allgather(void **unused)
{
	for (uint32_t n = 1; n <= RANKS; n++)
		for (int a = 0; a < QV_N_ALGORITHMS; a++) {
			const struct qv_schedule_spec spec = {.coll = QV_COLL_ALLGATHER,
							      .algorithm = (enum qv_algorithm)a,
							      .ranks = n};

			draw_lengths(n, n + (unsigned int)a);
			if (qv_schedule_exists(spec.coll, spec.algorithm, 0))
				run(&spec, 0);
		}
}

/* Schedules whose steps are of one block each take blocks wherever they are. */
static void test_anywhere(void **unused)
{
	for (uint32_t n = 1; n <= RANKS; n++) {
		struct qv_schedule_spec spec = {
			.coll = QV_COLL_ALLTOALL, .algorithm = QV_ALG_DIRECT, .ranks = n};

		draw_lengths(n, n);
		run(&spec, 3);
		spec.algorithm = QV_ALG_PREFIX;
		run(&spec, 3);
		spec.coll = QV_COLL_ALLGATHER;
		spec.algorithm = QV_ALG_RING;
		run(&spec, 3);
	}
}

/* Others say that they do not. */
static void test_refused(void **unused)
{
	static const size_t apart[8] = {0, 100, 200, 300, 400, 500, 600, 700};
	static const size_t ten[8] = {10, 10, 10, 10, 10, 10, 10, 10};
	static const enum qv_coll colls[2] = {QV_COLL_ALLGATHER, QV_COLL_ALLREDUCE};
	const struct qv_run_blocks blocks = {apart, ten, apart, ten};
	const struct qv_run_data data = {.blocks = &blocks};

	for (int i = 0; i < 2; i++) {
		const struct qv_schedule_spec spec = {.coll = colls[i],
						      .algorithm = i ? QV_ALG_BINOMIAL
								     : QV_ALG_DISSEMINATION,
						      .ranks = 8};
		struct qv_schedule *s;
		struct qv_run *r;

		assert_int_equal(qv_schedule_build(&spec, 0, &s), QV_OK);
		assert_int_equal(qv_run_create(s, &calls, NULL, &r), QV_OK);
		assert_int_equal(qv_run_start(r, &data), QV_EINVAL);
		qv_run_free(r);
		qv_schedule_free(s);
	}
}

/* The root of a scatter sends from where its blocks are, if these are said to be both. */
static void test_in_place(void **unused)
{
	static const size_t apart[8] = {700, 100, 200, 300, 400, 500, 600, 0};
	static const size_t again[8] = {700, 100, 200, 300, 400, 500, 600, 0};
	static const size_t ten[8] = {10, 10, 10, 10, 10, 10, 10, 10};
	static char one[710], other[710];
	const struct {
		const size_t *in_at;
		void *work;
		int rc;
	} cases[] = {{apart, one, QV_OK}, {apart, other, QV_EINVAL}, {again, one, QV_EINVAL}};
	const struct qv_schedule_spec spec = {
		.coll = QV_COLL_SCATTER, .algorithm = QV_ALG_DIRECT, .ranks = 8};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct qv_run_blocks blocks = {apart, ten, cases[i].in_at, ten};
		const struct qv_run_data data = {
			.in = one, .work = cases[i].work, .blocks = &blocks};
		struct qv_schedule *s;
		struct qv_run *r;

		assert_int_equal(qv_schedule_build(&spec, 0, &s), QV_OK);
		assert_int_equal(qv_run_create(s, &calls, NULL, &r), QV_OK);
		assert_int_equal(qv_run_start(r, &data), cases[i].rc);
		qv_run_free(r);
		qv_schedule_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allgather), cmocka_unit_test(test_anywhere),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_in_place)};

	qv_tagged = (struct qv_tagged){.over = over, .exact = true};
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
