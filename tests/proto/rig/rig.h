/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig.h - endpoints of the protocol over the loopback, with requests that are checked: payload,
 * guards around every buffer, one completion each. Sent memory is spoilt when its send completes.
 */
#ifndef QV_RIG_H
#define QV_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <quiver/types.h>

#include "engine/proto/internal.h"
#include "loop.h"
#include "nomem.h"
#include "engine/base/random.h"

#define RIG_USER(node) (1000u + (node))

struct rig;

struct rig_node {
	struct rig *rig;
	unsigned index;
	struct qv_xport *x;
	struct qv_xport *other; /* over the second loopback, if there is one */
	struct qv_proto *p;     /* NULL: not open */
	struct qv_peer *peers[QV_LOOP_MAX];
	bool refused[QV_LOOP_MAX]; /* HELLO of this node is refused */
	unsigned ended;            /* peers that were freed */
	unsigned warnings;
	char warning[256]; /* the last one */
};

struct rig_req {
	struct rig_req *next;
	struct rig *rig;
	unsigned node, peer; /* peer: of a send */
	bool is_send;
	unsigned flags;
	unsigned done;       /* completions so far */
	bool ended;          /* multi-receive: the buffer is free again */
	struct qv_comp comp; /* the last one */
	struct qv_comp *all; /* multi-receive: all of them */
	uint64_t tag, stamp;
	size_t len;
	char *memory;
	struct iovec iov[QV_IOV_MAX];
	size_t cnt;
	void *user; /* the test's */
};

struct rig_settings {
	unsigned nodes;
	struct qv_loop_limits limits;
	struct qv_loop_limits *others; /* NULL: one loopback only */
	size_t eager_max, budget;
	uint32_t hints, named_sources;
};

struct rig {
	uint64_t seed, rng, now;
	struct rig_settings set;
	struct qv_loop *loop;
	struct qv_loop *other; /* a second way between the nodes, or NULL */
	struct rig_node node[QV_LOOP_MAX];
	struct rig_req *reqs;
	bool hostile; /* reads of memory that nobody registered are no mistake of ours */
	uint64_t stamps;
	void (*on_complete)(struct rig_req *req, const struct qv_comp *comp); /* may be NULL */
	void (*on_packet)(struct rig_node *node, uint64_t from, const void *buf, size_t len,
			  int rc);
	void *user; /* the test's */
};

/* QV_SEED, else a new one at each run; printed once. QV_TEST_SCALE times n, at least 1. */
uint64_t rig_seed(void);
unsigned rig_scaled(unsigned n);

/* Settings that suit most tests: inject, reads, 1 KiB packets. */
struct rig_settings rig_defaults(unsigned nodes);
struct rig *rig_new(const struct rig_settings *set);
/* Of that many nodes; a receiver may not be told by its transport who has sent. */
struct rig *rig_start(unsigned nodes, bool hide_from);
/* Requests and their memory, guards checked. */
void rig_reqs_free(struct rig *rig);
/* Checks guards, registered memory, reads of memory that was no longer registered; frees all. */
void rig_free(struct rig *rig);
void rig_open(struct rig *rig, unsigned at, const struct rig_settings *set);
/* The node is gone, without a word or (last_words) with what it had sent still arriving. */
void rig_kill(struct rig *rig, unsigned at, enum qv_loop_death how, bool last_words);

/* node a's peer for node b, made where there is none yet. */
struct qv_peer *rig_peer(struct rig *rig, unsigned a, unsigned b);
/* The same, but a new one is spoken to over the second loopback. */
struct qv_peer *rig_other_peer(struct rig *rig, unsigned a, unsigned b);

/* cut: pieces of the buffer (1 .. QV_IOV_MAX); some may be empty. */
struct rig_req *rig_req_new(struct rig *rig, unsigned node, size_t len, unsigned cut);
/* Both return the status of the call; flags are QV_REQ_*. */
int rig_send_req(struct rig_req *req, unsigned to, uint64_t tag, unsigned flags);
int rig_recv_req(struct rig_req *req, int from, uint64_t tag, uint64_t ignore, unsigned flags,
		 size_t multi_min);
#define RIG_ANY (-1)
/* To a peer that may have been lost before: that is told once, the second time it goes. */
struct rig_req *rig_send_after_loss(struct rig *rig, unsigned from, unsigned to, size_t len,
				    uint64_t tag, unsigned flags);
/* The usual case: must be accepted. */
struct rig_req *rig_send(struct rig *rig, unsigned from, unsigned to, size_t len, uint64_t tag,
			 unsigned flags);
struct rig_req *rig_recv(struct rig *rig, unsigned node, int from, size_t len, uint64_t tag,
			 unsigned flags);
struct qv_recv_args rig_recv_args(struct rig_req *req, int from, uint64_t tag, uint64_t ignore,
				  unsigned flags);

/* One event somewhere. False: nothing happened. */
bool rig_step(struct rig *rig);
/* Until nothing happens any more. */
void rig_settle(struct rig *rig);
/* Until the two requests have completed (NULL: only one). */
void rig_wait(struct rig *rig, const struct rig_req *a, const struct rig_req *b);
/* The same, where something may have been lost and time has to pass: a minute at most. */
void rig_wait_long(struct rig *rig, const struct rig_req *a, const struct rig_req *b);
/* Let time pass on all nodes, as their owners would: many ticks. */
void rig_ticks(struct rig *rig, uint64_t ms);

/* A message of node a arrives at node b, where a peer may have been lost before. */
void rig_exchange_after_loss(struct rig *rig, unsigned a, unsigned b, size_t len);
/* An endpoint gives up all peers that it reaches so. */
void rig_give_up(struct qv_proto *p, const struct qv_xport *x, uint64_t addr);

/* The receive has this send's message: source, tag, data, length and bytes. */
void rig_check(const struct rig_req *recv, const struct rig_req *send);
/* Completed once, with this status. */
void rig_check_status(const struct rig_req *req, int status);
bool rig_payload_is(const void *buf, size_t len, uint64_t stamp);
struct qv_proto_stats rig_stats(const struct rig *rig, unsigned node);
/* The node's view: nothing queued, in flight, waiting or open. */
void rig_check_idle(const struct rig *rig, unsigned node);

#endif /* QV_RIG_H */
