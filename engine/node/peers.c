/* SPDX-License-Identifier: BSD-2-Clause */
/* peers.c - addresses: small numbers for the names of other endpoints. */
#include "internal.h"

#include <stdlib.h>

#define FIRST_NAMES 64u

/* Names are random. */
static struct qv_node_peer **bucket(const struct qv_node *n, uint64_t name)
{
	return &n->names[(uint32_t)name & n->names_mask];
}

static bool grow_names(struct qv_node *n)
{
	uint32_t old = n->names ? n->names_mask + 1 : 0, size = old ? 2 * old : FIRST_NAMES;
	struct qv_node_peer **before = n->names, **after;

	if (before && n->npeers - n->nfree < old)
		return true;
	after = calloc(size, sizeof(struct qv_node_peer *));
	if (!after)
		return before != NULL;
	n->names = after;
	n->names_mask = size - 1;
	for (uint64_t i = 0; i < n->npeers; i++) {
		struct qv_node_peer *peer = n->peers[i];

		if (!peer)
			continue;
		peer->next_name = *bucket(n, peer->name);
		*bucket(n, peer->name) = peer;
	}
	free(before);
	return true;
}

/* A free address. */
static uint64_t address(struct qv_node *n)
{
	uint64_t cap = n->peers_cap ? 2 * n->peers_cap : 16, i;
	struct qv_node_peer **peers;

	for (i = 0; n->nfree && i < n->npeers; i++)
		if (!n->peers[i]) {
			n->nfree--;
			return i;
		}
	if (n->npeers == n->peers_cap) {
		peers = realloc(n->peers, cap * sizeof(struct qv_node_peer *));
		if (!peers)
			return QV_NODE_NONE;
		n->peers = peers;
		n->peers_cap = cap;
	}
	return n->npeers++;
}

static struct qv_node_peer *find(const struct qv_node *n, uint64_t name)
{
	struct qv_node_peer *peer = n->names ? *bucket(n, name) : NULL;

	while (peer && peer->name != name)
		peer = peer->next_name;
	return peer;
}

struct qv_node_peer *qv_node_peer_get(struct qv_node *n, uint64_t name)
{
	struct qv_node_peer *peer = find(n, name);

	if (peer)
		return peer;
	peer = calloc(1, sizeof *peer);
	if (!peer || !grow_names(n) || (peer->addr = address(n)) == QV_NODE_NONE) {
		free(peer);
		return NULL;
	}
	peer->name = name;
	peer->tx_fd = peer->rx_fd = peer->pid_fd = -1;
	peer->seat = UINT32_MAX;
	peer->next_name = *bucket(n, name);
	*bucket(n, name) = peer;
	n->peers[peer->addr] = peer;
	return peer;
}

static void release(struct qv_node *n, struct qv_node_peer *peer)
{
	struct qv_node_peer **at = bucket(n, peer->name);

	while (*at != peer)
		at = &(*at)->next_name;
	*at = peer->next_name;
	n->peers[peer->addr] = NULL;
	n->nfree++;
	qv_node_disconnect(n, peer);
	free(peer);
}

void qv_node_peer_check(struct qv_node *n, struct qv_node_peer *peer)
{
	if (!peer->refs && (!peer->rx.ring || peer->gone || peer->broken))
		release(n, peer);
}

uint64_t qv_node_insert(struct qv_node *n, uint64_t name)
{
	struct qv_node_peer *peer = qv_node_peer_get(n, name);

	if (!peer)
		return QV_NODE_NONE;
	peer->refs++;
	return peer->addr;
}

void qv_node_remove(struct qv_node *n, uint64_t addr)
{
	struct qv_node_peer *peer = addr < n->npeers ? n->peers[addr] : NULL;

	if (!peer || !peer->refs)
		return;
	peer->refs--;
	qv_node_peer_check(n, peer);
}

uint64_t qv_node_find(const struct qv_node *n, uint64_t name)
{
	const struct qv_node_peer *peer = find(n, name);

	return peer ? peer->addr : QV_NODE_NONE;
}

void qv_node_peers_free(struct qv_node *n)
{
	for (uint64_t i = 0; i < n->npeers; i++)
		if (n->peers[i])
			release(n, n->peers[i]);
	free(n->peers);
	free(n->names);
}
