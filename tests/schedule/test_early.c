/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_early.c - alltoall and allgather where messages come early: sent to ranks that have
 * not begun, overtaken by later ones of the same pair, over for their senders long before. Ranks
 * begin when they like, one of them when nothing else can move; none is over before all have begun,
 * and who is over has all its blocks. `slow` takes larger groups.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "sched_case.h"
#include "tests/net/tagged.h"

#define RANKS 129

struct rank {
	struct qv_end end;
	struct qv_schedule *schedule;
	struct qv_run *run;
	bool begun, over;
	uint32_t *in, *work;
	void *temp;
};

static struct rank ranks[RANKS];
static struct qv_schedule_spec spec;

static void over(struct qv_end at, uint32_t step, size_t bytes, int status)
{
	qv_run_done(ranks[at.rank].run, step, status);
}

static uint32_t block(uint32_t from, uint32_t to)
{
	return from * 1000 + (spec.coll == QV_COLL_ALLTOALL ? to : 0) + 1;
}

static void open_rank(struct rank *r, uint32_t number)
{
	static const struct qv_port calls = {qv_tagged_send, qv_tagged_receive};
	const uint32_t P = spec.ranks;

	*r = (struct rank){.end.rank = number};
	assert_int_equal(qv_schedule_build(&spec, number, &r->schedule), QV_OK);
	assert_int_equal(qv_run_create(r->schedule, &calls, r, &r->run), QV_OK);
	r->in = calloc(P, sizeof(*r->in));
	r->work = calloc(P, sizeof(*r->work));
	r->temp = malloc(sizeof(uint32_t) * (qv_schedule_scratch(r->schedule) + 1));
	assert_true(r->in && r->work && r->temp);
	for (uint32_t i = 0; i < P; i++)
		r->in[i] = block(number, i);
}

static void close_rank(struct rank *r)
{
	qv_run_free(r->run);
	qv_schedule_free(r->schedule);
	free(r->in);
	free(r->work);
	free(r->temp);
}

static void begin(struct rank *r)
{
	const struct qv_run_data data = {.item = sizeof(*r->in),
					 .count = spec.ranks,
					 .in = r->in,
					 .work = r->work,
					 .temp = r->temp};

	assert_int_equal(qv_run_start(r->run, &data), QV_OK);
	r->begun = true;
}

static void check(const struct rank *r)
{
	for (uint32_t i = 0; i < spec.ranks; i++) {
		if (!ranks[i].begun)
			fail_msg("%s: rank %u is over before %u has begun",
				 qv_sched_case_name(&spec), r->end.rank, i);
		if (r->work[i] != block(i, r->end.rank))
			fail_msg("%s: rank %u has not block %u", qv_sched_case_name(&spec),
				 r->end.rank, i);
	}
}

/* Some ranks go on, some begin; whether anything has happened. */
static bool turn(uint32_t last, uint32_t *left)
{
	bool moved = false;

	for (uint32_t i = 0; i < spec.ranks; i++) {
		struct rank *r = &ranks[i];

		if (!r->begun && i != last) {
			moved = true;
			if (!qv_tagged_draw(6))
				begin(r);
		} else if (r->begun && !r->over && qv_tagged_draw(3)) {
			r->over = qv_run_progress(r->run) == QV_OK;
			moved |= r->over;
			*left -= r->over;
			if (r->over)
				check(r);
		}
	}
	for (uint64_t n = qv_tagged_draw(qv_tagged_n() + 1); n && qv_tagged_deliver(); n--)
		moved = true;
	return moved;
}

static void run(void)
{
	const uint32_t last = (uint32_t)qv_tagged_draw(spec.ranks);
	uint32_t left = spec.ranks, idle = 0;

	for (uint32_t r = 0; r < spec.ranks; r++)
		open_rank(&ranks[r], r);
	for (uint32_t turns = 0; left; turns++) {
		idle = turn(last, &left) ? 0 : idle + 1;
		if (idle == 60 && !ranks[last].begun)
			begin(&ranks[last]), idle = 0;
		if (idle > 1000 || turns > 1000000)
			fail_msg("%s: no end", qv_sched_case_name(&spec));
	}
	assert_int_equal(qv_tagged_n(), 0);
	for (uint32_t r = 0; r < spec.ranks; r++)
		close_rank(&ranks[r]);
}

static void each(uint32_t P)
{
	for (int coll = QV_COLL_ALLGATHER; coll <= QV_COLL_ALLTOALL; coll++)
		for (int algorithm = 0; algorithm < QV_N_ALGORITHMS; algorithm++)
			for (uint32_t k = 0; k < (algorithm == QV_ALG_HYBRID ? 4 : 1); k++) {
				spec = (struct qv_schedule_spec){
					.coll = (enum qv_coll)coll,
					.algorithm = (enum qv_algorithm)algorithm,
					.ranks = P,
					.k = k};
				if (coll != QV_COLL_SCATTER &&
				    qv_schedule_exists(spec.coll, spec.algorithm, 0))
					run();
			}
}

static bool slow;

static void test_early(void **unused)
{
	static const uint32_t more[] = {97, 100, 120, 127, 128, 129};

	for (uint32_t P = 1; P <= (slow ? 89 : 33); P += slow || P < 12 ? 1 : 3)
		each(P);
	for (size_t i = 0; slow && i < sizeof(more) / sizeof(more[0]); i++)
		each(more[i]);
	qv_tagged_clear();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_early)};

	qv_tagged = (struct qv_tagged){.over = over, .exact = true, .early = true};
	slow = argc > 1 && !strcmp(argv[1], "slow");
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
