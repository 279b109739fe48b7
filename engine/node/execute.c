/* SPDX-License-Identifier: BSD-2-Clause */
/* execute.c - what others ask of our memory: done in the order in which it comes. */
#include "internal.h"
#include "engine/base/iov.h"

/* What is asked, checked. */
struct asked {
	struct qv_asked it;
	/* A put that we are to read: where. */
	struct iovec from[QV_SPANS];
	size_t nfrom;
};

/* Places in another process; false: not len bytes in all. */
static bool take_places(struct asked *a)
{
	struct qv_node_place place;
	uint64_t len = 0;

	if (!a->it.len || a->it.len % sizeof place || a->it.len > QV_SPANS * sizeof place)
		return false;
	for (size_t i = 0; i < a->it.len / sizeof place; i++) {
		memcpy(&place, a->it.payload + i * sizeof place, sizeof place);
		if (place.len > a->it.ask.len)
			return false;
		len += place.len;
		a->from[a->nfrom++] =
			(struct iovec){(void *)(uintptr_t)place.addr, (size_t)place.len};
	}
	return len == a->it.ask.len;
}

static bool is_direct(const struct asked *a)
{
	return a->it.ask.flags & QV_ASK_DIRECT;
}

static bool is_sound(struct asked *a)
{
	const struct qv_ask *ask = &a->it.ask;

	if (ask->kind == QV_REMOTE_OVER)
		return !a->it.len && !ask->len && !(ask->flags & QV_ASK_TOTAL);
	if (!is_direct(a))
		return qv_asked_is_sound(&a->it, QV_NODE_PART);
	if (ask->len > QV_NODE_DIRECT || !qv_asked_take_total(&a->it))
		return false;
	return ask->kind == QV_REMOTE_GET ? !a->it.len
					  : ask->kind == QV_REMOTE_PUT && take_places(a);
}

static int find(struct qv_node *n, struct asked *a)
{
	if (!is_sound(a))
		return QV_EPROTO;
	if (a->it.ask.kind == QV_REMOTE_OVER)
		return n->onesided.memory ? QV_OK : QV_EINVAL;
	return qv_asked_find(&a->it, n->onesided.memory, n->owner);
}

static size_t answer_len(const struct asked *a)
{
	return a->it.ask.kind == QV_REMOTE_GET && is_direct(a)
		       ? a->it.niov * sizeof(struct qv_node_place)
		       : qv_asked_answer_len(&a->it);
}

static void tell_places(const struct qv_asked *a, char *to)
{
	for (size_t i = 0; i < a->niov; i++) {
		const struct qv_node_place place = {(uintptr_t)a->iov[i].iov_base,
						    a->iov[i].iov_len};

		memcpy(to + i * sizeof place, &place, sizeof place);
	}
}

static int execute(struct qv_node *n, struct qv_node_peer *peer, const struct asked *a, char *out)
{
	if (a->nfrom)
		return qv_node_read_from(n, peer, a->it.iov, a->it.niov, a->from, a->nfrom);
	if (!is_direct(a))
		qv_asked_do(&a->it, n->onesided.memory, n->owner, out);
	else if (out)
		tell_places(&a->it, out);
	return QV_OK;
}

/* The owner is told of what has been done. It has not been read yet, if that says where it is; who
 * has read it says so. True: it is to. */
static bool tell(struct qv_node *n, struct qv_node_peer *peer, const struct asked *a, uint64_t data)
{
	const struct qv_memory_ops *memory = n->onesided.memory;

	if (a->it.ask.kind == QV_REMOTE_GET && is_direct(a))
		return a->it.ask.flags & QV_ASK_LAST && memory->counts_reads(n->owner);
	qv_asked_tell(&a->it, memory, n->owner, peer->addr, data);
	return false;
}

int qv_node_execute(struct qv_node *n, struct qv_node_peer *peer, uint64_t tag, uint64_t data,
		    const char *body, size_t len)
{
	struct asked a = {.it = {.payload = body + sizeof a.it.ask, .len = len - sizeof a.it.ask}};
	struct qv_node_answer_room room = {.body = NULL};
	bool over = false;
	int status, rc;

	if (len < sizeof a.it.ask) {
		n->stats.refused++;
		return QV_OK;
	}
	memcpy(&a.it.ask, body, sizeof a.it.ask);
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

void qv_node_open_memory(struct qv_node *n, const struct qv_memory_ops *ops)
{
	n->onesided.memory = ops;
}
