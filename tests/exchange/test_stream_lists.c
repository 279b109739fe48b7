/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stream_lists.c - items for many ranks whose lists of receivers make no sense, or that were
 * changed on their way, also by ring and tree: nothing is taken of a message with such an item.
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

#include "engine/exchange/stream/stream.h"
#include "stream_net.h"

static size_t draw(size_t n)
{
	return (size_t)qv_packet_draw(n);
}

/* What comes to rank 4 of 9 from rank 3, to be sent on to rank 7. */

static unsigned int heard;
static uint8_t said[64];
static size_t said_bytes;

static void hear(void *port, uint32_t from, const void *data, size_t bytes)
{
	assert_in_range(bytes, 0, sizeof(said));
	said_bytes = bytes;
	memcpy(said, data, bytes);
	heard++;
}

static int send_never(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return QV_EAGAIN;
}

static void lists(void **state)
{
	static const struct qv_stream_calls calls = {.send = send_never, .item = hear};
	const struct qv_stream_spec spec = {.way = QV_WAY_MESH2, .ranks = 9, .rank = 4};
	static const struct {
		uint8_t bytes, item[16];
	} bad[] = {
		{4, {9, 2, 0, 'x'}},                     /* nobody */
		{4, {9, 2, 10, 6}},                      /* no end */
		{5, {9, 3, 20, 0, 'x'}},                 /* rank 9 */
		{6, {9, 4, 10, 10, 0, 'x'}},             /* the second is rank 9 */
		{7, {9, 5, 10, 1, 0, 0, 'x'}},           /* the same again */
		{6, {9, 40, 10, 6, 0, 'x'}},             /* cut */
		{6, {9, 4, 11, 100, 0, 'x'}},            /* own bytes, cut */
		{7, {9, 5, 11, 3, 'o', 0, 'x'}},         /* the end among them */
		{6, {10, 4, 10, 6, 0, 'x'}},             /* neither a rank nor a list */
		{8, {9, 6, 255, 255, 255, 255, 255, 0}}, /* no such number */
	};
	struct qv_stream_stats s;
	struct qv_stream *stream;

	assert_int_equal(qv_stream_create(&spec, &calls, NULL, &stream), QV_OK);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(qv_net_tell(stream, 0, bad[i].item, bad[i].bytes), QV_EPROTO);
	qv_stream_stats(stream, &s);
	assert_int_equal(s.delivered + s.forwarded, 0);
	assert_int_equal(qv_net_tell(stream, 0, "\x9\x6\xb\x1o\x6\x0x", 8), QV_OK);
	qv_stream_stats(stream, &s);
	assert_int_equal(heard, 1);
	assert_int_equal(s.forwarded, 1);
	assert_int_equal(said_bytes, 2);
	assert_memory_equal(said, "ox", 2); /* its own, and what all get */
	qv_stream_free(stream);
}

/* Messages with lists that are changed and cut. */

static void come_any(void *port, uint32_t from, const void *data, size_t bytes)
{
	char copy[8192];

	assert_in_range(bytes, 0, sizeof(copy));
	memcpy(copy, data, bytes);
}

static struct {
	char data[8192];
	size_t bytes;
} messages[2];
static unsigned int n_messages;
static uint32_t message_to;

static int send_there(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	if (n_messages < 2 && (!n_messages || peer == message_to)) {
		memcpy(messages[n_messages].data, buf, bytes);
		messages[n_messages++].bytes = bytes;
		message_to = peer;
	}
	return QV_OK;
}

/* Two of rank 0 of 4 by 4, for a whole column. */
static void make_messages(struct qv_stream_spec spec, enum qv_section by)
{
	static const struct qv_stream_calls calls = {.send = send_there, .item = come_any};
	static const uint32_t to[] = {1, 5, 9, 13};
	struct qv_stream *s;

	n_messages = 0;
	assert_int_equal(qv_stream_create(&spec, &calls, NULL, &s), QV_OK);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(qv_stream_multicast(s, by, to, 4, "many", (size_t)i % 3, 0),
				 QV_OK);
		if (i % 3 == 2)
			qv_stream_flush(s);
	}
	assert_int_equal(n_messages, 2);
	qv_stream_free(s);
}

/* The second one, behind the first as it was sent. */
static bool spoil(struct qv_stream *s)
{
	const size_t all = messages[1].bytes, bytes = draw(3) ? all : draw(all + 1);
	char *copy = malloc(bytes + 1);
	struct qv_stream_stats before, after;
	int rc;

	assert_int_equal(qv_stream_deliver(s, 0, messages[0].data, messages[0].bytes, 0), QV_OK);
	memcpy(copy, messages[1].data, bytes);
	for (size_t n = 1 + draw(2); n && bytes; n--)
		copy[draw(bytes)] ^= (char)(1 << draw(8));
	qv_stream_stats(s, &before);
	rc = qv_stream_deliver(s, 0, copy, bytes, 0);
	qv_stream_stats(s, &after);
	if (rc)
		assert_memory_equal(&before, &after, sizeof(after));
	free(copy);
	return rc != 0;
}

static void changed(enum qv_section by)
{
	static const struct qv_stream_calls calls = {.send = send_never, .item = come_any};
	struct qv_stream_spec spec = {.way = QV_WAY_MESH2, .ranks = 16, .wait_ns = UINT64_MAX};
	unsigned int refused = 0;
	struct qv_stream *s;

	make_messages(spec, by);
	spec.rank = message_to;
	for (int i = 0; i < 10000; i++) {
		assert_int_equal(qv_stream_create(&spec, &calls, NULL, &s), QV_OK);
		refused += spoil(s);
		qv_stream_free(s);
	}
	assert_in_range(refused, 2500, 9950);
}

static void hostile(void **state)
{
	for (enum qv_section by = QV_SECTION_WAY; by < QV_N_SECTIONS; by++)
		changed(by);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lists), cmocka_unit_test(hostile)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
