/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_proto_send.c - sends of the application: the way that each takes. */
#include "proto/qv_proto_i.h"

#include <string.h>

/* Header, completion data and payload, put together on the stack. */
static int inject_packed(struct qv_peer *to, const struct qv_send_args *args, size_t len)
{
	char buf[sizeof(struct qv_wire_hdr) + sizeof(uint64_t) + QV_PROTO_INJECT];
	struct qv_wire_hdr hdr = {.magic = QV_WIRE_MAGIC,
				  .version = QV_WIRE_VERSION,
				  .op = QV_PKT_EAGER,
				  .src = to->remote_id,
				  .arg = args->tag};
	struct iovec out = {buf, sizeof hdr};

	hdr.flags = args->flags & QV_REQ_TAGGED ? QV_WF_TAGGED : 0;
	if (QV_UNLIKELY(args->flags & QV_REQ_COLL))
		hdr.flags = QV_WF_COLL;
	if (args->flags & QV_REQ_DATA) {
		hdr.flags |= QV_WF_DATA;
		memcpy(buf + sizeof hdr, &args->data, sizeof args->data);
		out.iov_len += sizeof args->data;
	}
	memcpy(buf, &hdr, sizeof hdr);
	if (QV_LIKELY(args->cnt == 1 && len))
		memcpy(buf + out.iov_len, args->iov->iov_base, len);
	else
		qv_iov_get(args->iov, args->cnt, buf + out.iov_len);
	out.iov_len += len;
	return to->x->ops->inject(to->x, to->addr, &out, 1);
}

/* Longer than what is always eager: within what the receiver has promised room for. */
static bool may_go_fast(const struct qv_peer *to, const struct qv_send_args *args, size_t len)
{
	return !(args->flags & QV_REQ_INJECT) && len <= to->eager_max && len <= to->packet_max &&
	       to->eager_out + len <= to->budget;
}

/* The message that fits a packet, on an idle queue: no request. QV_EAGAIN: the slow way. */
static int send_fast(struct qv_proto *p, struct qv_peer *to, const struct qv_send_args *args,
		     size_t len)
{
	struct qv_xport *x = to->x;
	bool bare = x->ops->inject_tagged && args->cnt == 1 &&
		    (args->flags & (QV_REQ_TAGGED | QV_REQ_DATA)) == QV_REQ_TAGGED;
	size_t counted = len > QV_PROTO_INJECT ? len : 0;
	int rc;

	if (QV_UNLIKELY(counted && (!bare || !may_go_fast(to, args, len))))
		return QV_EAGAIN;
	rc = bare ? x->ops->inject_tagged(x, to->addr, args->tag, args->iov->iov_base, len)
		  : inject_packed(to, args, len);
	if (QV_UNLIKELY(rc)) {
		if (rc != QV_EAGAIN && rc != QV_ENOMEM)
			qv_peer_doom(to, qv_strerror(rc));
		return rc;
	}
	to->eager_out += counted;
	p->stats.eager++;
	p->ops->sent(p->owner, args->context, args->cookie, args->flags & QV_REQ_TAGGED);
	return QV_OK;
}

/* Let the receiver read the buffer; pieces that cannot be exposed make it a CTS message. */
static void expose(struct qv_tx *tx)
{
	struct qv_xport *x = tx->peer->x;

	if (!x->read_max)
		return;
	for (size_t i = 0; i < tx->cnt; i++) {
		if (x->ops->expose(x, tx->iov[i].iov_base, tx->iov[i].iov_len, &tx->regions[i]) ==
		    QV_OK)
			continue;
		qv_tx_conceal(tx);
		return;
	}
}

static void set_payload(struct qv_tx *tx, const struct qv_send_args *args, size_t len)
{
	tx->len = tx->want = len;
	if (args->flags & QV_REQ_INJECT) {
		qv_iov_get(args->iov, args->cnt, tx->small);
		tx->iov[0] = (struct iovec){tx->small, len};
		tx->cnt = 1;
		tx->p->copied += len;
		return;
	}
	for (size_t i = 0; i < args->cnt; i++)
		if (args->iov[i].iov_len)
			tx->iov[tx->cnt++] = args->iov[i];
}

/* Small messages are always eager; longer ones while the receiver has promised room for them. */
static bool goes_eager(struct qv_proto *p, struct qv_peer *to, size_t len)
{
	if (len <= QV_PROTO_INJECT)
		return true;
	if (len > to->eager_max)
		return false;
	if (to->eager_out + len > to->budget) {
		p->stats.over_budget++;
		return false;
	}
	to->eager_out += len;
	return true;
}

static int send_slow(struct qv_proto *p, struct qv_peer *to, const struct qv_send_args *args,
		     size_t len)
{
	struct qv_tx *tx;
	bool eager;

	if (args->flags & QV_REQ_INJECT && p->copied > QV_COPY_LIMIT)
		return QV_EAGAIN;
	tx = qv_tx_new(to, QV_TX_EAGER);
	if (!tx)
		return QV_ENOMEM;
	eager = goes_eager(p, to, len);
	tx->wants_fin = !eager || args->flags & QV_REQ_ACK;
	if (tx->wants_fin) {
		tx->handle = qv_handle_new(&p->tx_handles, tx);
		if (!tx->handle) {
			if (eager && len > QV_PROTO_INJECT)
				to->eager_out -= len;
			qv_tx_put(tx);
			return QV_ENOMEM;
		}
		qv_peer_owes(to);
	}
	tx->flags = args->flags;
	tx->context = args->context;
	tx->cookie = args->cookie;
	tx->tag = args->tag;
	tx->data = args->data;
	set_payload(tx, args, len);
	if (eager) {
		p->stats.eager++;
	} else {
		tx->kind = QV_TX_RTS;
		p->stats.rndv++;
		expose(tx);
	}
	qv_tx_start(tx);
	return QV_OK;
}

int qv_proto_send(struct qv_proto *p, struct qv_peer *to, const struct qv_send_args *args)
{
	size_t len = args->cnt == 1 ? args->iov->iov_len : qv_iov_len(args->iov, args->cnt);

	if (QV_LIKELY(len < to->fast_end && !to->head && to->remote_id != QV_SRC_UNKNOWN &&
		      !(args->flags & QV_REQ_ACK))) {
		int rc = send_fast(p, to, args, len);

		if (rc != QV_EAGAIN)
			return rc;
	}
	if (to->failed && to->absent_since && !to->uid)
		qv_peer_revive(to); /* it may have come since */
	if (to->failed || to->doom)
		return QV_EPEER;
	if (args->flags & QV_REQ_INJECT && len > QV_PROTO_INJECT)
		return QV_EINVAL;
	if (!to->hello_sent && qv_peer_say_hello(to))
		return QV_ENOMEM;
	return send_slow(p, to, args, len);
}
