/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_net.h - streams of a whole group in one process, over packet_net.h: messages are delivered,
 * counters are added up. */
#ifndef QV_STREAM_NET_H
#define QV_STREAM_NET_H

#include <stdbool.h>
#include <quiver/stream.h>

#include "packet_net.h"

#define QV_NET_RANKS 100

struct qv_stream_net {
	struct qv_stream *streams[QV_NET_RANKS]; /* by rank */
	uint32_t ranks;
	uint64_t now;
};

extern struct qv_stream_net qv_net;

/* Free them, with all that is under way. */
void qv_net_close(void);
/* Deliver one packet. */
void qv_net_deliver(void);
/* Time goes on: all flush or progress, some packets are delivered. */
void qv_net_turn(bool flush);
struct qv_stream_stats qv_net_sum(void);
/* To a stream, which need not be of these: a message of rank 3, of this phase, with one item. Returns as
 * qv_stream_deliver. */
int qv_net_tell(struct qv_stream *stream, uint8_t phase, const void *item, size_t bytes);

#endif /* QV_STREAM_NET_H */
