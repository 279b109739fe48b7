/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_group.h - streams of a whole group in one process: the i-th item of a rank for another
 * is known, so that all that comes can be judged. */
#ifndef QV_STREAM_GROUP_H
#define QV_STREAM_GROUP_H

#include <stdbool.h>
#include <quiver/stream.h>

#include "packet_net.h"

#define QV_GROUP_RANKS 100
#define QV_NEVER       UINT64_MAX

struct qv_member {
	struct qv_stream *stream;
	uint32_t sent[QV_GROUP_RANKS], got[QV_GROUP_RANKS]; /* items, to and from each rank */
};

struct qv_stream_group {
	struct qv_member members[QV_GROUP_RANKS];
	uint32_t ranks;
	size_t longest;  /* of items */
	size_t envelope; /* longest of envelopes; 0: none */
	uint32_t shares; /* so many items in a row have the same; 0: 1 */
	uint64_t now;
	bool urgent;  /* what is inserted, without an envelope */
	bool spoiled; /* what comes is not judged */
};

extern struct qv_stream_group qv_group;

void qv_group_open(struct qv_stream_spec spec, size_t longest);
void qv_group_close(void);
/* The next item of a pair. */
void qv_group_insert(uint32_t from, uint32_t to);
/* Deliver one packet. */
void qv_group_deliver(void);
/* Until all has come, and compare. */
void qv_group_finish(bool flush);
struct qv_stream_stats qv_group_sum(void);

#endif /* QV_STREAM_GROUP_H */
