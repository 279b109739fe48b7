/* SPDX-License-Identifier: BSD-2-Clause */
/* ep_close.c - the end of an endpoint: what it has sent still arrives. */
#include "fabric_glue/calls.h"
#include "live.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#define DRAIN_MS 5000 /* wait so long for the core to take more of what is queued */
#define LEAVE_MS 2000 /* and then so long for the peers to say that they have got all */
#define LOOK_MS  50   /* look so often whether the network is what keeps them */
#define SPINS    200  /* polls without news before the first nap */
#define NAP_US   50

/* The other endpoints of the process may be asked for an answer, by this one or by one that is
 * closed in another process at the same time, and perhaps nobody else moves them on. Others have
 * their turn with the domain before the next look. */
static void move_all(struct qv_fi_ep *ep, unsigned spins)
{
	qv_fi_beside_own(ep->dom);
	qv_fi_unlock(ep->dom);
	qv_fi_beside_others(ep->dom);
	if (spins < SPINS)
		sched_yield();
	else
		usleep(NAP_US);
	qv_fi_lock(ep->dom);
}

/* Has a peer that has not answered not even got all? The network may come back. */
static bool on_its_way(struct qv_fi_ep *ep)
{
	struct qv_peer *peer = NULL;

	while ((peer = qv_proto_next_peer(ep->proto, peer)))
		if (qv_proto_peer_must_answer(peer) &&
		    qv_fi_unacked(qv_proto_peer_xport(peer), qv_proto_peer_addr(peer)))
			return true;
	return false;
}

/*
 * What was accepted from the application still goes out, unless the peers do not take it. Lock
 * held, but not while we wait. The clock starts again whenever the core has taken some of it, and
 * stands still while the network is what keeps the rest.
 */
static void drain(struct qv_fi_ep *ep)
{
	uint64_t start = (uint64_t)qv_fi_now_ms(), now = start, looked = start, since = start;
	size_t unsent, least = SIZE_MAX;
	unsigned spins = 0;

	ep->leaving = true;
	__atomic_store_n(&ep->enabled, false, __ATOMIC_RELAXED);
	qv_proto_shutdown(ep->proto);
	qv_proto_send_leave(ep->proto);
	while ((unsent = qv_proto_unsent(ep->proto)) || !qv_proto_may_leave(ep->proto)) {
		if (unsent < least) {
			least = unsent;
			since = now;
			spins = 0;
		}
		if (now - since >= (unsent ? DRAIN_MS : LEAVE_MS))
			break;
		move_all(ep, spins++);
		now = (uint64_t)qv_fi_now_ms();
		if (now - looked < LOOK_MS)
			continue;
		looked = now;
		qv_proto_tick(ep->proto, now);
		if (now - start < qv_fi_params.linger && on_its_way(ep))
			since = now;
	}
	if (unsent)
		QV_FI_WARN(EP_CTRL, "endpoint closed with sends that the peers did not take\n");
	qv_proto_leave(ep->proto);
	qv_fi_beside_gone(ep);
	qv_proto_abandon(ep->proto);
}

static void unwatch(struct qv_fi_wait_set *wait_set, void *arg)
{
	qv_fi_wait_set_remove(wait_set, arg);
}

static void unbind(struct qv_fi_ep *ep)
{
	struct qv_fi_ep **at;

	qv_fi_ep_each_wait_set(ep, unwatch, ep);
	qv_fi_eq_release(ep->eq);
	if (!ep->av)
		return;
	for (at = &ep->av->eps; *at != ep;)
		at = &(*at)->next_av;
	*at = ep->next_av;
	ep->av->refs--;
}

int qv_fi_ep_close(struct fid *fid)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid.fid);
	struct qv_fi_domain *dom = ep->dom;

	qv_fi_lock(dom);
	qv_fi_coll_shutdown(ep);
	if (ep->proto)
		drain(ep);
	if (ep->srx)
		qv_fi_srx_leave(ep);
	qv_fi_stats_end(ep);
	qv_fi_trace_end(ep);
	qv_fi_live_leave(ep);
	ep->closing = true;
	unbind(ep);
	for (unsigned r = 0; r < QV_FI_RAILS; r++)
		if (qv_fi_ep_has(ep, r))
			qv_fi_rail_close(&ep->rail[r]);
	qv_fi_srx_close(ep);
	qv_fi_pass_end(ep);
	if (ep->proto)
		qv_proto_destroy(ep->proto);
	qv_fi_coll_close(ep);
	for (unsigned r = 0; r < QV_FI_RAILS; r++) {
		free(ep->rail[r].rx_memory);
		free(ep->rail[r].by_core);
	}
	free(ep->peers);
	free(ep);
	dom->refs--;
	qv_fi_unlock(dom);
	return 0;
}
