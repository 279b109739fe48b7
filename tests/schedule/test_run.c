/* SPDX-License-Identifier: BSD-2-Clause */
/* test_run.c - schedules run over real data, events in many orders: sums are exact, and a
 * product of matrices, which does not commute, comes out in the order of ranks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/combine.h>

#include "sched_case.h"
#include "engine/schedule/schedule.h" /* whether blocks are of one length, what is a scan */

#define ROOM 512 /* elements */

/* Integers modulo 2^32; rows first. */
struct matrix {
	uint32_t m[4];
};

static struct matrix in[64][ROOM], work[64][ROOM], want[ROOM];

static void product(struct matrix *out, const struct matrix *a, const struct matrix *b)
{
	const struct matrix r = {
		{a->m[0] * b->m[0] + a->m[1] * b->m[2], a->m[0] * b->m[1] + a->m[1] * b->m[3],
		 a->m[2] * b->m[0] + a->m[3] * b->m[2], a->m[2] * b->m[1] + a->m[3] * b->m[3]}};

	*out = r;
}

static void products(void *context, void *dst, const void *a, const void *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		product((struct matrix *)dst + i, (const struct matrix *)a + i,
			(const struct matrix *)b + i);
}

/* Four sums per element. */
static void sums(void *context, void *dst, const void *a, const void *b, size_t count)
{
	assert_int_equal(qv_combine_to(context, QV_OP_SUM, QV_TYPE_UINT32, dst, a, b, 4 * count),
			 QV_OK);
}

static void fill(uint32_t ranks, size_t count)
{
	for (uint32_t r = 0; r < ranks; r++)
		for (size_t i = 0; i < count; i++)
			for (uint32_t j = 0; j < 4; j++)
				in[r][i].m[j] =
					(uint32_t)(r * 2654435761u + i * 40503u + j * 7 + 1);
}

/* What is wanted is from now on of this rank, too. */
static void want_rank(uint32_t rank, size_t count, int ordered)
{
	for (size_t i = 0; i < count; i++) {
		if (!rank)
			want[i] = in[0][i];
		else if (ordered)
			product(&want[i], &want[i], &in[rank][i]);
		for (uint32_t j = 0; j < 4 && rank && !ordered; j++)
			want[i].m[j] += in[rank][i].m[j];
	}
}

/* The part of the vector in which a rank has its result. */
static void result_of(const struct qv_schedule_spec *spec, uint32_t rank, size_t count,
		      size_t *begin, size_t *end)
{
	*begin = spec->coll == QV_COLL_REDUCE_SCATTER ? rank * count / spec->ranks : 0;
	*end = spec->coll == QV_COLL_REDUCE_SCATTER ? (rank + 1) * count / spec->ranks : count;
	if ((spec->coll == QV_COLL_REDUCE && rank != spec->root) ||
	    (spec->coll == QV_COLL_EXSCAN && !rank))
		*end = 0;
}

static void check_rank(const struct qv_sched_case *c, uint32_t rank, size_t count, uint64_t seed)
{
	size_t begin, end;

	result_of(&c->spec, rank, count, &begin, &end);
	for (size_t i = begin; i < end; i++)
		if (memcmp(&work[rank][i], &want[i], sizeof(want[i])))
			fail_msg("%s: rank %u: element %zu of %zu, seed %u",
				 qv_sched_case_name(&c->spec), rank, i, count, (unsigned int)seed);
	assert_int_equal(work[rank][count].m[0], 0xeeeeeeee);
}

static void run_with(struct qv_sched_case *c, size_t count, uint64_t seed, int in_place)
{
	const struct qv_combine *combine;
	struct qv_local_run run = {.reduce = c->spec.ordered ? products : sums,
				   .item = sizeof(struct matrix),
				   .count = count,
				   .seed = seed};
	const void *from[64];
	void *to[64];

	assert_int_equal(qv_combine_open(QV_ISA_AUTO, &combine), QV_OK);
	run.context = (void *)(uintptr_t)combine;
	if (c->spec.coll == QV_COLL_EXSCAN)
		in_place = 0; /* it keeps its contribution to the end */
	fill(c->spec.ranks, count);
	memset(work, 0xee, sizeof(work));
	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		to[r] = work[r];
		from[r] = in_place ? work[r] : in[r];
		if (in_place)
			memcpy(work[r], in[r], count * sizeof(in[r][0]));
	}
	assert_int_equal(qv_schedule_run_local(&run, c->all, c->spec.ranks, from, to), QV_OK);
	for (uint32_t r = 0; r < c->spec.ranks && !qv_is_scan(c->spec.coll); r++)
		want_rank(r, count, c->spec.ordered);
	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		if (c->spec.coll == QV_COLL_SCAN)
			want_rank(r, count, c->spec.ordered);
		check_rank(c, r, count, seed);
		if (c->spec.coll == QV_COLL_EXSCAN)
			want_rank(r, count, c->spec.ordered);
	}
}

static void move_with(struct qv_sched_case *c, size_t count, uint64_t seed)
{
	const struct qv_local_run run = {
		.item = sizeof(struct matrix), .count = count, .seed = seed};
	const void *from[64];
	void *to[64];

	fill(c->spec.ranks, count);
	memset(work, 0xee, sizeof(work));
	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		to[r] = work[r];
		from[r] = in[r];
	}
	assert_int_equal(qv_schedule_run_local(&run, c->all, c->spec.ranks, from, to), QV_OK);
	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		qv_sched_check_moved(&c->spec, r, count, sizeof(want[0]), work[r], from);
		assert_int_equal(work[r][count].m[0], 0xeeeeeeee);
	}
}

static void move_all(struct qv_sched_case *c)
{
	const size_t P = c->spec.ranks;

	move_with(c, 0, 1);
	move_with(c, 3 * P, 2);
	move_with(c, 5 * P, 3);
	if (qv_count_fits(c->all[0], 2 * P + P / 2))
		move_with(c, 2 * P + P / 2, 4);
}

/* Lengths that blocks divide, that they do not, and that leave blocks empty. */
static void run_all(struct qv_sched_case *c)
{
	run_with(c, 0, 1, 0);
	run_with(c, 1, 2, 0);
	run_with(c, 101, 3, 1);
	for (uint64_t seed = 0; seed < 3; seed++)
		run_with(c, 3 * (size_t)c->spec.ranks + 1, seed, 0);
}

static void test_run(void **state)
{
	for (uint32_t ranks = 1; ranks <= 12; ranks++)
		qv_sched_each(ranks, run_all);
	qv_sched_each(17, run_all);
	qv_sched_each(32, run_all);
	qv_sched_each(60, run_all);
}

static void test_move(void **state)
{
	for (uint32_t ranks = 1; ranks <= 20; ranks++)
		qv_sched_each_move(ranks, move_all);
	qv_sched_each_move(60, move_all);
}

static void test_do_not_fit(void **state)
{
	const struct qv_schedule_spec spec = {.ranks = 4},
				      other = {.ranks = 4, .algorithm = QV_ALG_DIRECT};
	struct qv_sched_case a, b;
	const struct qv_local_run run = {.reduce = products, .item = 16, .count = 1};
	const void *from[4] = {in[0], in[1], in[2], in[3]};
	void *to[4] = {work[0], work[1], work[2], work[3]};
	struct qv_schedule *mixed[4];

	qv_sched_case_open(&a, &spec);
	qv_sched_case_open(&b, &other);
	memcpy(mixed, a.all, sizeof(mixed));
	mixed[2] = b.all[2];
	assert_int_equal(qv_schedule_run_local(&run, mixed, 4, from, to), QV_EINVAL);
	mixed[2] = a.all[1];
	assert_int_equal(qv_schedule_run_local(&run, mixed, 4, from, to), QV_EINVAL);
	qv_sched_case_close(&a);
	qv_sched_case_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_run), cmocka_unit_test(test_move),
					   cmocka_unit_test(test_do_not_fit)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
