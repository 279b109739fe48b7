/* SPDX-License-Identifier: BSD-2-Clause */
/* recv.c - receives: post, receive what was claimed, cancel; those of collectives end with their sender. */
#include "plain.h"

/* A multi-receive, a persistent one to the engine, cannot be queued again after it took messages:
 * its buffer goes back. */
static void give_back(struct qv_proto *p, struct qv_rx *rx)
{
	struct qv_comp comp = {.context = rx->context,
			       .cookie = rx->cookie,
			       .status = QV_ENOMEM,
			       .recv = true,
			       .multi_end = true,
			       .user = QV_USER_UNKNOWN};

	rx->ended = true;
	if (rx->refs)
		return; /* the last message still coming in will say so */
	qv_pool_put(&p->rxs, rx);
	p->ops->complete(p->owner, &comp);
}

/* Receives that matched at once: a multi-receive goes on until it is full or nothing waits. */
int qv_recv_waiting(struct qv_proto *p, struct qv_match *engine, struct qv_rx *rx,
		    struct qv_msg *msg)
{
	bool multi = rx->flags & QV_REQ_MULTI, ends;

	for (;;) {
		ends = !multi ||
		       qv_rx_ends(rx, QV_CONTAINER(msg, struct qv_unexp, node)->info.full);
		qv_rx_deliver_unexp(p, rx, QV_CONTAINER(msg, struct qv_unexp, node));
		if (ends)
			return QV_OK;
		if (!qv_pool_reserve(&p->ins) || qv_match_post(engine, &rx->node, &msg)) {
			give_back(p, rx);
			return QV_OK;
		}
		if (!msg) {
			rx->queued = true;
			return QV_OK;
		}
	}
}

int qv_proto_recv(struct qv_proto *p, const struct qv_recv_args *args)
{
	return qv_recv_post(p, args);
}

int qv_proto_recv_claimed(struct qv_proto *p, struct qv_unexp *claimed,
			  const struct qv_recv_args *args, bool discard)
{
	struct qv_rx *rx;

	if (!qv_pool_reserve(&p->ins) || !(rx = qv_rx_new(p, args)))
		return QV_ENOMEM;
	if (discard) {
		struct qv_info info = claimed->info;

		info.full = 0;
		qv_unexp_drop(p, claimed);
		qv_rx_complete(p, rx, &info, 0, NULL, QV_OK);
	} else {
		qv_rx_deliver_unexp(p, rx, claimed);
	}
	return QV_OK;
}

static void cancel_one(struct qv_proto *p, struct qv_match *engine, struct qv_rx *rx)
{
	struct qv_comp comp = {.context = rx->context,
			       .cookie = rx->cookie,
			       .status = QV_ECANCELED,
			       .recv = true,
			       .tag = rx->node.tag,
			       .tagged = rx->flags & QV_REQ_TAGGED,
			       .user = QV_USER_UNKNOWN,
			       .multi_end = rx->flags & QV_REQ_MULTI};

	qv_match_cancel(engine, &rx->node);
	rx->queued = false;
	qv_rx_awaited(rx);
	if (rx->refs) {
		rx->ended = true; /* messages are still coming in: the last one ends the buffer */
		comp.multi_end = false;
	} else {
		qv_pool_put(&p->rxs, rx);
	}
	p->ops->complete(p->owner, &comp);
}

static void *context_of(const struct qv_recv *node)
{
	return ((const struct qv_rx *)node)->context;
}

static int cancel_in(struct qv_proto *p, unsigned which, void *context)
{
	struct qv_match *engine = p->match[which];
	struct qv_recv *node = qv_cancels_find(&p->cancels[which], engine, context_of, context);

	if (!node)
		return QV_ENOENT;
	cancel_one(p, engine, QV_CONTAINER(node, struct qv_rx, node));
	return QV_OK;
}

int qv_proto_cancel(struct qv_proto *p, void *context)
{
	return cancel_in(p, 0, context) == QV_OK ? QV_OK : cancel_in(p, QV_REQ_TAGGED, context);
}

int qv_proto_cancel_coll(struct qv_proto *p, void *context)
{
	return cancel_in(p, QV_REQ_COLL, context);
}

/* Receives of collectives: whoever waits for a message of a certain peer has to hear of its death.
 * Receives of the application may wait for ever. */

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
