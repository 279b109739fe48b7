/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * begin.c - operations on the memory of others begin. Each is cut into requests: of a packet each, or
 * of megabytes where one side can read the memory of the other.
 */
#include "internal.h"
#include "engine/base/iov.h"

/* Longer than this it goes in one go: the kernel takes its time to begin (about 2 us). */
#define DIRECT_ABOVE (3 * QV_NODE_PART)
/* Requests of one operation that wait for answers, if it goes in packets. All of an injected one are under
 * way at once: one for each piece, and one more where two operands are longer than a packet. */
#define WINDOW (QV_SPANS + 1)

struct qv_part qv_node_part(const struct qv_node_call *call, size_t at)
{
	const size_t most = call->direct   ? QV_NODE_DIRECT
			    : call->nother ? QV_NODE_PART / 2
					   : QV_NODE_PART;

	return qv_part_at(call->there, call->nthere, at, most);
}

/* Who is told data is told a length, too. */
static bool has_total(const struct qv_node_call *call, const struct qv_part *p)
{
	return call->has_data && p->at && p->at + p->span.len == call->len;
}

static size_t payload_of(const struct qv_node_call *call, const struct qv_part *p)
{
	struct iovec iov[QV_SPANS];

	if (call->kind == QV_REMOTE_GET)
		return 0;
	if (call->direct)
		return qv_iov_slice(call->here, call->nhere, p->at, p->span.len, iov) *
		       sizeof(struct qv_node_place);
	return p->span.len * ((call->nhere != 0) + (call->nother != 0));
}

static void fill(const struct qv_node_call *call, const struct qv_part *p, char *to)
{
	struct iovec iov[QV_SPANS];
	size_t n;

	if (call->kind == QV_REMOTE_GET)
		return;
	if (!call->direct) {
		qv_part_get(p, call->here, call->nhere, to);
		qv_part_get(p, call->other, call->nother, to + p->span.len);
		return;
	}
	n = qv_iov_slice(call->here, call->nhere, p->at, p->span.len, iov);
	for (size_t i = 0; i < n; i++) {
		const struct qv_node_place place = {(uintptr_t)iov[i].iov_base, iov[i].iov_len};

		memcpy(to + i * sizeof place, &place, sizeof place);
	}
}

/* wanted: an answer. */
static int request(struct qv_node *n, struct qv_node_peer *peer, struct qv_node_call *call,
		   bool wanted)
{
	const struct qv_part p = qv_node_part(call, call->sent);
	const bool last = p.at + p.span.len == call->len;
	const size_t payload = payload_of(call, &p);
	const uint64_t total = call->len;
	const bool tells = has_total(call, &p);
	const struct qv_ask ask = {
		.kind = (uint8_t)call->kind,
		.flags = (last ? QV_ASK_LAST : 0) | (last && call->has_data ? QV_ASK_DATA : 0) |
			 (call->direct ? QV_ASK_DIRECT : 0) | (call->nbefore ? QV_ASK_BEFORE : 0) |
			 (tells ? QV_ASK_TOTAL : 0) |
			 (qv_part_ends_key(&p, call->there, call->len) ? QV_ASK_KEY : 0),
		.what = call->what,
		.len = (uint32_t)p.span.len,
		.addr = p.span.addr,
		.key = p.span.key,
	};
	struct qv_node_room room;
	int rc;

	/* Answers are first: so they are bounded by what both have asked. */
	if (peer->answers.first || (wanted && peer->answers.asked >= QV_NODE_ASKED))
		return QV_EAGAIN;
	rc = qv_node_room(n, peer, sizeof ask + payload + (tells ? sizeof total : 0), &room);
	if (rc)
		return rc;
	memcpy(room.body, &ask, sizeof ask);
	fill(call, &p, room.body + sizeof ask);
	if (tells)
		memcpy(room.body + sizeof ask + payload, &total, sizeof total);
	qv_node_post(n, peer, &room, QV_SLOT_REQUEST, wanted ? qv_node_call_id(call) : 0,
		     call->data);
	call->begun = true;
	call->sent += p.span.len;
	call->flying += wanted;
	peer->answers.asked += wanted;
	return QV_OK;
}

static void stick(struct qv_node_onesided *o, struct qv_node_peer *peer, struct qv_node_call *call)
{
	peer->answers.stuck++;
	if (!o->stuck)
		o->stuck_tail = &o->stuck;
	call->stuck = true;
	call->next = NULL;
	*o->stuck_tail = call;
	o->stuck_tail = &call->next;
}

void qv_node_call_go_on(struct qv_node *n, struct qv_node_peer *peer, struct qv_node_call *call)
{
	const unsigned window = call->direct ? 1 : WINDOW;

	if (call->stuck)
		return;
	while (!call->status && call->sent < call->len && call->flying < window) {
		/* Another may be at its address: it gets nothing of this one's. */
		int rc = peer->gone ? QV_EPEER : request(n, peer, call, true);

		if (rc == QV_EAGAIN || rc == QV_ENOMEM) {
			stick(&n->onesided, peer, call);
			return;
		}
		call->status = rc;
	}
	if (!call->flying && (call->status || call->got == call->len))
		qv_node_call_end(n, call, call->status);
}

void qv_node_calls_go_on(struct qv_node *n)
{
	struct qv_node_call *call = n->onesided.stuck, *next;

	n->onesided.stuck = NULL;
	for (; call; call = next) {
		struct qv_node_peer *peer = n->peers[call->to]; /* it lives as long */

		next = call->next;
		call->stuck = false;
		peer->answers.stuck--;
		qv_node_call_go_on(n, peer, call);
	}
}

/* Beginning. */

#define COPY(list, count) \
	memcpy(call->list, op->list, (call->count = (uint8_t)op->count) * sizeof *op->list)

static void describe(struct qv_node_call *call, const struct qv_remote_op *op, uint64_t to,
		     size_t len)
{
	call->to = to;
	call->data = op->data;
	call->kind = op->kind;
	call->what = op->what;
	call->has_data = op->has_data;
	call->direct = call->stuck = call->begun = false;
	call->status = QV_OK;
	call->flying = 0;
	call->len = len;
	call->sent = call->got = 0;
	COPY(there, nthere);
	if ((call->nhere = (uint8_t)op->nhere))
		COPY(here, nhere);
	if ((call->nother = (uint8_t)op->nother))
		COPY(other, nother);
	if ((call->nbefore = (uint8_t)op->nbefore))
		COPY(before, nbefore);
}

/* Can one side read it from the other in one go? */
static bool is_direct(const struct qv_node *n, const struct qv_node_peer *peer,
		      const struct qv_node_call *call)
{
	if (call->kind == QV_REMOTE_UPDATE || call->len <= DIRECT_ABOVE)
		return false;
	return call->kind == QV_REMOTE_GET ? n->readable && !peer->blind
					   : !peer->answers.cannot_read;
}

/* A call that nobody waits for. */
static int inject(struct qv_node *n, struct qv_node_peer *peer, const struct qv_remote_op *op,
		  size_t len)
{
	struct qv_node_call call = {.xfer = NULL};

	if (op->nthere > 1 || op->kind == QV_REMOTE_GET || len > QV_NODE_PART)
		return QV_EMSGSIZE;
	describe(&call, op, peer->addr, len);
	return request(n, peer, &call, false);
}

/* For all that an injected operation may be cut into. */
static bool has_room(struct qv_node *n, struct qv_node_peer *peer, size_t len)
{
	return !peer->answers.first && peer->answers.asked + WINDOW <= QV_NODE_ASKED &&
	       qv_node_room_for(n, peer, WINDOW, 2 * len);
}

int qv_node_begin(struct qv_node *n, uint64_t to, const struct qv_remote_op *op,
		  struct qv_xfer *xfer)
{
	struct qv_node_peer *peer = qv_node_peer_at(n, to);
	struct qv_node_call *call;
	size_t len;
	int rc;

	if (!peer)
		return QV_ENOMEM;
	if (!qv_remote_is_sound(op, &len))
		return QV_EINVAL;
	if (peer->answers.stuck)
		return QV_EAGAIN; /* it would overtake them */
	if (!xfer)
		return inject(n, peer, op, len);
	if (op->inject && len > QV_NODE_INJECT)
		return QV_EMSGSIZE;
	/* This ends the calls of who was there before. */
	rc = peer->tx.ring ? QV_OK : qv_node_connect(n, peer);
	if (rc)
		return rc;
	if (op->inject && (op->nthere > 1 || op->nother) && !has_room(n, peer, len))
		return QV_EAGAIN; /* all of it must go now */
	call = qv_node_call_new(&n->onesided);
	if (!call)
		return QV_ENOMEM;
	describe(call, op, to, len);
	call->xfer = xfer;
	call->direct = is_direct(n, peer, call);
	rc = request(n, peer, call, true);
	if (rc)
		qv_node_call_free(&n->onesided, call);
	else
		qv_node_call_go_on(n, peer, call);
	return rc;
}
