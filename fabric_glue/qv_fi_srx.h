/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_fi_srx.h - peer mode (FI_QUIVER_MODE=peer): the core sends, receives and completes by its own
 * protocol, and asks us which receive a message takes. We own its shared receive context and its
 * completion queue (fi_peer(3)). The core calls us from inside our calls to it, so the lock is held
 * in everything here.
 */
#ifndef QV_FI_SRX_H
#define QV_FI_SRX_H

#include "qv_fi_data.h"
#include "qv_fi_srx_abi.h"

struct qv_fi_bounce;

/* A posted receive, or a message that waits for one and becomes the receive that it meets. Of its
 * five cache lines most receives touch the first four. */
struct qv_fi_rx {
	union {
		struct qv_msg msg; /* unexpected, while it waits */
		struct {
			struct qv_recv recv; /* posted */
			union {
				void *context;         /* the application's */
				struct qv_fi_rx *next; /* free ones */
			};
			size_t room; /* bytes of the application's buffer */
			uint32_t cookie;
			bool discarded;    /* nobody wants the message */
			bool multi, ended; /* FI_MULTI_RECV; it has left the queue */
		};
	};
	/* These two are where the running libfabric may have two pointers of the owner's. */
	size_t full;            /* bytes of the message */
	struct qv_fi_rx *whole; /* part of this one's buffer */
	struct qv_abi_rx entry; /* its context is this structure, owner_context the bounce buffer */
	struct iovec iov[QV_FI_IOV_LIMIT];
	size_t used;    /* the whole: bytes given to parts */
	unsigned parts; /* the whole: parts on their way */
} __attribute__((aligned(64)));

/* Context of a send that is counted, in place of the application's. */
struct qv_fi_tx {
	struct qv_fi_tx *next;
	void *context;
	bool entry;
};

/* What a core takes for the shared receive context. rxm takes one for the life of a domain, so that
 * it may outlive the endpoint that it served. */
struct qv_fi_srx_port {
	struct qv_abi_srx abi;
	struct fid_ep *core;   /* what the core calls it */
	struct qv_fi_srx *srx; /* NULL: it serves no endpoint now */
};

struct qv_fi_srx {
	struct qv_fi_srx_port *port; /* NULL: the core has none yet */
	struct qv_abi_cq cq;
	struct qv_fi_ep *ep;
	struct qv_match *match[2]; /* untagged, QV_REQ_TAGGED */
	struct qv_fi_rx *free;
	struct qv_fi_tx *free_tx;
	struct qv_fi_slab *slabs;
	/* rxm registers the buffers of long messages and leaves the descriptors with the entry,
	 * where it looks for them when it copies the next message. */
	bool writes_desc;
	/* fi_addr_t of the application by that of the core, NOT_ASKED: look into the AV */
	fi_addr_t *users;
	size_t nusers;
	uint64_t sends, bytes_waiting, bytes_waiting_max; /* statistics */
};

/* The source that the engines know of a message without one: no receive names it. */
#define QV_FI_SRC_NOBODY (QV_SRC_ANY - 1)

/* ---- qv_fi_srx.c ----------------------------------------------------------------------------- */
/* What the application calls the address of a core. */
fi_addr_t qv_fi_srx_user(struct qv_fi_srx *srx, fi_addr_t core);

/* ---- qv_fi_srx_entry.c ----------------------------------------------------------------------- */
/* Slabs of receives and sends. */
struct qv_fi_rx *qv_fi_rx_more(struct qv_fi_srx *srx);
struct qv_fi_tx *qv_fi_tx_more(struct qv_fi_srx *srx);
void qv_fi_srx_free_slabs(struct qv_fi_srx *srx);
/* Entries as the running libfabric knows them. */
void qv_fi_rx_set_version(uint32_t version);
void *qv_fi_rx_give(struct qv_fi_rx *rx);
struct qv_fi_rx *qv_fi_rx_of(void *entry);
void qv_fi_rx_release(struct qv_fi_rx *rx);
/* Give the core a buffer for the whole message: it has no good way to cut one. False: no memory. */
bool qv_fi_rx_bounce(struct qv_fi_rx *rx);
/* What was received so into the application's buffer; returns the bytes. */
size_t qv_fi_rx_unbounce(struct qv_fi_rx *rx);

/* The buffer of a message that does not fit; NULL: it fits. */
static inline struct qv_fi_bounce *qv_fi_rx_bounced(const struct qv_fi_rx *rx)
{
	return rx->entry.owner_context;
}

static inline bool qv_fi_rx_tagged(const struct qv_fi_rx *rx)
{
	return rx->entry.flags & FI_TAGGED;
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

/* ---- qv_fi_srx_owner.c: what the core calls ---------------------------------------------------
 */
extern struct qv_abi_srx_owner qv_fi_srx_owner_ops;
extern struct qv_abi_cq_owner qv_fi_srx_cq_ops;
/* The next part of a buffer for many messages, for one of so many bytes. */
struct iovec qv_fi_rx_cut(struct qv_fi_rx *whole, size_t size);

/* ---- qv_fi_srx_send.c ------------------------------------------------------------------------ */
/* The context that a send had; *entry: the application wants to hear of it. */
void *qv_fi_tx_release(struct qv_fi_srx *srx, void *context, bool *entry);

#endif /* QV_FI_SRX_H */
