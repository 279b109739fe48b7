/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_proto_loss.c - death of other endpoints, and what is then given up.
 *
 * A peer that cannot be reached or whose process has died is doomed first: what it sent before may
 * still be in the transport, the FIN of a message that it has received among it. It has failed when
 * nothing more comes.
 */
#include "proto/qv_proto_i.h"

#include <stdio.h>

#define PING_MS      1000u
#define SILENCE_MS   100u  /* nothing came for so long: nothing more will come */
#define GREET_MS     500u  /* a peer has so long to answer before it is looked for */
#define LOOK_MS      250u  /* and then so often */
#define LAST_CALL_MS 1000u /* with other peers' packets coming all the time we wait no longer */

/* Sends in the queue, in the transport, waiting for FIN or CTS. */
static void fail_sends(struct qv_peer *peer)
{
	struct qv_tx *tx = peer->txs;

	peer->head = NULL;
	while (tx) {
		struct qv_tx *next = tx->next_peer;

		peer->p->waiting -= tx->queued;
		tx->queued = false;
		if (!tx->reported || !tx->inflight)
			qv_tx_fail(tx, QV_EPEER);
		tx = next;
	}
}

void qv_peer_forget(struct qv_peer *peer)
{
	struct qv_proto *p = peer->p;
	struct qv_unexp *u = peer->open_unexp;
	struct qv_in *in = p->ins_head;

	peer->epoch++;
	peer->consumed = 0;
	while (in) {
		struct qv_in *next = in->next;

		if (in->info.peer == peer)
			qv_in_fail(in, QV_EPEER);
		in = next;
	}
	peer->open_unexp = NULL;
	if (!u)
		return;
	qv_unexp_lose(p, u);
	if (u->discard)
		qv_unexp_drop(p, u);
}

static void give_up(struct qv_peer *peer)
{
	fail_sends(peer);
	qv_peer_forget(peer);
	qv_rx_fail_all(peer);
}

void qv_peer_fail(struct qv_peer *peer, const char *why)
{
	char text[200];

	if (peer->failed)
		return;
	peer->failed = true;
	peer->doom = NULL;
	peer->remote_id = QV_SRC_UNKNOWN;
	snprintf(text, sizeof text, "peer lost (address %lld, process %u): %s; %u requests fail",
		 (long long)peer->user, peer->proc.pid, why, peer->owed);
	peer->p->ops->complain(peer->p->owner, text);
	give_up(peer);
}

void qv_peer_doom(struct qv_peer *peer, const char *why)
{
	if (peer->failed || peer->doom)
		return;
	peer->doom = why;
	peer->doomed_at = 0;
	peer->remote_id = QV_SRC_UNKNOWN; /* no fast sends any more */
}

void qv_proto_peer_lost(struct qv_proto *p, const struct qv_xport *x, uint64_t addr)
{
	for (uint32_t i = 0; i < p->npeers; i++)
		if (p->peers[i]->x == x && p->peers[i]->addr == addr)
			qv_peer_fail(p->peers[i], "the transport cannot reach it");
}

static void look_after_doomed(struct qv_peer *peer, uint64_t now_ms)
{
	uint64_t waited, silent = now_ms - peer->p->heard_at;

	if (!peer->doomed_at)
		peer->doomed_at = now_ms;
	waited = now_ms - peer->doomed_at;
	if (waited >= LAST_CALL_MS || (waited >= SILENCE_MS && silent >= SILENCE_MS))
		qv_peer_fail(peer, peer->doom);
}

/* Who has never spoken may have died before, which no process number tells us; or may not be there
 * yet, and is waited for a while. */
static void look_for_stranger(struct qv_peer *peer, uint64_t now_ms)
{
	struct qv_proto *p = peer->p;
	enum qv_presence presence;

	if (!peer->x->ops->presence)
		return;
	if (!peer->look_at)
		peer->look_at = now_ms + GREET_MS;
	if (now_ms < peer->look_at)
		return;
	presence = peer->x->ops->presence(peer->x, peer->addr);
	if (presence == QV_UNSURE)
		return;
	peer->look_at = now_ms + LOOK_MS;
	if (presence == QV_PRESENT)
		peer->absent_since = 0;
	else if (!peer->absent_since)
		peer->absent_since = now_ms;
	if (presence == QV_GONE ||
	    (presence == QV_ABSENT && p->patience && now_ms - peer->absent_since >= p->patience))
		qv_peer_fail(peer, "nobody is at its address"); /* who has nothing more to say */
}

/* On this host: look whether the process lives. Elsewhere: send something, the transport's error
 * tells. */
static void look_after_debtor(struct qv_peer *peer, uint64_t now_ms)
{
	const struct qv_proc *self = &peer->p->self;

	if (!peer->uid)
		look_for_stranger(peer, now_ms);
	if (peer->failed)
		return;
	if (peer->uid && !qv_proc_alive(self, &peer->proc)) {
		qv_peer_doom(peer, "its process has died");
	} else if (!peer->head && (!peer->proc.host || peer->proc.host != self->host) &&
		   now_ms - peer->pinged >= PING_MS) {
		peer->pinged = now_ms;
		qv_tx_control(peer, QV_PKT_PING, 0, NULL, 0);
	}
}

/* Only peers that owe us something are looked at. */
void qv_proto_tick(struct qv_proto *p, uint64_t now_ms)
{
	if (p->heard)
		p->heard_at = now_ms;
	p->heard = false;
	qv_unexp_drop_again(p);
	for (uint32_t i = 0; i < p->npeers; i++) {
		struct qv_peer *peer = p->peers[i];

		if (peer->asking && !peer->doom && !peer->failed)
			qv_peer_keep_asking(peer, now_ms);
		if (!peer->doom && !peer->owed && !peer->head && !peer->open_unexp &&
		    (peer->failed || !peer->flying))
			continue;
		if (peer->failed)
			give_up(peer); /* begun in packets that came after it had failed */
		else if (!peer->doom)
			look_after_debtor(peer, now_ms);
		if (peer->doom)
			look_after_doomed(peer, now_ms);
	}
}
