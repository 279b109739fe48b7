/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copies.c - injected payload of more than QV_PROTO_SHORT bytes that takes a request: a copy of it, which
 * waits here if it cannot go in the call, and how much may wait so. Its sender has no completion to wait
 * for, so this is all that holds it back where the receiver takes less than it sends.
 *
 * A receiver that takes some, or does not answer, holds its sender back. One that answers and takes
 * nothing for a while may itself send first, as its sender does: then more may wait.
 */
#include "engine/proto/internal.h"

#include <stdlib.h>

#define COPIES_FIRST ((size_t)16 << 20)
#define IDLE_TICKS   3u /* in which none of it has gone */

bool qv_copies_have_room(struct qv_peer *peer, size_t len)
{
	struct qv_copies *c = &peer->copies;

	if (!c->bytes)
		c->most = COPIES_FIRST;
	c->refused = c->bytes + len > c->most;
	return !c->refused;
}

bool qv_tx_copy(struct qv_tx *tx, const struct iovec *iov, size_t cnt)
{
	char *copy = malloc(tx->len);

	if (!copy)
		return false;
	qv_iov_get(iov, cnt, copy);
	tx->p->stats.copied += tx->len;
	tx->packet = copy;
	tx->peer->copies.bytes += tx->len;
	return true;
}

void qv_copies_gone(struct qv_tx *tx)
{
	struct qv_copies *c = &tx->peer->copies;

	c->bytes -= tx->len;
	c->idle = 0;
	c->refused &= c->bytes != 0;
}

void qv_tx_drop_copy(struct qv_tx *tx)
{
	qv_copies_gone(tx);
	free(tx->packet);
	tx->packet = tx->small;
}

/* May another endpoint of this process have the request, and read the copy by its address? No transport
 * sees to whose that is by then. A peer that has not answered yet may be one. */
static bool may_be_read(const struct qv_tx *tx)
{
	const struct qv_peer *peer = tx->peer;

	return tx->kind == QV_TX_RTS && tx->issued && !tx->reported && qv_tx_has_copy(tx) &&
	       peer->x->read_max && peer->uid != peer->p->uid &&
	       (qv_peer_is_own(peer) || !peer->proc.pid);
}

void qv_copies_end(struct qv_peer *peer)
{
	const struct qv_proto *p = peer->p;

	for (struct qv_tx *tx = peer->txs; tx; tx = tx->next_peer) {
		if (tx->packet == tx->small)
			continue;
		if (p->ops->keep && may_be_read(tx))
			p->ops->keep(tx->packet);
		else
			free(tx->packet);
	}
}

void qv_copies_tick(struct qv_peer *peer)
{
	struct qv_copies *c = &peer->copies;

	if (!c->refused || !peer->hello_sent || peer->failing)
		return;
	if (++c->idle < IDLE_TICKS)
		return;
	if (!peer->heard) {
		(void)qv_peer_send_now(peer, QV_PKT_PING, 0, NULL, 0); /* does it answer? */
	} else if (c->most < SIZE_MAX / 4) {
		c->most *= 2;
		c->idle = 0;
		c->refused = false;
	}
}
