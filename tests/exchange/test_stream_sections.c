/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stream_sections.c - items for many ranks by ring and by tree: they come once to each, in order
 * with each other, whichever of the two is taken; receivers alone send them on, and no more messages
 * than these ways have. What comes early waits, what comes again is dropped, what makes no sense is refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/exchange/stream/stream.h"
#include "many_group.h"

static const enum qv_way ways[] = {QV_WAY_DIRECT, QV_WAY_MESH2, QV_WAY_MESH3, QV_WAY_HYPERCUBE};

static uint32_t draw(uint32_t n)
{
	return (uint32_t)qv_packet_draw(n);
}

/* The next items have these numbers. */
static void set_numbers(uint32_t ranks, uint32_t number)
{
	for (uint32_t r = 0; r < ranks; r++) {
		assert_int_equal(qv_stream_know_peers(qv_net.streams[r]), QV_OK);
		for (uint32_t p = 0; p < ranks; p++)
			qv_net.streams[r]->peers[p] =
				(struct qv_stream_peer){.sent = number, .come = number};
	}
}

static void comes(struct qv_stream_spec spec)
{
	qv_many_open(&spec, spec.limit ? spec.limit - 33 - spec.envelope : 300);
	set_numbers(spec.ranks, 0u - draw(8)); /* they go around */
	qv_many.shapes = QV_N_SECTIONS;
	for (uint32_t n = 0; n < 10 * spec.ranks; n++) {
		const uint32_t from = draw(spec.ranks), to = draw(spec.ranks);

		qv_many.lively = draw(2);
		if (draw(4))
			qv_many_insert_any(from);
		else
			qv_many_insert(from, &to, 1, QV_SECTION_WAY);
	}
	qv_many.lively = false;
	qv_many_finish();
	qv_net_close();
}

static void all_come(void **state)
{
	qv_many_each(comes);
}

/* What is sent. */

static uint64_t messages_of(uint32_t rank)
{
	struct qv_stream_stats s;

	qv_stream_stats(qv_net.streams[rank], &s);
	return s.messages;
}

/* A long item of rank 20 to every `step`-th of 64 ranks, itself among them or not. Only rank 20 flushes.
 * Returns how many others that are. */
static uint32_t send_long(enum qv_way way, enum qv_section by, uint32_t step)
{
	const struct qv_stream_spec spec = {.way = way, .ranks = 64, .wait_ns = UINT64_MAX};
	uint32_t to[QV_MANY_RANKS], n = 0, n_turns;

	qv_many_open(&spec, 3000);
	for (uint32_t r = 0; r < 64; r += step)
		to[n++] = r;
	qv_many.number = 96; /* one of 2978 bytes */
	qv_many_insert(20, to, n, by);
	qv_stream_flush(qv_net.streams[20]);
	for (n_turns = 0; qv_net_sum().delivered != qv_net_sum().inserted; n_turns++) {
		qv_net_turn(false);
		assert_in_range(n_turns, 0, 100000);
	}
	qv_many_finish();
	assert_int_equal(qv_net_sum().messages, n - (20 % step == 0));
	assert_in_range(qv_net_sum().bytes, qv_net_sum().messages * 2978,
			qv_net_sum().messages * (2978 + 8 + 10 + 7 + 3 * 63));
	for (uint32_t r = 0; r < 64; r++)
		if (r != 20 && r % step)
			assert_int_equal(messages_of(r), 0);
	return n - (20 % step == 0);
}

/* From the sender one, from each receiver one to the next, but for the last: the one before the
 * sender. */
static void ring(void **state)
{
	for (size_t w = 0; w < 4; w++)
		for (uint32_t step = 1; step <= 4; step++) {
			send_long(ways[w], QV_SECTION_RING, step);
			assert_int_equal(messages_of(20), 1);
			for (uint32_t r = 0; r < 64; r += step)
				if (r != 20)
					assert_int_equal(messages_of(r),
							 r != 20 - (20 % step ? 20 % step : step));
			qv_net_close();
		}
}

static uint32_t log2_of(uint32_t n)
{
	return n > 1 ? 1 + log2_of((n + 1) / 2) : 0;
}

/* Messages of the sender, messages[0], and of n receivers in the order of their distances: the first of
 * the farther half of those that are left gets the next one, and sends it to the others of its half. */
static void count_tree(uint64_t *messages, uint32_t n)
{
	while (n) {
		const uint32_t half = (n + 1) / 2;

		n -= half;
		messages[0]++;
		count_tree(messages + n + 1, half - 1);
	}
}

static void tree(void **state)
{
	for (size_t w = 0; w < 4; w++)
		for (uint32_t step = 1; step <= 64; step++) {
			const uint32_t n = send_long(ways[w], QV_SECTION_TREE, step);
			uint64_t messages[QV_MANY_RANKS + 1] = {0};
			uint32_t i = 1;

			count_tree(messages, n);
			assert_int_equal(messages[0], log2_of(n + 1));
			assert_int_equal(messages_of(20), messages[0]);
			for (uint32_t r = 21; r != 20; r = (r + 1) % 64)
				if (r % step == 0)
					assert_int_equal(messages_of(r), messages[i++]);
			assert_int_equal(i, n + 1);
			qv_net_close();
		}
}

/* Where the list does not fit beside the data, the sender sends several, and each goes round. */
static void split_lists(void **state)
{
	const struct qv_stream_spec spec = {
		.way = QV_WAY_DIRECT, .ranks = 64, .limit = 128, .wait_ns = UINT64_MAX};
	uint32_t to[QV_MANY_RANKS];

	qv_many_open(&spec, 95);
	for (uint32_t r = 0; r < 64; r++)
		to[r] = r;
	qv_many.number = 3; /* 2 + 93 % 94 bytes */
	qv_many_insert(0, to, 64, QV_SECTION_RING);
	qv_many_finish();
	assert_int_equal(messages_of(0), 16); /* to four each */
	assert_int_equal(qv_net_sum().messages, 63);
	qv_net_close();
}

/* One by the ring overtakes one that another rank has not sent on yet. */

static char said[3];

static void hear(void *port, uint32_t from, const void *data, size_t bytes)
{
	assert_int_equal(from, 0);
	assert_int_equal(bytes, 1);
	strncat(said, data, 1);
}

static int send_never(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return QV_EAGAIN;
}

static struct qv_stream *open_one(enum qv_way way)
{
	static const struct qv_stream_calls calls = {.send = send_never, .item = hear};
	const struct qv_stream_spec spec = {.way = way, .ranks = 9, .rank = 4, .limit = 64};
	struct qv_stream *s;

	said[0] = 0;
	assert_int_equal(qv_stream_create(&spec, &calls, NULL, &s), QV_OK);
	return s;
}

static void overtakes(void **state)
{
	struct qv_stream *s = open_one(QV_WAY_MESH2);
	struct qv_stream_stats stats;

	assert_int_equal(qv_net_tell(s, 2, "\0\2\2b", 4), QV_OK);
	assert_int_equal(qv_net_tell(s, 2, "\0\2\2b", 4), QV_OK); /* the same again is dropped */
	assert_string_equal(said, "");
	assert_int_equal(qv_net_tell(s, 2, "\0\2\0a", 4), QV_OK);
	assert_string_equal(said, "ab");
	assert_int_equal(qv_net_tell(s, 2, "\0\2\2b", 4), QV_OK);
	assert_string_equal(said, "ab");
	assert_int_equal(qv_net_tell(s, 2, "\0\2\6d", 4), QV_OK); /* freed with the stream */
	qv_stream_stats(s, &stats);
	assert_int_equal(stats.delivered, 2);
	qv_stream_free(s);
}

/* The same again is sent on once, whether it was given to the user or waits. */
static void repeats(void **state)
{
	static const char *const to_3[] = {"\0\7\1\1\0\x10\0\0a", "\0\7\5\1\0\x10\2\0c"};
	struct qv_stream *s = open_one(QV_WAY_DIRECT);
	struct qv_stream_stats stats;

	for (int i = 0; i < 4; i++) {
		assert_int_equal(qv_net_tell(s, 1, to_3[i / 2], 9), QV_OK);
		qv_stream_stats(s, &stats);
		assert_int_equal(stats.forwarded, 1 + i / 2);
	}
	assert_string_equal(said, "a");
	qv_stream_free(s);
}

/* Many that have overtaken the first one take time in proportion: a walk past all for each would take
 * minutes. */

static unsigned int counted;

static void count(void *port, uint32_t from, const void *data, size_t bytes)
{
	counted++;
}

static void many_wait(void **state)
{
	static const struct qv_stream_calls calls = {.send = send_never, .item = count};
	const struct qv_stream_spec spec = {.way = QV_WAY_DIRECT, .ranks = 9, .rank = 4};
	const unsigned int n = 400000;
	struct qv_stream *s;
	char item[12] = {0};

	counted = 0;
	assert_int_equal(qv_stream_create(&spec, &calls, NULL, &s), QV_OK);
	for (unsigned int i = 1; i <= n; i++) {
		const size_t bytes = qv_put_number(item + 2, 2 * (uint64_t)(i % n));

		assert_int_equal(counted, 0);
		item[1] = (char)bytes;
		assert_int_equal(qv_net_tell(s, 1, item, 2 + bytes), QV_OK);
	}
	assert_int_equal(counted, n);
	qv_stream_free(s);
}

/* To rank 4 of 9: who inserted it, its length, its number, the shape, its own bytes, the others. */
static void nonsense(void **state)
{
	static const struct {
		uint8_t bytes;
		const char *item;
	} bad[] = {
		{2, "\0\0"},                         /* no number */
		{3, "\0\1\1"},                       /* no shape */
		{8, "\0\6\1\0\0\2\0\0"},             /* by the stream's way */
		{8, "\0\6\1\3\0\2\0\0"},             /* an unknown shape */
		{6, "\0\4\1\1\0\0"},                 /* no others */
		{6, "\0\4\1\1\0\2"},                 /* without a number */
		{7, "\0\5\1\1\0\2\0"},               /* no end */
		{8, "\0\6\1\1\0\1\0\0"},             /* this rank */
		{8, "\0\6\1\1\0\x12\0\0"},           /* around to this rank */
		{10, "\0\x8\1\1\0\x8\0\xa\0\0"},     /* the second is this rank */
		{7, "\0\5\1\1\x9\2\0"},              /* its own bytes, cut */
		{9, "\0\7\1\1\0\3\0\x9\0"},          /* another's own bytes, cut */
		{9, "\0\7\xff\xff\xff\xff\x7f\0\0"}, /* no such number */
		{9, "\0\7\1\1\0\2\xff\xff\xff\xff"}, /* another's number, cut */
		{4, "\4\2\0a"},                      /* from this rank */
		{8, "\0\6\1\1\0\xa\0\0"},            /* to the one that inserted it */
	};
	static const char too_long[3 + 37] = {0, 1 + 37, 0};
	struct qv_stream *s = open_one(QV_WAY_DIRECT);
	struct qv_stream_stats stats;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(qv_net_tell(s, 1, bad[i].item, bad[i].bytes), QV_EPROTO);
	assert_int_equal(qv_net_tell(s, 2, "\0\2\0a", 4), QV_EPROTO); /* no such phase */
	qv_stream_stats(s, &stats);
	assert_int_equal(stats.delivered + stats.forwarded, 0);
	assert_int_equal(qv_net_tell(s, 1, too_long, sizeof(too_long)), QV_EPROTO);
	assert_int_equal(qv_net_tell(s, 1, "\0\7\1\1\0\x10\0\0a", 9),
			 QV_OK); /* to rank 3, around */
	qv_stream_stats(s, &stats);
	assert_int_equal(stats.forwarded, 1);
	assert_string_equal(said, "a");
	qv_stream_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come),  cmocka_unit_test(ring),
		cmocka_unit_test(tree),      cmocka_unit_test(split_lists),
		cmocka_unit_test(overtakes), cmocka_unit_test(repeats),
		cmocka_unit_test(many_wait), cmocka_unit_test(nonsense)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
