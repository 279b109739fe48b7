/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * peers.c - from addresses to peers and back. A peer exists from the first time that either
 * side speaks (or a directed receive names it), never before: nothing is paid per rank.
 */
#include "layered.h"
#include "fabric_glue/cores/core.h"
#include "fabric_glue/cores/pair.h"

#include <stdlib.h>
#include <string.h>

/* Notes want of memory, and returns rc. Within qv_fi_identify the HELLO is then kept. */
static int noted(struct qv_fi_ep *ep, int rc)
{
	if (rc == -FI_ENOMEM)
		qv_proto_no_memory(ep->proto);
	return rc;
}

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
		return noted(ep, -FI_ENOMEM);
	memset(peers + ep->npeers, 0, (n - ep->npeers) * sizeof *peers);
	ep->peers = peers;
	ep->npeers = n;
	return 0;
}

/* Those of a core whose plain messages have no header are few (shm). */
#define BY_CORE_MAX (1u << 20)

/* What the core says of a sender must lead to its peer at once. */
static int grow_by_core(struct qv_fi_rail *rail, fi_addr_t core)
{
	size_t n = rail->nby_core ? rail->nby_core : 64;
	struct qv_peer **by_core;

	if (core < rail->nby_core || core >= BY_CORE_MAX)
		return 0;
	while (n <= core)
		n *= 2;
	by_core = realloc(rail->by_core, n * sizeof *by_core);
	if (!by_core)
		return -FI_ENOMEM;
	memset(by_core + rail->nby_core, 0, (n - rail->nby_core) * sizeof *by_core);
	rail->by_core = by_core;
	rail->nby_core = n;
	return 0;
}

static struct qv_peer *new_peer(struct qv_fi_ep *ep, struct qv_fi_way way, fi_addr_t user)
{
	struct qv_fi_rail *rail = &ep->rail[way.core];
	struct qv_peer *peer = noted(ep, grow_by_core(rail, way.addr))
				       ? NULL
				       : qv_proto_peer_new(ep->proto, &rail->xport, way.addr, user);

	if (peer && way.addr < rail->nby_core)
		rail->by_core[way.addr] = peer;
	if (peer)
		qv_fi_presence_meet(rail, way.addr);
	return peer;
}

static bool goes(const struct qv_fi_ep *ep, const struct qv_peer *peer, struct qv_fi_way way)
{
	return way.addr != FI_ADDR_NOTAVAIL && qv_proto_peer_addr(peer) == way.addr &&
	       qv_proto_peer_xport(peer) == &ep->rail[way.core].xport;
}

/* A peer that spoke before the application named it. */
static struct qv_peer *anonymous(struct qv_fi_ep *ep, struct qv_fi_way way, const void *name,
				 size_t len)
{
	struct qv_peer *peer = NULL;

	if (!ep->anonymous)
		return NULL;
	while ((peer = qv_proto_next_peer(ep->proto, peer))) {
		if (qv_proto_peer_user(peer) != FI_ADDR_NOTAVAIL)
			continue;
		if (goes(ep, peer, way) || qv_proto_peer_has_name(peer, name, len))
			return peer;
	}
	return NULL;
}

/* The application has named this address now: is it that of a peer that spoke before? */
static void adopt(struct qv_fi_ep *ep, fi_addr_t index)
{
	const struct qv_fi_av_entry *entry = qv_fi_av_entry(ep->av, index);
	struct qv_peer *peer;

	if (index < ep->npeers && ep->peers[index])
		return;
	peer = anonymous(ep, entry->way, entry->name, entry->namelen);
	if (!peer || grow(ep, index))
		return;
	qv_proto_peer_set_user(peer, index);
	ep->peers[index] = peer;
	ep->anonymous--;
	qv_fi_presence_meet(container_of(qv_proto_peer_xport(peer), struct qv_fi_rail, xport),
			    qv_proto_peer_addr(peer));
}

int qv_fi_peer_slow(struct qv_fi_ep *ep, fi_addr_t addr)
{
	struct qv_fi_way way;
	int rc = noted(ep, qv_fi_av_reach(ep->av, addr, &way));

	if (!rc)
		rc = grow(ep, addr);
	if (rc)
		return rc;
	adopt(ep, addr); /* there may have been no memory for it when it was named */
	if (!ep->peers[addr])
		ep->peers[addr] = new_peer(ep, way, addr);
	return ep->peers[addr] ? 0 : -FI_ENOMEM;
}

static struct qv_peer *unknown_sender(struct qv_fi_ep *ep, const void *name, size_t len)
{
	struct qv_peer *peer;
	struct qv_fi_way way;

	if (qv_proto_refuses_unnamed(ep->proto) ||
	    noted(ep, qv_fi_av_find_way(ep->av, name, len, &way)))
		return NULL;
	peer = new_peer(ep, way, FI_ADDR_NOTAVAIL);
	if (!peer)
		return NULL;
	ep->anonymous++;
	if (qv_proto_peer_set_name(peer, name, len) == QV_OK)
		return peer;
	qv_fi_peer_ended(ep, peer);
	qv_proto_no_memory(ep->proto);
	return NULL;
}

/* The application may know the peer by its address in the main core only (fi_av_insertsvc). */
static fi_addr_t by_main(struct qv_fi_av *av, const void *name, size_t len)
{
	struct qv_fi_pair pair;
	char alone[QV_FI_PAIR_MAX];

	if (!av->dom->pair || !qv_fi_pair_parse(name, len, &pair))
		return FI_ADDR_NOTAVAIL;
	len = qv_fi_pair_make(alone, 0, NULL, pair.main, pair.main_len);
	return qv_fi_av_by_name(av, alone, len);
}

/* Whose HELLO is this? The address bytes tell; where the application has spelled the address in
 * another way (sockaddr), the core's word on the sender. */
static struct qv_peer *find_peer(struct qv_fi_ep *ep, struct qv_fi_way way, const void *name,
				 size_t len)
{
	fi_addr_t index = qv_fi_av_by_name(ep->av, name, len);
	struct qv_peer *peer = NULL;

	if (index == FI_ADDR_NOTAVAIL && way.addr != FI_ADDR_NOTAVAIL)
		index = qv_fi_av_by_way(ep->av, way);
	if (index == FI_ADDR_NOTAVAIL)
		index = by_main(ep->av, name, len);
	if (index != FI_ADDR_NOTAVAIL)
		return qv_fi_peer(ep, index, &peer) ? NULL : peer;
	peer = anonymous(ep, way, name, len);
	return peer ? peer : unknown_sender(ep, name, len);
}

struct qv_peer *qv_fi_identify(void *owner, struct qv_xport *x, uint64_t from, const void *name,
			       size_t len)
{
	struct qv_fi_rail *rail = container_of(x, struct qv_fi_rail, xport);
	/* A core that names another sender has one spelling of each address: the name will do. */
	const struct qv_fi_way way = {.addr = x->guesses_from ? FI_ADDR_NOTAVAIL : from,
				      .core = rail->which};

	return find_peer(owner, way, name, len);
}

void qv_fi_layered_av_inserted(struct qv_fi_ep *ep, fi_addr_t index)
{
	if (ep->proto)
		adopt(ep, index);
}

bool qv_fi_layered_av_removed(struct qv_fi_ep *ep, fi_addr_t index)
{
	struct qv_fi_av_entry *entry = &ep->av->entries[index];
	struct qv_peer *peer;

	if (ep->proto)
		qv_fi_pass_look_after(ep);
	peer = index < ep->npeers ? ep->peers[index] : NULL;
	if (!peer)
		return !qv_fi_pass_is_under_way(ep, index);
	ep->peers[index] = NULL;
	qv_proto_peer_set_user(peer, FI_ADDR_NOTAVAIL);
	ep->anonymous++;
	(void)qv_proto_peer_set_name(peer, entry->name, entry->namelen); /* else its way tells */
	qv_proto_peer_drop(peer);
	return false; /* qv_fi_peer_ended */
}

/* Nobody needs it any more: its memory is free for others, and where places in the core are few its
 * place (qv_fi_av_release). */
void qv_fi_peer_ended(void *owner, struct qv_peer *peer)
{
	struct qv_fi_ep *ep = owner;
	struct qv_fi_rail *rail = container_of(qv_proto_peer_xport(peer), struct qv_fi_rail, xport);
	const struct qv_fi_way way = {.addr = qv_proto_peer_addr(peer), .core = rail->which};

	if (way.addr < rail->nby_core && rail->by_core[way.addr] == peer)
		rail->by_core[way.addr] = NULL;
	ep->anonymous--;
	qv_proto_peer_free(peer);
	qv_fi_av_release(ep->av, way);
}

/* Does this endpoint deal with who is reached so? */
bool qv_fi_ep_knows(const struct qv_fi_ep *ep, struct qv_fi_way way)
{
	struct qv_peer *peer = NULL;

	while (ep->proto && (peer = qv_proto_next_peer(ep->proto, peer)))
		if (goes(ep, peer, way))
			return true;
	return false;
}
