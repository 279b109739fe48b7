/* SPDX-License-Identifier: BSD-2-Clause */
/* rail.h - a rail: one of the cores under an endpoint. */
#ifndef QV_FI_RAIL_H
#define QV_FI_RAIL_H

#include "engine/base/compiler.h"
#include "engine/proto/proto.h"
#include "mode.h"
#include "provider.h"

/* One buffer always posted to the core. xfer.done is NULL: that is how the poll loop knows it. */
struct qv_fi_rxbuf {
	struct qv_xfer xfer; /* first */
	struct qv_fi_rxbuf *next;
	/* what has come, kept while stalled */
	size_t len;
	fi_addr_t from;
	bool headerless; /* the payload of a plain message, its tag beside it */
	uint64_t tag;
	char data[];
};

#define QV_FI_RAIL_NAME 64 /* longest address of a second one */

/* One of the cores under an endpoint. */
struct qv_fi_rail {
	struct qv_xport xport;
	struct qv_fi_ep *ep;
	unsigned which;            /* QV_FI_MAIN, QV_FI_LOCAL or QV_FI_SECOND */
	bool used;                 /* something was sent since the last poll that looked */
	uint64_t seen;             /* entries that its queue has had */
	uint64_t packets;          /* that the core has taken, and reads */
	unsigned flying;           /* transfers that the core holds for us */
	uint64_t polled, busy_end; /* ticks of fabric_glue/progress/poll.c */
	bool one_lock;             /* senders and we take the same for each message */
	uint64_t found;            /* one_lock: ticks of the last poll, if it found something */
	struct fid_ep *core;
	struct qv_node *node; /* core node: it is spoken to itself; else NULL */
	struct fid_cq *cq;
	struct fid_cq *bell;      /* see qv_fi_rail_bell; NULL: it is cq */
	struct qv_peer **by_core; /* peers by the core's address, as far as it is small */
	size_t nby_core;
	struct qv_fi_rxbuf *unposted; /* receive buffers that the core does not have now */
	size_t nunposted;
	struct qv_fi_rxbuf *stalled, **stalled_tail; /* packets that wait for memory, in order */
	char *rx_memory;
	size_t rx_count, rx_stride;
	int mark_fd;                     /* fabric_glue/layered/presence.h; -1: none */
	struct qv_fi_tcp *tcp;           /* NULL until asked for */
	struct qv_fi_listener *listener; /* NULL: the core needs none */
	char address[QV_FI_RAIL_NAME];   /* QV_FI_SECOND: of the core endpoint */
};

/* The queue whose descriptor sleepers look at. */
static inline struct fid_cq *qv_fi_rail_bell(const struct qv_fi_rail *rail)
{
	return rail->bell ? rail->bell : rail->cq;
}

/* From fabric_glue/cores/rail.c. */

/* One more core for an endpoint, at the address that the application's info names. */
int qv_fi_rail_open(struct qv_fi_ep *ep, unsigned which, const struct fi_info *info);
int qv_fi_rail_enable(struct qv_fi_rail *rail);
void qv_fi_rail_close(struct qv_fi_rail *rail);
/* Does anybody sleep on a descriptor of this core's? */
bool qv_fi_rail_wants_fd(struct qv_fi_rail *rail);
/* What the cores of an endpoint are called; the text lives as long as the fabric. */
const char *qv_fi_rail_name(const struct qv_fi_rail *rail);
const char *qv_fi_ep_cores(const struct qv_fi_ep *ep);
/* As fi_getname. */
int qv_fi_ep_name(struct qv_fi_ep *ep, void *addr, size_t *len);
/* fabric_glue/objects/av_mode.c: what the bytes of the endpoint's name are to say of it, and that into
 * a name, as far as there is room. */
enum qv_fi_said qv_fi_ep_says(const struct qv_fi_ep *ep);
void qv_fi_sign(void *addr, size_t len, enum qv_fi_said said);

/* From fabric_glue/layered/xport.c. */

void qv_fi_xport_init(struct qv_fi_rail *rail);
/* fabric_glue/layered/presence.c: struct qv_xport_ops.presence of a rail, from enabled to closed.
 * Before it is enabled: 0 or -FI_E*. */
int qv_fi_presence_prepare(struct qv_fi_rail *rail);
void qv_fi_presence_begin(struct qv_fi_rail *rail);
void qv_fi_presence_end(struct qv_fi_rail *rail);
/* The mode that the endpoint of shm with this name is marked with. */
enum qv_fi_said qv_fi_shm_says(const char *name);
enum qv_presence qv_fi_presence(struct qv_xport *x, uint64_t addr, uint64_t *silent);
/* The core has got this address; the other is for ten times a second. */
void qv_fi_presence_meet(struct qv_fi_rail *rail, uint64_t addr);
void qv_fi_presence_tick(struct qv_fi_rail *rail);
void qv_fi_reconnect(struct qv_xport *x, uint64_t addr, bool others);
/* Is something for that address still on its way, as far as the kernel knows? */
bool qv_fi_unacked(struct qv_xport *x, uint64_t addr);
/* 0 or -FI_E* of the core as enum qv_status. */
int qv_fi_status_slow(ssize_t rc);
static inline int qv_fi_status(ssize_t rc)
{
	return QV_LIKELY(rc == 0) ? QV_OK : qv_fi_status_slow(rc);
}

/* The same of what leads to a peer. Want of memory is over some time, all else is for ever. */
static inline int qv_fi_reach_status(int ret)
{
	return ret == -FI_ENOMEM ? QV_ENOMEM : ret ? QV_EPEER : QV_OK;
}

/* The peer that the core calls so, NULL: none that we have dealt with. */
static inline struct qv_peer *qv_fi_peer_by_core(const struct qv_fi_rail *rail, fi_addr_t core)
{
	return QV_LIKELY(core < rail->nby_core) ? rail->by_core[core] : NULL;
}

#endif /* QV_FI_RAIL_H */
