/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_exchange_counts.c - alltoall and allgather: how many messages each rank sends and gets, as
 * has been published; counted where a network would be asked for them. Every block where it belongs
 * for every number of ranks to 33, or to 256: `slow I N` is the I-th of N parts of that.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sched_case.h"

static int slow;
static uint32_t part, parts = 1; /* of the numbers of ranks */

static uint32_t root_of(uint32_t P, int n)
{
	uint32_t c = 1;

	while ((n == 2 ? c * c : c * c * c) < P)
		c++;
	return c;
}

/* Counted at the network. */

struct counter {
	uint64_t sends, receives, bytes;
	struct qv_run *run;
	uint32_t steps[4096];
	size_t n;
};

/* All that is asked for comes; what is in it plays no part. */
static int count_send(void *port, uint32_t step, uint32_t peer, uint32_t tag, const void *buf,
		      size_t bytes)
{
	struct counter *c = port;

	c->sends++;
	c->bytes += bytes;
	c->steps[c->n++] = step;
	return QV_OK;
}

static int count_receive(void *port, uint32_t step, uint32_t peer, uint32_t tag, void *buf,
			 size_t bytes)
{
	struct counter *c = port;

	c->receives++;
	c->steps[c->n++] = step;
	return QV_OK;
}

static struct counter count(struct qv_schedule_spec spec, uint32_t rank)
{
	static const struct qv_port calls = {count_send, count_receive};
	static char in[4096], work[4096], temp[1 << 16];
	struct counter c = {0};
	struct qv_schedule *s;
	const struct qv_run_data data = {
		.item = 1, .count = spec.ranks, .in = in, .work = work, .temp = temp};

	assert_int_equal(qv_schedule_build(&spec, rank, &s), QV_OK);
	assert_true(qv_schedule_scratch(s) <= sizeof(temp));
	assert_int_equal(qv_run_create(s, &calls, &c, &c.run), QV_OK);
	assert_int_equal(qv_run_start(c.run, &data), QV_OK);
	while (qv_run_progress(c.run) == QV_EAGAIN)
		while (c.n)
			qv_run_done(c.run, c.steps[--c.n], QV_OK);
	qv_run_free(c.run);
	qv_schedule_free(s);
	return c;
}

struct most {
	uint64_t sends, receives, all_sends, all_receives;
};

static struct most most_of(enum qv_coll coll, enum qv_algorithm algorithm, uint32_t P, uint32_t k)
{
	const struct qv_schedule_spec spec = {
		.coll = coll, .algorithm = algorithm, .ranks = P, .k = k};
	struct most most = {0};

	for (uint32_t r = 0; r < P; r++) {
		const struct counter c = count(spec, r);

		most.all_sends += c.sends;
		most.all_receives += c.receives;
		most.sends = c.sends > most.sends ? c.sends : most.sends;
		most.receives = c.receives > most.receives ? c.receives : most.receives;
	}
	assert_int_equal(most.all_sends, most.all_receives);
	return most;
}

/* Sends of the rank that sends most. */
static void test_golden(void **state)
{
	static const uint32_t P[] = {14, 31, 100, 128, 256};
	static const uint32_t mesh2[] = {6, 10, 18, 21, 30}, mesh3[] = {5, 7, 11, 13, 17},
			      cube[] = {4, 5, 7, 7, 8};

	for (size_t i = 0; i < sizeof(P) / sizeof(P[0]); i++) {
		for (int coll = QV_COLL_ALLGATHER; coll <= QV_COLL_ALLTOALL; coll++) {
			if (coll == QV_COLL_SCATTER)
				continue;
			assert_int_equal(most_of(coll, QV_ALG_MESH2, P[i], 0).sends, mesh2[i]);
			assert_int_equal(most_of(coll, QV_ALG_MESH3, P[i], 0).sends, mesh3[i]);
			assert_int_equal(most_of(coll, QV_ALG_HYPERCUBE, P[i], 0).sends, cube[i]);
		}
	}
}

/* Bounds and exact counts for every number of ranks. */
static void counts_of(enum qv_coll coll, uint32_t P)
{
	const uint32_t c2 = root_of(P, 2), c3 = root_of(P, 3);
	uint32_t L = 0, direct[4];
	struct most most;

	while (P >> L > 1)
		L++;
	most = most_of(coll, QV_ALG_MESH2, P, 0);
	assert_true(most.sends <= 2 * (c2 - 1));
	assert_true(most.receives <= 2 * (c2 - 1) + 2); /* two more where there are holes */
	most = most_of(coll, QV_ALG_MESH3, P, 0);
	assert_true(most.sends <= (P < 4 ? P - 1 : 3 * (c3 - 1)));
	/* In a phase with holes two more, where all senders share a plane three. */
	assert_true(c3 < 3 || most.receives <= 3 * (c3 - 1) + (P >= 28 && P <= 31 ? 6 : 4));
	most = most_of(coll, QV_ALG_HYPERCUBE, P, 0);
	assert_int_equal(most.sends, L + (P > 1u << L));
	for (uint32_t z = 1; z < 4; z++) {
		direct[z] = z < L ? z : L;
		most = most_of(coll, QV_ALG_HYBRID, P, z);
		assert_int_equal(most.sends, L - direct[z] + (1u << direct[z]) - 1 + (P > 1u << L));
	}
}

static void straight(enum qv_coll coll, enum qv_algorithm algorithm, uint32_t P, uint32_t k)
{
	const struct most most = most_of(coll, algorithm, P, k);

	assert_int_equal(most.sends, P - 1);
	assert_int_equal(most.all_sends, (uint64_t)P * (P - 1));
}

static void test_counts(void **state)
{
	for (uint32_t P = 1 + part; P <= (slow ? 256 : 33); P += parts) {
		counts_of(QV_COLL_ALLTOALL, P);
		counts_of(QV_COLL_ALLGATHER, P);
		straight(QV_COLL_ALLTOALL, QV_ALG_DIRECT, P, 0);
		straight(QV_COLL_ALLTOALL, QV_ALG_PREFIX, P, 0);
		straight(QV_COLL_ALLGATHER, QV_ALG_RING, P, 0);
		straight(QV_COLL_ALLGATHER, QV_ALG_PREFIX, P, 0);
		for (uint32_t k = 1; k <= 8; k *= 2)
			straight(QV_COLL_ALLGATHER, QV_ALG_KPREFIX, P, k);
		for (uint32_t k = 1; k <= 9; k += slow ? 1 : 4)
			straight(QV_COLL_ALLGATHER, QV_ALG_KSHIFT, P, k);
	}
}

/* Every block, in any order of messages. */

static void deliver(const struct qv_schedule_spec *spec, uint64_t seed)
{
	const uint32_t P = spec->ranks;
	const int all = spec->coll == QV_COLL_ALLTOALL;
	uint32_t *in = calloc((size_t)P * P, sizeof(*in)),
		 *work = calloc((size_t)P * P, sizeof(*in));
	const void **from = calloc(P, sizeof(*from));
	void **to = calloc(P, sizeof(*to));
	struct qv_schedule **s = calloc(P, sizeof(*s));
	const struct qv_local_run run = {.item = sizeof(*in), .count = P, .seed = seed};

	assert_true(in && work && from && to && s);
	for (uint32_t r = 0; r < P; r++) {
		from[r] = in + (size_t)r * P;
		to[r] = work + (size_t)r * P;
		for (uint32_t i = 0; i < P; i++)
			in[(size_t)r * P + i] = r * 1000 + (all ? i : 0) + 1;
	}
	assert_int_equal(qv_schedule_build_all(spec, s), QV_OK);
	assert_int_equal(qv_schedule_run_local(&run, s, P, from, to), QV_OK);
	for (uint32_t r = 0; r < P; r++)
		for (uint32_t i = 0; i < P; i++)
			if (work[(size_t)r * P + i] != i * 1000 + (all ? r : 0) + 1)
				fail_msg("%s: rank %u has not block %u", qv_sched_case_name(spec),
					 r, i);
	for (uint32_t r = 0; r < P; r++)
		qv_schedule_free(s[r]);
	free(in);
	free(work);
	free(from);
	free(to);
	free(s);
}

static void test_delivery(void **state)
{
	for (uint32_t P = 1 + part; P <= (slow ? 256 : 33); P += parts)
		for (int algorithm = 0; algorithm < QV_N_ALGORITHMS; algorithm++)
			for (uint32_t k = 0; k < 10; k += slow || P < 13 ? 1 : 2) {
				struct qv_schedule_spec spec = {
					.algorithm = (enum qv_algorithm)algorithm,
					.ranks = P,
					.k = k};

				/* Only these differ by k; the rest of the larger groups once. */
				if (k && algorithm != QV_ALG_KSHIFT &&
				    algorithm != QV_ALG_KPREFIX &&
				    (algorithm != QV_ALG_HYBRID || k > 2))
					continue;
				for (int coll = QV_COLL_ALLGATHER; coll <= QV_COLL_ALLTOALL;
				     coll++) {
					spec.coll = (enum qv_coll)coll;
					if (coll != QV_COLL_SCATTER &&
					    qv_schedule_exists(spec.coll, spec.algorithm, 0))
						deliver(&spec, P + k);
				}
			}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),
					   cmocka_unit_test(test_counts),
					   cmocka_unit_test(test_delivery)};

	slow = argc > 3 && !strcmp(argv[1], "slow");
	if (slow) {
		part = (uint32_t)atoi(argv[2]);
		parts = (uint32_t)atoi(argv[3]);
	}
	if (!parts || part >= parts)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
