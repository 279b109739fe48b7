/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.h - parts of the sparse exchange. Inside of engine/exchange only. */
#ifndef QV_EXCHANGE_H
#define QV_EXCHANGE_H

#include <quiver/exchange.h>

#include "engine/schedule/families/route.h"

/* way.c: who sends to whom in each phase. */

/* Part of the group in which this rank is in one phase of the crystal router. */
struct qv_range {
	uint32_t low, n, parts;
};

struct qv_phase {
	struct qv_range range;
	uint32_t *out, *in; /* peers, in ascending order; in the memory of the first phase */
	uint32_t out_n, in_n;
};

struct qv_ways {
	uint32_t rank;
	int crystal;
	struct qv_route route; /* of the others */
	struct qv_phase *phases;
	uint32_t n;
	uint32_t *peers;
};

int qv_ways_open(struct qv_ways *ways, const struct qv_exchange_spec *spec);
void qv_ways_close(struct qv_ways *ways);
/* Where this rank sends in this phase what is for dst; itself if it keeps it. */
uint32_t qv_ways_hop(const struct qv_ways *ways, uint32_t phase, uint32_t dst);

/* The object. */

/* A message of a user, wherever it is. */
struct qv_held {
	uint32_t dst, src;
	size_t bytes;
	const char *data;
};

struct qv_held_list {
	struct qv_held *at;
	size_t n, room;
};

/* A bundle begins with a head; records follow, each with a head and padded to 8 bytes. */
struct qv_bundle_head {
	uint64_t bytes; /* of the whole bundle */
	uint64_t records;
};

struct qv_record_head {
	uint32_t dst, src;
	uint64_t bytes;
};

/* A bundle of at most so many bytes is one message; the head of a longer one comes alone, and
 * pieces follow it. */
#define QV_SHORT_BUNDLE 4096

struct qv_bundle {
	struct qv_bundle *next; /* of all of this exchange */
	char *data;
	size_t bytes;  /* of an incoming one: 0 until the head has come */
	size_t parsed; /* so many of them */
	uint64_t records;
	uint32_t peer;
	uint32_t first, pieces; /* message of the head, and how many come behind it */
	uint32_t rest;          /* the first of those */
	uint32_t arrived;       /* messages in a row from the first */
	int is_out;
};

enum qv_message_state {
	QV_MSG_WAITS,
	QV_MSG_STARTED,
	QV_MSG_DONE,
};

struct qv_message {
	struct qv_bundle *bundle;
	uint32_t piece; /* 0: head, or all */
	size_t at, bytes;
	enum qv_message_state state;
};

struct qv_exchange {
	struct qv_exchange_spec spec;
	struct qv_exchange_port calls;
	void *port;
	struct qv_ways ways;
	struct qv_held_list held, mine; /* to be sent on; for this rank */
	struct qv_bundle *bundles;
	struct qv_message *messages;
	size_t messages_n, messages_room;
	size_t first; /* messages before it are done */
	struct qv_bundle **incoming;
	uint32_t incoming_n, incoming_room;
	uint32_t phase; /* under way; ways.n: none */
	int over, failed;
	struct qv_exchange_item *result;
	size_t result_n;
	struct qv_exchange_stats stats;
};

/* bundle.c: 0 or QV_E*. */

int qv_hold(struct qv_held_list *list, const struct qv_held *held);
/* All that leaves in this phase into bundles, one for each peer, and these into messages. */
int qv_pack(struct qv_exchange *ex);
/* Bundles that come in this phase. */
int qv_expect(struct qv_exchange *ex);
/* File what has come of a bundle. 1: all of it. */
int qv_unpack(struct qv_exchange *ex, struct qv_bundle *bundle);

#endif /* QV_EXCHANGE_H */
