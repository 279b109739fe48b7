/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stream_many.c - items for many ranks of a stream: they come once to each, in order with items
 * for one; they travel once over each part of the way that several receivers have in common.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <quiver/stream.h>

#include "packet_net.h"

#define RANKS 64
#define ITEMS 1000 /* of a pair, at most */

static const enum qv_way ways[] = {QV_WAY_DIRECT, QV_WAY_MESH2, QV_WAY_MESH3, QV_WAY_HYPERCUBE};

struct member {
	struct qv_stream *stream;
	uint32_t sent[RANKS], got[RANKS]; /* items, to and from each rank */
	uint16_t expected[RANKS][ITEMS];  /* from each rank: their numbers */
};

static struct member members[RANKS];
static struct qv_stream_spec group;
static size_t longest;
static uint16_t numbers;
static uint64_t now;
static bool lively; /* who gets an item sends others */

static void send_many(uint32_t from);

static uint32_t draw(uint32_t n)
{
	return (uint32_t)qv_packet_draw(n);
}

static uint32_t rank_of(const struct member *m)
{
	return (uint32_t)(m - members);
}

/* What an item is, by its number. */
static size_t item_of(uint16_t number, char *data)
{
	const size_t bytes = 2 + number * 31u % (longest - 1);

	memset(data, number % 251, bytes);
	memcpy(data, &number, 2);
	return bytes;
}

static size_t envelope_of(uint16_t number)
{
	return group.envelope ? number % 3 : 0;
}

static void come_packed(void *port, uint32_t from, const void *envelope, size_t n, const void *data,
			size_t bytes)
{
	struct member *m = port;
	char expected[4096];
	uint16_t number;

	assert_in_range(from, 0, group.ranks - 1);
	assert_in_range(m->got[from], 0, m->sent[from] - 1);
	number = m->expected[from][m->got[from]++];
	assert_int_equal(bytes, item_of(number, expected));
	assert_memory_equal(data, expected, bytes);
	assert_int_equal(n, envelope_of(number));
	if (lively && !draw(60))
		send_many(rank_of(m));
	assert_memory_equal(data, expected, bytes);
}

static void come(void *port, uint32_t from, const void *data, size_t bytes)
{
	come_packed(port, from, NULL, 0, data, bytes);
}

static int net_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return qv_packet_send(rank_of(port), id, peer, buf, bytes);
}

static void open_group(const struct qv_stream_spec *spec, size_t bytes)
{
	static const struct qv_stream_calls calls = {net_send, come, come_packed};

	group = *spec;
	longest = bytes;
	numbers = 0;
	for (uint32_t r = 0; r < group.ranks; r++) {
		memset(&members[r], 0, sizeof(members[r]));
		group.rank = r;
		assert_int_equal(qv_stream_create(&group, &calls, &members[r], &members[r].stream),
				 QV_OK);
	}
}

static void close_group(void)
{
	for (uint32_t r = 0; r < group.ranks; r++)
		qv_stream_free(members[r].stream);
	qv_packet_clear();
}

static struct qv_stream_stats sum(void)
{
	struct qv_stream_stats all = {0}, s;

	for (uint32_t r = 0; r < group.ranks; r++) {
		qv_stream_stats(members[r].stream, &s);
		all.inserted += s.inserted;
		all.delivered += s.delivered;
		all.forwarded += s.forwarded;
		all.messages += s.messages;
		all.bytes += s.bytes;
	}
	return all;
}

static void take(const struct qv_packet *p)
{
	qv_stream_done(members[p->from].stream, p->id, QV_OK);
	assert_int_equal(qv_stream_deliver(members[p->to].stream, p->from, p->data, p->bytes, now),
			 QV_OK);
}

static void turn(bool flush)
{
	now += 1000;
	for (uint32_t r = 0; r < group.ranks; r++) {
		const int rc = flush ? qv_stream_flush(members[r].stream)
				     : qv_stream_progress(members[r].stream, now);

		assert_true(rc == QV_OK || rc == QV_EAGAIN);
	}
	for (uint32_t n = draw(2 * group.ranks); n; n--)
		qv_packet_deliver(take);
}

/* One to oneself comes within the call, so it is noted before. */
static void note(uint32_t from, const uint32_t *to, size_t n, uint16_t number)
{
	for (size_t i = 0; i < n; i++) {
		struct member *m = &members[to[i]];

		assert_in_range(m->sent[from], 0, ITEMS - 1);
		m->expected[from][m->sent[from]++] = number;
	}
}

static void forget(uint32_t from, const uint32_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		members[to[i]].sent[from]--;
}

static void insert(uint32_t from, const uint32_t *to, size_t n)
{
	struct qv_stream *s = members[from].stream;
	const uint16_t number = numbers++;
	const size_t env = envelope_of(number);
	char data[4096];
	const size_t bytes = item_of(number, data);
	int rc;

	do {
		note(from, to, n, number);
		if (n > 1 || (!env && !draw(4)))
			rc = qv_stream_multicast(s, to, n, data, bytes, now);
		else if (!group.envelope && !draw(5))
			rc = qv_stream_insert_urgent(s, *to, data, bytes, now);
		else
			rc = qv_stream_pack(s, *to, "ab", env, data, bytes, now);
		if (rc == QV_EAGAIN) {
			forget(from, to, n);
			turn(false);
		}
	} while (rc == QV_EAGAIN);
	assert_int_equal(rc, QV_OK);
}

static void send_many(uint32_t from)
{
	const uint32_t step = 1 + draw(8);
	uint32_t to[RANKS];
	size_t n = 0;

	for (uint32_t r = draw(group.ranks); r < group.ranks; r += 1 + draw(step))
		to[n++] = r;
	while (n > 1 && envelope_of(numbers)) /* that of many is of 0 bytes */
		numbers++;
	insert(from, to, n);
}

static void finish(void)
{
	for (unsigned int n = 0; sum().delivered != sum().inserted || qv_packet_first(); n++) {
		turn(true);
		assert_in_range(n, 0, 100000);
	}
	for (uint32_t from = 0; from < group.ranks; from++)
		for (uint32_t to = 0; to < group.ranks; to++)
			assert_int_equal(members[to].got[from], members[to].sent[from]);
}

/* What must hold. */

static void comes(struct qv_stream_spec spec)
{
	open_group(&spec, spec.limit ? spec.limit - 33 - spec.envelope : 300);
	for (uint32_t n = 0; n < 10 * group.ranks; n++) {
		const uint32_t from = draw(group.ranks), to = draw(group.ranks);

		lively = draw(2);
		if (draw(3))
			insert(from, &to, 1);
		else
			send_many(from);
	}
	lively = false;
	finish();
	close_group();
}

static void all_come(void **state)
{
	for (uint32_t ranks = 1; ranks <= 33; ranks++)
		for (size_t w = 0; w < 8; w++)
			comes((struct qv_stream_spec){.way = ways[w % 4],
						      .ranks = ranks,
						      .items = draw(40),
						      .limit = draw(2) ? 70 + draw(400) : 0,
						      .wait_ns = draw(3) ? 1 + draw(20000)
									 : UINT64_MAX,
						      .window = draw(4),
						      .envelope = w < 4 ? 0 : 2});
}

/* Every `step`-th rank gets 1000 bytes of rank 0. Messages and bytes of all; messages of rank 0. */
static struct qv_stream_stats links(enum qv_way way, uint32_t first, uint32_t step, uint64_t *own)
{
	const struct qv_stream_spec spec = {.way = way, .ranks = 64, .wait_ns = UINT64_MAX};
	uint32_t to[RANKS];
	struct qv_stream_stats s;
	size_t n = 0;

	open_group(&spec, 1000);
	for (uint32_t r = first; r < 64; r += step)
		to[n++] = r;
	while (numbers * 31u % 999 != 998)
		numbers++;
	insert(0, to, n);
	finish();
	qv_stream_stats(members[0].stream, &s);
	*own = s.messages;
	s = sum();
	assert_int_equal(s.inserted, n);
	close_group();
	return s;
}

/* A head, who inserted it, its length, it. */
#define LAST (8 + 1 + 2 + 1000)
/* A head, that it is for many, its length, eight receivers and the end, it. */
#define FIRST (8 + 1 + 2 + 9 + 1000)

static void once_over_each_link(void **state)
{
	static const uint64_t of_sender[] = {63, 7 + 7, 3 + 3 + 3,
					     6}; /* the last: a binomial tree */
	uint64_t own;
	struct qv_stream_stats s = links(QV_WAY_MESH2, 3, 8, &own); /* a column */

	assert_int_equal(own, 1);
	assert_int_equal(s.messages, 1 + 7);
	assert_int_equal(s.bytes, FIRST + 7 * LAST);
	assert_int_equal(s.forwarded, 7);
	s = links(QV_WAY_MESH2, 0, 1, &own);
	assert_int_equal(s.messages, 63);
	assert_int_equal(s.bytes, 7 * FIRST + 56 * LAST);
	for (size_t w = 0; w < 4; w++) {
		s = links(ways[w], 0, 1, &own); /* each but the first gets it once */
		assert_int_equal(s.messages, 63);
		assert_int_equal(own, of_sender[w]);
		assert_in_range(s.bytes, 63 * (LAST - 1), 63 * (LAST + 33));
	}
}

static void full_window(void **state)
{
	const struct qv_stream_spec spec = {
		.way = QV_WAY_MESH2, .ranks = 9, .items = 1, .window = 2};
	static const uint32_t to[] = {3, 6};

	open_group(&spec, 30);
	qv_packet_set(true, false);
	insert(0, to, 2);
	assert_int_equal(qv_stream_multicast(members[0].stream, to, 2, NULL, 0, now), QV_EAGAIN);
	assert_int_equal(sum().inserted, 2);
	qv_packet_set(false, false);
	finish();
	close_group();
}

static void bad_arguments(void **state)
{
	const struct qv_stream_spec spec = {.way = QV_WAY_MESH2, .ranks = 9};
	static const uint32_t right[] = {1, 2, 8}, twice[] = {1, 1}, falling[] = {2, 1},
			      high[] = {1, 9};
	static const char big[8192];
	struct qv_stream *s;

	open_group(&spec, 30);
	s = members[0].stream;
	assert_int_equal(qv_stream_multicast(s, right, 0, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, NULL, 1, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, right, 3, NULL, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, twice, 2, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, falling, 2, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, high, 2, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_multicast(s, right, 3, big, qv_stream_longest(s) + 1, 0),
			 QV_EMSGSIZE);
	assert_int_equal(sum().inserted, 0);
	close_group();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come), cmocka_unit_test(once_over_each_link),
		cmocka_unit_test(full_window), cmocka_unit_test(bad_arguments)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
