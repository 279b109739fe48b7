/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_group.c - streams of a whole group in one process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "stream_group.h"

struct qv_stream_group qv_group;

/* What the i-th item from one rank to another is: so long, of these bytes. */
static size_t item_of(uint32_t from, uint32_t to, uint32_t i, char *data, size_t longest)
{
	const size_t bytes = (from * 7 + to * 13 + (size_t)i * 31) % (longest + 1);

	for (size_t k = 0; k < bytes; k++)
		data[k] = (char)(from + 3 * to + 5 * i + k);
	return bytes;
}

/* Envelopes of different pairs differ, or not. */
static size_t envelope_of(uint32_t from, uint32_t to, uint32_t i, char *data)
{
	const uint32_t number = i / (qv_group.shares ? qv_group.shares : 1);
	const size_t bytes = (from + to / 3 + (size_t)number * 17) % (qv_group.envelope + 1);

	for (size_t k = 0; k < bytes; k++)
		data[k] = (char)(from + 11 * number + k);
	return bytes;
}

static void packed(void *port, uint32_t from, const void *envelope, size_t n, const void *data,
		   size_t bytes)
{
	struct qv_member *m = port;
	const uint32_t to = (uint32_t)(m - qv_group.members);
	char expected[4096];

	if (qv_group.spoiled)
		return;
	assert_in_range(from, 0, qv_net.ranks - 1);
	assert_int_equal(bytes, item_of(from, to, m->got[from], expected, qv_group.longest));
	assert_memory_equal(data, expected, bytes);
	if (qv_group.envelope) {
		assert_int_equal(n, envelope_of(from, to, m->got[from], expected));
		assert_memory_equal(envelope, expected, n);
	}
	m->got[from]++;
}

static void come(void *port, uint32_t from, const void *data, size_t bytes)
{
	packed(port, from, NULL, 0, data, bytes);
}

static int net_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	return qv_packet_send((uint32_t)((struct qv_member *)port - qv_group.members), id, peer,
			      buf, bytes);
}

void qv_group_open(struct qv_stream_spec spec, size_t longest)
{
	static const struct qv_stream_calls calls = {net_send, come, packed};

	qv_net.ranks = spec.ranks;
	qv_group.longest = longest;
	qv_group.envelope = spec.envelope;
	for (spec.rank = 0; spec.rank < spec.ranks; spec.rank++) {
		struct qv_member *m = &qv_group.members[spec.rank];

		memset(m, 0, sizeof(*m));
		assert_int_equal(qv_stream_create(&spec, &calls, m, &qv_net.streams[spec.rank]),
				 QV_OK);
	}
}

void qv_group_insert(uint32_t from, uint32_t to)
{
	struct qv_member *m = &qv_group.members[from];
	char data[4096], envelope[4096];
	const size_t bytes = item_of(from, to, m->sent[to], data, qv_group.longest);
	const size_t n = envelope_of(from, to, m->sent[to], envelope);
	int rc;

	do {
		if (qv_group.envelope)
			rc = qv_stream_pack(qv_net.streams[from], to, envelope, n, data, bytes,
					    qv_net.now);
		else
			rc = (qv_group.urgent ? qv_stream_insert_urgent : qv_stream_insert)(
				qv_net.streams[from], to, data, bytes, qv_net.now);
		if (rc == QV_EAGAIN)
			qv_net_turn(false);
	} while (rc == QV_EAGAIN);
	assert_int_equal(rc, QV_OK);
	m->sent[to]++;
}

void qv_group_finish(bool flush)
{
	struct qv_stream_stats s = qv_net_sum();

	for (unsigned int n = 0; s.delivered != s.inserted; s = qv_net_sum()) {
		qv_net_turn(flush);
		assert_in_range(n++, 0, 100000);
	}
	for (uint32_t from = 0; from < qv_net.ranks; from++)
		for (uint32_t to = 0; to < qv_net.ranks; to++)
			assert_int_equal(qv_group.members[to].got[from],
					 qv_group.members[from].sent[to]);
}
