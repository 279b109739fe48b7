/* SPDX-License-Identifier: BSD-2-Clause */
/* execute.c - what others ask of our memory: done in the order in which it comes. */
#include "internal.h"
#include "engine/base/iov.h"

/* What is asked, checked. */
struct asked {
	struct qv_node_ask ask;
	const char *payload;
	size_t len;      /* of the payload */
	size_t operands; /* of an update */
	uint64_t total;  /* bytes of the operation, if this is its last request */
	/* A put that we are to read: where. */
	struct iovec from[QV_NODE_SPANS];
	size_t nfrom;
	/* Our memory. */
	struct iovec iov[QV_NODE_SPANS];
	size_t niov;
};

/* Places in another process; false: not len bytes in all. */
static bool take_places(struct asked *a)
{
	struct qv_node_place place;
	uint64_t len = 0;

	if (!a->len || a->len % sizeof place || a->len > QV_NODE_SPANS * sizeof place)
		return false;
	for (size_t i = 0; i < a->len / sizeof place; i++) {
		memcpy(&place, a->payload + i * sizeof place, sizeof place);
		if (place.len > a->ask.len)
			return false;
		len += place.len;
		a->from[a->nfrom++] =
			(struct iovec){(void *)(uintptr_t)place.addr, (size_t)place.len};
	}
	return len == a->ask.len;
}

/* A put in several requests; false: none that can be. */
static bool take_total(struct asked *a)
{
	if (a->ask.kind != QV_NODE_PUT || a->len < sizeof a->total)
		return false;
	a->len -= sizeof a->total;
	memcpy(&a->total, a->payload + a->len, sizeof a->total);
	return a->total >= a->ask.len && a->total <= SIZE_MAX;
}

static bool is_sound(struct asked *a)
{
	const struct qv_node_ask *ask = &a->ask;
	const bool direct = ask->flags & QV_ASK_DIRECT;

	a->total = ask->len;
	if (ask->flags & QV_ASK_TOTAL && !take_total(a))
		return false;
	if (ask->len > (direct ? QV_NODE_DIRECT : QV_NODE_PART))
		return false;
	switch (ask->kind) {
	case QV_NODE_GET: return !a->len;
	case QV_NODE_PUT: return direct ? take_places(a) : a->len == ask->len;
	case QV_NODE_UPDATE:
		a->operands = ask->len ? a->len / ask->len : 0;
		return ask->len && !direct && a->len == a->operands * ask->len &&
		       (a->operands || ask->flags & QV_ASK_BEFORE);
	case QV_NODE_OVER: return !a->len && !ask->len;
	default: return false;
	}
}

static unsigned access_of(const struct asked *a)
{
	switch (a->ask.kind) {
	case QV_NODE_PUT: return QV_NODE_WRITE;
	case QV_NODE_UPDATE:
		return (a->ask.flags & QV_ASK_BEFORE ? QV_NODE_READ : 0) |
		       (a->operands ? QV_NODE_WRITE : 0);
	default: return QV_NODE_READ;
	}
}

static int find(struct qv_node *n, struct asked *a)
{
	const struct qv_node_memory_ops *memory = n->onesided.memory;
	const struct qv_node_span span = {a->ask.addr, a->ask.key, a->ask.len};

	if (!is_sound(a))
		return QV_EPROTO;
	if (!memory)
		return QV_EINVAL;
	if (a->ask.kind == QV_NODE_OVER)
		return QV_OK;
	if (a->ask.kind == QV_NODE_UPDATE &&
	    !memory->can_update(n->owner, a->ask.what, a->ask.len, a->operands,
				a->ask.flags & QV_ASK_BEFORE))
		return QV_EINVAL;
	return memory->find(n->owner, &span, access_of(a), a->iov, &a->niov);
}

static size_t answer_len(const struct asked *a)
{
	if (a->ask.kind == QV_NODE_GET)
		return a->ask.flags & QV_ASK_DIRECT ? a->niov * sizeof(struct qv_node_place)
						    : a->ask.len;
	return a->ask.kind == QV_NODE_UPDATE && a->ask.flags & QV_ASK_BEFORE ? a->ask.len : 0;
}

static void tell_places(const struct asked *a, char *to)
{
	for (size_t i = 0; i < a->niov; i++) {
		const struct qv_node_place place = {(uintptr_t)a->iov[i].iov_base,
						    a->iov[i].iov_len};

		memcpy(to + i * sizeof place, &place, sizeof place);
	}
}

static int execute(struct qv_node *n, struct qv_node_peer *peer, const struct asked *a, char *out)
{
	switch (a->ask.kind) {
	case QV_NODE_GET:
		if (!out)
			return QV_OK;
		if (a->ask.flags & QV_ASK_DIRECT)
			tell_places(a, out);
		else
			qv_iov_get(a->iov, a->niov, out);
		return QV_OK;
	case QV_NODE_PUT:
		if (a->nfrom)
			return qv_node_read_from(n, peer, a->iov, a->niov, a->from, a->nfrom);
		qv_iov_put(a->iov, a->niov, 0, a->payload, a->len);
		return QV_OK;
	case QV_NODE_UPDATE:
		n->onesided.memory->update(n->owner, a->ask.what, a->iov, a->niov, a->payload,
					   a->ask.len, a->ask.flags & QV_ASK_BEFORE ? out : NULL);
		return QV_OK;
	default: return QV_OK;
	}
}

/* The owner is told of an operation by its last request. It has not been read yet, if that says
 * where it is; who has read it says so. True: it is to. */
static bool tell(struct qv_node *n, struct qv_node_peer *peer, const struct asked *a, uint64_t data)
{
	const struct qv_node_memory_ops *memory = n->onesided.memory;
	const unsigned access = access_of(a);
	const struct qv_node_touch touch = {
		.from = peer->addr,
		.access = access & QV_NODE_READ ? QV_NODE_READ : QV_NODE_WRITE,
		.len = a->total,
		.data = a->ask.kind == QV_NODE_PUT && a->ask.flags & QV_ASK_DATA ? &data : NULL,
	};

	if (a->ask.flags & QV_ASK_KEY && access & QV_NODE_WRITE)
		memory->written(n->owner, a->ask.key);
	if (!(a->ask.flags & QV_ASK_LAST))
		return false;
	if (a->ask.kind == QV_NODE_GET && a->ask.flags & QV_ASK_DIRECT)
		return memory->counts_reads(n->owner);
	memory->touched(n->owner, &touch);
	return false;
}

int qv_node_execute(struct qv_node *n, struct qv_node_peer *peer, uint64_t tag, uint64_t data,
		    const char *body, size_t len)
{
	struct asked a = {.payload = body + sizeof a.ask, .len = len - sizeof a.ask};
	struct qv_node_answer_room room = {.body = NULL};
	bool over = false;
	int status, rc;

	if (len < sizeof a.ask) {
		n->stats.refused++;
		return QV_OK;
	}
	memcpy(&a.ask, body, sizeof a.ask);
	status = find(n, &a);
	rc = tag ? qv_node_get_room(n, peer, status ? 0 : answer_len(&a), &room) : QV_OK;
	if (rc == QV_ENOMEM)
		return rc;
	n->stats.refused += status == QV_EPROTO || rc;
	if (rc)
		return QV_OK; /* it does not read its answers */
	if (!status)
		status = execute(n, peer, &a, room.body);
	if (!status)
		over = tell(n, peer, &a, data);
	if (tag)
		qv_node_answer(n, peer, &room, QV_SLOT_REPLY, tag,
			       (uint64_t)-status | (over ? QV_ANSWER_TELL : 0));
	return QV_OK;
}

void qv_node_open_memory(struct qv_node *n, const struct qv_node_memory_ops *ops)
{
	n->onesided.memory = ops;
}
