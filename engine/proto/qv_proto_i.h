/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_proto_i.h - what the files of the protocol share. */
#ifndef QV_PROTO_I_H
#define QV_PROTO_I_H

#include "base/qv_handle.h"
#include "base/qv_pool.h"
#include "base/qv_proc.h"
#include "proto/qv_proto.h"

#define QV_LIKELY(x)                   __builtin_expect(!!(x), 1)
#define QV_UNLIKELY(x)                 __builtin_expect(!!(x), 0)
#define QV_COLD                        __attribute__((noinline))
#define QV_CONTAINER(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))

/* No eager message is longer than this, whatever a peer says. */
#define QV_EAGER_LIMIT (1u << 20)
/* The bits of a peer's id that are its index; the others find stale ids out. */
#define QV_ID_INDEX 0xffffffu
/* Injected payload that may wait in queues before qv_proto_send answers QV_EAGAIN. */
#define QV_COPY_LIMIT (64u << 20)

enum qv_tx_kind {
	QV_TX_CTL,   /* one packet of ours, no completion */
	QV_TX_EAGER, /* payload in one or several packets */
	QV_TX_RTS,   /* announce, then wait for FIN or CTS */
	QV_TX_SEGS,  /* after CTS: payload in SEG packets */
};

/* A send that did not complete in the call that started it. */
struct qv_tx {
	struct qv_tx *next;                  /* in the peer's queue */
	struct qv_tx *next_peer, *prev_peer; /* all of the peer */
	struct qv_proto *p;
	struct qv_peer *peer;
	enum qv_tx_kind kind;
	unsigned flags;    /* QV_REQ_* */
	unsigned inflight; /* packets that the transport still holds */
	int status;
	bool queued;    /* in the peer's queue */
	bool issued;    /* every packet was given to the transport */
	bool wants_fin; /* not complete before FIN */
	bool reported;  /* the completion was reported */
	uint64_t handle;
	void *context;
	uint64_t cookie, tag, data;
	uint64_t rreq; /* SEGS: the receiver's handle */
	size_t len;    /* of the message */
	size_t want;   /* SEGS: as much of it as the receiver has room for */
	size_t pos;    /* payload given to the transport */
	size_t cnt;
	struct iovec iov[QV_IOV_MAX];
	struct qv_region regions[QV_IOV_MAX];
	char *packet; /* CTL: the packet */
	size_t pktlen;
	char small[QV_PROTO_INJECT]; /* injected payload, or a short CTL packet */
};

/* One packet or read that the transport holds. */
struct qv_flight {
	struct qv_xfer xfer; /* first */
	struct qv_proto *p;
	struct qv_peer *peer;
	uint32_t life; /* of the peer, when it was sent */
	void *owner;   /* struct qv_tx or struct qv_in, NULL: nobody waits */
	bool greets;   /* our first word to a peer that we had not heard of */
	void *bounce;
	char hdr[QV_WIRE_MAX_HDR + QV_WIRE_MAX_SEGS * sizeof(struct qv_wire_seg)];
};

/* A receive of the application. */
struct qv_rx {
	struct qv_recv node; /* first: the engine's */
	size_t cnt, room;    /* pieces and bytes of the buffer */
	struct iovec iov[QV_IOV_MAX];
	void *context;
	uint64_t cookie;
	unsigned flags;       /* QV_REQ_ENGINE, QV_REQ_MULTI */
	struct qv_peer *owes; /* of a collective, while it waits: who is to send */
	unsigned refs;        /* multi: messages still coming in */
	bool ended;           /* multi: takes no more messages */
	bool queued;          /* multi: in the engine's queue */
	size_t used;          /* multi: bytes given away */
	size_t multi_min;
};

/* What is known of a message from its first packet. */
struct qv_info {
	struct qv_peer *peer;
	uint64_t tag, data, sreq;
	size_t full;
	uint8_t engine; /* as in QV_REQ_ENGINE */
	bool has_data, rts;
	bool lost; /* the sender died before all of it was here */
	unsigned nsegs;
	uint32_t epoch; /* of the peer, when it came */
};

/* A matched message whose payload is still coming. */
struct qv_in {
	struct qv_info info;
	struct qv_proto *p;
	struct qv_in *next, *prev; /* all of the endpoint */
	struct qv_in *next_read;   /* those whose reads wait for the transport */
	struct qv_rx *rx;
	size_t want, pos; /* bytes wanted, bytes here (or asked for by reads) */
	size_t cnt;
	struct iovec iov[QV_IOV_MAX];
	unsigned reads; /* in flight */
	bool waiting;   /* in the list of waiting reads */
	bool reported;
	int status;
	uint64_t handle; /* SEG */
	struct qv_wire_seg segs[QV_WIRE_MAX_SEGS];
};

/* A message that came before its receive. */
struct qv_unexp {
	struct qv_msg node; /* first: the engine's */
	struct qv_info info;
	struct qv_unexp *next_loose, *prev_loose;
	bool loose;    /* out of matching: claimed, or to be dropped */
	size_t got;    /* payload bytes here */
	bool discard;  /* drop it once it is all here */
	char *payload; /* NULL (RTS), small, or allocated */
	union {
		char small[QV_WIRE_MAX_SEGS * sizeof(struct qv_wire_seg)];
		struct qv_wire_seg segs[QV_WIRE_MAX_SEGS];
	};
};

struct qv_peer {
	struct qv_proto *p;
	struct qv_xport *x; /* the way to it */
	uint64_t addr, user;
	uint32_t index; /* in peers[] */
	uint32_t src;   /* the source in the engines */
	uint32_t id;    /* what the peer writes into src */
	/* What we write into src: told in its HELLO, used once our own HELLO has gone. */
	uint32_t told_id, remote_id; /* QV_SRC_UNKNOWN before */
	uint32_t life;               /* counts how often it came back after a loss */
	uint32_t epoch;              /* counts how often what it had sent was given up */
	bool hello_sent, failed, listed;
	bool greeting;      /* our first word is with the transport: nothing goes behind it yet */
	bool asking;        /* or it has gone, and the peer is asked whether it has got it */
	bool crossed;       /* it speaks over another transport: what it exposes cannot be read */
	bool asked;         /* we close, and have asked it for an answer */
	bool leaving;       /* it closes, or has answered that it got all when we close */
	const char *doom;   /* why it will be given up: qv_peer_doom */
	uint64_t doomed_at; /* by the clock of qv_proto_tick, 0: not since a tick */
	uint64_t uid;       /* 0 until its HELLO */
	uint64_t received;  /* messages */
	uint64_t first_user;
	struct qv_peer *next_uid;
	struct qv_peer *next_pending;
	struct qv_tx *head, *tail;      /* packets that wait for the transport, in order */
	struct qv_tx *txs;              /* all of its sends, also those in the transport */
	size_t eager_out, budget;       /* eager bytes on their way, and how many may be */
	size_t consumed;                /* eager bytes of it taken here and not yet told */
	size_t packet_max;              /* longest packet it receives */
	size_t fast_end;                /* shorter payload needs no request; 0: all does */
	size_t eager_max;               /* longest message that is sent eagerly */
	unsigned owed;                  /* sends and receives that need the peer to go on */
	unsigned flying;                /* packets to it and reads of it that the transport holds */
	uint64_t pinged;                /* time of the last PING, ms */
	uint64_t asked_at, asked_since; /* QV_PING_MEET: the last time, the first; 0: not yet */
	uint64_t look_at;               /* before its HELLO: when to look whether it is there, ms */
	uint64_t absent_since;          /* it was not, since then; 0: it was */
	struct qv_proc proc;
	struct qv_in *open_in;       /* EAGER message whose DATA packets are to come: matched ... */
	struct qv_unexp *open_unexp; /* ... or not */
	char *name;
	size_t namelen;
};

struct qv_proto {
	struct qv_proto_head head; /* first */
	struct qv_peer *pending_tail;
	struct qv_match *match[3]; /* by QV_REQ_ENGINE: untagged, tagged, of collectives */
	const struct qv_proto_owner_ops *ops;
	void *owner;
	size_t budget;
	unsigned patience; /* ms, 0: no end */
	uint64_t uid;
	struct qv_pool txs, rxs, ins, unexps, flights;
	struct qv_handles tx_handles; /* sends that wait for FIN or CTS */
	struct qv_handles in_handles; /* receives that wait for SEG */
	struct qv_in *ins_head;
	struct qv_peer **peers;
	uint32_t npeers, peers_cap;
	uint8_t *sources; /* a bit for each named source: a peer has it */
	uint32_t named_sources;
	struct qv_peer **uids; /* hash of peers by uid */
	uint32_t uid_mask;
	size_t waiting; /* sends in queues */
	size_t copied;  /* injected bytes in queues */
	struct qv_unexp *loose;
	bool heard;        /* a packet came since the last tick */
	bool closing;      /* after qv_proto_shutdown */
	bool no_peer;      /* qv_proto_peer_new found no memory */
	uint64_t heard_at; /* last tick that found a packet had come */
	struct qv_proc self;
	char *name;
	size_t namelen;
	struct qv_proto_stats stats;
};

/* qv_proto_peer.c */
struct qv_peer *qv_peer_by_uid(struct qv_proto *p, uint64_t uid);
int qv_peer_on_hello(struct qv_proto *p, struct qv_xport *x, const struct qv_wire_pkt *pkt,
		     uint64_t from);
/* QV_ENOMEM: not said, to be tried again before the next packet. */
int qv_peer_say_hello(struct qv_peer *peer);
size_t qv_peer_write_hello(const struct qv_peer *peer, char *body); /* QV_WIRE_MAX_BODY */
void qv_refuse(struct qv_proto *p, const char *why);
/* A peer that was given up before it ever spoke is tried once more. */
void qv_peer_revive(struct qv_peer *peer);

/* qv_proto_loss.c */
/* Give up everything that needs this peer to go on, now; other peers' is not touched. */
void qv_peer_fail(struct qv_peer *peer, const char *why);
/* The same at a later tick: answers of the peer may be on their way to us. May be called from
 * anywhere. why: static storage. */
void qv_peer_doom(struct qv_peer *peer, const char *why);
/* What is on its way from this peer will not go on. */
void qv_peer_forget(struct qv_peer *peer);

/* Is the sender of this message gone, or another process by now? Then there is nothing to answer
 * and nothing to fetch. */
static inline bool qv_info_stale(const struct qv_info *info)
{
	return info->peer->failed || info->epoch != info->peer->epoch;
}

/* A request needs this peer to go on, or does not any more. */
static inline void qv_peer_owes(struct qv_peer *peer)
{
	peer->owed++;
	peer->x->owed++;
}

static inline void qv_peer_paid(struct qv_peer *peer)
{
	peer->owed--;
	peer->x->owed--;
}

/* qv_proto_coll.c */
/* The sender of a receive that now waits is to be looked after; QV_EPEER: it is gone. */
int qv_rx_await(struct qv_proto *p, struct qv_rx *rx, struct qv_peer *from);
/* It waits no more. */
void qv_rx_awaited(struct qv_rx *rx);
/* Receives that wait for this peer fail. */
void qv_rx_fail_all(struct qv_peer *peer);

/* qv_proto_close.c */
void qv_peer_on_ping(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
void qv_peer_on_pong(struct qv_peer *peer, const struct qv_wire_pkt *pkt);

/* qv_proto_meet.c */
/* Our HELLO has gone: what waits follows when the peer has answered that it is there. */
void qv_peer_ask(struct qv_peer *peer);
void qv_peer_keep_asking(struct qv_peer *peer, uint64_t now_ms);
void qv_peer_on_question(struct qv_peer *peer);
/* What waits may follow; status: of the HELLO. */
void qv_peer_met(struct qv_peer *peer, int status);

/* qv_proto_tx.c */
struct qv_tx *qv_tx_new(struct qv_peer *peer, enum qv_tx_kind kind);
void qv_tx_put(struct qv_tx *tx);
/* Give it to the transport now, or queue it behind what waits already. */
void qv_tx_start(struct qv_tx *tx);
int qv_tx_control(struct qv_peer *peer, enum qv_wire_op op, uint64_t arg, const void *body,
		  size_t len);
/* QV_ENOMEM: not told. */
int qv_tx_fin(struct qv_peer *peer, uint64_t sreq, int status);
void qv_tx_on_fin(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
void qv_tx_on_cts(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
/* Every packet of tx was given to the transport (status QV_OK), or giving it up failed. */
void qv_tx_issued(struct qv_tx *tx, int status);
/* Something about tx has changed: report its completion and free it where that is due. */
void qv_tx_check(struct qv_tx *tx, int status);
void qv_tx_enqueue(struct qv_tx *tx);
/* Before all that waits. */
void qv_tx_enqueue_first(struct qv_tx *tx);
/* Take back what its buffers expose. */
void qv_tx_conceal(struct qv_tx *tx);
/* Report it as failed, whatever is still in flight. */
void qv_tx_fail(struct qv_tx *tx, int status);

/* qv_proto_emit.c */
int qv_tx_issue(struct qv_tx *tx);
struct qv_wire_pkt qv_packet_to(const struct qv_peer *peer, enum qv_wire_op op, uint64_t arg,
				uint8_t flags);
int qv_emit(struct qv_peer *peer, const void *hdr, size_t hdrlen, const struct iovec *iov,
	    size_t cnt, size_t len, struct qv_tx *tx);
void qv_peer_flush(struct qv_peer *peer);
/* Put a peer with a queue on the endpoint's list. */
void qv_peer_list(struct qv_peer *peer);

/* qv_proto_deliver.c */
void qv_rx_deliver(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info,
		   const char *payload, const struct qv_wire_seg *segs);
/* The same for a whole eager message without completion data that nobody waits for. */
void qv_rx_deliver_plain(struct qv_peer *peer, struct qv_rx *rx, uint64_t tag, bool tagged,
			 const char *payload, size_t len);
void qv_rx_complete(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info, size_t len,
		    void *buf, int status);
/* Will a multi-receive end with a message of this length? (qv_rx_reserve decides the same.) */
bool qv_rx_ends(const struct qv_rx *rx, size_t full);
/* What a receive finds waiting, out of matching already. */
void qv_rx_deliver_unexp(struct qv_proto *p, struct qv_rx *rx, struct qv_unexp *u);
size_t qv_rx_reserve(struct qv_proto *p, struct qv_rx *rx, size_t full, struct iovec *iov,
		     size_t *cnt);
void qv_peer_consumed(struct qv_peer *peer, size_t bytes);

/* qv_proto_unexp.c */
int qv_unexp_new(struct qv_proto *p, const struct qv_info *info, const char *body, size_t len);
void qv_unexp_free(struct qv_proto *p, struct qv_unexp *u);
void qv_unexp_drop(struct qv_proto *p, struct qv_unexp *u);
/* Those dropped whose senders could not be told for want of memory. */
void qv_unexp_drop_again(struct qv_proto *p);
/* The rest of it will not come: it stays, empty, and fails the receive that takes it. */
void qv_unexp_lose(struct qv_proto *p, struct qv_unexp *u);

/* qv_proto_rndv.c */
struct qv_in *qv_in_new(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info);
/* A whole eager message, len bytes of it in the buffer: complete once its sender can be told. */
void qv_in_hold(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info, void *buf,
		size_t len);
void qv_in_finish(struct qv_in *in);
void qv_in_fail(struct qv_in *in, int status);
void qv_in_start(struct qv_in *in, const struct qv_wire_seg *segs);
void qv_in_retry(struct qv_proto *p);
void qv_in_on_seg(struct qv_peer *peer, const struct qv_wire_pkt *pkt);

/* qv_iov.c */
size_t qv_iov_len(const struct iovec *iov, size_t cnt);
/* The part of iov from offset on, len bytes of it, into out (room for QV_IOV_MAX); returns pieces.
 */
size_t qv_iov_slice(const struct iovec *iov, size_t cnt, size_t offset, size_t len,
		    struct iovec *out);
/* Copy into iov at offset; returns what fitted. Copy out of iov, all of it. */
size_t qv_iov_put(const struct iovec *iov, size_t cnt, size_t offset, const void *src, size_t len);
void qv_iov_get(const struct iovec *iov, size_t cnt, void *dst);

#endif /* QV_PROTO_I_H */
