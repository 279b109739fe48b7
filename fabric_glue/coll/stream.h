/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - a stream between the members of a group. Inside of fabric_glue/coll only.
 *
 * It is an operation of the group from its opening to its closing, so that it ends with the group.
 * It has a receive posted from each other member. What progress of the endpoint finds is only written
 * down, with the domain's lock; the engine's stream is touched by calls for the stream alone, without
 * it.
 */
#ifndef QV_FI_COLL_STREAM_H
#define QV_FI_COLL_STREAM_H

#include "coll.h"

#include <quiver/fi_stream.h>

enum qv_fi_inbox { QV_FI_IDLE, QV_FI_POSTED, QV_FI_COME };

/* What one member sends. */
struct qv_fi_stream_member {
	enum qv_fi_inbox state;
	size_t bytes; /* that have come */
};

struct qv_fi_stream {
	struct qv_fi_coll_op *op; /* NULL: it is over, or its endpoint has been closed */
	struct qv_fi_domain *dom; /* of the endpoint */
	struct qv_stream *stream;
	void (*item)(void *user, uint32_t from, const void *data, size_t bytes);
	void *user;
	uint32_t ranks;
	size_t limit; /* bytes of a message */
	uint64_t now; /* ns, at the last progress */
	int failed;   /* enum qv_status: what has ended the stream */
	bool giving, fencing;
	uint64_t mine[2], sums[2], come; /* items inserted and delivered; come by the last wave */
	/* With the lock: */
	bool closing, summing, summed;
	int lost; /* enum qv_status: why the group will be */
	struct qv_fi_stream_member *members;
	uint32_t n_idle, n_come; /* of members */
	char *buffers;
	uint32_t *sent, n_sent, n_flying, room; /* messages that are over, by id */
};

/* Its endpoint, while there is its operation. */
static inline struct qv_fi_ep *qv_fi_stream_ep(const struct qv_fi_stream *s)
{
	return s->op->coll->ep;
}

/* From network.c. */

/* As in struct qv_stream_calls; port: struct qv_fi_stream. */
int qv_fi_stream_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes);
/* Receives where none is posted. Lock held. */
void qv_fi_stream_post(struct qv_fi_stream *stream);
/* The endpoint moves on, and the engine hears which of its messages are over. */
void qv_fi_stream_look(struct qv_fi_stream *stream);
/* The next member from *rank on of whom a message has come: it is the one before *rank then. */
bool qv_fi_stream_next(struct qv_fi_stream *stream, uint32_t *rank, size_t *bytes);
/* The engine has taken that message; rc: what it has said. */
void qv_fi_stream_taken(struct qv_fi_stream *stream, uint32_t rank, int rc);

#endif /* QV_FI_COLL_STREAM_H */
