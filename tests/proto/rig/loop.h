/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop.h - a qv_xport inside one process: endpoints at addresses 0, 1, 2 ..., packets in order
 * per pair, everything else in random order, one event per call of qv_loop_step.
 *
 * It is as nasty as the seam allows: memory of a send is read late, and must not have changed until
 * then; completions come late and in any order, queues are short, calls answer QV_EAGAIN for no
 * reason, reads end in any order.
 */
#ifndef QV_LOOP_H
#define QV_LOOP_H

#include "engine/proto/xport.h"

#define QV_LOOP_MAX 5u /* endpoints */

struct qv_loop;

#define QV_LOOP_HEADERLESS UINT64_MAX /* no header begins like this */

struct qv_loop_limits {
	size_t inject_max, inject_iov, send_iov, packet_max, read_max;
	bool hide_from; /* packets are handed over with sender UINT64_MAX */
	/* Plain tagged messages travel without header: the sink gets QV_LOOP_HEADERLESS and the
	 * tag in front of them. */
	bool headerless;
};

/* A packet has come: QV_OK, or QV_ENOMEM (it is kept and nothing else is handed over). */
typedef int (*qv_loop_sink)(void *ctx, const void *buf, size_t len, uint64_t from);
/* Sees every packet that was taken, before it is freed. */
typedef void (*qv_loop_tap)(void *ctx, unsigned from, unsigned to, const void *buf, size_t len);

/* What becomes of transfers to an endpoint that has died. */
enum qv_loop_death {
	QV_LOOP_ERRORS, /* they fail with QV_EPEER */
	QV_LOOP_SILENT, /* they seem to work; reads fail */
	QV_LOOP_STUCK,  /* they never end, queues fill up */
};

/* Settings that may be changed at any time. */
struct qv_loop_chaos {
	unsigned eagain;            /* per cent of the calls that answer QV_EAGAIN */
	unsigned capacity;          /* packets and reads under way per pair */
	unsigned fail_register;     /* per cent of registrations that fail */
	unsigned fail_send;         /* this many sends more go well, then one fails (0 = never) */
	unsigned lose[QV_LOOP_MAX]; /* this many packets more from there are lost, and
				     * seem to work */
	unsigned fail_read;         /* the same of reads */
	unsigned lose_nth;  /* the n-th packet from now on, of any pair, is lost (0 = none) */
	unsigned lose_more; /* and so many behind it */
	unsigned repeat;    /* per cent of the packets that are handed over twice */
	bool fail_at_once;  /* failing calls return the error, else the completion tells */
	int fail_status;
};

struct qv_loop *qv_loop_new(uint64_t *rng);
/* Ends every transfer (QV_ECANCELED where it is not done) and frees the transport. */
void qv_loop_free(struct qv_loop *loop);
struct qv_loop_chaos *qv_loop_chaos(struct qv_loop *loop);
void qv_loop_set_tap(struct qv_loop *loop, qv_loop_tap tap, void *ctx);

/* An endpoint at a free address. */
struct qv_xport *qv_loop_open(struct qv_loop *loop, unsigned at,
			      const struct qv_loop_limits *limits, qv_loop_sink sink, void *ctx);
/* The endpoint vanishes; last_words: what it had sent still arrives. The address is free then. */
void qv_loop_kill(struct qv_loop *loop, unsigned at, enum qv_loop_death how, bool last_words);
/* End what the endpoint at this address has under way: before its owner goes. */
void qv_loop_drain(struct qv_loop *loop, unsigned at);

/* The connection between two endpoints breaks: what is on its way is lost, both ways. Packets of
 * `send` that were given to it: told an error, or as if they had gone. */
void qv_loop_cut(struct qv_loop *loop, unsigned a, unsigned b, bool silent);
/* What one endpoint sends to the other stays on its way for a while. */
void qv_loop_hold(struct qv_loop *loop, unsigned from, unsigned to, bool hold);

/* One event: a packet handed over, a transfer completed, a read done. False: nothing to do. */
bool qv_loop_step(struct qv_loop *loop);
/* Hand over a packet that nobody sent. */
int qv_loop_forge(struct qv_loop *loop, uint64_t from, unsigned to, const void *buf, size_t len);

/* Memory registered now by this endpoint; reads of memory that was not registered (any more). */
unsigned qv_loop_registered(const struct qv_loop *loop, unsigned at);
unsigned qv_loop_bad_reads(const struct qv_loop *loop);

#endif /* QV_LOOP_H */
