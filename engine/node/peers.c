/* SPDX-License-Identifier: BSD-2-Clause */
/* peers.c - what an endpoint knows of others: those that it has sent to, or that have connected. */
#include "internal.h"

#include <stdlib.h>

static bool grow(struct qv_node *n, uint64_t addr)
{
	uint64_t cap = n->npeers ? n->npeers : 16;
	struct qv_node_peer **peers;

	if (addr < n->npeers)
		return true;
	while (cap <= addr)
		cap *= 2;
	peers = realloc(n->peers, cap * sizeof(struct qv_node_peer *));
	if (!peers)
		return false;
	for (uint64_t i = n->npeers; i < cap; i++)
		peers[i] = NULL;
	n->peers = peers;
	n->npeers = cap;
	return true;
}

struct qv_node_peer *qv_node_peer_at(struct qv_node *n, uint64_t addr)
{
	struct qv_node_peer *peer = addr < n->npeers ? n->peers[addr] : NULL;
	uint64_t name;

	if (peer || !qv_names_get(n->names, addr, &name))
		return peer;
	if (!grow(n, addr) || !(peer = calloc(1, sizeof *peer)))
		return NULL;
	peer->name = name;
	peer->addr = qv_names_insert(n->names, name); /* it is there already */
	peer->tx_fd = peer->rx_fd = peer->pid_fd = -1;
	peer->seat = UINT32_MAX;
	n->peers[addr] = peer;
	return peer;
}

struct qv_node_peer *qv_node_peer_named(struct qv_node *n, uint64_t name)
{
	uint64_t addr = qv_names_insert(n->names, name);
	struct qv_node_peer *peer = addr == QV_NODE_NONE ? NULL : qv_node_peer_at(n, addr);

	qv_names_remove(n->names, addr);
	return peer;
}

static void release(struct qv_node *n, struct qv_node_peer *peer)
{
	qv_node_calls_end(n, peer);
	qv_node_answers_free(n, peer);
	n->peers[peer->addr] = NULL;
	qv_node_end_tx(n, peer);
	qv_node_end_rx(n, peer);
	qv_names_remove(n->names, peer->addr);
	free(peer);
}

/* That somebody has gone is found out again: its door is closed. Not so of who does not take us: its
 * door is open to who asks. */
void qv_node_peer_check(struct qv_node *n, struct qv_node_peer *peer)
{
	if (!peer->rx.ring && !peer->tx.ring && !peer->broken && (peer->joined || !peer->gone))
		release(n, peer);
}

void qv_node_forget(struct qv_node *n, uint64_t addr)
{
	struct qv_node_peer *peer = addr < n->npeers ? n->peers[addr] : NULL;

	if (!peer)
		return;
	qv_node_end_tx(n, peer);
	if (!peer->rx.ring || peer->broken)
		release(n, peer);
}

void qv_node_peers_free(struct qv_node *n)
{
	for (uint64_t i = 0; i < n->npeers; i++)
		if (n->peers[i])
			release(n, n->peers[i]);
	free(n->peers);
}
