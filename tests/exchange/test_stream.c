/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_stream.c - streams of a whole group in one process, over a network that is late and busy as
 * it likes but keeps the messages of a pair in order: all items come, once and in order; messages
 * are as few as they should be; nothing is believed of what comes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/exchange/stream/stream.h"
#include "stream_group.h"

/* What must hold. */

static const enum qv_way ways[] = {QV_WAY_DIRECT, QV_WAY_MESH2, QV_WAY_MESH3, QV_WAY_HYPERCUBE};

static void comes(struct qv_stream_spec spec)
{
	const size_t head = 28 + (spec.envelope ? spec.envelope + 5 : 0);
	const size_t longest = spec.limit ? spec.limit - head : 300;

	spec.items = (uint32_t)qv_packet_draw(40); /* 0: the usual */
	spec.wait_ns = qv_packet_draw(3) ? 1 + qv_packet_draw(20000) : QV_NEVER;
	spec.window = (uint32_t)qv_packet_draw(4);
	qv_group.shares = 1 + (uint32_t)qv_packet_draw(9);
	qv_group_open(spec, longest);
	assert_true(qv_stream_longest(qv_net.streams[0]) >= longest);
	for (uint32_t n = 0; n < 20 * spec.ranks; n++) {
		qv_group.urgent = !qv_packet_draw(10);
		qv_group_insert((uint32_t)qv_packet_draw(spec.ranks),
				(uint32_t)qv_packet_draw(spec.ranks));
	}
	qv_group.urgent = false;
	qv_group_finish(spec.wait_ns == QV_NEVER || qv_packet_draw(2));
	qv_net_close();
}

static void all_come(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 13, 16, 27, 31, 64, 100};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t w = 0; w < 8; w++) {
			const size_t limit = qv_packet_draw(2) ? 64 + qv_packet_draw(400) : 0;
			const size_t most = limit ? limit - 64 : 200;

			comes((struct qv_stream_spec){
				.way = ways[w % 4],
				.ranks = sizes[i],
				.limit = limit,
				.envelope = w < 4 ? 0 : qv_packet_draw(most + 1)});
		}
}

/* Messages for k items from each rank to each other one. */
static uint64_t messages_of(enum qv_way way, uint32_t ranks, uint32_t k, uint32_t items)
{
	const struct qv_stream_spec spec = {
		.way = way, .ranks = ranks, .items = items, .wait_ns = QV_NEVER, .window = 10000};
	struct qv_stream_stats s;

	qv_group_open(spec, 4);
	for (uint32_t n = 0; n < k; n++)
		for (uint32_t from = 0; from < ranks; from++)
			for (uint32_t to = 0; to < ranks; to++)
				if (from != to)
					qv_group_insert(from, to);
	for (bool more = true; more;) { /* all of the first phase before the second leaves */
		for (uint32_t r = 0; r < ranks; r++)
			qv_stream_flush(qv_net.streams[r]);
		more = qv_packet_first();
		while (qv_packet_first())
			qv_net_deliver();
	}
	qv_group_finish(true);
	s = qv_net_sum();
	assert_int_equal(s.messages, s.full + s.late + s.flushed + s.urgent);
	qv_net_close();
	return s.messages;
}

static void as_few_as_can_be(void **state)
{
	assert_int_equal(messages_of(QV_WAY_DIRECT, 2, 1000, 500), 2 * 2);
	assert_int_equal(messages_of(QV_WAY_DIRECT, 2, 1000, 1), 2 * 1000);
	assert_int_equal(messages_of(QV_WAY_DIRECT, 64, 1, 500), 64 * 63);
	/* What a rank inserts for a later phase leaves before what comes to be sent on in it. */
	assert_int_equal(messages_of(QV_WAY_MESH2, 64, 1, 500), 64 * (14 + 7));
	assert_int_equal(messages_of(QV_WAY_MESH3, 64, 1, 500), 64 * (9 + 6 + 3));
	assert_int_equal(messages_of(QV_WAY_HYPERCUBE, 64, 1, 500), 64 * (6 + 5 + 4 + 3 + 2 + 1));
	assert_int_equal(messages_of(QV_WAY_DIRECT, 64, 10, 10), 64 * 63);
}

static void tight(void **state)
{
	const struct qv_stream_spec spec = {.ranks = 2, .items = 500, .way = QV_WAY_DIRECT};
	const uint64_t value = 1;

	qv_group_open(spec, 8);
	qv_group.spoiled = true;
	for (int i = 0; i < 500; i++)
		assert_int_equal(qv_stream_insert(qv_net.streams[0], 1, &value, 8, 0), QV_OK);
	qv_group_finish(false);
	assert_int_equal(qv_net_sum().bytes, 8 + 500 * 9); /* a head, and a byte for each item */
	qv_group.spoiled = false;
	qv_net_close();
}

/* A common envelope of 40 bytes is there once in a bucket, a tiny item is its bytes
 * and one more. */
static void packs(void **state)
{
	const struct qv_stream_spec spec = {
		.ranks = 2, .items = 500, .limit = 65536, .way = QV_WAY_DIRECT, .envelope = 40};
	const uint64_t value = 1;
	char envelope[41] = "function 3 of array 7";

	qv_group_open(spec, 8);
	qv_group.spoiled = true;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(qv_stream_pack(qv_net.streams[0], 1, envelope, 40, &value, 8, 0),
				 QV_OK);
	qv_group_finish(false);
	assert_int_equal(qv_net_sum().bytes, 2 * (8 + 1 + 40 + 500 * 9));
	assert_int_equal(qv_net_sum().envelopes, 2);
	for (int i = 0; i < 500; i++) { /* each has its own */
		memcpy(envelope, &i, sizeof(i));
		assert_int_equal(qv_stream_pack(qv_net.streams[0], 1, envelope, 40, &value, 8, 0),
				 QV_OK);
	}
	qv_group_finish(false);
	assert_int_equal(qv_net_sum().bytes, 3 * 8 + 2 * 41 + 1000 * 9 + 500 * (9 + 41));
	assert_int_equal(qv_net_sum().envelopes, 502);
	assert_int_equal(qv_stream_pack(qv_net.streams[0], 1, envelope, 41, NULL, 0, 0),
			 QV_EMSGSIZE);
	assert_int_equal(qv_stream_pack(qv_net.streams[0], 1, NULL, 1, NULL, 0, 0), QV_EINVAL);
	qv_group.spoiled = false;
	qv_net_close();
}

static void waits_its_time(void **state)
{
	const struct qv_stream_spec spec = {.ranks = 3, .wait_ns = 500, .way = QV_WAY_DIRECT};

	qv_group_open(spec, 8);
	qv_net.now = 1000000;
	qv_group_insert(0, 1);
	qv_net.now += 300;
	qv_group_insert(0, 2);
	qv_group_insert(0, 1);
	assert_int_equal(qv_stream_progress(qv_net.streams[0], 1000499), QV_EAGAIN);
	assert_int_equal(qv_net_sum().late, 0);
	qv_stream_progress(qv_net.streams[0], 1000500);
	assert_int_equal(qv_net_sum().late, 1); /* both for rank 1, and not that for 2 */
	qv_stream_progress(qv_net.streams[0], 1000799);
	assert_int_equal(qv_net_sum().late, 1);
	qv_stream_progress(qv_net.streams[0], 1000800);
	assert_int_equal(qv_net_sum().late, 2);
	qv_group_finish(false);
	qv_net_close();
}

static void full_window(void **state)
{
	const struct qv_stream_spec spec = {
		.ranks = 2, .items = 4, .window = 3, .way = QV_WAY_DIRECT, .wait_ns = QV_NEVER};
	char byte[4096];
	unsigned int n = 0;

	qv_group_open(spec, 0);
	qv_packet_set(true, false);
	while (qv_stream_insert(qv_net.streams[0], 1, byte, 0, qv_net.now) == QV_OK)
		assert_in_range(n++, 0, 3 * 4 - 1);
	assert_int_equal(n, 3 * 4);
	qv_group.members[0].sent[1] = n;
	qv_packet_set(false, false);
	qv_group_insert(0, 1);
	qv_group_finish(true);
	qv_net_close();
}

/* What has left its bucket comes, though the network is busy at times; nothing is flushed. */
static void settle(void)
{
	for (int n = 0; n < 100; n++) {
		for (uint32_t r = 0; r < qv_net.ranks; r++)
			qv_stream_progress(qv_net.streams[r], qv_net.now);
		while (qv_packet_first())
			qv_net_deliver();
	}
}

/* An urgent item leaves at once with what is before it, ahead of buckets for others, and nobody on its
 * way waits; what is before it and urgent itself comes first. */
static void urgent(void **state)
{
	const struct qv_stream_spec spec = {
		.ranks = 64, .way = QV_WAY_MESH3, .wait_ns = QV_NEVER, .window = 8, .items = 3};
	const char byte = 1;

	qv_group_open(spec, 0);
	qv_group_insert(0, 63);
	qv_group.urgent = true;
	qv_group_insert(0, 63);
	qv_group.urgent = false;
	settle();
	assert_int_equal(qv_group.members[63].got[0], 2);
	assert_int_equal(qv_net_sum().messages, 3);
	assert_int_equal(qv_net_sum().urgent, 3);
	qv_group_insert(0, 63);
	settle();
	assert_int_equal(qv_group.members[63].got[0], 2); /* that waits */
	qv_group_finish(true);

	qv_packet_set(true, false);
	for (uint32_t to = 1; to < 4; to++) /* full buckets */
		for (int i = 0; i < 3; i++)
			qv_group_insert(0, to);
	qv_group_insert(0, 3);
	qv_group.urgent = true;
	qv_group_insert(0, 2);
	qv_packet_set(false, false);
	for (int n = 0; n < 100; n++)
		qv_stream_progress(qv_net.streams[0], qv_net.now);
	for (uint32_t i = 0; i < 4; i++) { /* sent: 1, 2, urgent 2, 3 */
		static const uint32_t peers[] = {1, 2, 2, 3};
		const struct qv_packet *p = qv_packet_first();

		for (uint32_t k = 0; k < i && p; k++)
			p = p->next;
		assert_non_null(p);
		assert_int_equal(p->to, peers[i]);
	}
	qv_group.urgent = false;
	qv_group_finish(true);
	assert_int_equal(qv_stream_insert_urgent(qv_net.streams[0], 64, &byte, 1, 0), QV_EINVAL);
	qv_net_close();
}

/* A function that is given an item answers it, whatever is under way. */
static struct qv_stream *answerer;
static unsigned int answers;

static void answer(void *port, uint32_t from, const void *data, size_t bytes)
{
	assert_int_equal(qv_stream_insert(answerer, 1, NULL, 0, 0), QV_OK);
	answers++;
}

static int send_never(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return QV_EAGAIN;
}

static void answers_never_wait(void **state)
{
	static const struct qv_stream_calls calls = {send_never, answer, NULL};
	const struct qv_stream_spec spec = {
		.ranks = 2, .items = 1, .window = 1, .way = QV_WAY_DIRECT};
	/* A head of this version, phase 0, with three items of no bytes. */
	const char three[] = {QV_STREAM_VERSION, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0};

	assert_int_equal(qv_stream_create(&spec, &calls, NULL, &answerer), QV_OK);
	assert_int_equal(qv_stream_deliver(answerer, 1, three, sizeof(three), 0), QV_OK);
	assert_int_equal(answers, 3);
	assert_int_equal(qv_stream_insert(answerer, 1, NULL, 0, 0), QV_EAGAIN);
	qv_stream_free(answerer);
}

/* A ball that its rank throws to itself flies far, and never within itself. */
static unsigned int depth, bounces;

static void bounce(void *port, uint32_t from, const void *envelope, size_t n, const void *data,
		   size_t bytes)
{
	uint32_t left;

	assert_int_equal(depth++, 0);
	assert_int_equal(n, 5);
	assert_memory_equal(envelope, "ball.", n);
	assert_int_equal(bytes, sizeof(left));
	memcpy(&left, data, sizeof(left));
	bounces++;
	if (left--)
		assert_int_equal(qv_stream_pack(answerer, 0, "ball.", 5, &left, sizeof(left), 0),
				 QV_OK);
	depth--;
}

static void to_oneself(void **state)
{
	static const struct qv_stream_calls calls = {send_never, NULL, bounce};
	const struct qv_stream_spec spec = {.ranks = 1, .way = QV_WAY_DIRECT, .envelope = 8};
	const uint32_t far = 1000000;

	assert_int_equal(qv_stream_create(&spec, &calls, NULL, &answerer), QV_OK);
	assert_int_equal(qv_stream_pack(answerer, 0, "ball.", 5, &far, sizeof(far), 0), QV_OK);
	assert_int_equal(bounces, far + 1);
	qv_stream_free(answerer);
}

static void dead_network(void **state)
{
	const struct qv_stream_spec spec = {.ranks = 2, .items = 1, .way = QV_WAY_DIRECT};

	qv_group_open(spec, 0);
	qv_packet_set(false, true);
	qv_stream_insert(qv_net.streams[0], 1, NULL, 0, qv_net.now);
	assert_int_equal(qv_stream_progress(qv_net.streams[0], qv_net.now), QV_EPEER);
	assert_int_equal(qv_stream_insert(qv_net.streams[0], 1, NULL, 0, qv_net.now), QV_EPEER);
	qv_packet_set(false, false);
	qv_net_close();
}

/* What comes is changed, cut, or of no sense: then none of it is taken, or it is what it says. */
static unsigned int spoil(const struct qv_stream_spec *spec)
{
	struct qv_stream_stats before, after;
	struct qv_packet *p;
	int rc;

	qv_group_open(*spec, 30);
	while (!qv_packet_first()) {
		for (uint32_t to = 1; to < 9; to++)
			qv_group_insert(0, to);
		qv_stream_flush(qv_net.streams[0]);
	}
	p = qv_packet_first();
	if (qv_packet_draw(2))
		p->data[qv_packet_draw(qv_packet_draw(2) ? 8 : p->bytes)] ^=
			(char)(1 << qv_packet_draw(8));
	if (qv_packet_draw(2))
		p->bytes = qv_packet_draw(p->bytes + 1);
	p->data = realloc(p->data, p->bytes + 1); /* nothing behind it is looked at */
	before = qv_net_sum();
	rc = qv_stream_deliver(qv_net.streams[p->to], (uint32_t)qv_packet_draw(10), p->data,
			       p->bytes, qv_net.now);
	after = qv_net_sum();
	if (rc)
		assert_memory_equal(&before, &after, sizeof(after));
	qv_net_close();
	return rc != 0;
}

static void hostile(void **state)
{
	struct qv_stream_spec spec = {.ranks = 9, .way = QV_WAY_MESH2, .wait_ns = QV_NEVER};
	unsigned int refused = 0;

	qv_group.spoiled = true;
	qv_group.shares = 1;
	for (int i = 0; i < 20000; i++) {
		spec.envelope = i % 2 ? 20 : 0;
		refused += spoil(&spec);
	}
	assert_in_range(refused, 5000, 19999);
	qv_group.spoiled = false;
}

static int send_no(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return QV_EAGAIN;
}

static void come_no(void *port, uint32_t from, const void *data, size_t bytes)
{
	fail_msg("an item of %zu bytes has come", bytes);
}

static void bad_arguments(void **state)
{
	static const struct qv_stream_calls calls = {send_no, come_no, NULL},
					    none = {NULL, NULL, NULL};
	static const struct qv_stream_spec bad[] = {
		{.ranks = 0},
		{.ranks = 4, .rank = 4, .way = QV_WAY_DIRECT},
		{.ranks = 4, .way = QV_WAY_CRYSTAL},
		{.ranks = 4, .way = (enum qv_way)QV_N_WAYS},
		{.ranks = 4, .way = QV_WAY_DIRECT, .limit = 63},
		{.ranks = 4, .way = QV_WAY_DIRECT, .limit = (size_t)1 << 31},
		{.ranks = 4, .way = QV_WAY_DIRECT, .items = 65537},
		{.ranks = 4, .way = QV_WAY_DIRECT, .envelope = 1}, /* for which nothing is called */

	};
	const struct qv_stream_spec good = {.ranks = 4, .way = QV_WAY_DIRECT};
	struct qv_stream *s;
	char big[8192];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(qv_stream_create(&bad[i], &calls, NULL, &s), QV_EINVAL);
	assert_int_equal(qv_stream_create(&good, &none, NULL, &s), QV_EINVAL);
	assert_int_equal(qv_stream_create(&good, &calls, qv_group.members, &s), QV_OK);
	assert_int_equal(qv_stream_insert(s, 4, big, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_insert(s, 1, NULL, 1, 0), QV_EINVAL);
	assert_int_equal(qv_stream_insert(s, 1, big, qv_stream_longest(s) + 1, 0), QV_EMSGSIZE);
	assert_int_equal(qv_stream_progress(s, 0), QV_OK);
	qv_stream_done(s, 77, QV_OK); /* no such message: nothing happens */
	qv_stream_free(s);
	qv_stream_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come),
		cmocka_unit_test(as_few_as_can_be),
		cmocka_unit_test(tight),
		cmocka_unit_test(packs),
		cmocka_unit_test(waits_its_time),
		cmocka_unit_test(full_window),
		cmocka_unit_test(dead_network),
		cmocka_unit_test(hostile),
		cmocka_unit_test(bad_arguments),
		cmocka_unit_test(urgent),
		cmocka_unit_test(answers_never_wait),
		cmocka_unit_test(to_oneself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
