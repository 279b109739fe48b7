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

#define RANKS 129

struct message {
	uint32_t from, to, tag, step;
	bool owes; /* its sender does not know yet that it is over */
	size_t bytes;
	char *data;
};

struct post {
	uint32_t step, peer, tag;
	void *into;
	size_t bytes;
};

struct rank {
	uint32_t number;
	struct qv_schedule *schedule;
	struct qv_run *run;
	bool begun, over;
	uint32_t *in, *work;
	void *temp;
	struct message *inbox; /* that have come, and nobody waits for them */
	size_t inbox_n, inbox_room;
	struct post *posts;
	size_t posts_n, posts_room;
};

static struct rank ranks[RANKS];
static struct qv_schedule_spec spec;
static struct message *flying;
static size_t flying_n, flying_room;
static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t n)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return (state >> 20) % n;
}

static void *room_for_one(void *list, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return list;
	*room = 2 * *room + 16;
	list = realloc(list, *room * size);
	assert_non_null(list);
	return list;
}

/* The network. */

/* A message meets its receive. */
static void meet(struct rank *r, const struct message *m, const struct post *p)
{
	assert_int_equal(m->bytes, p->bytes);
	memcpy(p->into, m->data, m->bytes);
	free(m->data);
	if (m->owes)
		qv_run_done(ranks[m->from].run, m->step, QV_OK);
	qv_run_done(r->run, p->step, QV_OK);
}

static int port_send(void *port, uint32_t step, uint32_t peer, uint32_t tag, const void *buf,
		     size_t bytes)
{
	struct rank *r = port;
	struct message m = {r->number, peer, tag, step, draw(2) != 0, bytes, malloc(bytes)};

	memcpy(m.data, buf, bytes);
	flying = room_for_one(flying, flying_n, &flying_room, sizeof(*flying));
	flying[flying_n++] = m;
	if (!m.owes)
		qv_run_done(r->run, step, QV_OK);
	return QV_OK;
}

static int port_receive(void *port, uint32_t step, uint32_t peer, uint32_t tag, void *buf,
			size_t bytes)
{
	const struct post p = {step, peer, tag, buf, bytes};
	struct rank *r = port;

	for (size_t i = 0; i < r->inbox_n; i++)
		if (r->inbox[i].from == peer && r->inbox[i].tag == tag) {
			const struct message m = r->inbox[i];

			r->inbox[i] = r->inbox[--r->inbox_n];
			meet(r, &m, &p);
			return QV_OK;
		}
	r->posts = room_for_one(r->posts, r->posts_n, &r->posts_room, sizeof(*r->posts));
	r->posts[r->posts_n++] = p;
	return QV_OK;
}

/* Any message, whatever was sent before it. */
static void deliver(void)
{
	const size_t at = (size_t)draw(flying_n);
	const struct message m = flying[at];
	struct rank *r = &ranks[m.to];

	flying[at] = flying[--flying_n];
	for (size_t i = 0; i < r->posts_n; i++)
		if (r->posts[i].peer == m.from && r->posts[i].tag == m.tag) {
			const struct post p = r->posts[i];

			r->posts[i] = r->posts[--r->posts_n];
			meet(r, &m, &p);
			return;
		}
	r->inbox = room_for_one(r->inbox, r->inbox_n, &r->inbox_room, sizeof(*r->inbox));
	r->inbox[r->inbox_n++] = m;
}

/* A group. */

static uint32_t block(uint32_t from, uint32_t to)
{
	return from * 1000 + (spec.coll == QV_COLL_ALLTOALL ? to : 0) + 1;
}

static void open_rank(struct rank *r, uint32_t number)
{
	static const struct qv_port calls = {port_send, port_receive};
	const uint32_t P = spec.ranks;

	*r = (struct rank){.number = number};
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
	assert_int_equal(r->inbox_n, 0);
	assert_int_equal(r->posts_n, 0);
	qv_run_free(r->run);
	qv_schedule_free(r->schedule);
	free(r->in);
	free(r->work);
	free(r->temp);
	free(r->inbox);
	free(r->posts);
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
				 qv_sched_case_name(&spec), r->number, i);
		if (r->work[i] != block(i, r->number))
			fail_msg("%s: rank %u has not block %u", qv_sched_case_name(&spec),
				 r->number, i);
	}
}

/* Some ranks go on, some begin; whether anything has happened. */
static bool turn(uint32_t last, uint32_t *left)
{
	bool moved = flying_n > 0;

	for (uint32_t i = 0; i < spec.ranks; i++) {
		struct rank *r = &ranks[i];

		if (!r->begun && i != last) {
			moved = true;
			if (!draw(6))
				begin(r);
		} else if (r->begun && !r->over && draw(3)) {
			r->over = qv_run_progress(r->run) == QV_OK;
			moved |= r->over;
			*left -= r->over;
			if (r->over)
				check(r);
		}
	}
	for (size_t n = (size_t)draw(flying_n + 1); n; n--)
		deliver();
	return moved;
}

static void run(void)
{
	const uint32_t last = (uint32_t)draw(spec.ranks);
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
	assert_int_equal(flying_n, 0);
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
	free(flying);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_early)};

	slow = argc > 1 && !strcmp(argv[1], "slow");
	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
