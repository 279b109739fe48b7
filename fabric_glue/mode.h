/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mode.h - what an endpoint does in the way of its mode (FI_QUIVER_MODE). Layered: our protocol goes
 * over a core, fabric_glue/layered. Peer: a core of libfabric 2.0 or later sends and receives, and
 * asks us what matches, fabric_glue/peer.
 */
#ifndef QV_FI_MODE_H
#define QV_FI_MODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/fabric.h>

struct qv_fi_ep;
struct qv_fi_rail;
struct qv_fi_send;
struct qv_fi_recv;
struct qv_fi_stats; /* <quiver/fi_ext.h> */
struct qv_match;

/* A message of a collective, or the receive of one. Its end comes to qv_fi_coll_sent or
 * qv_fi_coll_comp. */
struct qv_fi_coll_io {
	uint64_t tag; /* 63 bits */
	void *buf;    /* as a send only reads it */
	size_t bytes;
	void *context; /* NULL of a send: a notice, of no bytes, whose end nobody hears of */
};

/* Calls of libfabric return 0 or -FI_E...; the endpoint is enabled unless something else is said. */
struct qv_fi_mode {
	const char *title; /* in what is logged, behind the core */
	/* Without the domain's lock. */
	ssize_t (*send)(struct qv_fi_ep *ep, const struct qv_fi_send *s, uint64_t flags);
	ssize_t (*inject)(struct qv_fi_ep *ep, const struct qv_fi_send *s);
	ssize_t (*recv)(struct qv_fi_ep *ep, const struct qv_fi_recv *r, uint64_t flags);
	/* With it. */
	ssize_t (*cancel)(struct qv_fi_ep *ep, void *context);
	void (*progress)(struct qv_fi_ep *ep); /* enabled or not */
	/* Is there nothing to do before something comes? */
	bool (*may_sleep)(const struct qv_fi_ep *ep);
	/* Does it wait for peers, who may die? */
	bool (*waits)(const struct qv_fi_ep *ep);
	/* The core has taken no one-sided operation for this address: is nobody there? If that is not
	 * known, it is looked after from now on. Enabled. */
	bool (*finds_nobody)(struct qv_fi_ep *ep, const struct qv_fi_rail *rail, fi_addr_t index);
	/* The application has named an address of the endpoint's AV, or drops its name. True: the
	 * endpoint does not need it either. */
	void (*av_inserted)(struct qv_fi_ep *ep, fi_addr_t index); /* enabled or not */
	bool (*av_removed)(struct qv_fi_ep *ep, fi_addr_t index);  /* enabled or not */
	/* Collectives. An engine of its own matches what they send. enum qv_status: QV_OK, it is
	 * under way, and a notice goes by itself; QV_EAGAIN, QV_ENOMEM: nothing has begun, and the
	 * caller tries again; others: it is not to be tried again. */
	int (*coll_send)(struct qv_fi_ep *ep, fi_addr_t to, const struct qv_fi_coll_io *io);
	int (*coll_recv)(struct qv_fi_ep *ep, fi_addr_t from, const struct qv_fi_coll_io *io);
	void (*coll_cancel)(struct qv_fi_ep *ep, void *context); /* of a receive */
	/* All that waits with such a tag. */
	void (*coll_discard)(struct qv_fi_ep *ep, uint64_t tag, uint64_t ignore);
	/* QV_REQ_TAGGED, QV_REQ_COLL or 0, untagged; NULL: another has it. */
	struct qv_match *(*engine)(const struct qv_fi_ep *ep, unsigned which);
	void (*collect)(const struct qv_fi_ep *ep, struct qv_fi_stats *stats);
	/* The same without what takes long: names, and what the peers are asked for. */
	void (*count)(const struct qv_fi_ep *ep, struct qv_fi_stats *stats);
	/* What the application calls a source of the engines; FI_ADDR_NOTAVAIL: nothing. */
	fi_addr_t (*source)(const struct qv_fi_ep *ep, uint32_t src);
	/* Messages from the peer with this index; NULL: nobody counts them. */
	uint64_t (*received)(const struct qv_fi_ep *ep, fi_addr_t index);
};

/* What an address says of its endpoint: its mode, and whether it listens (cores/listener.h). */
enum qv_fi_said {
	QV_FI_SAYS_NOTHING,
	QV_FI_SAYS_LAYERED,
	QV_FI_SAYS_PEER,
	QV_FI_SAYS_LAYERED_LISTENS,
	QV_FI_SAYS_PEER_LISTENS,
};

extern const struct qv_fi_mode qv_fi_layered_mode, qv_fi_peer_mode;

#endif /* QV_FI_MODE_H */
