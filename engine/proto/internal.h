/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h - what the files of the protocol share. */
#ifndef QV_PROTO_I_H
#define QV_PROTO_I_H

#include "engine/base/compiler.h"
#include "engine/base/handle.h"
#include "engine/base/pool.h"
#include "engine/base/proc.h"
#include "engine/match/cancels.h"
#include "proto.h"

#include <string.h>

/* No eager message is longer than this, whatever a peer says. */
#define QV_EAGER_LIMIT (1u << 20)
/* The bits of a peer's id that are its index; the others find stale ids out. */
#define QV_ID_INDEX 0xfffffu
#define QV_ID_TURN  (QV_ID_INDEX + 1)
/* Packets that may be on their way without having been acknowledged; and messages that may be
 * beside them, as they are counted by the room that they take. Numbers are compared by 16 bits, so
 * that both together are less than 0x8000. */
#define QV_SEQ_WINDOW 0x2000u
#define QV_FAST_MAX   ((size_t)0x5000u * QV_WIRE_MESSAGE_COST)
/* What messages may take at a receiver that has not told its budget yet. */
#define QV_FIRST_BUDGET 65536u

enum qv_tx_kind {
	QV_TX_CTL,   /* one packet of ours, no completion */
	QV_TX_EAGER, /* payload in one or several packets */
	QV_TX_RTS,   /* announce, then wait for FIN or CTS */
	QV_TX_SEGS,  /* after CTS: payload in SEG packets */
	QV_TX_LOG,   /* many short messages that wait: log.c */
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
	unsigned kept;     /* packets of the peer's window that are to be found in its buffer */
	uint32_t last;     /* number of its last packet */
	int status;
	bool queued;    /* in the peer's queue */
	bool issued;    /* every packet was given to the transport */
	bool wants_fin; /* not complete before FIN */
	bool unsure; /* the transport has failed with a packet of it: not complete before the ack */
	bool reported; /* the completion was reported */
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
	char *packet; /* CTL: the packet; LOG: the messages, from pos to pktlen */
	size_t pktlen;
	char small[QV_PROTO_INJECT]; /* injected payload, or a short CTL packet */
};

/* One packet or read that the transport holds. */
struct qv_flight {
	struct qv_xfer xfer; /* first */
	struct qv_proto *p;
	struct qv_peer *peer;
	uint32_t session;       /* of ours with the peer, when it was sent */
	void *owner;            /* struct qv_tx or struct qv_in, NULL: nobody waits */
	struct qv_chunk *chunk; /* where the packet is kept; NULL: not in a window */
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
	unsigned flags;         /* QV_REQ_ENGINE, QV_REQ_MULTI */
	struct qv_peer *sender; /* of a collective, while it waits: who is to send */
	unsigned refs;          /* multi: messages still coming in */
	bool ended;             /* multi: takes no more messages */
	bool queued;            /* multi: in the engine's queue */
	size_t used;            /* multi: bytes given away */
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
	bool whole;     /* it is over, but for telling its sender */
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

/*
 * What a peer may not have got yet, for transports that lose packets: window.c. Packets are in
 * the order of their numbers; the oldest has number `oldest`.
 */
struct qv_chunk;
struct qv_window {
	struct qv_chunk *first, *last;
	uint32_t oldest;
	unsigned chunks;
};

struct qv_peer {
	struct qv_proto *p;
	struct qv_xport *x; /* the way to it */
	uint64_t addr, user;
	uint32_t index; /* in peers[] */
	uint32_t src;   /* the source in the engines */
	uint32_t id;    /* what the peer writes into src */
	/* What we write into src: told in its HELLO, used when no packet has to wait for others. */
	uint32_t told_id, remote_id; /* QV_SRC_UNKNOWN before */

	/* Numbers of packets, seq.c. */
	uint32_t sent, acked; /* the last that we have sent; the last that has come there */
	uint32_t got, told;   /* the last that has come here; what of it the peer knows */
	uint16_t ack;         /* of the last packet that came, not looked at yet */
	uint32_t unacked;     /* bytes that came since, as far as they are not in `consumed` */
	struct qv_window window;
	uint32_t resend;     /* the next to be sent again; 0: none */
	bool asked;          /* since the last tick: for packets that are missing */
	uint64_t resend_at;  /* not again before, ms: it may still be on its way */
	uint32_t unsure;     /* sends that wait for an acknowledgement */
	bool cut;            /* the transport has failed with a packet: send again what it holds */
	bool ack_due;        /* the peer has asked for an acknowledgement */
	unsigned challenges; /* since the last tick */

	/* Sessions, session.c. */
	uint32_t session; /* ours: what we send belongs to it */
	uint32_t theirs;  /* the peer's; 0: none yet */
	uint32_t epoch;   /* counts how often what it had sent was given up */
	uint64_t uid;     /* 0 until its first HELLO */
	bool connected;   /* its HELLO of the session that we are in has come */
	bool confirmed;   /* and one that knows ours: the id in it is meant for what we send */
	bool hello_sent;  /* ours is queued, or was sent */
	bool introduced;  /* it was given to the transport */
	bool failed, listed;
	bool gone;        /* it has failed, and its process has died */
	bool turned_away; /* messages of it were dropped since we close */
	bool untold;      /* messages reported as sent were lost: the next send says so */

	bool asymmetric; /* it speaks over another transport: what it registers cannot be read */
	bool headerless; /* it knows us by what its transport calls us: no header is needed */
	bool leaving;    /* it closes */
	bool dropped;    /* the application has taken its name back */
	const char *failing;    /* why it will be given up: qv_peer_mark_failed */
	uint64_t failing_since; /* by the clock of qv_proto_tick, 0: not since a tick */
	uint64_t received;      /* messages */
	uint64_t first_user;
	struct qv_peer *next_uid;
	struct qv_peer *next_pending;
	struct qv_tx *ctl_head, *ctl_tail; /* packets of ours that wait for the transport */
	struct qv_tx *head, *tail;         /* messages that wait for it, in order, or for credit */
	struct qv_tx *txs;                 /* all of its sends, also those in the transport */
	size_t eager_out, budget;          /* what of its budget is used, and how much that is */
	size_t fast_limit;                 /* what may be used without a closer look */
	size_t consumed;                   /* what of ours was freed here and not yet told */
	size_t tell_at;                    /* when it is told */
	size_t stored;                     /* what its messages that wait here take */
	size_t allowed;                    /* our budget for it */
	bool starved;                      /* the first message waits for credit */
	bool starving;                     /* it has told us that its first one does */
	size_t packet_max;                 /* longest packet it receives */
	size_t fast_end;                   /* shorter payload needs no request; 0: all does */
	size_t eager_max;                  /* longest message that is sent eagerly */
	unsigned outstanding;              /* sends and receives that need the peer to go on */
	unsigned flying; /* packets to it and reads of it that the transport holds */
	unsigned refs;   /* messages of it that wait here, or are coming in */

	/* Is it alive? By the clock of qv_proto_tick, in ms. tick.c */
	uint32_t got_then;     /* got at the last tick */
	uint32_t acked_then;   /* acked at the last tick */
	bool heard;            /* something came since the last tick, numbered or not */
	uint64_t heard_at;     /* the last tick that found so; 0: nobody has waited for it */
	uint64_t stuck_at;     /* since when nothing more was acknowledged; 0: all is */
	uint64_t probe_at;     /* when to ask again */
	uint32_t probes;       /* how often it was asked, without an answer */
	uint64_t full_since;   /* the transport takes no question; 0: it does */
	uint64_t full_most;    /* so long, in ms, before it is to connect anew */
	uint64_t look_at;      /* when to look whether it is there */
	uint64_t absent_since; /* it was not, since then; 0: it was */
	uint64_t failed_at;
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
	struct qv_cancels cancels[3];
	const struct qv_proto_owner_ops *ops;
	void *owner;
	size_t budget;
	unsigned patience; /* ms, 0: no end */
	unsigned death;    /* ms, 0: no end */
	size_t queue_max;  /* sends that may wait */
	uint64_t now;      /* of the last tick, ms */
	uint64_t away;     /* ms before it in which nobody looked */
	uint64_t uid;
	uint32_t sessions; /* the last that was begun */
	uint32_t turn;     /* bits of ids beside the index */
	struct qv_pool txs, rxs, ins, unexps, flights;
	struct qv_handles tx_handles; /* sends that wait for FIN or CTS */
	struct qv_handles in_handles; /* receives that wait for SEG */
	struct qv_in *ins_head;
	struct qv_peer **peers; /* NULL: a free place */
	uint32_t npeers, peers_cap, npeers_free;
	uint32_t next_src;
	struct qv_chunk *spare; /* memory for windows: window.c */
	struct qv_chunk *held;  /* of no window, but the transport has not given it back */
	uint8_t *sources;       /* a bit for each named source: a peer has it */
	uint32_t named_sources;
	struct qv_peer **uids; /* hash of peers by uid */
	uint32_t uid_mask;
	size_t waiting;     /* sends in queues */
	unsigned nstarving; /* peers that wait for credit of ours */
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

/* peer.c */
struct qv_peer *qv_peer_by_uid(struct qv_proto *p, uint64_t uid);
/* By the word that a packet bears before its sender knows its id. */
struct qv_peer *qv_peer_by_token(struct qv_proto *p, uint64_t token);
void qv_peer_set_uid(struct qv_peer *peer, uint64_t uid);
void qv_refuse(struct qv_proto *p, const char *why);

/* session.c */
int qv_peer_on_hello(struct qv_proto *p, struct qv_xport *x, const struct qv_wire_pkt *pkt,
		     uint64_t from);
void qv_peer_on_reset(struct qv_proto *p, const struct qv_wire_pkt *pkt);
/* Queue our HELLO. QV_ENOMEM: not said, to be tried again before the next packet. */
int qv_peer_send_hello(struct qv_peer *peer);
/* The same at once, ahead of all that waits; what the transport does not take is lost. */
void qv_peer_repeat_hello(struct qv_peer *peer);
/* It was given to the transport. */
void qv_peer_introduced(struct qv_peer *peer);
/* Tell the peer that its session is over. */
void qv_peer_send_reset(struct qv_peer *peer, uint32_t session);
/* A session of ours begins: nothing has been sent. What was is over already. */
void qv_peer_begin_session(struct qv_peer *peer);
/* Messages of ours were lost, and no entry says so: the next send does. */
void qv_peer_untold(struct qv_peer *peer);
/* May messages bear the short id, and take the short path? */
void qv_peer_set_remote(struct qv_peer *peer);

/* seq.c */
/* Number and acknowledgement into a packet that is about to be sent. */
static inline void qv_wire_number(char *packet, uint32_t seq, uint32_t ack)
{
	const uint16_t words[2] = {(uint16_t)seq, (uint16_t)ack};

	memcpy(packet + offsetof(struct qv_wire_hdr, seq), words, sizeof words);
}

/* What the peer has acknowledged leaves the window. False: nothing has. */
bool qv_peer_acked(struct qv_peer *peer);
static inline bool qv_peer_window_is_full(struct qv_peer *peer)
{
	return QV_UNLIKELY(peer->sent - peer->acked >= QV_SEQ_WINDOW) && !qv_peer_acked(peer);
}
/* Have all packets of this send come there? */
static inline bool qv_tx_is_acked(const struct qv_tx *tx)
{
	return tx->issued && (int32_t)(tx->peer->acked - tx->last) >= 0;
}
/* A numbered packet was given to the transport. */
static inline void qv_peer_sent(struct qv_peer *peer)
{
	peer->sent++;
	peer->told = peer->got;
	peer->unacked = 0;
}

/* A packet of no number, at once or not at all. */
int qv_peer_send_now(struct qv_peer *peer, enum qv_wire_op op, uint64_t arg, const void *body,
		     size_t len);
void qv_peer_send_ack(struct qv_peer *peer);

/* Bytes that came, headers included, before they are acknowledged whatever else is sent: long
 * before the sender's window is full. */
#define QV_UNACKED_MAX (256u << 10)
#define QV_UNACKED_HDR 64u

/* One more came in order, with len bytes that its sender has to keep. */
static inline void qv_peer_got(struct qv_peer *peer, size_t len)
{
	peer->got++;
	peer->unacked += QV_UNACKED_HDR + (uint32_t)len;
	if (QV_UNLIKELY(peer->unacked >= QV_UNACKED_MAX))
		qv_peer_send_ack(peer);
}

/* A packet that is not the next: one that came before, or behind one that was lost. */
void qv_peer_out_of_order(struct qv_peer *peer, uint16_t seq);
void qv_peer_on_ack(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
void qv_peer_on_ping(struct qv_peer *peer, const struct qv_wire_pkt *pkt);
/* Send again all that is in the window; new packets wait. */
void qv_peer_resend(struct qv_peer *peer);
/* Go on with that. QV_EAGAIN: the transport is full. */
int qv_peer_resend_some(struct qv_peer *peer);

/* window.c */
/* A packet that the peer may not have got. The bytes are in packet; of a SEG the payload is the
 * n bytes at pos of tx's message. */
struct qv_kept {
	uint32_t size; /* of this, in the chunk */
	uint32_t len;
	struct qv_tx *tx;
	size_t pos;
	uint32_t n;
	char packet[];
};
/* Room for a packet of at most len bytes behind all others; NULL: the window is full, or no memory.
 * The packet is in the window from qv_window_add on, which is told its length. */
struct qv_kept *qv_window_room(struct qv_peer *peer, size_t len);
void qv_window_add(struct qv_peer *peer, struct qv_kept *kept, size_t len);
/* The packet with this number, and its chunk; NULL: it is not there. */
struct qv_kept *qv_window_seek(const struct qv_window *w, uint32_t seq, struct qv_chunk **in);
/* The chunk of the packet that is in the making, or was added last. */
struct qv_chunk *qv_window_chunk(const struct qv_window *w);
/* Everything up to this number has come there. */
void qv_window_release(struct qv_peer *peer, uint32_t upto);
void qv_window_clear(struct qv_peer *peer);
/* Are there messages in it that nobody will tell the loss of? */
bool qv_window_has_messages(const struct qv_window *w);
/* tx will not be there when its packets are to be sent again. */
void qv_window_void(struct qv_peer *peer, struct qv_tx *tx);
/* A transfer of a packet in the chunk begins, ends. */
void qv_chunk_hold(struct qv_chunk *chunk);
void qv_chunk_drop(struct qv_proto *p, struct qv_chunk *chunk);
void qv_window_fini(struct qv_proto *p);

/* log.c */
/* A short message waits. QV_EAGAIN: it cannot be kept so; QV_ENOMEM. */
int qv_log_append(struct qv_peer *to, const struct qv_send_args *args, size_t len);
/* The messages of a log, until the transport is full. */
int qv_log_issue(struct qv_tx *tx);
void qv_log_fail(struct qv_tx *tx, int status);
void qv_log_free(struct qv_tx *tx);

/* credit.c */
/* What a message takes of the receiver's budget while it waits there. */
static inline size_t qv_cost(size_t len)
{
	return len + QV_WIRE_MESSAGE_COST;
}

/* The receiver has so much room for messages of ours. */
void qv_peer_set_budget(struct qv_peer *peer, size_t budget);
/* May the first message go? If not, the peer is told that it waits. */
bool qv_peer_has_credit(struct qv_peer *peer, size_t cost);
void qv_peer_on_credit(struct qv_peer *peer, uint64_t bytes);
void qv_peer_on_starving(struct qv_peer *peer);
/* The application wants a message that is not here: from this peer, or NULL, any. */
void qv_proto_widen(struct qv_proto *p, struct qv_peer *from);
/* So much of the budget is free again. */
void qv_peer_consumed_slow(struct qv_peer *peer);
static inline void qv_peer_consumed(struct qv_peer *peer, size_t len)
{
	peer->consumed += qv_cost(len);
	if (QV_UNLIKELY(peer->consumed >= peer->tell_at))
		qv_peer_consumed_slow(peer);
}

/* send.c */
/* A message of at most QV_PROTO_INJECT bytes, at once. QV_EAGAIN: the transport is full, or the
 * receiver has no room for it. */
int qv_send_short(struct qv_peer *to, const struct qv_send_args *args, size_t len);

/* loss.c */
void qv_peer_look_for_failed(struct qv_peer *peer);
/* Requests of a peer that has failed. */
void qv_peer_give_up(struct qv_peer *peer);
/* Give up everything that needs this peer to go on, now; other peers' is not touched. */
void qv_peer_fail(struct qv_peer *peer, const char *why);
/* The same at a later tick: answers of the peer may be on their way to us. May be called from
 * anywhere. why: static storage. */
void qv_peer_mark_failed(struct qv_peer *peer, const char *why);
/* The session is over, the peer is not: its requests fail, and a new session may begin. */
void qv_peer_end_session(struct qv_peer *peer, const char *why);
/* What is on its way from this peer will not go on. */
void qv_peer_forget(struct qv_peer *peer);

/* Is the sender of this message gone, or another process by now? Then there is nothing to answer
 * and nothing to fetch. */
static inline bool qv_info_stale(const struct qv_info *info)
{
	return info->peer->failed || info->epoch != info->peer->epoch;
}

/* Does its transport have transfers that it never gives back, and that touch nothing any more? */
static inline bool qv_peer_keeps(const struct qv_peer *peer)
{
	return peer->x->keeps && peer->gone;
}

/* Is anything of it under way that only it can end? */
static inline bool qv_peer_is_waiting(const struct qv_peer *peer)
{
	return peer->outstanding || peer->head || peer->ctl_head || peer->sent != peer->acked ||
	       peer->open_unexp;
}

/* A request needs this peer to go on, or does not any more. */
static inline void qv_peer_add_outstanding(struct qv_peer *peer)
{
	peer->outstanding++;
	peer->x->outstanding++;
}

static inline void qv_peer_end_outstanding(struct qv_peer *peer)
{
	peer->outstanding--;
	peer->x->outstanding--;
}

/* coll.c */
/* The sender of a receive that now waits is to be looked after; QV_EPEER: it is gone. */
int qv_rx_await(struct qv_proto *p, struct qv_rx *rx, struct qv_peer *from);
/* It waits no more. */
void qv_rx_awaited(struct qv_rx *rx);
/* Receives that wait for this peer fail. */
void qv_rx_fail_all(struct qv_peer *peer);

/* close.c */
void qv_peer_on_leave(struct qv_peer *peer);

/* tx.c */
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
/* Take back the registration of its buffers. */
void qv_tx_deregister(struct qv_tx *tx);
/* Report it as failed, whatever is still in flight. */
void qv_tx_fail(struct qv_tx *tx, int status);

/* emit.c */
int qv_tx_issue(struct qv_tx *tx);
struct qv_wire_pkt qv_packet_to(const struct qv_peer *peer, enum qv_wire_op op, uint64_t arg,
				uint8_t flags);
/* A numbered packet: header of hdrlen bytes, then len bytes from the pieces. tx: whose it is, or
 * NULL. */
int qv_emit(struct qv_peer *peer, char *hdr, size_t hdrlen, const struct iovec *iov, size_t cnt,
	    size_t len, struct qv_tx *tx);
/* One of the window, again. */
int qv_emit_kept(struct qv_peer *peer, struct qv_kept *kept, struct qv_chunk *chunk);
/* One that has no number and is not kept. */
int qv_emit_loose(struct qv_peer *peer, char *packet, size_t len);
void qv_peer_flush(struct qv_peer *peer);
/* Put a peer with a queue on the endpoint's list, take it off. */
void qv_peer_list(struct qv_peer *peer);
void qv_peer_unlist(struct qv_peer *peer);

/* deliver.c */
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

/* unexp.c */
bool qv_unexp_allowed(const struct qv_info *info);
int qv_unexp_new(struct qv_proto *p, const struct qv_info *info, const char *body, size_t len);
void qv_unexp_free(struct qv_proto *p, struct qv_unexp *u);
void qv_unexp_drop(struct qv_proto *p, struct qv_unexp *u);
/* Those dropped whose senders could not be told for want of memory. */
void qv_unexp_drop_again(struct qv_proto *p);
/* The rest of it will not come: it stays, empty, and fails the receive that takes it. */
void qv_unexp_lose(struct qv_proto *p, struct qv_unexp *u);

/* rndv.c */
/* Is it an endpoint of this process? */
bool qv_peer_is_own(const struct qv_peer *peer);
struct qv_in *qv_in_new(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info);
/* A whole eager message, len bytes of it in the buffer: complete once its sender can be told. */
void qv_in_hold(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info, void *buf,
		size_t len);
void qv_in_finish(struct qv_in *in);
void qv_in_fail(struct qv_in *in, int status);
void qv_in_start(struct qv_in *in, const struct qv_wire_seg *segs);
void qv_in_retry(struct qv_proto *p);
void qv_in_on_seg(struct qv_peer *peer, const struct qv_wire_pkt *pkt);

/* iov.c */
size_t qv_iov_len(const struct iovec *iov, size_t cnt);
/* The part of iov from offset on, len bytes of it, into out (room for
 * QV_IOV_MAX); returns pieces. */
size_t qv_iov_slice(const struct iovec *iov, size_t cnt, size_t offset, size_t len,
		    struct iovec *out);
/* Copy into iov at offset; returns what fitted. Copy out of iov, all of it. */
size_t qv_iov_put(const struct iovec *iov, size_t cnt, size_t offset, const void *src, size_t len);
void qv_iov_get(const struct iovec *iov, size_t cnt, void *dst);

#endif /* QV_PROTO_I_H */
