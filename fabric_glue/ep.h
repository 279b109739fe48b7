/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.h - the endpoint, its peers, and how it is moved on. */
#ifndef QV_FI_EP_H
#define QV_FI_EP_H

#include <quiver/fi_ext.h>

#include "engine/base/seldom.h"
#include "engine/match/live.h"
#include "fabric_glue/queue.h"
#include "fabric_glue/rail.h"

struct qv_fi_pass;
struct qv_fi_srx; /* fabric_glue/peer/srx.h */

struct qv_fi_ep {
	struct fid_ep fid;
	struct qv_fi_domain *dom;
	const struct qv_fi_mode *mode;
	struct qv_proto *proto; /* NULL until enabled, and in peer mode */
	struct qv_fi_srx *srx;  /* peer mode, NULL until it is being enabled */
	bool enabled;           /* read without the lock, too */
	unsigned rails;         /* a bit for each that is in use */
	struct qv_fi_rail rail[QV_FI_RAILS];
	struct qv_fi_cq *tx_cq, *rx_cq;
	bool tx_selective, rx_selective;
	bool directed; /* FI_DIRECTED_RECV: src_addr of receives counts */
	uint64_t tx_op_flags, rx_op_flags;
	uint64_t caps;
	struct qv_fi_cntr *cntrs[QV_FI_CNTRS];
	struct qv_peer **peers; /* by index in the AV */
	size_t npeers;
	uint32_t polls;
	struct qv_seldom clock; /* which polls look whether it is time for a tick */
	uint64_t ticked;        /* ms */
	size_t multi_min;
	size_t anonymous; /* peers that the application has not named */
	struct qv_fi_av *av;
	struct qv_fi_ep *next_av;
	struct fid_eq *eq;
	struct qv_fi_coll *coll;   /* fabric_glue/coll/coll.h; NULL: it has not joined a group */
	struct qv_fi_pass *passes; /* operations that the cores have in hand */
	bool leaving;              /* its end waits for peers, unlocked: no new work */
	bool closing;
	bool arming;         /* somebody looks whether to sleep on it, */
	bool woken;          /* and meanwhile a core has stopped telling those who do */
	struct qv_live live; /* fabric_glue/objects/live.h: in the list of all of the process */
	pid_t pid;           /* of that */
	bool offload;        /* FI_QUIVER_OFFLOAD is not off */
	bool reports;        /* FI_QUIVER_STATS, and it has not yet */
	struct qv_fi_trace *trace; /* FI_QUIVER_TRACE, or NULL */
	/* FI_QUIVER_STATS=detail and profile, of the engines of tagged and untagged messages, or NULL */
	struct qv_match_detail *detail[2];
	struct qv_fi_stats
		counted; /* for readers who cannot have the domain: fabric_glue/objects/totals.c */
	bool copied;     /* there are some */
};

static inline bool qv_fi_ep_has(const struct qv_fi_ep *ep, unsigned which)
{
	return ep->rails >> which & 1;
}

/* From fabric_glue/objects/ep.c. */

int qv_fi_ep_close(struct fid *fid); /* fabric_glue/objects/ep_close.c */
/* Whatever looks at this endpoint; some may be called twice. */
void qv_fi_ep_each_wait_set(struct qv_fi_ep *ep,
			    void (*each)(struct qv_fi_wait_set *wait_set, void *arg), void *arg);
/* Whoever sleeps until it has something: it has something to do. */
void qv_fi_ep_wake(struct qv_fi_ep *ep);

/* From fabric_glue/objects/beside.c. */

/* No other endpoint of its domain is enabled. */
bool qv_fi_beside_alone(const struct qv_fi_ep *ep);
/* Progress of the process's endpoints: those of the domain, whose lock is held; those of others, as
 * far as nobody is in a call there, with no lock held. */
void qv_fi_beside_own(const struct qv_fi_domain *dom);
void qv_fi_beside_gone(const struct qv_fi_ep *closing); /* tells the others of the process */
void qv_fi_beside_others(const struct qv_fi_domain *dom);
/* Have the domain, whose lock is then held, without waiting. False: another thread has it. */
bool qv_fi_enter(struct qv_fi_domain *dom);

/* From fabric_glue/layered/peers.c. */

int qv_fi_peer_slow(struct qv_fi_ep *ep, fi_addr_t addr);
struct qv_peer *qv_fi_identify(void *owner, struct qv_xport *x, uint64_t from, const void *name,
			       size_t len);

/* qv_proto_owner_ops.ended */
void qv_fi_peer_ended(void *owner, struct qv_peer *peer);
bool qv_fi_ep_knows(const struct qv_fi_ep *ep, struct qv_fi_way way);

/* The peer at an application address. 0 or -FI_E*: no such address, no memory, what the core says. */
static inline int qv_fi_peer(struct qv_fi_ep *ep, fi_addr_t addr, struct qv_peer **peer)
{
	if (QV_UNLIKELY(addr >= ep->npeers || !ep->peers[addr])) {
		int rc = qv_fi_peer_slow(ep, addr);

		if (rc)
			return rc;
	}
	*peer = ep->peers[addr];
	return 0;
}

/* From fabric_glue/progress/poll.c. */

/* What the core reports of something else than our receives: the entry's context means nothing. shm
 * of libfabric 2.x says so by what it leaves out, and sockets puts the data's flag on our own
 * writes. */
static inline bool qv_fi_is_remote(uint64_t flags)
{
	return flags & (FI_REMOTE_WRITE | FI_REMOTE_READ) ||
	       (flags & (FI_REMOTE_CQ_DATA | FI_RECV | FI_WRITE)) == FI_REMOTE_CQ_DATA;
}

int qv_fi_rx_post_all(struct qv_fi_rail *rail);
void qv_fi_layered_progress(struct qv_fi_ep *ep);
/* Move everything of this endpoint on. Lock held. */
static inline void qv_fi_ep_progress(struct qv_fi_ep *ep)
{
	ep->mode->progress(ep);
}
/* Move on all that report to a completion queue or counter. Lock held. */
static inline void qv_fi_wait_set_progress(struct qv_fi_wait_set *wait_set)
{
	if (QV_UNLIKELY(wait_set->regions))
		qv_fi_beside_own(wait_set->dom);
	for (size_t i = 0; i < wait_set->neps; i++)
		qv_fi_ep_progress(wait_set->eps[i]);
}
/* Look after its peers, if it is time. The progress of who polls does it, who sleeps calls it. */
void qv_fi_ep_tick(struct qv_fi_ep *ep);
/* Each poll calls it. */
static inline void qv_fi_ep_polled(struct qv_fi_ep *ep)
{
	if (QV_UNLIKELY(qv_seldom_due(&ep->clock, ++ep->polls)))
		qv_fi_ep_tick(ep);
}
#define QV_FI_TICK_MS 100u

#endif /* QV_FI_EP_H */
