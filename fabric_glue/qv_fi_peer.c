/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_fi_peer.c - from addresses to peers and back. A peer exists from the first time that either
 * side speaks (or a directed receive names it), never before: nothing is paid per rank.
 */
#include "qv_fi_data.h"

#include <stdlib.h>
#include <string.h>

static int grow(struct qv_fi_ep *ep, fi_addr_t addr)
{
	size_t n = ep->npeers ? ep->npeers : 64;
	struct qv_peer **peers;

	if (addr < ep->npeers)
		return 0;
	while (n <= addr)
		n *= 2;
	peers = realloc(ep->peers, n * sizeof *peers);
	if (!peers)
		return -FI_ENOMEM;
	memset(peers + ep->npeers, 0, (n - ep->npeers) * sizeof *peers);
	ep->peers = peers;
	ep->npeers = n;
	return 0;
}

/* Addresses beyond are not dense; their peers send with headers. */
#define BY_CORE_MAX (1u << 20)

/* What the core says of a sender must lead to its peer at once. */
static int grow_by_core(struct qv_fi_ep *ep, fi_addr_t core)
{
	size_t n = ep->nby_core ? ep->nby_core : 64;
	struct qv_peer **by_core;

	if (core < ep->nby_core || core >= BY_CORE_MAX)
		return 0;
	while (n <= core)
		n *= 2;
	by_core = realloc(ep->by_core, n * sizeof *by_core);
	if (!by_core)
		return -FI_ENOMEM;
	memset(by_core + ep->nby_core, 0, (n - ep->nby_core) * sizeof *by_core);
	ep->by_core = by_core;
	ep->nby_core = n;
	return 0;
}

static struct qv_peer *new_peer(struct qv_fi_ep *ep, fi_addr_t core, fi_addr_t user)
{
	struct qv_peer *peer =
		grow_by_core(ep, core) ? NULL : qv_proto_peer_new(ep->proto, core, user);

	if (peer && core < ep->nby_core)
		ep->by_core[core] = peer;
	return peer;
}

struct qv_peer *qv_fi_peer_slow(struct qv_fi_ep *ep, fi_addr_t addr)
{
	fi_addr_t core;

	if (qv_fi_av_reach(ep->av, addr, &core) || grow(ep, addr))
		return NULL;
	if (!ep->peers[addr]) /* reaching it may have shown that it is known already */
		ep->peers[addr] = new_peer(ep, core, addr);
	return ep->peers[addr];
}

/* A peer that spoke before the application named it. */
static struct qv_peer *anonymous(struct qv_fi_ep *ep, uint64_t core, const void *name, size_t len)
{
	struct qv_peer *peer = NULL;

	if (!ep->anonymous)
		return NULL;
	while ((peer = qv_proto_next_peer(ep->proto, peer))) {
		if (qv_proto_peer_user(peer) != FI_ADDR_NOTAVAIL)
			continue;
		if (qv_proto_peer_addr(peer) == core || qv_proto_peer_has_name(peer, name, len))
			return peer;
	}
	return NULL;
}

static struct qv_peer *stranger(struct qv_fi_ep *ep, const void *name, size_t len)
{
	struct qv_peer *peer;
	fi_addr_t core;

	if (qv_fi_av_core_addr(ep->av, name, len, &core))
		return NULL;
	peer = new_peer(ep, core, FI_ADDR_NOTAVAIL);
	if (peer && qv_proto_peer_set_name(peer, name, len) == QV_OK)
		ep->anonymous++;
	return peer;
}

/* Whose HELLO is this? The address bytes tell; where the application has spelled the address in
 * another way (sockaddr), the core's word on the sender. */
struct qv_peer *qv_fi_identify(void *owner, uint64_t from, const void *name, size_t len)
{
	struct qv_fi_ep *ep = owner;
	fi_addr_t index = qv_fi_av_by_name(ep->av, name, len);
	struct qv_peer *peer;

	if (index == FI_ADDR_NOTAVAIL && from != FI_ADDR_NOTAVAIL)
		index = qv_fi_av_by_core(ep->av, from);
	if (index != FI_ADDR_NOTAVAIL)
		return qv_fi_peer(ep, index);
	peer = anonymous(ep, from, name, len);
	return peer ? peer : stranger(ep, name, len);
}

void qv_fi_ep_av_inserted(struct qv_fi_ep *ep, fi_addr_t index)
{
	struct qv_fi_av_entry *entry = qv_fi_av_entry(ep->av, index);
	struct qv_peer *peer;

	if (!ep->proto || !entry || (index < ep->npeers && ep->peers[index]))
		return;
	peer = anonymous(ep, entry->core, entry->name, entry->namelen);
	if (!peer || grow(ep, index))
		return;
	qv_proto_peer_set_user(peer, index);
	ep->peers[index] = peer;
	ep->anonymous--;
}

void qv_fi_ep_av_removed(struct qv_fi_ep *ep, fi_addr_t index)
{
	struct qv_fi_av_entry *entry = &ep->av->entries[index];
	struct qv_peer *peer = index < ep->npeers ? ep->peers[index] : NULL;

	if (!peer)
		return;
	ep->peers[index] = NULL;
	qv_proto_peer_set_user(peer, FI_ADDR_NOTAVAIL);
	if (qv_proto_peer_set_name(peer, entry->name, entry->namelen) == QV_OK)
		ep->anonymous++;
}
