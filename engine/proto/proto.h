/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * proto.h - messages between endpoints: eager and rendezvous over a qv_xport, matched by three
 * engines (tagged, untagged, and what collectives send). An endpoint may have several transports;
 * each peer is spoken to over one of them, which is all that the order of its messages needs. No
 * locks: the caller serialises all calls on one endpoint, including what the transports report.
 */
#ifndef QV_PROTO_H
#define QV_PROTO_H

#include <quiver/match.h>

#include "engine/remote/remote.h"
#include "wire.h"
#include "xport.h"

struct qv_proto; /* one endpoint */
struct qv_peer;  /* another endpoint that this one has dealt with */

#define QV_USER_UNKNOWN UINT64_MAX /* the application has not named this peer */
#define QV_FROM_UNKNOWN UINT64_MAX /* the transport does not tell who has sent */
#define QV_PROTO_NAMED  0x1000000u

/* What is reported of every send and receive, once. */
struct qv_comp {
	void *context;   /* as given with the request */
	uint64_t cookie; /* as given with the request */
	int status;      /* QV_OK, QV_ETRUNC, QV_ECANCELED, QV_EPEER, QV_EIO, QV_ENOENT (peek) */
	bool recv;       /* a receive (or peek), not a send */
	bool tagged;     /* of the tagged engine */
	bool has_data;   /* data was sent along */
	bool multi_end;  /* a multi-receive buffer is no longer in use */
	size_t len;      /* bytes received */
	size_t full;     /* length of the message as sent */
	void *buf;       /* where it was received (multi-receive), else the buffer's start */
	uint64_t tag, data;
	uint64_t user; /* name of the sender that the application gave, or QV_USER_UNKNOWN */
};

/* Called from inside: none of them may call the endpoint, except as said. */
struct qv_proto_owner_ops {
	void (*complete)(void *owner, const struct qv_comp *comp);
	/* A send succeeded: the same, for the commonest case, through registers. */
	void (*sent)(void *owner, void *context, uint64_t cookie, bool tagged);
	/*
	 * A HELLO came over x from address `from` there, or QV_FROM_UNKNOWN, with these address
	 * bytes. Returns the peer that it belongs to, made by qv_proto_peer_new where there is none
	 * yet. NULL: refuse it, or keep it and ask again when qv_proto_peer_new found no memory, or
	 * the owner did and has called qv_proto_no_memory. The peer may be spoken to over another
	 * transport than the one that it speaks over.
	 */
	struct qv_peer *(*identify)(void *owner, struct qv_xport *x, uint64_t from,
				    const void *name, size_t len);
	/* One line for the log: a packet was refused, a peer was lost. */
	void (*warn)(void *owner, const char *text);
	/* Optional: a peer without a name is gone, and nothing of it is left to be done: call
	 * qv_proto_peer_free. */
	void (*ended)(void *owner, struct qv_peer *peer);
	/* Optional: memory from malloc that is given up, and that another endpoint of this process
	 * may read as long as that lives. Without this it is freed. */
	void (*keep)(void *memory);
};

struct qv_proto_settings {
	struct qv_match_settings match; /* hints are for tagged receives only */
	/* A peer whose user is below this has that as its source in the engines, as long as no
	 * other peer had it before, so that a profile means the same in each run. 0: sources are
	 * numbers in the order in which peers became known. At most QV_PROTO_NAMED. */
	uint32_t named_sources;
	/* What messages of one peer may take here while they wait, at most UINT32_MAX bytes: their
	 * payload, where it is here, and QV_WIRE_MESSAGE_COST for each. */
	size_t budget;
	/* A peer that has never spoken is given up when nobody was at its address for so many ms;
	 * 0: never. */
	unsigned patience;
	/* A peer that has spoken is given up when its host has not answered for so many ms; 0:
	 * never. */
	unsigned death;
	size_t queue_max; /* sends that may wait; 0: QV_PROTO_QUEUE_MAX */
	const void *name; /* own address bytes, sent to peers (QV_WIRE_MAX_NAME at most) */
	size_t namelen;
};

#define QV_PROTO_QUEUE_MAX (16u << 20)

struct qv_proto_stats {
	struct qv_match_stats tagged, untagged;
	uint64_t eager, rndv; /* messages sent */
	uint64_t queued;      /* sends that the transport could not take at once */
	uint64_t over_budget; /* eager messages that became rendezvous for want of room there */
	uint64_t refused;     /* packets refused */
	uint64_t unknown;     /* packets of nobody that we know, or of sessions that are over */
	uint64_t gaps;        /* times that packets were missing */
	uint64_t resent;      /* packets sent again */
	uint64_t unread;      /* messages that could not be read, and were asked for */
	uint64_t reconnects;  /* times that the transport was made to connect anew */
	uint64_t starved;     /* times that messages waited for room at their receiver */
	uint64_t pieces;      /* packets that were sent over a second transport */
	uint64_t retaken;     /* messages whose pieces there were sent again over the first */
	uint64_t unexpected_bytes, unexpected_bytes_max; /* payload buffered now, at most */
	uint64_t copied; /* payload from one place to another by the protocol, bytes */
};

int qv_proto_create(const struct qv_proto_settings *set, const struct qv_proto_owner_ops *ops,
		    void *owner, struct qv_proto **proto);
/* Can the protocol work over this transport? */
bool qv_proto_can_use(const struct qv_xport *x);
/* Frees everything; requests not yet complete are forgotten. The transports must
 * hold no transfer. */
void qv_proto_destroy(struct qv_proto *p);

/* Peers that the application has not named, at most: strangers do not take the places of the others. */
#define QV_UNNAMED_MAX (1u << 16)
bool qv_proto_refuses_unnamed(const struct qv_proto *p);

/* A peer to be spoken to over x, at address addr there; user is what completions name as its
 * address. NULL: no memory, or no place. Peers live as long as the endpoint, or until
 * they are freed; their transports as long as the endpoint. */
struct qv_peer *qv_proto_peer_new(struct qv_proto *p, struct qv_xport *x, uint64_t addr,
				  uint64_t user);
/* The owner has found no memory for a peer: see qv_proto_owner_ops.identify. Of no effect elsewhere. */
void qv_proto_no_memory(struct qv_proto *p);
void qv_proto_peer_set_user(struct qv_peer *peer, uint64_t user);
uint64_t qv_proto_peer_user(const struct qv_peer *peer);
uint64_t qv_proto_peer_addr(const struct qv_peer *peer);
/* The user that it was given first, also when it has been taken away since. */
uint64_t qv_proto_peer_first_user(const struct qv_peer *peer);
/* Messages that it has sent here, unexpected or not. */
uint64_t qv_proto_peer_received(const struct qv_peer *peer);
struct qv_xport *qv_proto_peer_xport(const struct qv_peer *peer);
/* Its name was taken back: it may end when it is silent for long, not only when it is gone as all
 * who have no name. */
void qv_proto_peer_drop(struct qv_peer *peer);
/* From qv_proto_owner_ops.ended only. */
void qv_proto_peer_free(struct qv_peer *peer);
/* Remember / compare the address bytes of a peer that spoke before it was named. */
int qv_proto_peer_set_name(struct qv_peer *peer, const void *name, size_t len);
bool qv_proto_peer_has_name(const struct qv_peer *peer, const void *name, size_t len);
/* Iterate over all peers: NULL starts, NULL ends. */
struct qv_peer *qv_proto_next_peer(struct qv_proto *p, const struct qv_peer *prev);

#define QV_REQ_TAGGED 0x1u
/* Of a collective: matched by an engine of its own, apart from what the application sends. Receives
 * of it that name a sender fail with QV_EPEER when that is gone. */
#define QV_REQ_COLL   0x2u
#define QV_REQ_ENGINE 0x3u  /* which engine: one of the two above, or neither */
#define QV_REQ_INJECT 0x4u  /* send: the buffer may be reused on return (len <= QV_PROTO_INJECT) */
#define QV_REQ_ACK    0x8u  /* send: complete only when the receiver has the message */
#define QV_REQ_MULTI  0x10u /* receive: one buffer for many messages */
#define QV_REQ_DATA   0x20u /* send: `data` travels with the message */
/* send: complete only when the transport has sent it, or the receiver's endpoint has it */
#define QV_REQ_SENT 0x40u
/* send: its completion tells nobody of a failure; the next send to the peer does */
#define QV_REQ_QUIET 0x80u

/* Longest short message: always eager, whatever the budget. */
#define QV_PROTO_SHORT 128u
/* Longest message that may be injected. */
#define QV_PROTO_INJECT 4096u

struct qv_send_args {
	const struct iovec *iov;
	size_t cnt; /* <= QV_IOV_MAX */
	uint64_t tag, data;
	unsigned flags; /* QV_REQ_* */
	void *context;
	uint64_t cookie;
};

/* Start a send. Completion may be reported before this returns. QV_EAGAIN: too much is queued
 * already, or too much injected payload waits here, call again after progress; QV_ENOMEM, QV_EPEER:
 * nothing happened. */
int qv_proto_send(struct qv_proto *p, struct qv_peer *to, const struct qv_send_args *args);

/* Peers may update the owner's memory from now on. */
void qv_proto_open_memory(struct qv_proto *p, const struct qv_memory_ops *ops);
/*
 * Update memory of a peer's owner; what is here may be reused at once. xfer is told the end by a later
 * call, with a status. QV_EAGAIN: too much is under way, nothing has happened; QV_ENOMEM; QV_EPEER;
 * QV_EINVAL: lists that do not fit each other; QV_EMSGSIZE.
 */
int qv_proto_update(struct qv_proto *p, struct qv_peer *to, const struct qv_remote_op *op,
		    struct qv_xfer *xfer);

struct qv_recv_args {
	const struct iovec *iov;
	size_t cnt;
	struct qv_peer *from; /* NULL: any source */
	uint64_t tag, ignore;
	unsigned flags;   /* QV_REQ_TAGGED, QV_REQ_MULTI, QV_REQ_COLL */
	size_t multi_min; /* multi-receive: the buffer ends when less than this is left */
	void *context;
	uint64_t cookie;
};

/* Post a receive. Completion may be reported before this returns. QV_ENOMEM; QV_EINVAL, it breaks a
 * hint: nothing happened. */
int qv_proto_recv(struct qv_proto *p, const struct qv_recv_args *args);

/* An unexpected message, claimed or looked at. */
struct qv_unexp;
enum qv_peek { QV_PEEK_LOOK, QV_PEEK_CLAIM, QV_PEEK_DISCARD };
/*
 * Oldest unexpected message that args accept, reported as a completion: QV_OK with its length, or
 * QV_ENOENT, also where args break a hint. CLAIM takes it out of matching and returns it in
 * *claimed for one later call of qv_proto_recv_claimed; DISCARD drops it.
 */
void qv_proto_peek(struct qv_proto *p, const struct qv_recv_args *args, enum qv_peek how,
		   struct qv_unexp **claimed);
/* Receive a claimed message, or drop it (discard) with a completion of length 0. */
int qv_proto_recv_claimed(struct qv_proto *p, struct qv_unexp *claimed,
			  const struct qv_recv_args *args, bool discard);

/* Cancel the oldest posted receive with this context; QV_ENOENT: none. Completes QV_ECANCELED. */
int qv_proto_cancel(struct qv_proto *p, void *context);
/* The same of a receive with QV_REQ_COLL, which the other does not find. */
int qv_proto_cancel_coll(struct qv_proto *p, void *context);

/* From the transport: a packet has come. The memory is the caller's again on return. A packet that
 * breaks the protocol is refused: counted, logged, dropped. QV_ENOMEM: nothing has changed; the
 * caller keeps the packet, hands over no other, and calls again later. from: the sender's address
 * there, or QV_FROM_UNKNOWN. */
int qv_proto_packet(struct qv_proto *p, struct qv_xport *x, const void *buf, size_t len,
		    uint64_t from);
/* The same for what a peer gave to inject_tagged; refused before its HELLO. */
int qv_proto_tagged(struct qv_peer *from, uint64_t tag, const void *buf, size_t len);
/* Whether such a packet, come now, would be a tagged message to be matched: its tag, and its source
 * in the tagged engine. A prediction, which changes nothing. */
bool qv_proto_key(struct qv_proto *p, const void *buf, size_t len, uint64_t *tag, uint32_t *src);
uint32_t qv_proto_peer_source(const struct qv_peer *peer);

/* Send what is queued. Called whenever the transport may have room again. */
void qv_proto_progress(struct qv_proto *p);
static inline bool qv_proto_wants_progress(const struct qv_proto *p);
/* Look after peers that have something outstanding: to be called about every 100 ms, with a
 * monotonic clock. */
void qv_proto_tick(struct qv_proto *p, uint64_t now_ms);
/* Does nothing wait for a peer, as far as the last tick knows? Then the next one may come later. */
bool qv_proto_is_settled(const struct qv_proto *p);

/* Sends that are queued, packets in the transport, bytes of injected payload that is not there yet: to
 * be drained before closing. */
size_t qv_proto_unsent(const struct qv_proto *p);
/* Before closing: tell the senders of messages that will not be received any more. */
void qv_proto_shutdown(struct qv_proto *p);
/* After that: tell the peers over transports that drop what they hold when they are closed, and go
 * on with progress until all of them have answered or closed too. */
void qv_proto_send_leave(struct qv_proto *p);
bool qv_proto_may_leave(const struct qv_proto *p);
/* The owner wants something of this peer that is no message, and the transport does not take it: at the
 * next tick it is looked after as if a message waited for it. QV_EPEER: it was given up. */
int qv_proto_peer_want(struct qv_peer *peer);
/* The transport has something of the owner's for this peer: it is not freed, and is looked after, until
 * that is over. */
void qv_proto_peer_hold(struct qv_peer *peer);
void qv_proto_peer_release(struct qv_peer *peer);
/* Has it died, and does its transport never give back what it holds for it? */
bool qv_proto_peer_keeps(struct qv_peer *peer);
/* Is every send to it over, as its owner was told? */
bool qv_proto_peer_has_all(const struct qv_peer *peer);
bool qv_proto_peer_must_answer(const struct qv_peer *peer); /* it has not done so yet */
/* At last: what peers still send is not received any more. */
void qv_proto_leave(struct qv_proto *p);
/* And to each other endpoint of this process, p, that may have been a peer: over some transports
 * qv_proto_leave must not tell those. */
void qv_proto_gone(struct qv_proto *p, const struct qv_proto *closed);
/* Before the transport goes: no memory stays registered, requests not complete never will be. */
void qv_proto_abandon(struct qv_proto *p);

void qv_proto_get_stats(const struct qv_proto *p, struct qv_proto_stats *stats);
/* QV_REQ_TAGGED, QV_REQ_COLL or 0, untagged. */
struct qv_match *qv_proto_engine(struct qv_proto *p, unsigned which);

/* First member of struct qv_proto, so that the poll loop can look without a call. */
struct qv_proto_head {
	struct qv_peer *pending; /* peers with packets queued */
	void *reads; /* receives whose next read, CTS or FIN the transport did not take */
};

static inline bool qv_proto_wants_progress(const struct qv_proto *p)
{
	const struct qv_proto_head *head = (const void *)p;

	return head->pending || head->reads;
}

#endif /* QV_PROTO_H */
