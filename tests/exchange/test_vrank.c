/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_vrank.c - vranks of a whole group in one process, which talk, answer and move as they like,
 * over a network that is late: all items come once, those of a pair in order; what a vrank knows
 * travels with it; behind a fence everyone is at home and nothing is sent on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/exchange/vrank/vrank.h"

#include "packet_net.h"

#define RANKS  16
#define VRANKS 40
#define MANY   12

/* What a vrank knows: it lives where the vrank is, and nowhere while that is under way. */
struct being {
	uint32_t alive;
	uint32_t sent[VRANKS], got[VRANKS];
	uint32_t passed[VRANKS], received[VRANKS]; /* the same by ring and tree */
	uint32_t load;                             /* bytes that it takes along, too */
};

struct member {
	struct qv_vranks *v;
	struct being beings[VRANKS];
};

static struct member members[RANKS];
static struct qv_vranks_spec group;
static uint64_t now;
static bool lively; /* vranks answer and move when they get an item */
static uint32_t longest;

static uint32_t draw(uint32_t n)
{
	return (uint32_t)qv_packet_draw(n);
}

static uint32_t rank_of(const struct member *m)
{
	return (uint32_t)(m - members);
}

/* Vranks. */

static uint32_t length_of(uint32_t from, uint32_t to, uint32_t i)
{
	return 4 + (from * 7 + to * 13 + i * 31) % (longest - 3);
}

static int talk(struct member *m, uint32_t from, uint32_t to)
{
	struct being *b = &m->beings[from];
	char data[512];
	const struct qv_vrank_item item = {to, from, from % 3, data,
					   length_of(from, to, b->sent[to])};
	int rc;

	memset(data, (int)(from + to), sizeof(data));
	memcpy(data, &b->sent[to], 4);
	b->sent[to]++; /* it may be answered before this is over */
	rc = qv_vranks_insert(m->v, &item, now);
	if (rc)
		b->sent[to]--;
	assert_true(!rc || rc == QV_EAGAIN);
	return rc;
}

/* To some others at once; whom, and which item it is for each, is said in it. */
static int talk_to_many(struct member *m, uint32_t from)
{
	const enum qv_section by = (enum qv_section)draw(QV_N_SECTIONS);
	struct being *b = &m->beings[from];
	uint32_t *const sent = by ? b->passed : b->sent;
	uint32_t to[MANY], data[2 * MANY], n = 0;
	struct qv_vrank_item item = {.from = from, .entry = by ? 4 : 3, .data = data};
	int rc;

	for (uint32_t i = 0; i < MANY; i++) {
		bool known = false;

		to[n] = draw(group.vranks);
		for (uint32_t k = 0; k < n; k++)
			known |= to[k] == to[n];
		data[2 * n] = to[n];
		data[2 * n + 1] = sent[to[n]];
		n += !known;
	}
	for (uint32_t i = 0; i < n; i++)
		sent[to[i]]++;
	item.bytes = 8 * n;
	rc = qv_vranks_multicast(m->v, &item, by, to, n, now);
	for (uint32_t i = 0; i < n && rc; i++)
		sent[to[i]]--;
	assert_true(!rc || rc == QV_EAGAIN);
	return rc;
}

static void come_to_many(struct being *b, const struct qv_vrank_item *item)
{
	uint32_t *const got = item->entry == 4 ? b->received : b->got;
	uint32_t data[2];

	for (size_t at = 0; at + sizeof(data) <= item->bytes; at += sizeof(data)) {
		memcpy(data, (const char *)item->data + at, sizeof(data));
		if (data[0] != item->to)
			continue;
		assert_int_equal(data[1], got[item->from]++);
		return;
	}
	fail_msg("vrank %u is not one of them", item->to);
}

static void come_alone(struct being *b, const struct qv_vrank_item *item)
{
	const char *data = item->data;
	uint32_t number;

	memcpy(&number, data, 4);
	assert_int_equal(number, b->got[item->from]++);
	assert_int_equal(item->bytes, length_of(item->from, item->to, number));
	assert_int_equal(item->entry, item->from % 3);
	for (size_t i = 4; i < item->bytes; i++)
		assert_int_equal((uint8_t)data[i], (uint8_t)(item->from + item->to));
}

static void come(void *port, const struct qv_vrank_item *item)
{
	struct member *m = port;
	struct being *b = &m->beings[item->to];
	assert_true(b->alive && qv_vranks_here(m->v, item->to));
	if (item->entry >= 3)
		come_to_many(b, item);
	else
		come_alone(b, item);
	if (lively && !draw(20)) /* who is given an item never has to wait */
		assert_int_equal(talk_to_many(m, item->to), QV_OK);
	if (lively && !draw(3))
		assert_int_equal(talk(m, item->to, draw(2) ? item->from : draw(group.vranks)),
				 QV_OK);
	if (lively && !draw(9))
		qv_vranks_move(m->v, item->to, draw(group.stream.ranks), now);
}

static int go(void *port, uint32_t vrank, struct qv_vrank_state *state)
{
	struct member *m = port;
	struct being *b = &m->beings[vrank];
	char *load = malloc(b->load + 1);

	assert_int_equal(b->alive, 1);
	memset(load, (int)vrank, b->load);
	assert_int_equal(qv_vrank_add(state, b, sizeof(*b)), QV_OK);
	assert_int_equal(qv_vrank_add(state, load, b->load), QV_OK);
	free(load);
	memset(b, 0, sizeof(*b));
	if (lively && !draw(4))
		for (uint32_t e = 0; e < group.vranks; e++)
			if (qv_vranks_here(m->v, e)) {
				assert_int_equal(talk(m, e, vrank), QV_OK); /* behind it */
				break;
			}
	return QV_OK;
}

static int settle(void *port, uint32_t vrank, const void *state, size_t bytes)
{
	struct member *m = port;
	struct being *b = &m->beings[vrank];
	const uint8_t *load = (const uint8_t *)state + sizeof(*b);

	assert_int_equal(b->alive, 0);
	assert_true(bytes >= sizeof(*b));
	memcpy(b, state, sizeof(*b));
	assert_int_equal(bytes, sizeof(*b) + b->load);
	for (uint32_t i = 0; i < b->load; i++)
		assert_int_equal(load[i], (uint8_t)vrank);
	b->load = draw(1500);
	if (lively && !draw(3))
		assert_int_equal(talk(m, vrank, draw(group.vranks)), QV_OK);
	if (lively && !draw(6))
		qv_vranks_move(m->v, vrank, draw(group.stream.ranks), now);
	return QV_OK;
}

/* The group. */

static int net_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return qv_packet_send(rank_of(port), id, peer, buf, bytes);
}

static const struct qv_vranks_calls calls = {net_send, come, go, settle};

static void open_group(const struct qv_vranks_spec *spec)
{
	group = *spec;
	longest = 100;
	for (uint32_t r = 0; r < group.stream.ranks; r++) {
		memset(&members[r], 0, sizeof(members[r]));
		group.stream.rank = r;
		assert_int_equal(qv_vranks_create(&group, &calls, &members[r], &members[r].v),
				 QV_OK);
		for (uint32_t e = 0; e < group.vranks; e++)
			members[r].beings[e].alive = qv_vranks_here(members[r].v, e) != 0;
	}
}

static void close_group(void)
{
	for (uint32_t r = 0; r < group.stream.ranks; r++)
		qv_vranks_free(members[r].v);
	qv_packet_clear();
}

static void take(const struct qv_packet *p)
{
	qv_vranks_done(members[p->from].v, p->id, QV_OK);
	assert_int_equal(qv_vranks_deliver(members[p->to].v, p->from, p->data, p->bytes, now),
			 QV_OK);
}

static void turn(void)
{
	now += 1000;
	for (uint32_t r = 0; r < group.stream.ranks; r++) {
		const int rc = draw(4) ? qv_vranks_progress(members[r].v, now)
				       : qv_vranks_flush(members[r].v);

		assert_true(rc == QV_OK || rc == QV_EAGAIN);
	}
	for (uint32_t n = draw(2 * group.stream.ranks + 1); n; n--)
		qv_packet_deliver(take);
}

/* Say something to anyone, if it is here: answers may make it move. */
static void say(struct member *m, uint32_t e)
{
	for (int tries = 0; tries < 20 && qv_vranks_here(m->v, e); tries++) {
		if (!(draw(5) ? talk(m, e, draw(group.vranks)) : talk_to_many(m, e)))
			return;
		turn();
	}
}

static void act(uint32_t rank, bool moves)
{
	struct member *m = &members[rank];
	const uint32_t e = draw(group.vranks);
	int rc;

	for (uint32_t n = 1 + draw(4); n; n--)
		say(m, e);
	if (!moves || draw(4) || !qv_vranks_here(m->v, e))
		return;
	rc = qv_vranks_move(m->v, e, draw(group.stream.ranks), now);
	assert_true(rc == QV_OK || rc == QV_EAGAIN);
}

static void all_act(unsigned int times, bool moves)
{
	for (unsigned int i = 0; i < times; i++) {
		act(draw(group.stream.ranks), moves);
		if (!draw(4))
			turn();
	}
}

/* Ranks come late, and those that are through go on at once. */
static void fence(bool go_on)
{
	bool over[RANKS] = {false};
	uint32_t left = group.stream.ranks;

	for (unsigned int turns = 0; left; turns++) {
		for (uint32_t r = 0; r < group.stream.ranks; r++) {
			const int rc =
				over[r] || draw(3) ? QV_EAGAIN : qv_vranks_fence(members[r].v, now);

			assert_true(rc == QV_OK || rc == QV_EAGAIN);
			over[r] |= rc == QV_OK;
			left -= rc == QV_OK;
			if (over[r] && go_on)
				act(r, true);
		}
		turn();
		assert_in_range(turns, 0, 100000);
	}
}

static const struct being *being(uint32_t e)
{
	const struct being *found = NULL;

	for (uint32_t r = 0; r < group.stream.ranks; r++)
		if (qv_vranks_here(members[r].v, e)) {
			assert_null(found);
			assert_int_equal(members[r].beings[e].alive, 1);
			found = &members[r].beings[e];
			for (uint32_t other = 0; other < group.stream.ranks; other++)
				assert_int_equal(qv_vranks_home(members[other].v, e), r);
		}
	assert_non_null(found);
	return found;
}

static struct qv_vranks_stats sum(void)
{
	struct qv_vranks_stats all = {0}, s;

	for (uint32_t r = 0; r < group.stream.ranks; r++) {
		qv_vranks_stats(members[r].v, &s);
		all.inserted += s.inserted;
		all.delivered += s.delivered;
		all.forwarded += s.forwarded;
		all.moved += s.moved;
		all.refused += s.refused;
		all.stream.inserted += s.stream.inserted;
		all.stream.bytes += s.stream.bytes;
		all.stream.envelopes += s.stream.envelopes;
	}
	return all;
}

/* Behind a fence at which nobody went on. */
static void check(void)
{
	const struct qv_vranks_stats s = sum();

	for (uint32_t from = 0; from < group.vranks; from++)
		for (uint32_t to = 0; to < group.vranks; to++) {
			assert_int_equal(being(from)->sent[to], being(to)->got[from]);
			assert_int_equal(being(from)->passed[to], being(to)->received[from]);
		}
	assert_int_equal(s.inserted, s.delivered);
	assert_int_equal(s.refused, 0);
}

/* What must hold. */

static uint64_t live(const struct qv_vranks_spec *spec)
{
	uint64_t moved;

	open_group(spec);
	for (int i = 0; i < 4; i++) {
		struct qv_vranks_stats before;

		lively = true;
		all_act(150, true);
		lively = i % 2;
		fence(i % 2);
		lively = false;
		fence(false);
		check();
		before = sum();
		all_act(60, false);
		fence(false);
		check();
		assert_int_equal(sum().forwarded, before.forwarded);
		assert_int_equal(sum().moved, before.moved);
	}
	moved = sum().moved;
	close_group();
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
			uint32_t homes[VRANKS];
			const struct qv_vranks_spec spec = {
				.stream = {.way = ways[w % 4],
					   .ranks = sizes[i],
					   .items = draw(20),
					   .limit = draw(2) ? 256 + draw(300) : 0,
					   .wait_ns = 1 + draw(20000),
					   .window = draw(4)},
				.vranks = w < 4 ? VRANKS : 1 + draw(10),
				.homes = w % 2 ? homes : NULL};

			for (uint32_t e = 0; e < VRANKS; e++)
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

	open_group(&spec);
	longest = 4;
	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(talk(&members[0], i % 3 * 3, 10 + i % 10), QV_OK);
	while (sum().delivered < 500)
		turn();
	qv_vranks_stats(members[0].v, &stats);
	s = &stats.stream;
	assert_int_equal(s->messages, 1);
	assert_int_equal(s->envelopes, 1);
	assert_int_equal(s->bytes, 8 + 1 + sizeof(struct qv_vrank_envelope) + 500 * (3 + 4));
	close_group();
}

/* A multicast travels once to each rank, however many are there. */
static void many(void **state)
{
	const struct qv_vranks_spec spec = {.stream = {.way = QV_WAY_DIRECT, .ranks = 4},
					    .vranks = VRANKS};
	uint32_t to[VRANKS + 1];
	const struct qv_vrank_item item = {.from = 3, .data = to, .bytes = 4};
	struct qv_vranks_stats stats;

	open_group(&spec);
	for (uint32_t i = 0; i < VRANKS; i++)
		to[i] = (i * 7 + 5) % VRANKS;
	to[VRANKS] = VRANKS;
	assert_int_equal(qv_vranks_multicast(members[0].v, &item, QV_SECTION_WAY, to, 0, now),
			 QV_EINVAL);
	assert_int_equal(qv_vranks_multicast(members[0].v, &item, QV_N_SECTIONS, to, 1, now),
			 QV_EINVAL);
	assert_int_equal(
		qv_vranks_multicast(members[0].v, &item, QV_SECTION_WAY, to, VRANKS + 1, now),
		QV_EINVAL);
	assert_int_equal(qv_vranks_multicast(members[1].v, &item, QV_SECTION_WAY, to, VRANKS, now),
			 QV_EINVAL);
	assert_int_equal(talk_to_many(&members[0], 1), QV_OK);
	qv_vranks_flush(members[0].v);
	qv_vranks_stats(members[0].v, &stats);
	assert_in_range(stats.stream.inserted, 2, 3);
	assert_in_range(stats.stream.envelopes, 2, 3);
	for (uint32_t i = 0; i < 3; i++)
		talk_to_many(&members[0], i);
	fence(false);
	check();
	close_group();
}

/* Over a mesh the data goes once to the row of the homes, whoever is there gets it from there. */
static void many_over_a_mesh(void **state)
{
	const struct qv_vranks_spec spec = {.stream = {.way = QV_WAY_MESH2, .ranks = 16},
					    .vranks = VRANKS};
	uint32_t to[VRANKS], data[64], n = 0;
	const struct qv_vrank_item item = {.entry = 3, .data = data, .bytes = sizeof(data)};

	open_group(&spec);
	memset(data, 255, sizeof(data));
	for (uint32_t i = 0; i < VRANKS; i++)
		if (qv_vranks_home(members[0].v, i) % 4 == 1) {
			data[2 * n] = i;
			data[2 * n + 1] = members[0].beings[0].sent[i]++;
			to[n++] = i;
		}
	assert_in_range(n, 5, 32);
	assert_int_equal(qv_vranks_multicast(members[0].v, &item, QV_SECTION_WAY, to, n, now),
			 QV_OK);
	for (int turns = 0; sum().delivered < n; turns++) {
		turn();
		assert_in_range(turns, 0, 1000);
	}
	assert_in_range(sum().stream.bytes, 4 * sizeof(data), 5 * sizeof(data));
	fence(false);
	check();
	close_group();
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
	assert_int_equal(qv_vranks_multicast(m->v, &item, by, to, 20, now), QV_OK);
}

/* A list that does not fit beside the data goes in pieces: to the home of all, and by the sender's. */
static void many_in_pieces(void **state)
{
	const struct qv_vranks_spec spec = {
		.stream = {.way = QV_WAY_DIRECT, .ranks = 2, .limit = 256}, .vranks = VRANKS};

	open_group(&spec);
	for (enum qv_section by = QV_SECTION_WAY; by < QV_N_SECTIONS; by++) {
		const uint64_t before = sum().stream.inserted;

		talk_to_rank(&members[0], by, 20);
		assert_int_equal(sum().stream.inserted - before, 3); /* 8, 8 and 4 */
	}
	fence(false);
	check();
	assert_int_equal(qv_vranks_move(members[0].v, 0, 1, now), QV_OK);
	for (int turns = 0; !qv_vranks_here(members[1].v, 0); turns++) {
		turn();
		assert_in_range(turns, 0, 1000);
	}
	for (enum qv_section by = QV_SECTION_WAY; by < QV_N_SECTIONS; by++)
		talk_to_rank(&members[1], by, 0);
	fence(false);
	check();
	close_group();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_lives), cmocka_unit_test(packed), cmocka_unit_test(many),
		cmocka_unit_test(many_over_a_mesh), cmocka_unit_test(many_in_pieces)};

	return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
