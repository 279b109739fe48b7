/* SPDX-License-Identifier: BSD-2-Clause */
/* send.c - sends of the application: at once, in the backlog, or as a request. */
#include "plain.h"

/* Longest packet of a short message. */
#define SHORT_PACKET (sizeof(struct qv_wire_hdr) + 2 * sizeof(uint64_t) + QV_PROTO_SHORT)

/* Header, words and payload of a short message at buf; returns their length. */
static inline size_t write_short(char *buf, const struct qv_peer *to,
				 const struct qv_send_args *args, size_t len)
{
	struct qv_wire_hdr hdr = {.magic = QV_WIRE_MAGIC,
				  .version = QV_WIRE_VERSION,
				  .op = QV_PKT_EAGER,
				  .src = to->remote_id,
				  .arg = args->tag,
				  .seq = (uint16_t)(to->sent + 1),
				  .ack = (uint16_t)to->got};
	char *at = buf + sizeof hdr;

	hdr.flags = args->flags & QV_REQ_TAGGED ? QV_WF_TAGGED : 0;
	if (QV_UNLIKELY(args->flags & QV_REQ_COLL))
		hdr.flags = QV_WF_COLL;
	if (QV_UNLIKELY(to->remote_id == QV_SRC_UNKNOWN)) {
		uint64_t token = qv_wire_token(to->p->uid, to->session);

		hdr.flags |= QV_WF_UID;
		memcpy(at, &token, sizeof token);
		at += sizeof token;
	}
	if (args->flags & QV_REQ_DATA) {
		hdr.flags |= QV_WF_DATA;
		memcpy(at, &args->data, sizeof args->data);
		at += sizeof args->data;
	}
	memcpy(buf, &hdr, sizeof hdr);
	if (QV_LIKELY(args->cnt == 1 && len))
		memcpy(at, args->iov->iov_base, len);
	else
		qv_iov_get(args->iov, args->cnt, at);
	to->p->stats.copied += len;
	return (size_t)(at - buf) + len;
}

/* On the stack, or where the window keeps it. */
static int inject_short(struct qv_peer *to, const struct qv_send_args *args, size_t len)
{
	char stack[SHORT_PACKET];
	struct qv_kept *kept = NULL;
	struct iovec out = {stack, 0};
	int rc;

	if (to->x->drops) {
		kept = qv_window_room(to, SHORT_PACKET);
		if (QV_UNLIKELY(!kept))
			return QV_EAGAIN;
		out.iov_base = kept->packet;
	}
	out.iov_len = write_short(out.iov_base, to, args, len);
	rc = to->x->ops->inject(to->x, to->addr, &out, 1);
	if (QV_UNLIKELY(rc)) {
		if (!kept || rc == QV_EAGAIN || rc == QV_ENOMEM)
			return rc;
		to->cut = true; /* it is sent again */
	}
	if (kept)
		qv_window_add(to, kept, out.iov_len);
	qv_peer_sent(to);
	return QV_OK;
}

int qv_plain_send_numbered(struct qv_peer *to, const struct qv_send_args *args, size_t len)
{
	int rc = inject_short(to, args, len);

	if (QV_LIKELY(!rc))
		qv_eager_gone(to, len);
	return rc;
}

int qv_send_short(struct qv_peer *to, const struct qv_send_args *args, size_t len)
{
	char buf[SHORT_PACKET];
	size_t total;
	int rc;

	if (!qv_peer_has_credit(to, qv_cost(len)))
		return QV_EAGAIN;
	if (to->x->inject_max >= SHORT_PACKET) {
		rc = qv_peer_window_is_full(to) ? QV_EAGAIN : inject_short(to, args, len);
	} else {
		total = write_short(buf, to, args, len);
		rc = qv_emit(to, buf, total, NULL, 0, 0, NULL);
	}
	if (!rc)
		to->budget_used += qv_cost(len);
	return rc;
}

/* A message that fits a packet, before which none waits: no request. QV_EAGAIN: nothing happened;
 * the slow path may queue it. */
static int send_fast(struct qv_proto *p, struct qv_peer *to, const struct qv_send_args *args,
		     size_t len)
{
	struct qv_xport *x = to->x;
	bool data = args->flags & QV_REQ_DATA;
	bool headerless = to->headerless && args->cnt == 1 && args->flags & QV_REQ_TAGGED &&
			  (!data || x->ops->inject_tagged_data);
	int rc;

	if (QV_UNLIKELY(len > QV_PROTO_SHORT && (!headerless || !qv_longer_may_go(to, len))))
		return QV_EAGAIN;
	if (QV_UNLIKELY(to->budget_used + qv_cost(len) > to->fast_limit))
		return QV_EAGAIN;
	if (headerless) {
		rc = data ? x->ops->inject_tagged_data(x, to->addr, args->tag, args->data,
						       args->iov->iov_base, len)
			  : x->ops->inject_tagged(x, to->addr, args->tag, args->iov->iov_base, len);
		if (QV_LIKELY(!rc))
			to->sent++;
	} else {
		rc = inject_short(to, args, len);
	}
	if (QV_UNLIKELY(rc)) {
		/* As on the slow path: it waits until the transport has memory. */
		if (rc == QV_ENOMEM)
			return QV_EAGAIN;
		if (rc != QV_EAGAIN)
			qv_peer_mark_failed(to, qv_strerror(rc));
		return rc;
	}
	qv_eager_gone(to, len);
	p->ops->sent(p->owner, args->context, args->cookie, args->flags & QV_REQ_TAGGED);
	return QV_OK;
}

/* Let the receiver read the buffer; pieces that cannot be registered make it a CTS message. */
static void register_mem(struct qv_tx *tx)
{
	struct qv_xport *x = tx->peer->x;

	if (!x->read_max || qv_stripe_takes(&tx->peer->stripe, tx->len))
		return;
	for (size_t i = 0; i < tx->cnt; i++) {
		if (x->ops->register_mem(x, tx->iov[i].iov_base, tx->iov[i].iov_len,
					 &tx->regions[i]) == QV_OK)
			continue;
		qv_tx_deregister(tx);
		return;
	}
}

/* False: no memory. */
static bool set_payload(struct qv_tx *tx, const struct qv_send_args *args, size_t len)
{
	tx->len = tx->want = len;
	if (args->flags & QV_REQ_INJECT) {
		if (len <= sizeof tx->small)
			qv_iov_get(args->iov, args->cnt, tx->small);
		else if (!qv_tx_copy(tx, args->iov, args->cnt))
			return false;
		tx->iov[0] = (struct iovec){tx->packet, len};
		tx->cnt = 1;
		return true;
	}
	for (size_t i = 0; i < args->cnt; i++)
		if (args->iov[i].iov_len)
			tx->iov[tx->cnt++] = args->iov[i];
	return true;
}

/* Short messages are always eager; longer ones while the receiver has room for them, nothing waits for
 * room already, and it suits the transport. */
static bool goes_eager(struct qv_proto *p, struct qv_peer *to, size_t len)
{
	struct qv_xport *x = to->x;

	if (len <= QV_PROTO_SHORT)
		return true;
	if (len > to->eager_max)
		return false;
	if (to->starved || to->budget_used + qv_cost(len) > QV_EAGER_SHARE(to->budget)) {
		p->stats.over_budget++;
		return false;
	}
	return len <= x->packet_max || !x->ops->eager_pays || x->ops->eager_pays(x, to->addr);
}

static int send_slow(struct qv_proto *p, struct qv_peer *to, const struct qv_send_args *args,
		     size_t len)
{
	struct qv_tx *tx;
	bool eager;

	tx = qv_tx_new(to, QV_TX_EAGER);
	if (!tx)
		return QV_ENOMEM;
	eager = goes_eager(p, to, len);
	tx->wants_fin = !eager || args->flags & QV_REQ_ACK;
	if (tx->wants_fin)
		tx->handle = qv_handle_new(&p->tx_handles, tx);
	if ((tx->wants_fin && !tx->handle) || !set_payload(tx, args, len)) {
		if (tx->handle)
			qv_handle_free(&p->tx_handles, tx->handle);
		qv_tx_put(tx);
		return QV_ENOMEM;
	}
	if (tx->wants_fin)
		qv_peer_add_outstanding(to);
	tx->flags = args->flags;
	tx->context = args->context;
	tx->cookie = args->cookie;
	tx->tag = args->tag;
	tx->data = args->data;
	if (eager) {
		p->stats.eager++;
	} else {
		tx->kind = QV_TX_RTS;
		p->stats.rndv++;
		register_mem(tx);
	}
	qv_tx_start(tx);
	return QV_OK;
}

/* A short message that nobody has to confirm: at once, or in the backlog. */
static int send_or_backlog(struct qv_proto *p, struct qv_peer *to, const struct qv_send_args *args,
			   size_t len)
{
	int rc = qv_peer_must_queue(to, true) ? QV_EAGAIN : qv_send_short(to, args, len);

	if (!rc) {
		p->stats.eager++;
		p->ops->sent(p->owner, args->context, args->cookie, args->flags & QV_REQ_TAGGED);
		return QV_OK;
	}
	if (rc != QV_EAGAIN && rc != QV_ENOMEM) {
		qv_peer_mark_failed(to, qv_strerror(rc));
		return rc;
	}
	return qv_backlog_append(to, args, len);
}

/* What was lost without an entry is told by a send that fails; then a new session may begin. Who
 * was given up is tried again after a while. */
#define HOLD_OFF_MS 500u

int qv_peer_may_try(struct qv_peer *to)
{
	if (to->failed && to->p->now - to->failed_at >= HOLD_OFF_MS) {
		to->failed = false;
		qv_peer_begin_session(to);
	}
	return to->failed || to->failing ? QV_EPEER : QV_OK;
}

int qv_peer_may_send(struct qv_peer *to)
{
	if (!to->untold)
		return qv_peer_may_try(to);
	to->untold = false;
	qv_peer_set_remote(to);
	return QV_EPEER;
}

int qv_proto_send(struct qv_proto *p, struct qv_peer *to, const struct qv_send_args *args)
{
	size_t len = args->cnt == 1 ? args->iov->iov_len : qv_iov_len(args->iov, args->cnt);
	int rc;

	if (QV_LIKELY(len < to->fast_end && qv_peer_is_fast(to) &&
		      !(args->flags & (QV_REQ_ACK | QV_REQ_SENT)))) {
		rc = send_fast(p, to, args, len);
		if (rc != QV_EAGAIN)
			return rc;
	}
	/* COLL with INJECT is a notice: nobody hears of its error. */
	rc = (args->flags & QV_REQ_COLL) && (args->flags & QV_REQ_INJECT) ? qv_peer_may_try(to)
									  : qv_peer_may_send(to);
	if (rc)
		return rc;
	if (args->flags & QV_REQ_INJECT && len > QV_PROTO_INJECT)
		return QV_EINVAL;
	if (args->flags & QV_REQ_INJECT && len > QV_PROTO_SHORT && !qv_copies_have_room(to, len))
		return QV_EAGAIN;
	if (p->waiting >= p->queue_max)
		return QV_EAGAIN;
	if (!to->hello_sent && qv_peer_send_hello(to))
		return QV_ENOMEM;
	if (len <= QV_PROTO_SHORT && !(args->flags & (QV_REQ_ACK | QV_REQ_SENT))) {
		rc = send_or_backlog(p, to, args, len);
		if (rc != QV_EAGAIN)
			return rc;
	}
	return send_slow(p, to, args, len);
}
