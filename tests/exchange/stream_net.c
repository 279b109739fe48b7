/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_net.c - streams of a whole group in one process. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/exchange/stream/stream.h"
#include "stream_net.h"

struct qv_stream_net qv_net;

void qv_net_close(void)
{
	for (uint32_t r = 0; r < qv_net.ranks; r++)
		qv_stream_free(qv_net.streams[r]);
	qv_packet_clear();
}

struct qv_stream_stats qv_net_sum(void)
{
	struct qv_stream_stats all = {0}, s;

	for (uint32_t r = 0; r < qv_net.ranks; r++) {
		qv_stream_stats(qv_net.streams[r], &s);
		all.inserted += s.inserted;
		all.delivered += s.delivered;
		all.forwarded += s.forwarded;
		all.envelopes += s.envelopes;
		all.messages += s.messages;
		all.bytes += s.bytes;
		all.full += s.full;
		all.late += s.late;
		all.flushed += s.flushed;
		all.urgent += s.urgent;
	}
	return all;
}

static void take(const struct qv_packet *p)
{
	qv_stream_done(qv_net.streams[p->from], p->id, QV_OK);
	assert_int_equal(
		qv_stream_deliver(qv_net.streams[p->to], p->from, p->data, p->bytes, qv_net.now),
		QV_OK);
}

void qv_net_deliver(void)
{
	qv_packet_deliver(take);
}

void qv_net_turn(bool flush)
{
	qv_net.now += 1000;
	for (uint32_t r = 0; r < qv_net.ranks; r++) {
		int rc = flush ? qv_stream_flush(qv_net.streams[r])
			       : qv_stream_progress(qv_net.streams[r], qv_net.now);

		assert_true(rc == QV_OK || rc == QV_EAGAIN);
	}
	for (uint64_t n = qv_packet_draw(2 * qv_net.ranks); n; n--)
		qv_net_deliver();
}

int qv_net_tell(struct qv_stream *stream, uint8_t phase, const void *item, size_t bytes)
{
	const uint8_t head[8] = {QV_STREAM_VERSION, phase, 0, 0, 1};
	uint8_t *all = malloc(sizeof(head) + bytes); /* nothing behind it is looked at */
	int rc;

	memcpy(all, head, sizeof(head));
	memcpy(all + sizeof(head), item, bytes);
	rc = qv_stream_deliver(stream, 3, all, sizeof(head) + bytes, 0);
	free(all);
	return rc;
}
