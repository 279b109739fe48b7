/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_stream.h - parts of a stream of tiny messages. Inside of engine/exchange only. */
#ifndef QV_STREAM_H
#define QV_STREAM_H

#include <quiver/stream.h>

#include "schedule/qv_route.h"

/* ---- qv_stream_bucket.c: what a message is made of ---------------------------------------------
 *
 * A head, and for each item: where it goes, unless this is the last phase; who inserted it, unless
 * this is the first; how long it is; its bytes. Numbers of items are of 7 bits to a byte.
 */
struct qv_bucket_head {
	uint8_t version, phase;
	uint16_t zero;
	uint32_t items;
};

#define QV_STREAM_VERSION 1
#define QV_ITEM_HEAD      20 /* at most: two ranks of 5 bytes, a length of 10 */

/* Items that go to one rank in one phase. */
struct qv_bucket {
	struct qv_bucket *prev,
		*next; /* among those that wait, oldest first; else next is of a queue */
	uint32_t peer, phase, items, id;
	size_t bytes, room;
	uint64_t since; /* when its first item came */
	char *data;
};

struct qv_stream_item {
	uint32_t to, from;
	size_t bytes;
	const char *data;
};

/* Which numbers stand before each item of a phase. */
struct qv_item_form {
	uint32_t phase, phases;
	uint32_t sender, receiver; /* what those are that do not stand there */
};

/* The numbers before an item, QV_ITEM_HEAD bytes at most; how many bytes they are. */
size_t qv_item_head(char *at, const struct qv_item_form *form, const struct qv_stream_item *item);
/* Append it behind n bytes of head; there is room up to the limit. 0 or QV_ENOMEM. */
int qv_bucket_add(struct qv_bucket *b, const char *head, size_t n,
		  const struct qv_stream_item *item, size_t limit);
/* Write its own head: no item follows. */
void qv_bucket_close(struct qv_bucket *b);
/* The head's items: their number, or -1 if there is no right head for so many phases. */
int64_t qv_bucket_open(const char *buf, size_t bytes, uint32_t phases, uint32_t *phase);
/* The next item from *at on: 0, or -1 if there is none. */
int qv_bucket_next(const char *buf, size_t bytes, size_t *at, const struct qv_item_form *form,
		   struct qv_stream_item *item);

/* ---- the object --------------------------------------------------------------------------------
 */
struct qv_bucket_slot {
	uint64_t key; /* phase * ranks + peer + 1; 0: free */
	struct qv_bucket *bucket;
};

struct qv_stream {
	struct qv_stream_spec spec;
	struct qv_stream_calls calls;
	void *port;
	struct qv_route route;
	uint32_t phases;
	struct qv_bucket_slot *slots;
	size_t slots_n, used;
	struct qv_bucket *oldest, *youngest; /* that fill */
	struct qv_bucket *ready, *ready_end; /* that wait for the network */
	struct qv_bucket *spare;
	struct qv_bucket **flying; /* by id */
	uint32_t flying_n, ids;    /* under way; room */
	uint32_t ready_n;
	int failed, sending;
	struct qv_stream_stats stats;
};

/* ---- qv_stream_queue.c: buckets that fill, wait for the network, are under way ------------------
 */
/* The one that fills, or NULL. */
struct qv_bucket *qv_stream_filling(const struct qv_stream *s, uint32_t phase, uint32_t peer);
/* A new one, the youngest; there is none that fills. NULL: no memory. */
struct qv_bucket *qv_stream_begin(struct qv_stream *s, uint32_t phase, uint32_t peer, uint64_t now);
/* It has no items after all. */
void qv_stream_drop(struct qv_stream *s, struct qv_bucket *b);
/* It fills no longer, and goes to the end of the queue. */
void qv_stream_leave(struct qv_stream *s, struct qv_bucket *b);
/* Send what the network takes. */
void qv_stream_push(struct qv_stream *s);

#endif /* QV_STREAM_H */
