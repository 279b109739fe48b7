/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_proto_peer.c - other endpoints: acquaintance (HELLO), death, and what is then given up.
 *
 * Each side tells the other, in its HELLO, the id that the other puts into its packets. Packets
 * sent before the peer's HELLO has come carry the sender's uid instead; our own HELLO travels ahead
 * of them.
 */
#include "proto/qv_proto_i.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PING_MS 1000u

struct qv_peer *qv_proto_peer_new(struct qv_proto *p, uint64_t addr, uint64_t user)
{
	struct qv_peer *peer;

	if (p->npeers == p->peers_cap) {
		uint32_t cap = p->peers_cap ? p->peers_cap * 2 : 16;
		struct qv_peer **peers;

		if (cap > QV_ID_INDEX)
			return NULL;
		peers = realloc(p->peers, cap * sizeof *peers);
		if (!peers)
			return NULL;
		p->peers = peers;
		p->peers_cap = cap;
	}
	peer = calloc(1, sizeof *peer);
	if (!peer)
		return NULL;
	peer->p = p;
	peer->addr = addr;
	peer->user = user;
	peer->index = p->npeers;
	peer->id = peer->index | (uint32_t)(qv_proc_random() << 24 & 0xfe000000u);
	peer->remote_id = QV_SRC_UNKNOWN;
	peer->budget = p->budget;
	peer->packet_max = p->packet_max;
	p->peers[p->npeers++] = peer;
	return peer;
}

void qv_proto_peer_set_user(struct qv_peer *peer, uint64_t user)
{
	peer->user = user;
}

uint64_t qv_proto_peer_user(const struct qv_peer *peer)
{
	return peer->user;
}

uint64_t qv_proto_peer_addr(const struct qv_peer *peer)
{
	return peer->addr;
}

int qv_proto_peer_set_name(struct qv_peer *peer, const void *name, size_t len)
{
	char *copy = malloc(len ? len : 1);

	if (!copy)
		return QV_ENOMEM;
	memcpy(copy, name, len);
	free(peer->name);
	peer->name = copy;
	peer->namelen = len;
	return QV_OK;
}

bool qv_proto_peer_has_name(const struct qv_peer *peer, const void *name, size_t len)
{
	return peer->name && peer->namelen == len && !memcmp(peer->name, name, len);
}

struct qv_peer *qv_proto_next_peer(struct qv_proto *p, const struct qv_peer *prev)
{
	uint32_t next = prev ? prev->index + 1 : 0;

	return next < p->npeers ? p->peers[next] : NULL;
}

/* ---- uid table: chains, as many buckets as a power of two above the peers that said HELLO ------
 */

struct qv_peer *qv_peer_by_uid(struct qv_proto *p, uint64_t uid)
{
	struct qv_peer *peer = p->uids[uid & p->uid_mask];

	while (peer && peer->uid != uid)
		peer = peer->next_uid;
	return peer;
}

static void uid_remove(struct qv_peer *peer)
{
	struct qv_peer **at = &peer->p->uids[peer->uid & peer->p->uid_mask];

	while (*at && *at != peer)
		at = &(*at)->next_uid;
	if (*at)
		*at = peer->next_uid;
}

static void uid_insert(struct qv_peer *peer, uint64_t uid)
{
	struct qv_proto *p = peer->p;

	if (p->npeers > p->uid_mask) { /* double; if there is no memory, chains just get longer */
		uint32_t mask = p->uid_mask * 2 + 1;
		struct qv_peer **uids = calloc(mask + 1ul, sizeof *uids);

		for (uint32_t i = 0; uids && i <= p->uid_mask; i++)
			for (struct qv_peer *q = p->uids[i], *next; q; q = next) {
				next = q->next_uid;
				q->next_uid = uids[q->uid & mask];
				uids[q->uid & mask] = q;
			}
		if (uids) {
			free(p->uids);
			p->uids = uids;
			p->uid_mask = mask;
		}
	}
	peer->uid = uid;
	peer->next_uid = p->uids[uid & p->uid_mask];
	p->uids[uid & p->uid_mask] = peer;
}

/* ---- HELLO ----------------------------------------------------------------------------------- */

void qv_peer_say_hello(struct qv_peer *peer)
{
	struct qv_proto *p = peer->p;
	char body[sizeof(struct qv_wire_hello) + QV_WIRE_MAX_NAME];
	struct qv_wire_hello hello = {
		.uid = p->uid,
		.host = p->self.host,
		.start = p->self.start,
		.pid = p->self.pid,
		.budget = p->budget,
		.id = peer->id,
		.packet_max = (uint32_t)p->packet_max,
		.namelen = (uint32_t)p->namelen,
	};

	memcpy(body, &hello, sizeof hello);
	if (p->namelen)
		memcpy(body + sizeof hello, p->name, p->namelen);
	peer->hello_sent = true;
	if (qv_tx_control(peer, QV_PKT_HELLO, 0, body, sizeof hello + p->namelen))
		peer->hello_sent = false;
}

void qv_peer_on_hello(struct qv_proto *p, const struct qv_wire_pkt *pkt, uint64_t from)
{
	struct qv_wire_hello hello;
	struct qv_peer *peer;

	memcpy(&hello, pkt->body, sizeof hello);
	if (hello.uid == 0 || hello.id == QV_SRC_UNKNOWN) {
		qv_refuse(p, "HELLO without a name");
		return;
	}
	if (qv_peer_by_uid(p, hello.uid))
		return; /* said twice: after it took us for lost */
	peer = p->ops->identify(p->owner, from, pkt->body + sizeof hello, hello.namelen);
	if (!peer) {
		qv_refuse(p, "HELLO from an address that cannot be used");
		return;
	}
	if (peer->uid) { /* another process has this address now */
		qv_peer_fail(peer, "its address was taken over");
		uid_remove(peer);
	}
	if (peer->failed) {
		peer->failed = false;
		peer->hello_sent = false;
		peer->eager_out = peer->consumed = 0;
	}
	uid_insert(peer, hello.uid);
	peer->remote_id = hello.id;
	peer->budget = hello.budget;
	peer->packet_max = hello.packet_max < p->packet_max ? hello.packet_max : p->packet_max;
	peer->proc = (struct qv_proc){hello.host, hello.start, hello.pid};
	if (!peer->hello_sent)
		qv_peer_say_hello(peer);
}

/* ---- loss ------------------------------------------------------------------------------------ */

static void fail_queue(struct qv_peer *peer)
{
	struct qv_tx *tx = peer->head;

	peer->head = NULL;
	while (tx) {
		struct qv_tx *next = tx->next;

		tx->queued = false;
		qv_tx_fail(tx, QV_EPEER);
		tx = next;
	}
}

/* Everything that needs this peer to go on is given up; others are not touched. */
void qv_peer_fail(struct qv_peer *peer, const char *why)
{
	struct qv_proto *p = peer->p;
	struct qv_in *in = p->ins_head;
	char text[200];

	if (peer->failed)
		return;
	peer->failed = true;
	peer->remote_id = QV_SRC_UNKNOWN;
	snprintf(text, sizeof text, "peer lost (address %lld, process %u): %s; %u requests fail",
		 (long long)peer->user, peer->proc.pid, why, peer->owed);
	p->ops->complain(p->owner, text);
	fail_queue(peer);
	for (uint32_t i = 0; i < p->tx_handles.count; i++) {
		struct qv_tx *tx = p->tx_handles.slots[i].object;

		if (tx && tx->peer == peer)
			qv_tx_fail(tx, QV_EPEER);
	}
	while (in) {
		struct qv_in *next = in->next;

		if (in->info.peer == peer)
			qv_in_fail(in, QV_EPEER);
		in = next;
	}
	if (peer->open_unexp) { /* its rest will not come */
		struct qv_unexp *u = peer->open_unexp;

		peer->open_unexp = NULL;
		u->got = u->info.full;
		u->info.lost = true;
		if (u->discard)
			qv_unexp_drop(p, u);
	}
}

void qv_proto_peer_lost(struct qv_proto *p, uint64_t addr)
{
	for (uint32_t i = 0; i < p->npeers; i++)
		if (p->peers[i]->addr == addr)
			qv_peer_fail(p->peers[i], "the transport cannot reach it");
}

/* Peers on this host: look whether the process lives. Others: send something, the transport's
 * error tells. Only peers that owe us something are looked at. */
void qv_proto_tick(struct qv_proto *p, uint64_t now_ms)
{
	for (uint32_t i = 0; i < p->npeers; i++) {
		struct qv_peer *peer = p->peers[i];

		if (peer->failed || (!peer->owed && !peer->head && !peer->open_unexp))
			continue;
		if (peer->uid && !qv_proc_alive(&p->self, &peer->proc)) {
			qv_peer_fail(peer, "its process has died");
		} else if (!peer->head && peer->proc.host != p->self.host &&
			   now_ms - peer->pinged >= PING_MS) {
			peer->pinged = now_ms;
			qv_tx_control(peer, QV_PKT_PING, 0, NULL, 0);
		}
	}
}
