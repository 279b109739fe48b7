/* SPDX-License-Identifier: BSD-2-Clause */
/* poll.c - what has come: from the rings that were busy lately in every poll, from others in turn. */
#include "take.h"

#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/proto/wire.h"

#define COLD        4u       /* rings of the others that an empty poll looks at */
#define SERVE_POLLS 512u     /* and one at the connections, which is a system call, */
#define QUIET_POLLS 16384u   /* where nothing happens, less and less often, down to this */
#define SERVE_NS    5000000u /* or if the last look is so long ago */

/* Packets up to here are copied before they are looked at: all that say more than a header and
 * payload. Their sender could change their words between two looks. */
#define COPIED QV_WIRE_MAX_CTL

/* Seats: the hot ones first. */

bool qv_node_seat(struct qv_node *n, struct qv_node_peer *peer)
{
	uint32_t cap = n->seats_cap ? 2 * n->seats_cap : 16;
	struct qv_node_peer **seats;

	if (n->nseats == n->seats_cap) {
		seats = realloc(n->seats, cap * sizeof(struct qv_node_peer *));
		if (!seats)
			return false;
		n->seats = seats;
		n->seats_cap = cap;
	}
	peer->seat = n->nseats;
	n->seats[n->nseats++] = peer;
	if (n->nhot < QV_NODE_HOT && n->nhot + 1 == n->nseats)
		n->nhot++;
	n->stats.peers++;
	return true;
}

static void put_at(struct qv_node *n, uint32_t seat, struct qv_node_peer *peer)
{
	n->seats[seat] = peer;
	peer->seat = seat;
}

void qv_node_unseat(struct qv_node *n, struct qv_node_peer *peer)
{
	uint32_t seat = peer->seat;

	if (seat == UINT32_MAX)
		return;
	if (seat < n->nhot) { /* the last of the hot ones takes its place, and its own is free */
		n->nhot--;
		put_at(n, seat, n->seats[n->nhot]);
		seat = n->nhot;
	}
	if (seat != --n->nseats)
		put_at(n, seat, n->seats[n->nseats]);
	if (n->nhot < QV_NODE_HOT && n->nhot < n->nseats)
		n->nhot++;
	peer->seat = UINT32_MAX;
	n->stats.peers--;
}

/* It speaks: every poll looks at it, in the place of another. */
static void warm(struct qv_node *n, struct qv_node_peer *peer)
{
	struct qv_node_peer *out;
	uint32_t seat = peer->seat;

	if (seat < n->nhot)
		return;
	out = n->seats[n->turn % n->nhot];
	put_at(n, out->seat, peer);
	put_at(n, seat, out);
}

/* Packets. */

static QV_COLD void nonsense(struct qv_node *n, struct qv_node_peer *peer)
{
	peer->broken = n->sweep = true;
	n->stats.refused++;
	n->ops->warn(n->owner, "a process has written nonsense into its ring: it is not heard "
			       "any more");
}

int qv_node_deliver(struct qv_node *n, struct qv_node_peer *peer, uint32_t low)
{
	const struct qv_slot *slot = &peer->rx.ring->slots[peer->rx.at];
	unsigned kind = QV_SLOT_KIND(low);
	char copy[COPIED];
	size_t len;
	const char *body = qv_ring_body(&peer->rx, low, &len);

	if (QV_UNLIKELY(!body || kind >= QV_SLOT_KINDS)) {
		nonsense(n, peer);
		return QV_EPROTO;
	}
	if (kind == QV_SLOT_TAGGED_DATA)
		return n->ops->tagged_data(n->owner, peer->addr, slot->tag, slot->data, body, len);
	if (kind == QV_SLOT_TAGGED)
		return n->ops->tagged(n->owner, peer->addr, slot->tag, body, len);
	if (kind == QV_SLOT_REQUEST)
		return qv_node_execute(n, peer, slot->tag, slot->data, body, len);
	if (kind == QV_SLOT_REPLY)
		return qv_node_answered(n, peer, slot->tag, slot->data, body, len);
	if (len > sizeof copy)
		return n->ops->packet(n->owner, peer->addr, body, len);
	memcpy(copy, body, len);
	return n->ops->packet(n->owner, peer->addr, copy, len);
}

static bool drain_cold(struct qv_node *n)
{
	uint32_t cold = n->nseats - n->nhot;
	bool some = false;

	for (uint32_t i = 0; i < COLD && i < cold; i++) {
		struct qv_node_peer *peer = n->seats[n->nhot + n->turn++ % cold];

		if (!qv_node_drain(n, peer, QV_NODE_BATCH, n->ops->tagged_data))
			continue;
		warm(n, peer);
		some = true;
	}
	return some;
}

/* Connections are looked at by counted polls; by a coarse clock, where others have the CPU in between. */
static QV_NOINLINE void serve_if_due(struct qv_node *n)
{
	const uint64_t now = qv_clock_of(CLOCK_MONOTONIC_COARSE);
	const bool hurry = n->hurry;

	qv_seldom_looked(&n->serve.clock, n->polls, now, SERVE_NS);
	if (n->polls - n->serve.polls < n->serve.every && !hurry && now - n->serve.ns < SERVE_NS)
		return;
	n->serve.ns = now;
	n->serve.polls = n->polls;
	if (n->unrung)
		qv_node_wake_again(n);
	if (qv_node_serve(n) || hurry)
		n->serve.every = SERVE_POLLS;
	else if (n->serve.every < QUIET_POLLS)
		n->serve.every *= 2;
}

bool qv_node_poll_rest(struct qv_node *n)
{
	bool some = n->nseats > n->nhot && drain_cold(n);

	if (qv_seldom_due(&n->serve.clock, n->polls) || n->hurry)
		serve_if_due(n);
	return some;
}

bool qv_node_poll_first(struct qv_node *n)
{
	const bool some = n->done != NULL;

	if (n->asleep)
		qv_node_awake(n);
	if (some)
		qv_node_finish_all(n);
	if (n->onesided.waiting || n->onesided.stuck)
		qv_node_unblock(n);
	return some;
}

bool qv_node_poll(struct qv_node *n)
{
	return qv_node_poll_as(n, QV_NODE_BATCH, n->ops->tagged_data);
}
