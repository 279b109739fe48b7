/* SPDX-License-Identifier: BSD-2-Clause */
/* many_group.c - streams of a whole group, with items for one rank and for many. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "many_group.h"

#define ITEMS 1000 /* of a pair, at most */

/* Items of a rank for another that keep their order. */
struct flow {
	uint32_t sent, got;
	uint16_t expected[ITEMS]; /* their numbers */
};

struct member {
	struct flow from[QV_MANY_RANKS][2]; /* by the stream's way; by ring and tree */
};

static struct member members[QV_MANY_RANKS];
static uint8_t sent_on[UINT16_MAX + 1]; /* items by ring and tree, by number */
struct qv_many_group qv_many;

static uint32_t draw(uint32_t n)
{
	return (uint32_t)qv_packet_draw(n);
}

void qv_many_each(void (*make)(struct qv_stream_spec spec))
{
	static const enum qv_way ways[] = {QV_WAY_DIRECT, QV_WAY_MESH2, QV_WAY_MESH3,
					   QV_WAY_HYPERCUBE};

	for (uint32_t ranks = 1; ranks <= 33; ranks++)
		for (size_t w = 0; w < 8; w++)
			make((struct qv_stream_spec){.way = ways[w % 4],
						     .ranks = ranks,
						     .items = draw(40),
						     .limit = draw(2) ? 70 + draw(400) : 0,
						     .wait_ns =
							     draw(3) ? 1 + draw(20000) : UINT64_MAX,
						     .window = draw(4),
						     .envelope = w < 4 ? 0 : 2});
}

static uint32_t rank_of(const struct member *m)
{
	return (uint32_t)(m - members);
}

/* What an item is, by its number. */
static size_t item_of(uint16_t number, char *data)
{
	const size_t bytes = 2 + number * 31u % (qv_many.longest - 1);

	memset(data, number % 251, bytes);
	memcpy(data, &number, 2);
	return bytes;
}

static size_t envelope_of(uint16_t number)
{
	return qv_many.spec.envelope ? number % 3 : 0;
}

static void come_packed(void *port, uint32_t from, const void *envelope, size_t n, const void *data,
			size_t bytes)
{
	struct member *m = port;
	struct flow *f;
	char expected[4096];
	uint16_t number;

	assert_in_range(from, 0, qv_many.spec.ranks - 1);
	memcpy(&number, data, 2);
	f = &m->from[from][sent_on[number]];
	assert_in_range(f->got, 0, f->sent - 1);
	assert_int_equal(number, f->expected[f->got++]);
	assert_int_equal(bytes, item_of(number, expected));
	assert_memory_equal(data, expected, bytes);
	assert_int_equal(n, envelope_of(number));
	if (qv_many.lively && !draw(60))
		qv_many_insert_any(rank_of(m));
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

void qv_many_open(const struct qv_stream_spec *spec, size_t longest)
{
	static const struct qv_stream_calls calls = {net_send, come, come_packed};

	qv_many.spec = *spec;
	qv_many.longest = longest;
	qv_many.number = 0;
	qv_many.shapes = 0;
	qv_net.ranks = spec->ranks;
	for (uint32_t r = 0; r < qv_many.spec.ranks; r++) {
		memset(&members[r], 0, sizeof(members[r]));
		qv_many.spec.rank = r;
		assert_int_equal(
			qv_stream_create(&qv_many.spec, &calls, &members[r], &qv_net.streams[r]),
			QV_OK);
	}
}

/* One to oneself comes within the call, so it is noted before. */
static void note(uint32_t from, const uint32_t *to, size_t n, uint16_t number)
{
	for (size_t i = 0; i < n; i++) {
		struct flow *f = &members[to[i]].from[from][sent_on[number]];

		assert_in_range(f->sent, 0, ITEMS - 1);
		f->expected[f->sent++] = number;
	}
}

static void forget(uint32_t from, const uint32_t *to, size_t n, uint16_t number)
{
	for (size_t i = 0; i < n; i++)
		members[to[i]].from[from][sent_on[number]].sent--;
}

void qv_many_insert(uint32_t from, const uint32_t *to, size_t n, enum qv_section by)
{
	struct qv_stream *s = qv_net.streams[from];
	const uint16_t number = qv_many.number++;
	const size_t env = envelope_of(number);
	char data[4096];
	const size_t bytes = item_of(number, data);
	int rc;

	sent_on[number] = by != QV_SECTION_WAY;
	do {
		note(from, to, n, number);
		if (n > 1 || by || (!env && !draw(4)))
			rc = qv_stream_multicast(s, by, to, n, data, bytes, qv_net.now);
		else if (!qv_many.spec.envelope && !draw(5))
			rc = qv_stream_insert_urgent(s, *to, data, bytes, qv_net.now);
		else
			rc = qv_stream_pack(s, *to, "ab", env, data, bytes, qv_net.now);
		if (rc == QV_EAGAIN) {
			forget(from, to, n, number);
			qv_net_turn(false);
		}
	} while (rc == QV_EAGAIN);
	assert_int_equal(rc, QV_OK);
}

void qv_many_insert_any(uint32_t from)
{
	const enum qv_section by = (enum qv_section)draw(qv_many.shapes ? qv_many.shapes : 1);
	const uint32_t step = 1 + draw(8);
	uint32_t to[QV_MANY_RANKS];
	size_t n = 0;

	for (uint32_t r = draw(qv_many.spec.ranks); r < qv_many.spec.ranks; r += 1 + draw(step))
		to[n++] = r;
	while ((n > 1 || by) && envelope_of(qv_many.number)) /* that of many is of 0 bytes */
		qv_many.number++;
	qv_many_insert(from, to, n, by);
}

void qv_many_finish(void)
{
	for (unsigned int n = 0;
	     qv_net_sum().delivered != qv_net_sum().inserted || qv_packet_first(); n++) {
		qv_net_turn(true);
		assert_in_range(n, 0, 100000);
	}
	for (uint32_t from = 0; from < qv_many.spec.ranks; from++)
		for (uint32_t to = 0; to < qv_many.spec.ranks; to++)
			for (int k = 0; k < 2; k++)
				assert_int_equal(members[to].from[from][k].got,
						 members[to].from[from][k].sent);
}
