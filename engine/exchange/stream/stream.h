/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.h - parts of a stream of tiny messages. Inside of engine/exchange only. */
#ifndef QV_STREAM_H
#define QV_STREAM_H

#include <quiver/stream.h>

#include "engine/schedule/families/route.h"

/*
 * bucket.c: what a message is made of.
 *
 * A head, and for each item: where it goes, unless this is the last phase; who inserted it, unless
 * this is the first; how long it is; its bytes. Numbers of items are of 7 bits to a byte. In a
 * stream with envelopes the length is doubled, and odd if a new envelope follows: its length, its
 * bytes. It is that of all items up to the next new one. An item for rank `ranks` is for many, see
 * many.c. Behind the last phase of the way there is one of items that receivers send on, see section.c.
 */
struct qv_bucket_head {
	uint8_t version, phase;
	uint8_t urgent, zero; /* 1: what is in it is sent on at once */
	uint32_t items;
};

#define QV_STREAM_VERSION 4
#define QV_ITEM_HEAD      20 /* at most: two ranks of 5 bytes, a length of 10 */
#define QV_ENVELOPE_HEAD  5  /* at most: a length */
#define QV_SECTION_HEAD   5  /* at most: a number, in place of the first rank */

/* Items that go to one rank in one phase. */
struct qv_bucket {
	struct qv_bucket *prev,
		*next; /* among those that wait, oldest first; else next is of a queue */
	uint32_t peer, phase, items, id;
	int urgent; /* an item in it is */
	size_t bytes, room;
	size_t envelope, envelope_bytes; /* the last: at data + envelope, if there are items */
	uint64_t since;                  /* when its first item came */
	char *data;
};

struct qv_stream_item {
	uint32_t to, from;
	int urgent, by_section; /* the latter: of section.c, and has come */
	size_t bytes;
	const char *data;
	size_t envelope_bytes;
	const char *envelope;
};

/* Which numbers stand before each item of a phase. */
struct qv_item_form {
	uint32_t phase, phases;
	uint32_t sender, receiver; /* what those are that do not stand there */
	int enveloped, urgent;
};

struct qv_item_head {
	char at[QV_ITEM_HEAD + QV_ENVELOPE_HEAD];
	size_t n;
	int fresh; /* its envelope stands there */
};

/* Numbers of 7 bits to a byte. Written: how many bytes, 10 at most. Read: 0, or -1 if there is none
 * up to `most`. */
size_t qv_put_number(char *at, uint64_t value);
int qv_get_number(const char *buf, size_t bytes, size_t *at, uint64_t most, uint64_t *value);
/* What stands before an item; the bucket to which it goes, or NULL for a new one. */
void qv_item_head(struct qv_item_head *h, const struct qv_item_form *form,
		  const struct qv_stream_item *item, const struct qv_bucket *b);
/* Bytes of an item in a bucket. */
size_t qv_item_room(const struct qv_item_head *h, const struct qv_stream_item *item);
/* Append it; there is room up to the limit. 0 or QV_ENOMEM. */
int qv_bucket_add(struct qv_bucket *b, const struct qv_item_head *h,
		  const struct qv_stream_item *item, size_t limit);
/* Write its own head: no item follows. */
void qv_bucket_close(struct qv_bucket *b);
/* The head's items: their number, or -1 if there is no right head for so many phases and the one of
 * sections. */
int64_t qv_bucket_open(const char *buf, size_t bytes, uint32_t phases, uint32_t *phase,
		       int *urgent);
/* The next item from *at on, *item being the one before (its envelope NULL at the first): 0, or -1
 * if there is none. */
int qv_bucket_next(const char *buf, size_t bytes, size_t *at, const struct qv_item_form *form,
		   struct qv_stream_item *item);

/* An item that waits: one to oneself until another one is over, one of section.c for those that it has
 * overtaken. */
struct qv_stream_kept {
	struct qv_stream_kept *next;
	uint32_t number;            /* section.c's */
	struct qv_stream_item item; /* its bytes, and its envelope, are behind this */
};

/* Items of section.c, to and from another rank. */
struct qv_stream_peer {
	uint32_t sent;                            /* to it */
	uint32_t come;                            /* from it, and were given to the user */
	struct qv_stream_kept *early, *early_end; /* from it, by number */
};

/* The object. */

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
	size_t longest; /* item, bytes */
	struct qv_bucket_slot *slots;
	size_t slots_n, used;
	struct qv_bucket *oldest, *youngest; /* that fill */
	struct qv_bucket *ready, *ready_end; /* that wait for the network */
	struct qv_bucket *spare;
	struct qv_bucket **flying; /* by id */
	uint32_t flying_n, ids;    /* under way; room */
	uint32_t last_id;          /* that was given to one */
	uint32_t ready_n;
	int failed, sending;
	int giving;     /* an item of it is with its user */
	int by_section; /* that item is of section.c: others say who sent it */
	struct qv_stream_kept *kept, *kept_end; /* items to oneself meanwhile */
	struct qv_stream_peer *peers;           /* by rank; NULL: section.c has had nothing to do */
	struct qv_stream_stats stats;
};

/* From stream.c. */

/* Whether an insert need not wait: QV_OK, QV_EAGAIN, or what ended the stream. */
int qv_stream_room(struct qv_stream *s);
/* Insert an item whatever is under way; it is not longer than it may be. */
int qv_stream_take(struct qv_stream *s, const struct qv_stream_item *item, uint64_t now);
/* The phase from `phase` on in which an item leaves this rank, and for where; or phases. */
uint32_t qv_stream_hop(const struct qv_stream *s, uint32_t phase, uint32_t to, uint32_t *peer);
/* Append an item to the bucket in which what is for rank `toward` leaves, from this phase on. QV_OK or
 * QV_ENOMEM. */
int qv_stream_put(struct qv_stream *s, const struct qv_stream_item *item, uint32_t toward,
		  uint32_t phase, uint64_t now);
/* The same for peer in this phase. */
int qv_stream_put_for(struct qv_stream *s, const struct qv_stream_item *item, uint32_t peer,
		      uint32_t phase, uint64_t now);
/* Allocated; NULL: no memory. */
struct qv_stream_kept *qv_stream_copy(const struct qv_stream_item *item);
/* An item is for this rank. */
void qv_stream_come(struct qv_stream *s, const struct qv_stream_item *item);

/* many.c: items for many ranks. */

struct qv_stream_receiver {
	uint32_t to;
	uint32_t phase, peer; /* many.c's: its bucket */
	uint32_t number;      /* section.c's: of the sender for it */
	uint32_t distance;    /* section.c's: from this rank, around */
	size_t own_bytes;     /* that it gets before those of all; 0: none */
	const char *own;
};

#define QV_RECEIVER_HEAD 15 /* bytes at most, before its own */

/*
 * Insert an item for others at once, whatever is under way: by the stream's way, the bytes of the item
 * go once over each part of it that some have in common. None of them is this rank, or there twice; item->to is not
 * looked at; own_bytes and item->bytes are not more than an item may have. `to` is sorted anew.
 */
int qv_stream_take_many(struct qv_stream *s, const struct qv_stream_item *item, enum qv_section by,
			struct qv_stream_receiver *to, size_t n, uint64_t now);
/* What one of them gets; at out, if it has bytes of its own. */
struct qv_stream_item qv_stream_item_for(const struct qv_stream_item *item,
					 const struct qv_stream_receiver *r, char *out);
/* Whether what has come, to be sent on from this phase on, has no list of receivers. */
int qv_stream_is_wrong_list(const struct qv_stream *s, uint32_t phase,
			    const struct qv_stream_item *item);
/* Send it on, and give it to this rank if that is one of them. QV_OK or QV_ENOMEM. */
int qv_stream_pass(struct qv_stream *s, const struct qv_stream_item *item, uint32_t phase,
		   uint64_t now);

/* section.c: items for many ranks that the receivers send on. */

/* There is s->peers. QV_OK or QV_ENOMEM. */
int qv_stream_know_peers(struct qv_stream *s);
/* As qv_stream_take_many, with s->peers; out: room for the item and all that stands before it. QV_OK
 * or QV_ENOMEM. */
int qv_stream_send_section(struct qv_stream *s, const struct qv_stream_item *item,
			   enum qv_section by, struct qv_stream_receiver *to, size_t n, char *out,
			   uint64_t now);
/* Whether one that has come makes no sense. */
int qv_stream_is_wrong_section(const struct qv_stream *s, const struct qv_stream_item *item);
/* Send it on, and give it to this rank when it is its turn. QV_OK or QV_ENOMEM. */
int qv_stream_take_section(struct qv_stream *s, const struct qv_stream_item *item, uint64_t now);

/* queue.c: buckets that fill, wait for the network, are under way. */

/* The one that fills, or NULL. */
struct qv_bucket *qv_stream_filling(const struct qv_stream *s, uint32_t phase, uint32_t peer);
/* A new one, the youngest; there is none that fills. NULL: no memory. */
struct qv_bucket *qv_stream_begin(struct qv_stream *s, uint32_t phase, uint32_t peer, uint64_t now);
/* It has no items after all. */
void qv_stream_drop(struct qv_stream *s, struct qv_bucket *b);
/* It fills no longer, and goes to the end of the queue; an urgent one before those for other peers
 * that are not. */
void qv_stream_leave(struct qv_stream *s, struct qv_bucket *b);
/* Send what the network takes. */
void qv_stream_push(struct qv_stream *s);

#endif /* QV_STREAM_H */
