/* SPDX-License-Identifier: BSD-2-Clause */
/* loop_internal.h - what the two files of the loopback share. */
#ifndef QV_LOOP_I_H
#define QV_LOOP_I_H

#include <quiver/types.h>

#include "loop.h"
#include "need.h"
#include "nomem.h"
#include "engine/base/random.h"

#define LOOP_IOV   8u
#define LOOP_HEAD  16u /* bytes of a packet that may travel beside it */
#define LOOP_READS 4096u

/* A packet under way. Its bytes are gathered late: until then the memory is the sender's. */
struct loop_packet {
	struct loop_packet *next;
	struct loop_ep *to; /* NULL: nobody is there */
	struct iovec iov[LOOP_IOV];
	uint64_t head[LOOP_HEAD / sizeof(uint64_t)];
	size_t beside;   /* bytes in head: 0 or LOOP_HEAD */
	size_t cnt, len; /* of iov */
	char *given; /* of a send: the pieces as they were then, and are to be until it is done */
	char *bytes; /* head and the pieces; NULL until gathered */
	struct qv_xfer *xfer;
};

struct loop_queue {
	struct loop_packet *head, *tail;
	unsigned count;
	bool hold;
};

struct loop_region {
	char *buf;
	size_t len;
	uint64_t addr, key; /* key 0: not registered */
};

struct loop_read {
	struct loop_ep *ep, *from;
	struct iovec iov[LOOP_IOV];
	size_t cnt, len;
	uint64_t addr, key;
	unsigned slot;
	struct qv_xfer *xfer;
};

struct loop_done {
	struct loop_ep *ep;
	struct qv_xfer *xfer;
	int status;
};

struct loop_ep {
	struct qv_xport x; /* first */
	struct qv_loop *loop;
	struct loop_ep *next; /* all of them, dead or alive */
	unsigned slot;
	bool alive, hide_from;
	bool closing; /* takes no more transfers */
	enum qv_loop_death death;
	qv_loop_sink sink;
	void *ctx;
	struct loop_queue out[QV_LOOP_MAX];
	struct loop_queue *held; /* its first packet was not taken: nothing else is handed over */
	struct loop_region *regions;
	size_t nregions;
	unsigned reading[QV_LOOP_MAX]; /* per target */
};

struct qv_loop {
	uint64_t *rng;
	struct qv_loop_chaos chaos;
	qv_loop_tap tap;
	void *tap_ctx;
	struct loop_ep *eps, *at[QV_LOOP_MAX];
	struct loop_read reads[LOOP_READS];
	size_t nreads;
	struct loop_done *done; /* completions to be told */
	size_t ndone, done_cap;
	uint64_t keys;
	unsigned bad_reads;
};

/* loop.c */
void *loop_need(size_t size); /* zeroed */

/* loop_ops.c */
extern const struct qv_xport_ops loop_ops, loop_headerless_ops;

/* loop_step.c */
void loop_gather(struct loop_packet *pkt);
void loop_note_given(struct loop_packet *pkt);
void loop_done(struct loop_ep *ep, struct qv_xfer *xfer, int status);
struct loop_packet *loop_pop(struct loop_queue *q);
void loop_packet_free(struct loop_packet *pkt);

#endif /* QV_LOOP_I_H */
