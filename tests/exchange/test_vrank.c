/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vrank.c - vranks that talk, answer and move: all items come once, those of a pair in order; what
 * a vrank knows travels with it; behind a fence everyone is at home and nothing is sent on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "vrank/group.h"

static uint64_t live(const struct qv_vranks_spec *spec)
{
	uint64_t moved;

	qv_vrank_open_group(spec);
	for (int i = 0; i < 4; i++) {
		struct qv_vranks_stats before;

		qv_vrank_lively = true;
		qv_vrank_all_act(150, true);
		qv_vrank_lively = i % 2;
		qv_vrank_fence_all(i % 2);
		qv_vrank_lively = false;
		qv_vrank_fence_all(false);
		qv_vrank_check();
		before = qv_vrank_sum();
		qv_vrank_all_act(60, false);
		qv_vrank_fence_all(false);
		qv_vrank_check();
		assert_int_equal(qv_vrank_sum().forwarded, before.forwarded);
		assert_int_equal(qv_vrank_sum().moved, before.moved);
	}
	moved = qv_vrank_sum().moved;
	qv_vrank_close_group();
	return moved;
}

static void random_lives(void **state)
{
	static const enum qv_way ways[] = {QV_WAY_DIRECT, QV_WAY_MESH2, QV_WAY_MESH3,
					   QV_WAY_HYPERCUBE};
	static const uint32_t sizes[] = {1, 2, 3, 5, 8, 9, 16};
	uint64_t moved = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t w = 0; w < 8; w++) {
			uint32_t homes[VRANK_VRANKS];
			const struct qv_vranks_spec spec = {
				.stream = {.way = ways[w % 4],
					   .ranks = sizes[i],
					   .items = draw(20),
					   .limit = draw(2) ? 256 + draw(300) : 0,
					   .wait_ns = 1 + draw(20000),
					   .window = draw(4)},
				.vranks = w < 4 ? VRANK_VRANKS : 1 + draw(10),
				.homes = w % 2 ? homes : NULL};

			for (uint32_t e = 0; e < VRANK_VRANKS; e++)
				homes[e] = draw(sizes[i]);
			moved += live(&spec);
		}
	assert_in_range(moved, 2000, 1000000);
}

/* Tiny items of one entry: an envelope in a message, and three bytes with each:
 * to, from, length. */
static void packed(void **state)
{
	const struct qv_vranks_spec spec = {
		.stream = {.way = QV_WAY_DIRECT, .ranks = 2, .items = 500}, .vranks = 20};
	const struct qv_stream_stats *s;
	struct qv_vranks_stats stats;

	qv_vrank_open_group(&spec);
	qv_vrank_longest = 4;
	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(qv_vrank_talk(&qv_vrank_members[0], i % 3 * 3, 10 + i % 10),
				 QV_OK);
	while (qv_vrank_sum().delivered < 500)
		qv_vrank_turn();
	qv_vranks_stats(qv_vrank_members[0].v, &stats);
	s = &stats.stream;
	assert_int_equal(s->messages, 1);
	assert_int_equal(s->envelopes, 1);
	assert_int_equal(s->bytes, 8 + 1 + sizeof(struct qv_vrank_envelope) + 500 * (3 + 4));
	qv_vrank_close_group();
}

/* A multicast travels once to each rank, however many are there. */
static void many(void **state)
{
	const struct qv_vranks_spec spec = {.stream = {.way = QV_WAY_DIRECT, .ranks = 4},
					    .vranks = VRANK_VRANKS};
	uint32_t to[VRANK_VRANKS + 1];
	const struct qv_vrank_item item = {.from = 3, .data = to, .bytes = 4};
	struct qv_vranks_stats stats;

	qv_vrank_open_group(&spec);
	for (uint32_t i = 0; i < VRANK_VRANKS; i++)
		to[i] = (i * 7 + 5) % VRANK_VRANKS;
	to[VRANK_VRANKS] = VRANK_VRANKS;
	assert_int_equal(qv_vranks_multicast(qv_vrank_members[0].v, &item, QV_SECTION_WAY, to, 0,
					     qv_vrank_now),
			 QV_EINVAL);
	assert_int_equal(qv_vranks_multicast(qv_vrank_members[0].v, &item, QV_N_SECTIONS, to, 1,
					     qv_vrank_now),
			 QV_EINVAL);
	assert_int_equal(qv_vranks_multicast(qv_vrank_members[0].v, &item, QV_SECTION_WAY, to,
					     VRANK_VRANKS + 1, qv_vrank_now),
			 QV_EINVAL);
	assert_int_equal(qv_vranks_multicast(qv_vrank_members[1].v, &item, QV_SECTION_WAY, to,
					     VRANK_VRANKS, qv_vrank_now),
			 QV_EINVAL);
	assert_int_equal(qv_vrank_talk_to_many(&qv_vrank_members[0], 1), QV_OK);
	qv_vranks_flush(qv_vrank_members[0].v);
	qv_vranks_stats(qv_vrank_members[0].v, &stats);
	assert_in_range(stats.stream.inserted, 2, 3);
	assert_in_range(stats.stream.envelopes, 2, 3);
	for (uint32_t i = 0; i < 3; i++)
		qv_vrank_talk_to_many(&qv_vrank_members[0], i);
	qv_vrank_fence_all(false);
	qv_vrank_check();
	qv_vrank_close_group();
}

/* Over a mesh the data goes once to the row of the homes, whoever is there gets it from there. */
static void many_over_a_mesh(void **state)
{
	const struct qv_vranks_spec spec = {.stream = {.way = QV_WAY_MESH2, .ranks = 16},
					    .vranks = VRANK_VRANKS};
	uint32_t to[VRANK_VRANKS], data[64], n = 0;
	const struct qv_vrank_item item = {.entry = 3, .data = data, .bytes = sizeof(data)};

	qv_vrank_open_group(&spec);
	memset(data, 255, sizeof(data));
	for (uint32_t i = 0; i < VRANK_VRANKS; i++)
		if (qv_vranks_home(qv_vrank_members[0].v, i) % 4 == 1) {
			data[2 * n] = i;
			data[2 * n + 1] = qv_vrank_members[0].beings[0].sent[i]++;
			to[n++] = i;
		}
	assert_in_range(n, 5, 32);
	assert_int_equal(qv_vranks_multicast(qv_vrank_members[0].v, &item, QV_SECTION_WAY, to, n,
					     qv_vrank_now),
			 QV_OK);
	for (int turns = 0; qv_vrank_sum().delivered < n; turns++) {
		qv_vrank_turn();
		assert_in_range(turns, 0, 1000);
	}
	assert_in_range(qv_vrank_sum().stream.bytes, 4 * sizeof(data), 5 * sizeof(data));
	qv_vrank_fence_all(false);
	qv_vrank_check();
	qv_vrank_close_group();
}

/* From vrank 0 to the 20 of a rank. */
static void talk_to_rank(struct member *m, enum qv_section by, uint32_t first)
{
	struct being *b = &m->beings[0];
	uint32_t *const sent = by ? b->passed : b->sent;
	uint32_t to[20], data[2 * 20];
	const struct qv_vrank_item item = {
		.entry = by ? 4 : 3, .data = data, .bytes = sizeof(data)};

	for (uint32_t i = 0; i < 20; i++) {
		data[2 * i] = to[i] = first + i;
		data[2 * i + 1] = sent[to[i]]++;
	}
	assert_int_equal(qv_vranks_multicast(m->v, &item, by, to, 20, qv_vrank_now), QV_OK);
}

/* A list that does not fit beside the data goes in pieces: to the home of all, and by the sender's. */
static void many_in_pieces(void **state)
{
	const struct qv_vranks_spec spec = {
		.stream = {.way = QV_WAY_DIRECT, .ranks = 2, .limit = 256}, .vranks = VRANK_VRANKS};

	qv_vrank_open_group(&spec);
	for (enum qv_section by = QV_SECTION_WAY; by < QV_N_SECTIONS; by++) {
		const uint64_t before = qv_vrank_sum().stream.inserted;

		talk_to_rank(&qv_vrank_members[0], by, 20);
		assert_int_equal(qv_vrank_sum().stream.inserted - before, 3); /* 8, 8 and 4 */
	}
	qv_vrank_fence_all(false);
	qv_vrank_check();
	assert_int_equal(qv_vranks_move(qv_vrank_members[0].v, 0, 1, qv_vrank_now), QV_OK);
	for (int turns = 0; !qv_vranks_here(qv_vrank_members[1].v, 0); turns++) {
		qv_vrank_turn();
		assert_in_range(turns, 0, 1000);
	}
	for (enum qv_section by = QV_SECTION_WAY; by < QV_N_SECTIONS; by++)
		talk_to_rank(&qv_vrank_members[1], by, 0);
	qv_vrank_fence_all(false);
	qv_vrank_check();
	qv_vrank_close_group();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_lives), cmocka_unit_test(packed), cmocka_unit_test(many),
		cmocka_unit_test(many_over_a_mesh), cmocka_unit_test(many_in_pieces)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
