/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * coll.c - receives of collectives: whoever waits for a message of a certain peer has to
 * hear of its death. Receives of the application may wait for ever.
 */
#include "internal.h"

int qv_rx_await(struct qv_proto *p, struct qv_rx *rx, struct qv_peer *from)
{
	if (from->failed) {
		qv_match_cancel(p->match[QV_REQ_COLL], &rx->node);
		qv_pool_put(&p->rxs, rx);
		return QV_EPEER;
	}
	/* Who never spoke to it would not know what process to look after. */
	if (!from->hello_sent && qv_peer_send_hello(from)) {
		qv_match_cancel(p->match[QV_REQ_COLL], &rx->node);
		qv_pool_put(&p->rxs, rx);
		return QV_ENOMEM;
	}
	rx->sender = from;
	qv_peer_add_outstanding(from);
	return QV_OK;
}

void qv_rx_awaited(struct qv_rx *rx)
{
	if (rx->sender)
		qv_peer_end_outstanding(rx->sender);
	rx->sender = NULL;
}

static struct qv_rx *next_of(struct qv_peer *peer)
{
	struct qv_match *engine = peer->p->match[QV_REQ_COLL];
	struct qv_recv *node = NULL;

	while ((node = qv_match_next_recv(engine, node))) {
		struct qv_rx *rx = QV_CONTAINER(node, struct qv_rx, node);

		if (rx->sender == peer)
			return rx;
	}
	return NULL;
}

void qv_rx_fail_all(struct qv_peer *peer)
{
	struct qv_proto *p = peer->p;
	struct qv_rx *rx;

	while ((rx = next_of(peer))) {
		struct qv_comp comp = {.context = rx->context,
				       .cookie = rx->cookie,
				       .status = QV_EPEER,
				       .recv = true,
				       .tag = rx->node.tag,
				       .user = peer->user};

		qv_match_cancel(p->match[QV_REQ_COLL], &rx->node);
		qv_rx_awaited(rx);
		qv_pool_put(&p->rxs, rx);
		p->ops->complete(p->owner, &comp);
	}
}
