/* SPDX-License-Identifier: BSD-2-Clause */
/* test_build.c - every schedule passes the check, and the check refuses wrong ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "sched_case.h"
#include "engine/schedule/schedule.h" /* to spoil a schedule */

static void prove(struct qv_sched_case *c)
{
	char why[160] = "";

	if (qv_schedule_check(&c->spec, c->all, why, sizeof(why)))
		fail_msg("%s: %s", qv_sched_case_name(&c->spec), why);
}

/* The schedules that are built all at once are those that are built one by one. */
static void prove_all_at_once(struct qv_sched_case *c)
{
	struct qv_schedule *all[QV_CASE_RANKS];

	prove(c);
	assert_int_equal(qv_schedule_build_all(&c->spec, all), QV_OK);
	for (uint32_t r = 0; r < c->spec.ranks; r++) {
		assert_int_equal(all[r]->n, c->all[r]->n);
		assert_int_equal(all[r]->blocks, c->all[r]->blocks);
		assert_memory_equal(all[r]->steps, c->all[r]->steps,
				    all[r]->n * sizeof(struct qv_step));
		qv_schedule_free(all[r]);
	}
}

static void test_all_are_right(void **state)
{
	for (uint32_t ranks = 1; ranks <= 20; ranks++) {
		qv_sched_each(ranks, prove_all_at_once);
		qv_sched_each_move(ranks, prove_all_at_once);
	}
	for (uint32_t ranks = 31; ranks <= 64; ranks += ranks == 31 ? 1 : 32) {
		qv_sched_each(ranks, prove);
		qv_sched_each_move(ranks, prove);
	}
}

static void test_radix_vectors(void **state)
{
	static const uint32_t vectors[][3] = {
		{4, 3, 1}, {3, 4, 1}, {2, 2, 2}, {4, 4, 8}, {128, 1, 1}};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
		for (int coll = QV_COLL_REDUCE; coll <= QV_COLL_REDUCE_SCATTER; coll++) {
			const uint32_t *k = vectors[i];
			struct qv_schedule_spec spec = {.coll = (enum qv_coll)coll,
							.algorithm = QV_ALG_RADIX,
							.ranks = k[0] * k[1] * k[2],
							.radix = k,
							.radix_n = k[1] == 1   ? 1
								   : k[2] == 1 ? 2
									       : 3,
							.ordered = 1};
			static struct qv_sched_case c;

			qv_sched_case_open(&c, &spec);
			prove(&c);
			qv_sched_case_close(&c);
		}
}

/* Any arrivals, many of them alike. */
static void arrivals(enum qv_coll coll, enum qv_algorithm algorithm, uint32_t ranks)
{
	static struct qv_sched_case c;
	static uint64_t x = 88172645463325252u;
	uint64_t arrive[64];
	struct qv_schedule_spec spec = {.coll = coll,
					.algorithm = algorithm,
					.ranks = ranks,
					.segments = 1 + (uint32_t)(x >> 30) % 20,
					.arrive = arrive,
					.round = 3};

	for (uint32_t r = 0; r < ranks; r++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		arrive[r] = (x >> 20) % (ranks % 3 ? 5 : 1000);
	}
	if (coll == QV_COLL_REDUCE || coll == QV_COLL_BROADCAST)
		spec.root = (uint32_t)(x >> 30) % ranks;
	qv_sched_case_open(&c, &spec);
	prove(&c);
	qv_sched_case_close(&c);
}

static void test_arrivals(void **state)
{
	for (uint32_t ranks = 1; ranks <= 64; ranks++) {
		for (int coll = QV_COLL_REDUCE; coll <= QV_COLL_REDUCE_SCATTER; coll++) {
			arrivals((enum qv_coll)coll, QV_ALG_CLAIRVOYANT, ranks);
			arrivals((enum qv_coll)coll, QV_ALG_SEGMENTED, ranks);
			arrivals((enum qv_coll)coll, QV_ALG_SEGMENTED, 1 + ranks % 9);
		}
		arrivals(QV_COLL_BROADCAST, QV_ALG_CLAIRVOYANT, ranks);
	}
}

/* The check sees what is wrong. */

static struct qv_sched_case spoiled;

static struct qv_step *step_of(uint32_t rank, enum qv_step_kind kind)
{
	struct qv_schedule *s = spoiled.all[rank];

	for (size_t i = 0; i < s->n; i++)
		if (s->steps[i].kind == kind)
			return &s->steps[i];
	fail_msg("rank %u has no such step", rank);
	return NULL;
}

static void spoil(enum qv_coll coll, enum qv_algorithm algorithm)
{
	const struct qv_schedule_spec spec = {.coll = coll, .algorithm = algorithm, .ranks = 8};

	qv_sched_case_open(&spoiled, &spec);
}

static void refused(const char *because)
{
	char why[160] = "";

	assert_int_equal(qv_schedule_check(&spoiled.spec, spoiled.all, why, sizeof(why)),
			 QV_EINVAL);
	if (!strstr(why, because))
		fail_msg("refused because '%s', not '%s'", why, because);
	qv_sched_case_close(&spoiled);
}

static void test_wrong_ones(void **state)
{
	spoil(QV_COLL_REDUCE, QV_ALG_BINOMIAL);
	step_of(1, QV_STEP_SEND)->tag++;
	refused("two ends");
	spoil(QV_COLL_REDUCE, QV_ALG_RING);
	step_of(3, QV_STEP_SEND)->first ^= 1;
	refused("two ends");
	spoil(QV_COLL_REDUCE, QV_ALG_BINOMIAL);
	step_of(0, QV_STEP_COMBINE)->kind = QV_STEP_STORE;
	refused("missing");
	spoil(QV_COLL_ALLREDUCE, QV_ALG_RING);
	step_of(2, QV_STEP_STORE)->kind = QV_STEP_COMBINE;
	refused("twice");
	spoil(QV_COLL_REDUCE, QV_ALG_PIPELINE);
	step_of(4, QV_STEP_SEND)->after = QV_STEP_NONE;
	refused("race");
	spoil(QV_COLL_REDUCE, QV_ALG_BUTTERFLY);
	step_of(5, QV_STEP_COMBINE)->blocks = 100;
	step_of(4, QV_STEP_SEND)->blocks = 100;
	refused("out of range");
	spoil(QV_COLL_GATHER, QV_ALG_BINOMIAL);
	step_of(3, QV_STEP_COPY)->first--;
	refused("does not have");
	spoil(QV_COLL_ALLTOALL, QV_ALG_DIRECT);
	step_of(3, QV_STEP_SEND_IN)->first ^= 1;
	refused("is block");
	spoil(QV_COLL_SCATTER, QV_ALG_DIRECT);
	step_of(0, QV_STEP_SEND)->first = 5;
	step_of(1, QV_STEP_STORE)->first = 5;
	refused("missing");
	spoil(QV_COLL_ALLGATHER, QV_ALG_DIRECT);
	step_of(1, QV_STEP_STORE)->first = 5;
	refused("two ends");
	spoil(QV_COLL_ALLTOALL, QV_ALG_HYPERCUBE);
	step_of(2, QV_STEP_MOVE)->from = 0;
	refused("which it does not have");
	spoil(QV_COLL_ALLTOALL, QV_ALG_HYPERCUBE);
	step_of(2, QV_STEP_SEND)->after = QV_STEP_NONE;
	refused("race");
	spoil(QV_COLL_ALLTOALL, QV_ALG_MESH3);
	step_of(2, QV_STEP_COPY)->from ^= 1;
	refused("is block");
	spoil(QV_COLL_ALLTOALL, QV_ALG_MESH2);
	step_of(2, QV_STEP_MOVE)->blocks = 100;
	refused("out of range");
	spoil(QV_COLL_ALLGATHER, QV_ALG_KSHIFT);
	step_of(2, QV_STEP_SEND)->blocks = 8;
	refused("two ends");
}

/* Rounds in which two pairs of ranks hear of nobody else. */
static void test_no_barrier(void **state)
{
	spoil(QV_COLL_BARRIER, QV_ALG_DISSEMINATION);
	for (uint32_t r = 0; r < 8; r++) {
		spoiled.all[r]->n = 3; /* the first round alone */
	}
	refused("may end before");
}

/* Every rank of a ring waits for the block of the next one before it sends its own. */
static void test_deadlock(void **state)
{
	spoil(QV_COLL_ALLREDUCE, QV_ALG_RING);
	for (uint32_t r = 0; r < 8; r++) {
		struct qv_step *send = step_of(r, QV_STEP_SEND), *receive = send + 1, was = *send;

		*send = *receive;
		*receive = was;
		receive->after = (uint32_t)(send - spoiled.all[r]->steps);
	}
	refused("never runs");
}

static void test_order_is_seen(void **state)
{
	spoil(QV_COLL_REDUCE, QV_ALG_BINOMIAL);
	spoiled.spec.ordered = 1;
	step_of(0, QV_STEP_COMBINE)->kind = QV_STEP_COMBINE_LEFT;
	refused("order");
}

static void refuse(struct qv_schedule_spec spec, uint32_t rank, int rc)
{
	struct qv_schedule *s = NULL;

	assert_int_equal(qv_schedule_build(&spec, rank, &s), rc);
	assert_null(s);
}

static void test_bad_input(void **state)
{
	const uint32_t k[] = {4, 3}, ones[] = {1, 8};
	struct qv_schedule_spec spec = {.ranks = 8};

	refuse(spec, 8, QV_EINVAL);
	spec.root = 8;
	refuse(spec, 0, QV_EINVAL);
	spec.root = 1;
	spec.coll = QV_COLL_ALLREDUCE;
	refuse(spec, 0, QV_EINVAL);
	spec.root = 0;
	spec.algorithm = QV_ALG_RADIX;
	spec.radix = k;
	spec.radix_n = 2;
	refuse(spec, 0, QV_EINVAL);
	spec.radix = ones;
	refuse(spec, 0, QV_EINVAL);
	spec.algorithm = QV_ALG_RING;
	spec.ordered = 1;
	refuse(spec, 0, QV_ENOSYS);
	spec.algorithm = QV_ALG_DISSEMINATION;
	refuse(spec, 0, QV_ENOSYS);
	spec.coll = QV_COLL_ALLTOALL;
	refuse(spec, 0, QV_ENOSYS);
	spec.algorithm = QV_ALG_DIRECT;
	spec.root = 1;
	refuse(spec, 0, QV_EINVAL);
	spec.root = 0;
	spec.coll = (enum qv_coll)QV_N_COLLS;
	refuse(spec, 0, QV_EINVAL);
	spec.coll = QV_COLL_REDUCE;
	assert_null(qv_coll_name((enum qv_coll)QV_N_COLLS));
	spec.algorithm = (enum qv_algorithm)QV_N_ALGORITHMS;
	refuse(spec, 0, QV_EINVAL);
	spec = (struct qv_schedule_spec){
		.ranks = 2, .algorithm = QV_ALG_CLAIRVOYANT, .arrive = (const uint64_t[]){1, 2}};
	refuse(spec, 0, QV_EINVAL); /* no round */
	spec.round = 1;
	spec.ordered = 1;
	refuse(spec, 0, QV_ENOSYS);
	spec = (struct qv_schedule_spec){.ranks = 0};
	refuse(spec, 0, QV_EINVAL);
	assert_null(qv_algorithm_name((enum qv_algorithm)QV_N_ALGORITHMS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_right), cmocka_unit_test(test_radix_vectors),
		cmocka_unit_test(test_wrong_ones),    cmocka_unit_test(test_arrivals),
		cmocka_unit_test(test_deadlock),      cmocka_unit_test(test_order_is_seen),
		cmocka_unit_test(test_bad_input),     cmocka_unit_test(test_no_barrier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
