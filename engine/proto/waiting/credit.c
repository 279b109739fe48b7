/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * credit.c - the budget that a receiver has for messages of each peer which wait there.
 *
 * A message takes its payload, if that travels with it, and what the receiver has to remember of
 * it. The sender counts what it has sent, the receiver tells what is free again. Beyond the budget
 * messages wait at their sender, in order. A receiver whose program wants a message that is not
 * among those that are here allows more: the one that is wanted may be behind them.
 */
#include "engine/proto/internal.h"

void qv_peer_set_budget(struct qv_peer *peer, size_t budget)
{
	peer->budget = budget;
	peer->fast_limit = budget < QV_FAST_MAX ? budget : QV_FAST_MAX;
}

bool qv_peer_has_credit(struct qv_peer *peer, size_t cost)
{
	if (peer->budget_used + cost <= peer->budget || !peer->budget_used)
		return true;
	if (!peer->starved && peer->connected) {
		if (qv_tx_control(peer, QV_PKT_STARVED, 0, NULL, 0) == QV_ENOMEM)
			return false; /* at the next progress again */
		peer->p->stats.starved++;
	}
	peer->starved = true;
	return false;
}

void qv_peer_on_credit(struct qv_peer *peer, uint64_t bytes)
{
	/* More than was used: the receiver allows more than it did. */
	if (bytes > peer->budget_used) {
		if (peer->budget < SIZE_MAX / 4 && bytes < SIZE_MAX / 4)
			qv_peer_set_budget(peer, peer->budget + (size_t)bytes - peer->budget_used);
		peer->budget_used = 0;
	} else {
		peer->budget_used -= bytes;
	}
	if (!peer->starved)
		return;
	peer->starved = false;
	if (peer->head)
		qv_peer_list(peer);
}

static void set_cramped(struct qv_peer *peer, bool cramped)
{
	if (cramped && !peer->cramped)
		peer->p->ncramped++;
	if (!cramped && peer->cramped)
		peer->p->ncramped--;
	peer->cramped = cramped;
}

void qv_peer_fed(struct qv_peer *peer)
{
	peer->starving = false;
	set_cramped(peer, false);
}

void qv_peer_consumed_slow(struct qv_peer *peer)
{
	if (qv_tx_control(peer, QV_PKT_CREDIT, peer->consumed, NULL, 0) != QV_OK)
		return;
	/* It waits where what was sent to the peer fills the window, and only the peer's word opens that.
	 * Both may wait so: what has come is acknowledged without it. */
	if (peer->ctl_head)
		qv_peer_send_ack(peer);
	peer->consumed = 0;
	qv_peer_fed(peer);
}

/* As much again as it has already; who has nothing would ask for ever. */
static void allow_more(struct qv_peer *peer)
{
	size_t more = peer->allowed > QV_WIRE_MESSAGE_COST ? peer->allowed : QV_WIRE_MESSAGE_COST;

	if (qv_tx_control(peer, QV_PKT_CREDIT, peer->consumed + more, NULL, 0) != QV_OK)
		return;
	peer->allowed += more;
	peer->consumed = 0;
	qv_peer_fed(peer);
}

void qv_proto_widen(struct qv_proto *p, struct qv_peer *from)
{
	for (uint32_t i = 0; i < p->npeers && p->ncramped; i++)
		if (p->peers[i] && p->peers[i]->cramped && (!from || from == p->peers[i]))
			allow_more(p->peers[i]);
}

/* What waits here takes its budget. Where there is room for the longest message that waits at a
 * receiver, more budget is no help: a credit is on its way, or soon will be, when what is under way has
 * come. So who says that it starves, and sends nothing, is not allowed more and more. */
static bool is_cramped(const struct qv_peer *peer)
{
	return peer->stored + peer->consumed + qv_cost(QV_EAGER_LIMIT) > peer->allowed;
}

void qv_peer_on_starving(struct qv_peer *peer)
{
	peer->starving = true;
	set_cramped(peer, is_cramped(peer));
	if (peer->consumed)
		qv_peer_consumed_slow(peer);
	/* Any receive counts. One from another peer may need what that peer waits for, and this one has not sent
	 * yet: it is behind what finds no room here. */
	else if (peer->cramped && peer->p->rxs.live)
		allow_more(peer);
}
