/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_group.h - streams of a whole group in one process: the i-th item of a rank for another
 * is known, so that all that comes can be judged. */
#ifndef QV_STREAM_GROUP_H
#define QV_STREAM_GROUP_H

#include "stream_net.h"

#define QV_NEVER UINT64_MAX

struct qv_member {
	uint32_t sent[QV_NET_RANKS], got[QV_NET_RANKS]; /* items, to and from each rank */
};

struct qv_stream_group {
	struct qv_member members[QV_NET_RANKS];
	size_t longest;  /* of items */
	size_t envelope; /* longest of envelopes; 0: none */
	uint32_t shares; /* so many items in a row have the same; 0: 1 */
	bool urgent;     /* what is inserted, without an envelope */
	bool spoiled;    /* what comes is not judged */
};

extern struct qv_stream_group qv_group;

void qv_group_open(struct qv_stream_spec spec, size_t longest);
/* The next item of a pair. */
void qv_group_insert(uint32_t from, uint32_t to);
/* Until all has come, and compare. */
void qv_group_finish(bool flush);

#endif /* QV_STREAM_GROUP_H */
