/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * srx.h - peer mode (FI_QUIVER_MODE=peer): the core sends, receives and completes by its own
 * protocol, and asks us which receive a message takes. We own its shared receive context and its
 * completion queue (fi_peer(3)). The core calls us from inside our calls to it, so the lock is held
 * in everything here.
 */
#ifndef QV_FI_SRX_H
#define QV_FI_SRX_H

#include "engine/match/cancels.h"
#include "fabric_glue/calls.h"
#include "abi.h"

struct qv_fi_bounce;

/* What is not usual about a receive, beside its cookie (QV_CK_*). */
#define QV_RX_MULTI     0x100u  /* FI_MULTI_RECV: the whole of a buffer */
#define QV_RX_PART      0x200u  /* a part of such a buffer */
#define QV_RX_BOUNCED   0x400u  /* the core has a buffer of ours */
#define QV_RX_DISCARDED 0x800u  /* nobody wants the message */
#define QV_RX_LONG      0x1000u /* it may come in pieces, of which the last never comes */

/* A posted receive, or a message that waits for one and becomes the receive that it meets. Of its
 * five cache lines most receives touch the first, the third and the fourth. */
struct qv_fi_rx {
	union {
		struct qv_fi_rx *next; /* free ones, those that are short of memory */
		struct qv_msg msg;     /* unexpected, while it waits */
		struct {
			struct qv_recv recv;         /* posted */
			struct qv_fi_bounce *bounce; /* QV_RX_BOUNCED */
			struct qv_fi_rx *whole;      /* QV_RX_PART: of this one's buffer */
			/* QV_RX_MULTI: bytes given to parts, parts on their way, no more come */
			size_t used;
			unsigned parts;
			bool ended;
		};
	};
	/* These two are where the running libfabric may have two pointers of the owner's. */
	void *context;          /* the application's */
	uint64_t how;           /* QV_CK_*, QV_RX_* */
	struct qv_abi_rx entry; /* its context is this structure */
	struct iovec iov[QV_FI_IOV_LIMIT];
} __attribute__((aligned(64)));

/* Context of a send, in place of the application's. */
struct qv_fi_tx {
	struct qv_fi_tx *next; /* free ones */
	void *context;
	fi_addr_t to; /* as the core calls it */
	uint8_t how;  /* QV_CK_* */
	bool tagged;
	bool flying; /* the core has it */
	bool told;   /* it has failed for the application */
};

/* What is known of the peer at an address of the core. */
struct qv_fi_known {
	fi_addr_t user;  /* what the application calls it; QV_FI_NOT_ASKED: look into the AV */
	uint32_t looked; /* tick of the last look */
	uint8_t gone;    /* up to QV_FI_GONE */
	bool spoken_to;  /* by a message of a collective */
	bool begun;      /* we have dealt with it */
};
#define QV_FI_GONE 10 /* looks that find nobody; one that finds nobody for ever counts half of it */

/* What a core takes for the shared receive context. rxm takes one for the life of a domain, so that
 * it may outlive the endpoint that it served. */
struct qv_fi_srx_port {
	struct qv_abi_srx abi;
	struct fid_ep *core;     /* what the core calls it */
	struct qv_fi_srx *srx;   /* NULL: it serves no endpoint now */
	struct qv_match *tagged; /* its engine */
	uint64_t own;            /* as in struct qv_fi_srx */
};

/* In the tag of a message of a collective. */
#define QV_FI_COLL_TAG (UINT64_C(1) << 63)
/* A message that nobody receives: a join (bit 62) has no message of this number. */
#define QV_FI_HELLO_TAG (QV_FI_COLL_TAG | UINT64_C(1) << 62 | 0xfffe)

/* A notice of a collective that the core has not taken yet. */
struct qv_fi_notice {
	struct qv_fi_notice *next;
	fi_addr_t to; /* as the core calls it */
	uint64_t tag;
};

#define QV_FI_SRX_ENGINES 3u

struct qv_fi_srx {
	struct qv_fi_srx_port *port; /* NULL: the core has none yet */
	struct qv_abi_cq cq;
	struct qv_fi_ep *ep;
	/* Untagged, QV_REQ_TAGGED, QV_REQ_COLL; the last is NULL without FI_COLLECTIVE. */
	struct qv_match *match[QV_FI_SRX_ENGINES];
	struct qv_cancels cancels[QV_FI_SRX_ENGINES];
	uint64_t own; /* bits of a tag that the application does not have: QV_FI_COLL_TAG or 0 */
	struct qv_fi_notice *notices;
	struct qv_fi_rx *free;
	/* Messages that are too long for their receives, while there is no memory to bounce them. */
	struct qv_fi_rx *short_of_memory;
	struct qv_fi_tx *free_tx;
	struct qv_fi_slab *slabs;
	/* rxm registers the buffers of long messages and leaves the descriptors with the entry,
	 * where it looks for them when it copies the next message. */
	bool writes_desc;
	struct qv_fi_known *known; /* by the address of the core */
	size_t nknown;
	/* death.c */
	size_t long_from; /* bytes: longer messages may come in pieces */
	size_t nlong;     /* receives with QV_RX_LONG */
	size_t flying;    /* sends that the core has */
	fi_addr_t full;   /* the core took nothing for it, FI_ADDR_NOTAVAIL: nobody */
	uint32_t ticks;
	size_t ngone;
	struct fi_ops_tagged calls;          /* of the endpoint */
	struct fi_ops_cq *queue_ops, sleepy; /* the core's of its queue, ours instead */
	uint64_t sends, bytes_waiting, bytes_waiting_max; /* statistics */
};

/* The source that the engines know of a message without one: no receive names it. */
#define QV_FI_SRC_NOBODY (QV_SRC_ANY - 1)

/* From known.c. */

#define QV_FI_NOT_ASKED (FI_ADDR_NOTAVAIL - 1)

/* NULL: no memory, or the address is none that counts up from 0. */
struct qv_fi_known *qv_fi_srx_known(struct qv_fi_srx *srx, fi_addr_t core);
fi_addr_t qv_fi_srx_ask_user(struct qv_fi_srx *srx, fi_addr_t core);
/* We deal with that address: whether its endpoint lives may be asked some day. */
void qv_fi_srx_meet(struct qv_fi_srx *srx, fi_addr_t core);

/* What the application calls the address of a core. */
static inline fi_addr_t qv_fi_srx_user(struct qv_fi_srx *srx, fi_addr_t core)
{
	if (QV_LIKELY(core < srx->nknown && srx->known[core].user != QV_FI_NOT_ASKED))
		return srx->known[core].user;
	return qv_fi_srx_ask_user(srx, core);
}

/* From entry.c. */

/* Slabs of receives and sends. */
struct qv_fi_rx *qv_fi_rx_more(struct qv_fi_srx *srx);
struct qv_fi_tx *qv_fi_tx_more(struct qv_fi_srx *srx);
void qv_fi_srx_free_slabs(struct qv_fi_srx *srx);
/* All there are, free ones too. */
void qv_fi_srx_each(struct qv_fi_srx *srx, void (*rx)(struct qv_fi_rx *rx),
		    void (*tx)(struct qv_fi_srx *srx, struct qv_fi_tx *tx));
bool qv_fi_tx_known(const struct qv_fi_srx *srx, const void *context);
/* Entries as the running libfabric knows them. */
void qv_fi_rx_set_version(uint32_t version);
void *qv_fi_rx_give(struct qv_fi_rx *rx);
struct qv_fi_rx *qv_fi_rx_of(void *entry);
void qv_fi_rx_release(struct qv_fi_rx *rx);
/* Give the core a buffer for the whole message: it has no good way to cut one. False: no memory. */
bool qv_fi_rx_bounce(struct qv_fi_rx *rx);
/* The same in two steps, for who must know beforehand; NULL: no memory. */
struct qv_fi_bounce *qv_fi_bounce_new(const struct qv_fi_rx *rx);
void qv_fi_rx_set_bounce(struct qv_fi_rx *rx, struct qv_fi_bounce *b);
/* What was received so into the application's buffer; returns the bytes. */
size_t qv_fi_rx_unbounce(struct qv_fi_rx *rx);

/* Where the application's buffer begins. */
void *qv_fi_rx_buffer(const struct qv_fi_rx *rx);

/* Bytes of the message. */
static inline size_t qv_fi_rx_full(const struct qv_fi_rx *rx)
{
	return rx->entry.msg_size;
}

/* Bytes of the application's buffer. */
static inline size_t qv_fi_rx_room(const struct qv_fi_rx *rx)
{
	size_t room = rx->iov[0].iov_len;

	for (size_t i = 1; i < rx->entry.count; i++)
		room += rx->iov[i].iov_len;
	return room;
}

/* The message is longer than the buffer. */
static inline bool qv_fi_rx_short(const struct qv_fi_rx *rx)
{
	return QV_UNLIKELY(qv_fi_rx_full(rx) > rx->iov[0].iov_len) &&
	       qv_fi_rx_full(rx) > qv_fi_rx_room(rx);
}

static inline bool qv_fi_rx_tagged(const struct qv_fi_rx *rx)
{
	return rx->entry.flags & FI_TAGGED;
}

/* Its engine, as in match and cancels. */
static inline unsigned qv_fi_rx_engine(const struct qv_fi_rx *rx)
{
	return QV_UNLIKELY(rx->how & QV_CK_COLL) ? QV_REQ_COLL : qv_fi_rx_tagged(rx);
}

static inline struct qv_fi_rx *qv_fi_rx_new(struct qv_fi_srx *srx)
{
	struct qv_fi_rx *rx = srx->free;

	if (QV_UNLIKELY(!rx))
		return qv_fi_rx_more(srx);
	srx->free = rx->next;
	return rx;
}

static inline struct qv_fi_srx *qv_fi_rx_srx(const struct qv_fi_rx *rx)
{
	return container_of(rx->entry.srx, struct qv_fi_srx_port, abi)->srx;
}

/* What the core calls: owner.c, complete.c. */

extern struct qv_abi_srx_owner qv_fi_srx_owner_ops;
extern struct qv_abi_cq_owner qv_fi_srx_cq_ops;
/* The next part of a buffer for many messages, for one of so many bytes. */
struct iovec qv_fi_rx_cut(struct qv_fi_rx *whole, size_t size);

/* From recv.c. */

void qv_fi_rx_set_buffer(struct qv_fi_rx *rx, const struct iovec *iov, size_t cnt);
/* A receive for the engine in r->req. 0 or -FI_E*. */
ssize_t qv_fi_rx_post(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t src,
		      uint32_t cookie, bool multi);
/* A waiting message into the buffer of this receive. */
void qv_fi_rx_take(struct qv_fi_rx *u, const struct qv_fi_recv *r, uint64_t how);
/* Begin with messages for which there was no memory. */
void qv_fi_rx_retry(struct qv_fi_srx *srx);
/* The core has the message and now a buffer for it. Its completion may come before this returns. */
void qv_fi_rx_start(struct qv_fi_rx *rx);
ssize_t qv_fi_srx_trecv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t from,
			uint64_t tag, uint64_t ignore, void *context);

/* look.c: receives with FI_PEEK or FI_CLAIM. */

/* The core is to put a message, out of its engine, where nobody looks. */
void qv_fi_rx_discard(struct qv_fi_rx *u, struct qv_fi_bounce *nowhere);
/* 0, or -FI_ENOENT. */
ssize_t qv_fi_rx_cancel(struct qv_fi_srx *srx, unsigned engine, void *context, int status);

ssize_t qv_fi_srx_peek(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t src,
		       uint32_t cookie, uint64_t flags);
ssize_t qv_fi_srx_claimed(struct qv_fi_srx *srx, const struct qv_fi_recv *r, uint32_t cookie,
			  uint64_t flags);

/* From send.c. */

/* Give a message to the core. how: QV_CK_*. 0 or -FI_E*. */
ssize_t qv_fi_tx_start(struct qv_fi_ep *ep, const struct qv_fi_send *s, fi_addr_t to, uint8_t how,
		       uint64_t flags);
/* The core is done with a send; err: FI_E*, 0. */
void qv_fi_tx_done(struct qv_fi_srx *srx, struct qv_fi_tx *tx, int err);
void qv_fi_tx_tell(struct qv_fi_srx *srx, const struct qv_fi_tx *tx, int err);
ssize_t qv_fi_srx_tinject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t to,
			  uint64_t tag);

/* From death.c. */

/* The core has got a message for this receive. */
static inline void qv_fi_rx_note_long(struct qv_fi_rx *rx)
{
	struct qv_fi_srx *srx = qv_fi_rx_srx(rx);

	if (QV_LIKELY(qv_fi_rx_full(rx) <= srx->long_from))
		return;
	rx->how |= QV_RX_LONG;
	srx->nlong++;
}

bool qv_fi_srx_is_gone(const struct qv_fi_srx *srx, fi_addr_t core);
bool qv_fi_srx_finds_nobody(struct qv_fi_ep *ep, const struct qv_fi_rail *rail, fi_addr_t index);
/* Ask, once a tick, whether anybody is there. */
void qv_fi_srx_look(struct qv_fi_srx *srx, fi_addr_t core);

/* From queue.c. */

int qv_fi_srx_open_queue(struct qv_fi_ep *ep);
bool qv_fi_srx_may_sleep(const struct qv_fi_ep *ep);
bool qv_fi_srx_waits(const struct qv_fi_ep *ep);

/* complete.c: the end of a receive. */
void qv_fi_rx_done(struct qv_fi_rx *rx, struct qv_comp *comp);

/* coll.c: look after those who owe collectives something; try again what the core did not take. */
void qv_fi_srx_coll_tick(struct qv_fi_srx *srx);
void qv_fi_srx_coll_retry(struct qv_fi_srx *srx);
void qv_fi_srx_coll_free(struct qv_fi_srx *srx);

/* Of the mode's table: recv.c, look.c, send.c, coll.c. */
ssize_t qv_fi_srx_recv(struct qv_fi_ep *ep, const struct qv_fi_recv *r, uint64_t flags);
/* 0, or -FI_ENOENT. */
ssize_t qv_fi_srx_cancel(struct qv_fi_ep *ep, void *context);
ssize_t qv_fi_srx_send(struct qv_fi_ep *ep, const struct qv_fi_send *s, uint64_t flags);
ssize_t qv_fi_srx_inject(struct qv_fi_ep *ep, const struct qv_fi_send *s);
int qv_fi_srx_coll_send(struct qv_fi_ep *ep, fi_addr_t to, const struct qv_fi_coll_io *io);
int qv_fi_srx_coll_recv(struct qv_fi_ep *ep, fi_addr_t from, const struct qv_fi_coll_io *io);
void qv_fi_srx_coll_cancel(struct qv_fi_ep *ep, void *context);
void qv_fi_srx_coll_discard(struct qv_fi_ep *ep, uint64_t tag, uint64_t ignore);

#endif /* QV_FI_SRX_H */
