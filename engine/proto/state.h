/* SPDX-License-Identifier: BSD-2-Clause */
/* state.h - what an endpoint knows: of its peers, of requests, of messages. */
#ifndef QV_PROTO_STATE_H
#define QV_PROTO_STATE_H

#include "engine/base/choice.h"
#include "engine/base/handle.h"
#include "engine/base/pool.h"
#include "engine/base/proc.h"
#include "engine/match/cancels.h"
#include "alive.h"
#include "proto.h"
#include "long/stripe.h"

/* No eager message is longer than this, whatever a peer says. */
#define QV_EAGER_LIMIT (1u << 20)
/* The bits of a peer's id that are its index; the others find stale ids out. */
#define QV_ID_INDEX 0xfffffu
#define QV_ID_TURN  (QV_ID_INDEX + 1)
/* A peer tells 16 bits of a number, so less than 0x8000 packets may be sent and not acknowledged.
 * QV_SEQ_WINDOW of them are counted as packets (qv_peer_window_is_full). The fast path does not
 * count: its messages are bounded by what they take of the budget, QV_FAST_MAX in all. */
#define QV_SEQ_WINDOW 0x2000u
#define QV_FAST_MAX   ((size_t)0x5000u * QV_WIRE_MESSAGE_COST)
/* What messages may take at a receiver that has not told its budget yet. */
#define QV_FIRST_BUDGET 65536u

enum qv_tx_kind {
	QV_TX_CTL,     /* one control packet, no completion */
	QV_TX_EAGER,   /* payload in one or several packets */
	QV_TX_RTS,     /* announce, then wait for FIN or CTS */
	QV_TX_SEGS,    /* after CTS: payload in SEG packets */
	QV_TX_BACKLOG, /* many short messages that wait: waiting/backlog.c */
};

/* A send that did not complete in the call that started it. */
struct qv_tx {
	struct qv_tx *next;                  /* in the peer's queue */
	struct qv_tx *next_peer, *prev_peer; /* all of the peer */
	struct qv_proto *p;
	struct qv_peer *peer;
	enum qv_tx_kind kind;
	unsigned flags;     /* QV_REQ_* */
	unsigned inflight;  /* packets that the transport still holds */
	unsigned in_window; /* packets in the peer's window whose payload is in its buffer */
	uint32_t last;      /* number of its last packet */
	int status;
	bool queued;    /* in the peer's queue */
	bool issued;    /* every packet was given to the transport */
	bool wants_fin; /* not complete before FIN */
	bool unsure; /* the transport has failed with a packet of it: not complete before the ack */
	bool reported; /* the completion was reported */
	bool answer;   /* CTL: an answer, counted in the peer's */
	uint64_t handle;
	void *context;
	uint64_t cookie, tag, data;
	uint64_t rreq; /* SEGS: the receiver's handle */
	size_t len;    /* of the message */
	size_t want;   /* SEGS: as much of it as the receiver has room for */
	size_t pos;    /* payload given to the transport */
	size_t back;   /* SEGS: from here on the second transport has it; want: it has nothing */
	struct qv_striped striped;
	size_t cnt;
	struct iovec iov[QV_IOV_MAX];
	struct qv_region regions[QV_IOV_MAX];
	/* CTL: the packet; BACKLOG: the messages, from pos to pktlen; injected: the payload. Allocated,
	 * if it is not `small`. */
	char *packet;
	size_t pktlen;
	char small[QV_PROTO_SHORT]; /* injected payload, or a small CTL packet */
};

/* One packet or read that the transport holds. */
struct qv_flight {
	struct qv_xfer xfer; /* first */
	struct qv_proto *p;
	struct qv_peer *peer;   /* NULL: it was freed */
	uint32_t session;       /* of ours with the peer, when it was sent */
	void *owner;            /* struct qv_tx or struct qv_in, NULL: nobody waits */
	struct qv_chunk *chunk; /* where the packet is kept; NULL: not in a window */
	struct qv_kept *kept;   /* the packet, where that is what the transport reads */
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
	unsigned refs;          /* multi: messages that are still coming in */
	bool ended;             /* multi: takes no more messages */
	bool queued;            /* in the engine's queue */
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
	size_t back;      /* SEG: from here on they came over the second transport */
	size_t cnt;
	struct iovec iov[QV_IOV_MAX];
	unsigned reads; /* in flight */
	/* Both paths are open: when one was chosen, and how long the reads took; ns. Else 0. */
	uint64_t began, took;
	bool waiting; /* in the list of waiting reads */
	bool whole;   /* it is over, but for telling its sender */
	bool reported;
	int status;
	uint64_t handle; /* SEG */
	struct qv_wire_seg segs[QV_WIRE_MAX_SEGS];
};

/* A message that came before its receive. */
struct qv_unexp {
	struct qv_msg node; /* first: the engine's */
	struct qv_info info;
	struct qv_unexp *next_detached, *prev_detached;
	bool detached; /* out of matching: claimed, or to be dropped */
	size_t got;    /* payload bytes here */
	bool discard;  /* drop it once it is all here */
	char *payload; /* NULL (RTS), small, or allocated */
	union {
		char small[QV_WIRE_MAX_SEGS * sizeof(struct qv_wire_seg)];
		struct qv_wire_seg segs[QV_WIRE_MAX_SEGS];
		size_t announced; /* info.lost: how long it was to be */
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

/* Injected payload that waits here: waiting/copies.c. */
struct qv_copies {
	size_t bytes;
	size_t most;   /* bytes that may wait */
	bool refused;  /* the last send that asked was */
	unsigned idle; /* ticks since some of it went */
};

/* How a rendezvous may be fetched; classes of lengths: below 16 KiB, 32 KiB, ... from 1 MiB on. */
enum {
	QV_FETCH_READ,
	QV_FETCH_ASK,
	QV_FETCH_CLASSES = 8,
};

struct qv_peer {
	struct qv_proto *p;
	struct qv_xport *x; /* the transport to it */
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
	uint32_t mute;        /* so many packets in a row, */
	uint32_t mute_end;    /* up to this number, hold no message */
	struct qv_window window;
	uint32_t resend;     /* the next to be sent again; 0: none */
	bool asked;          /* since the last tick: for packets that are missing */
	uint64_t resend_at;  /* not again before, ms: what was sent may still come there */
	uint32_t unsure;     /* sends that wait for an acknowledgement */
	bool cut;            /* the transport has failed with a packet: send again what it holds */
	bool ack_due;        /* the peer has asked for an acknowledgement */
	unsigned challenges; /* since the last tick */
	bool challenge_due;  /* the transport did not take the last one */

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

	/* Over which its last HELLO came, and from where there; before: as it is spoken to. */
	struct qv_xport *over;
	uint64_t from;
	bool headerless;     /* it knows us by what its transport calls us: no header is needed */
	bool leaving;        /* it closes */
	bool dropped;        /* the application has taken its name back */
	bool freed;          /* the last packet goes, whose flight must not lead back here */
	const char *failing; /* why it will be given up: qv_peer_mark_failed */
	uint64_t failing_since; /* by the clock of qv_proto_tick, 0: not since a tick */
	uint64_t received;      /* messages */
	uint64_t first_user;
	struct qv_peer *next_uid;
	struct qv_peer *next_pending;
	struct qv_tx *ctl_head,
		*ctl_tail;         /* control packets and SEGs that wait for the transport */
	struct qv_tx *head, *tail; /* messages that wait for it, in order, or for credit */
	struct qv_tx *txs;         /* all of its sends, also those in the transport */
	struct qv_copies copies;
	size_t budget_used, budget; /* what messages take of its budget, RTS too; all of it */
	size_t fast_limit;          /* what may be used without a closer look */
	size_t consumed;            /* what of ours was freed here and not yet told */
	size_t tell_at;             /* when it is told */
	size_t stored;              /* what its messages that wait here take */
	size_t allowed;             /* our budget for it */
	bool starved;               /* the first message waits for credit */
	bool starving;              /* it has told us that its first one does, */
	bool cramped;               /* and what waits here takes all its budget */
	bool wanted;                /* qv_proto_peer_want, since the last tick */
	unsigned held;              /* qv_proto_peer_hold */
	size_t packet_max;          /* longest packet it receives */
	size_t fast_end;            /* shorter payload may take the fast path; 0: none may */
	size_t eager_max;           /* longest message that is sent eagerly */
	unsigned outstanding;       /* sends and receives that need the peer to go on */
	unsigned flying;            /* packets to it and reads of it that the transport holds */
	unsigned refs;              /* messages of it that wait here for a receive */
	unsigned asked_of;          /* requests that it has not answered: remote.c */
	unsigned answers;           /* answers to its own that the transport has not taken */

	bool heard; /* something came since the last tick, numbered or not */
	struct qv_alive alive;
	uint64_t failed_at;
	struct qv_proc proc;
	struct qv_choice fetches[QV_FETCH_CLASSES]; /* by length: QV_FETCH_READ or QV_FETCH_ASK */
	struct qv_stripe stripe;
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
	unsigned patience;       /* ms, 0: no end */
	unsigned death;          /* ms, 0: no end */
	size_t queue_max;        /* sends that may wait */
	uint64_t now;            /* of the last tick, ms */
	uint64_t fetched_ns;     /* when the last rendezvous ended, or was read */
	uint64_t away;           /* ms before it in which nobody looked */
	struct qv_peer *suspect; /* unnamed.c; NULL: none is */
	uint64_t suspect_until;  /* ms */
	uint64_t uid;
	uint32_t sessions; /* the last that was begun */
	uint32_t begun;    /* how many were */
	uint32_t turn;     /* bits of ids beside the index */
	struct qv_pool txs, rxs, ins, unexps, flights;
	struct qv_handles tx_handles;   /* sends that wait for FIN or CTS */
	struct qv_handles in_handles;   /* receives that wait for SEG */
	struct qv_handles call_handles; /* updates of memory that wait for answers */
	struct qv_pool calls;
	const struct qv_memory_ops *memory; /* NULL: nobody reaches the owner's */
	struct qv_in *ins_head;
	struct qv_peer **peers; /* NULL: a free place */
	uint32_t npeers, peers_cap, npeers_free;
	uint32_t next_src;
	struct qv_chunk *spare; /* memory for windows: window.c */
	struct qv_chunk *lent;  /* of no window, but the transport has not given it back */
	uint8_t *sources;       /* a bit for each named source: a peer has it */
	uint32_t named_sources;
	struct qv_peer **uids; /* hash of peers by uid */
	uint32_t uid_mask;
	size_t waiting;    /* sends in queues */
	unsigned ncramped; /* peers that wait for more budget */
	struct qv_unexp *detached;
	bool heard;        /* a packet came since the last tick */
	bool settled;      /* the last tick has left nothing that waits for a peer */
	bool closing;      /* after qv_proto_shutdown */
	bool no_peer;      /* there was no memory for a peer */
	uint32_t nunnamed; /* peers that the application has not named */
	uint64_t heard_at; /* last tick that found a packet had come */
	struct qv_proc self;
	char *name;
	size_t namelen;
	struct qv_proto_stats stats;
};

#endif /* QV_PROTO_STATE_H */
