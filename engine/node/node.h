/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.h - a transport between the processes of one user on one host, with nothing below it but the
 * kernel: packets through shared memory (ring.h), long buffers read by process_vm_readv(2), sleep
 * and death by socket. No locks: the caller serialises all calls on one endpoint.
 */
#ifndef QV_NODE_H
#define QV_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/proto/xport.h"
#include "names.h"
#include "onesided.h"

struct qv_node; /* one endpoint */

/* Of what two processes share: those with another one do not understand each other. */
#define QV_NODE_VERSION 4u

/* What has come. The memory is the sender's too, and ends with the call. All return QV_OK, or
 * QV_ENOMEM: nothing has changed, the packet comes again, and none of that sender before it. */
struct qv_node_ops {
	/* A packet from an address. */
	int (*packet)(void *owner, uint64_t from, const void *buf, size_t len);
	/* A plain tagged message, without and with completion data. */
	int (*tagged)(void *owner, uint64_t from, uint64_t tag, const void *buf, size_t len);
	int (*tagged_data)(void *owner, uint64_t from, uint64_t tag, uint64_t data, const void *buf,
			   size_t len);
	/* Optional. What qv_node_may_sleep has said is no longer true: whoever sleeps for this
	 * endpoint, in whatever thread, is to ask again. */
	void (*awake)(void *owner);
	/* One line for the log. */
	void (*warn)(void *owner, const char *text);
};

/* Does the kernel let us have what an endpoint needs? */
bool qv_node_can_serve(void);

/* QV_ENOMEM; QV_EIO: the kernel has no sealed memory, no sockets, or no descriptors left. */
int qv_node_create(const struct qv_node_ops *ops, void *owner, struct qv_node **node);
/* Under a name that others know; QV_EIO also: somebody has it. */
int qv_node_create_as(const struct qv_node_ops *ops, void *owner, uint64_t name,
		      struct qv_node **node);
/* What was sent still arrives. */
void qv_node_destroy(struct qv_node *n);

/* Addresses are those of `names` from now on, which several endpoints may share and which must live
 * as long as all of them. Before anything else is done with the endpoint. */
void qv_node_share(struct qv_node *n, struct qv_names *names);

/* What others call this endpoint: a number that no other has. */
uint64_t qv_node_name(const struct qv_node *n);
/* Has an endpoint that we can reach this name, of a process of our user? True if it cannot be told. */
bool qv_node_is_here(uint64_t name);
/* Nothing is known of this address any more, unless it still speaks to us. Its removal from the
 * names is the caller's. */
void qv_node_forget(struct qv_node *n, uint64_t addr);

/* This endpoint as a transport of the protocol. */
void qv_node_xport_init(struct qv_node *n, struct qv_xport *x);

/* Hand over what has come, and look after connections now and then. True: there was something. */
bool qv_node_poll(struct qv_node *n);
/* So many polls hand over all that was there before them of who sends nothing more. */
#define QV_NODE_POLLS 2u

/* Could any endpoint of this process sleep? */
bool qv_node_can_sleep(void);
/* Readable when there may be something, for who was told that it may sleep; -1: not to be had. */
int qv_node_fd(const struct qv_node *n);
/* False: something is there, or may come unheard: poll again. Nobody wakes a sleeper after it has
 * polled again. */
bool qv_node_may_sleep(struct qv_node *n);

struct qv_node_stats {
	uint64_t peers;   /* that have connected to us */
	uint64_t bytes;   /* of shared memory mapped for them, and for those that we connected to */
	uint64_t touched; /* of these, by us or them: the kernel has given memory for it */
	uint64_t large;   /* rings to others that have a large staging area */
	uint64_t connects; /* made here */
	uint64_t full;     /* packets that found no room */
	uint64_t reads;    /* of other processes' memory */
	uint64_t unread;   /* of these, refused by the kernel */
	uint64_t wakes;    /* sleepers woken */
	uint64_t sleeps;   /* times that we were told that we may sleep */
	uint64_t refused;  /* connections and packets that were nonsense */
};
void qv_node_get_stats(const struct qv_node *n, struct qv_node_stats *stats);

#endif /* QV_NODE_H */
