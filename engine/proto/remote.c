/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * remote.c - updates of memory that another endpoint's owner has: cut into requests of a packet each,
 * which go as control packets do, in order and once. The owner does each when it comes; the answer
 * comes in the same way.
 */
#include "internal.h"

#include <stdlib.h>

/* Bytes of a request's packet; peers that receive shorter ones get shorter ones. */
#define PACKET_MAX 4096u
/* Parts of two operands, in whole elements of any type. */
#define PART_UNIT 32u
/* Requests that one peer has not answered, and answers that wait here for the transport. */
#define ASKED_MAX 256u

struct qv_call {
	struct qv_peer *peer;
	struct qv_xfer *xfer;
	uint64_t handle;
	int status;       /* the first that was not QV_OK */
	unsigned flying;  /* requests that are not answered */
	size_t got, most; /* bytes answered; of one request */
	size_t nthere, nbefore;
	struct qv_span there[QV_SPANS];
	struct iovec before[QV_SPANS];
};

void qv_calls_init(struct qv_proto *p)
{
	qv_handles_init(&p->call_handles);
	qv_pool_init(&p->calls, sizeof(struct qv_call));
}

static void call_free(struct qv_call *call)
{
	struct qv_proto *p = call->peer->p;

	qv_handle_free(&p->call_handles, call->handle);
	call->peer->asked_of -= call->flying;
	qv_peer_end_outstanding(call->peer);
	qv_pool_put(&p->calls, call);
}

static void call_end(struct qv_call *call)
{
	struct qv_xfer *xfer = call->xfer;
	int status = call->status;

	call_free(call);
	xfer->done(xfer, status);
}

/* Asking. */

/* Of memory, in a request to this peer. */
static size_t part_max(const struct qv_peer *to, size_t operands)
{
	const size_t header = sizeof(struct qv_wire_hdr) + sizeof(uint64_t) + sizeof(struct qv_ask);
	const size_t packet = to->packet_max < PACKET_MAX ? to->packet_max : PACKET_MAX;

	return (packet - header) / (operands > 1 ? operands : 1) / PART_UNIT * PART_UNIT;
}

static struct qv_tx *request(const struct qv_call *call, const struct qv_remote_op *op,
			     const struct qv_part *part, size_t len)
{
	const bool last = part->at + part->span.len == len;
	const bool ends_key = qv_part_ends_key(part, op->there, len);
	const struct qv_ask ask = {
		.kind = (uint8_t)op->kind,
		.flags = (last ? QV_ASK_LAST : 0) | (op->nbefore ? QV_ASK_BEFORE : 0) |
			 (ends_key ? QV_ASK_KEY : 0),
		.what = op->what,
		.len = (uint32_t)part->span.len,
		.addr = part->span.addr,
		.key = part->span.key,
	};
	const size_t operands = (op->nhere != 0) + (op->nother != 0);
	struct qv_tx *tx;
	char *body;

	tx = qv_tx_new_control(call->peer, QV_PKT_ASK, call->handle,
			       sizeof ask + operands * part->span.len, &body);
	if (!tx)
		return NULL;
	memcpy(body, &ask, sizeof ask);
	qv_part_get(part, op->here, op->nhere, body + sizeof ask);
	qv_part_get(part, op->other, op->nother, body + sizeof ask + part->span.len);
	return tx;
}

/* All of them, in order, or none: *first, linked. False: no memory. */
static bool requests(const struct qv_call *call, const struct qv_remote_op *op, size_t len,
		     struct qv_tx **first)
{
	struct qv_tx **tail = first;

	*first = NULL;
	for (size_t at = 0; at < len; tail = &(*tail)->next) {
		const struct qv_part part = qv_part_at(op->there, op->nthere, at, call->most);

		at += part.span.len;
		*tail = request(call, op, &part, len);
		if (!*tail)
			return false;
	}
	return true;
}

static void give_back(struct qv_tx *tx)
{
	while (tx) {
		struct qv_tx *next = tx->next;

		qv_tx_free(tx);
		tx = next;
	}
}

static struct qv_call *call_new(struct qv_peer *to, const struct qv_remote_op *op,
				struct qv_xfer *xfer)
{
	struct qv_proto *p = to->p;
	struct qv_call *call = qv_pool_get(&p->calls);

	if (!call)
		return NULL;
	call->handle = qv_handle_new(&p->call_handles, call);
	if (!call->handle) {
		qv_pool_put(&p->calls, call);
		return NULL;
	}
	call->peer = to;
	call->xfer = xfer;
	call->status = QV_OK;
	call->flying = 0;
	call->got = 0;
	call->most = part_max(to, (op->nhere != 0) + (op->nother != 0));
	call->nthere = op->nthere;
	call->nbefore = op->nbefore;
	memcpy(call->there, op->there, op->nthere * sizeof *op->there);
	if (op->nbefore)
		memcpy(call->before, op->before, op->nbefore * sizeof *op->before);
	qv_peer_add_outstanding(to);
	return call;
}

/* So many requests are enough for all of it. */
static size_t parts(const struct qv_peer *to, const struct qv_remote_op *op, size_t len)
{
	return len / part_max(to, (op->nhere != 0) + (op->nother != 0)) + op->nthere;
}

int qv_proto_update(struct qv_proto *p, struct qv_peer *to, const struct qv_remote_op *op,
		    struct qv_xfer *xfer)
{
	struct qv_call *call;
	struct qv_tx *tx;
	size_t len, n;
	int rc;

	if (op->kind != QV_REMOTE_UPDATE || !qv_remote_is_sound(op, &len))
		return QV_EINVAL;
	rc = qv_peer_may_try(to);
	if (rc)
		return rc;
	n = parts(to, op, len);
	if (n > ASKED_MAX)
		return QV_EMSGSIZE;
	if (to->asked_of + n > ASKED_MAX || p->waiting >= p->queue_max)
		return QV_EAGAIN;
	call = call_new(to, op, xfer);
	if (!call)
		return QV_ENOMEM;
	if (!requests(call, op, len, &tx)) {
		give_back(tx);
		call_free(call);
		return QV_ENOMEM;
	}
	while (tx) {
		struct qv_tx *next = tx->next;

		call->flying++;
		to->asked_of++;
		qv_tx_start(tx);
		tx = next;
	}
	return QV_OK;
}

void qv_peer_on_answer(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_call *call = qv_handle_get(&peer->p->call_handles, pkt->hdr.arg);
	struct qv_part part;
	uint64_t status;

	if (!call || call->peer != peer) {
		qv_refuse(peer->p, "answer to a request that does not exist");
		return;
	}
	memcpy(&status, pkt->body, sizeof status);
	part = qv_part_at(call->there, call->nthere, call->got, call->most);
	if (!status && !qv_part_put(&part, call->before, call->nbefore, pkt->body + sizeof status,
				    pkt->len - sizeof status))
		status = (uint64_t)-QV_EPROTO;
	if (status && !call->status)
		call->status = status < 64 ? -(int)status : QV_EPROTO;
	call->got += part.span.len;
	call->flying--;
	peer->asked_of--;
	if (!call->flying)
		call_end(call);
}

void qv_calls_fail(struct qv_peer *peer)
{
	struct qv_handles *handles = &peer->p->call_handles;

	for (uint32_t i = 0; i < handles->count && handles->used; i++) {
		struct qv_call *call = handles->slots[i].object;

		if (!call || call->peer != peer)
			continue;
		call->status = QV_EPEER;
		call_end(call);
	}
}

/* Answering. */

void qv_proto_open_memory(struct qv_proto *p, const struct qv_memory_ops *ops)
{
	p->memory = ops;
}

/* What a request is about has room in an answer, too. */
static int check(const struct qv_peer *peer, struct qv_asked *a)
{
	struct qv_proto *p = peer->p;

	if (a->ask.kind != QV_REMOTE_UPDATE || !qv_asked_is_sound(a, part_max(peer, 1)))
		return QV_EPROTO;
	return p->closing ? QV_EPEER : qv_asked_find(a, p->memory, p->owner);
}

/* There is memory for the answer, or nothing is done yet. */
int qv_peer_on_ask(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_proto *p = peer->p;
	struct qv_asked a = {.payload = pkt->body + sizeof a.ask, .len = pkt->len - sizeof a.ask};
	uint64_t status;
	struct qv_tx *tx;
	char *body;
	int rc;

	memcpy(&a.ask, pkt->body, sizeof a.ask);
	if (peer->answers >= ASKED_MAX) {
		qv_refuse(p, "a request by who does not read its answers");
		return QV_OK;
	}
	rc = check(peer, &a);
	status = (uint64_t)(uint32_t)-rc;
	tx = qv_tx_new_control(peer, QV_PKT_ANSWER, pkt->hdr.arg,
			       sizeof status + (rc ? 0 : qv_asked_answer_len(&a)), &body);
	if (!tx)
		return peer->failed || peer->failing ? QV_OK : QV_ENOMEM;
	memcpy(body, &status, sizeof status);
	if (rc == QV_EPROTO)
		qv_refuse(p, "a request that makes no sense");
	if (!rc) {
		qv_asked_do(&a, p->memory, p->owner, body + sizeof status);
		qv_asked_tell(&a, p->memory, p->owner, peer->user, 0);
	}
	tx->answer = true;
	qv_tx_start(tx);
	return QV_OK;
}
