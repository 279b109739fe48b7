/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain.h - the way of plain messages, which most are: eager, in one packet, tagged, with no header
 * or one that says nothing more than tag, sender and completion data. Inline, so that who knows the
 * transport and the owner when it is compiled has all of its way in one piece.
 */
#ifndef QV_PROTO_PLAIN_H
#define QV_PROTO_PLAIN_H

#include "engine/base/words.h"
#include "internal.h"

/* Sending. */

/* May one go now? Not before another that waits, nor beyond what is surely free of the receiver's
 * budget. */
QV_INLINE bool qv_plain_may_go(const struct qv_peer *to, size_t len)
{
	return len < to->fast_end && qv_peer_is_fast(to) &&
	       to->budget_used + qv_cost(len) <= to->fast_limit;
}

/* Once that much of a receiver's budget is used, longer payload waits here, not there. */
#define QV_EAGER_SHARE(budget) ((budget) / 4 * 3)

/* May one of more than QV_PROTO_SHORT bytes go without a request? It must be eager, and one packet. */
QV_INLINE bool qv_longer_may_go(const struct qv_peer *to, size_t len)
{
	return len <= to->eager_max && len <= to->packet_max &&
	       to->budget_used + qv_cost(len) <= QV_EAGER_SHARE(to->budget);
}

/* send.c: one of at most QV_PROTO_SHORT bytes that may go, with a header. Else: nothing has happened. */
int qv_plain_send_numbered(struct qv_peer *to, const struct qv_send_args *args, size_t len);

/* A numbered message was given to the transport. */
QV_INLINE void qv_eager_gone(struct qv_peer *to, size_t len)
{
	to->budget_used += qv_cost(len);
	to->p->stats.eager++;
}

/* The same of one that bears no number. */
QV_INLINE void qv_plain_gone(struct qv_peer *to, size_t len)
{
	to->sent++;
	qv_eager_gone(to, len);
}

/* Receives. */

/* recv.c: a message waits for it. */
int qv_recv_waiting(struct qv_proto *p, struct qv_match *engine, struct qv_rx *rx,
		    struct qv_msg *msg);

QV_INLINE struct qv_rx *qv_rx_new(struct qv_proto *p, const struct qv_recv_args *args)
{
	struct qv_rx *rx = qv_pool_get(&p->rxs);

	if (QV_UNLIKELY(!rx))
		return NULL;
	rx->node.tag = args->tag;
	rx->node.ignore = args->ignore;
	rx->node.src = args->from ? args->from->src : QV_SRC_ANY;
	rx->node.flags = args->flags & QV_REQ_MULTI ? QV_RECV_STICKY : 0;
	rx->cnt = args->cnt;
	rx->iov[0] = (struct iovec){NULL, 0};
	for (size_t i = 0; i < args->cnt; i++)
		rx->iov[i] = args->iov[i];
	rx->room = args->cnt == 1 ? args->iov->iov_len : qv_iov_len(args->iov, args->cnt);
	rx->context = args->context;
	rx->cookie = args->cookie;
	rx->flags = args->flags;
	rx->sender = NULL;
	rx->refs = 0;
	rx->ended = rx->queued = false;
	rx->used = 0;
	rx->multi_min = args->multi_min;
	return rx;
}

/* As qv_proto_recv. */
QV_INLINE int qv_recv_post(struct qv_proto *p, const struct qv_recv_args *args)
{
	struct qv_match *engine = p->match[args->flags & QV_REQ_ENGINE];
	struct qv_rx *rx = qv_rx_new(p, args);
	struct qv_msg *msg;
	int rc;

	if (QV_UNLIKELY(!rx))
		return QV_ENOMEM;
	/* What is matched cannot be given back: a struct qv_in must be at hand. */
	rc = qv_pool_reserve(&p->ins) ? qv_match_post(engine, &rx->node, &msg) : QV_ENOMEM;
	if (QV_UNLIKELY(rc)) {
		qv_pool_put(&p->rxs, rx);
		return rc;
	}
	if (QV_UNLIKELY(msg != NULL))
		return qv_recv_waiting(p, engine, rx, msg);
	rx->queued = true;
	if (QV_UNLIKELY(args->flags & QV_REQ_COLL && args->from))
		return qv_rx_await(p, rx, args->from);
	return QV_OK;
}

/* Arriving. */

struct qv_plain {
	uint64_t tag, data;
	const char *body;
	size_t len;
	unsigned flags; /* QV_REQ_TAGGED, QV_REQ_DATA */
};

typedef void qv_complete_fn(void *owner, const struct qv_comp *comp);

/* packet.c: no receive takes it; it may not send a message now. */
int qv_plain_unexpected(const struct qv_info *info, const char *body, size_t len);
int qv_plain_refuse(struct qv_peer *from);

QV_INLINE struct qv_info qv_plain_info(struct qv_peer *from, const struct qv_plain *msg)
{
	return (struct qv_info){.peer = from,
				.tag = msg->tag,
				.data = msg->data,
				.full = msg->len,
				.engine = msg->flags & QV_REQ_TAGGED,
				.has_data = msg->flags & QV_REQ_DATA,
				.epoch = from->epoch};
}

/* Into the receive that takes it. Most are short and go to one piece: no call. */
QV_INLINE void qv_plain_deliver(struct qv_peer *from, struct qv_rx *rx, const struct qv_plain *msg,
				qv_complete_fn *complete)
{
	struct qv_proto *p = from->p;
	char *const buf = rx->iov[0].iov_base;

	qv_peer_consumed(from, msg->len);
	if (QV_UNLIKELY(rx->flags & QV_REQ_MULTI || msg->len > rx->room)) {
		const struct qv_info info = qv_plain_info(from, msg);

		qv_rx_deliver_whole(p, rx, &info, msg->body);
		return;
	}
	p->stats.copied += msg->len;
	if (QV_LIKELY(rx->cnt == 1 && msg->len <= QV_WORDS_MAX))
		qv_copy_words(buf, msg->body, msg->len);
	else
		qv_iov_put(rx->iov, rx->cnt, 0, msg->body, msg->len);

	const struct qv_comp comp = {
		.context = rx->context,
		.cookie = rx->cookie,
		.status = QV_OK,
		.recv = true,
		.tagged = msg->flags & QV_REQ_TAGGED,
		.has_data = msg->flags & QV_REQ_DATA,
		.len = msg->len,
		.full = msg->len,
		.buf = buf,
		.tag = msg->tag,
		.data = msg->data,
		.user = from->user,
	};

	qv_pool_put(&p->rxs, rx);
	complete(p->owner, &comp);
}

/* A whole eager message with no optional header field but completion data, as most packets are, of a
 * peer that may send one now. It needs no struct qv_wire_pkt, and a struct qv_info only if no receive
 * takes it. */
QV_INLINE int qv_plain_arrived(struct qv_peer *from, const struct qv_plain *msg,
			       qv_complete_fn *complete)
{
	struct qv_recv *node =
		qv_match_arrive(from->p->match[msg->flags & QV_REQ_TAGGED], msg->tag, from->src);

	if (QV_UNLIKELY(!node)) {
		const struct qv_info info = qv_plain_info(from, msg);

		return qv_plain_unexpected(&info, msg->body, msg->len);
	}
	from->received++;
	from->got++; /* acknowledged with the credit for it */
	qv_plain_deliver(from, QV_CONTAINER(node, struct qv_rx, node), msg, complete);
	return QV_OK;
}

/* The same of one that has come with no header. */
QV_INLINE int qv_plain_came(struct qv_peer *from, const struct qv_plain *msg,
			    qv_complete_fn *complete)
{
	from->p->heard = true;
	if (QV_UNLIKELY(!from->connected || from->failed || from->open_in || from->open_unexp ||
			from->p->closing))
		return qv_plain_refuse(from);
	return qv_plain_arrived(from, msg, complete);
}

#endif /* QV_PROTO_PLAIN_H */
