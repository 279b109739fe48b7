/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c - operations on the memory of others that are under way, and their answers, which come in
 * the order of the requests. */
#include "internal.h"
#include "engine/base/clock.h"
#include "engine/base/iov.h"

#include <stdlib.h>

#define LOOK_NS 100000000u /* those who are to answer are looked for so often */

uint64_t qv_node_call_id(const struct qv_node_call *call)
{
	return (uint64_t)call->turn << 32 | call->number;
}

static struct qv_node_call *find(const struct qv_node *n, uint64_t id)
{
	const uint32_t number = (uint32_t)id;
	struct qv_node_call *call = number < n->onesided.ncalls ? n->onesided.calls[number] : NULL;

	return call && call->xfer && qv_node_call_id(call) == id ? call : NULL;
}

static struct qv_node_call *new_call(struct qv_node_onesided *o)
{
	const uint32_t cap = o->cap ? 2 * o->cap : 16;
	struct qv_node_call *call, **calls;

	if (o->ncalls == o->cap) {
		calls = realloc(o->calls, cap * sizeof(struct qv_node_call *));
		if (!calls)
			return NULL;
		o->calls = calls;
		o->cap = cap;
	}
	call = calloc(1, sizeof *call);
	if (!call)
		return NULL;
	call->number = o->ncalls;
	o->calls[o->ncalls++] = call;
	return call;
}

struct qv_node_call *qv_node_call_new(struct qv_node_onesided *o)
{
	struct qv_node_call *call = o->free;

	if (call)
		o->free = call->next;
	else
		call = new_call(o);
	if (!call)
		return NULL;
	call->turn += call->turn == UINT32_MAX ? 2 : 1; /* 0: nobody waits */
	o->active++;
	return call;
}

void qv_node_call_free(struct qv_node_onesided *o, struct qv_node_call *call)
{
	call->xfer = NULL;
	call->next = o->free;
	o->free = call;
	o->active--;
}

void qv_node_call_end(struct qv_node *n, struct qv_node_call *call, int status)
{
	qv_node_finish(n, call->xfer, status);
	qv_node_call_free(&n->onesided, call);
}

/* Answers. */

/* What was granted: it is where the answer says. */
static int read_places(struct qv_node *n, struct qv_node_peer *peer,
		       const struct qv_node_call *call, const struct qv_part *p, const char *body,
		       size_t len)
{
	struct iovec from[QV_SPANS], to[QV_SPANS];
	const size_t nto = qv_iov_slice(call->here, call->nhere, p->at, p->span.len, to);
	struct qv_node_place place;
	size_t nfrom = len / sizeof place;
	uint64_t sum = 0;

	if (len % sizeof place || nfrom > QV_SPANS)
		return QV_EPROTO;
	for (size_t i = 0; i < nfrom; i++) {
		memcpy(&place, body + i * sizeof place, sizeof place);
		if (place.len > p->span.len)
			return QV_EPROTO;
		sum += place.len;
		from[i] = (struct iovec){(void *)(uintptr_t)place.addr, (size_t)place.len};
	}
	return sum == p->span.len ? qv_node_read_from(n, peer, to, nto, from, nfrom) : QV_EPROTO;
}

static int take(struct qv_node *n, struct qv_node_peer *peer, const struct qv_node_call *call,
		const struct qv_part *p, const char *body, size_t len)
{
	const bool get = call->kind == QV_REMOTE_GET;

	if (get && call->direct)
		return read_places(n, peer, call, p, body, len);
	return qv_part_put(p, get ? call->here : call->before, get ? call->nhere : call->nbefore,
			   body, len)
		       ? QV_OK
		       : QV_EPROTO;
}

static int status_of(uint64_t data)
{
	const uint32_t status = data & QV_ANSWER_STATUS;

	return status <= -QV_EMSGSIZE ? -(int)status : QV_EPROTO;
}

/* Not in one go, but in packets, from where it is: nothing else of it is under way. */
static void fall_back(struct qv_node_peer *peer, struct qv_node_call *call, int status)
{
	if (call->kind == QV_REMOTE_PUT && status == QV_ENOSYS)
		peer->answers.cannot_read = true;
	call->direct = false;
	call->sent = call->got;
}

/* The peer has granted us a read and counts it. */
static void say_over(struct qv_node *n, struct qv_node_peer *peer,
		     const struct qv_node_answer_room *room)
{
	const struct qv_ask ask = {.kind = QV_REMOTE_OVER, .flags = QV_ASK_LAST};

	memcpy(room->body, &ask, sizeof ask);
	qv_node_answer(n, peer, room, QV_SLOT_REQUEST, 0, 0);
}

int qv_node_answered(struct qv_node *n, struct qv_node_peer *peer, uint64_t tag, uint64_t data,
		     const char *body, size_t len)
{
	struct qv_node_call *call = find(n, tag);
	struct qv_node_answer_room room;
	struct qv_part p;
	int status = status_of(data);

	if (!call || call->to != peer->addr || !call->flying) {
		n->stats.refused++;
		return QV_OK;
	}
	p = qv_node_part(call, call->got);
	if (!status)
		status = take(n, peer, call, &p, body, len);
	if (!status && data & QV_ANSWER_TELL) {
		int rc = qv_node_get_room(n, peer, sizeof(struct qv_ask), &room);

		if (rc == QV_ENOMEM)
			return rc; /* it is read again */
		if (!rc)
			say_over(n, peer, &room);
	}
	call->flying--;
	peer->answers.asked--;
	if (call->direct && (status == QV_ENOSYS || status == QV_EIO)) {
		fall_back(peer, call, status);
	} else {
		call->got += p.span.len;
		if (!call->status)
			call->status = status;
	}
	qv_node_call_go_on(n, peer, call);
	return QV_OK;
}

/* The end of those who were to answer. */

static void unstick(struct qv_node_onesided *o, struct qv_node_peer *peer,
		    struct qv_node_call *call)
{
	struct qv_node_call **at = &o->stuck;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	if (!call->next)
		o->stuck_tail = at;
	call->stuck = false;
	peer->answers.stuck--;
}

void qv_node_calls_end(struct qv_node *n, struct qv_node_peer *peer)
{
	for (uint32_t i = 0; i < n->onesided.ncalls && n->onesided.active; i++) {
		struct qv_node_call *call = n->onesided.calls[i];

		if (!call->xfer || call->to != peer->addr)
			continue;
		if (call->stuck)
			unstick(&n->onesided, peer, call);
		peer->answers.asked -= call->flying;
		qv_node_call_end(n, call, QV_EPEER);
	}
}

static void look_for_all(struct qv_node *n)
{
	const uint64_t now = qv_clock_of(CLOCK_MONOTONIC_COARSE);

	if (now - n->onesided.looked < LOOK_NS)
		return;
	n->onesided.looked = now;
	for (uint64_t i = 0; i < n->npeers; i++)
		if (n->peers[i] && (n->peers[i]->answers.asked || n->peers[i]->answers.stuck)) {
			qv_node_look_for(n, n->peers[i]);
			qv_node_peer_check(n, n->peers[i]);
		}
}

void qv_node_calls_check(struct qv_node *n)
{
	look_for_all(n);
	for (uint32_t i = 0; i < n->onesided.ncalls && n->onesided.active; i++) {
		const struct qv_node_call *call = n->onesided.calls[i];
		struct qv_node_peer *peer = call->xfer ? n->peers[call->to] : NULL;

		/* What it has answered is still read. */
		if (peer && (peer->broken || (peer->gone && !peer->rx.ring)))
			qv_node_calls_end(n, peer);
	}
}

void qv_node_calls_free(struct qv_node *n)
{
	for (uint32_t i = 0; i < n->onesided.ncalls; i++)
		free(n->onesided.calls[i]);
	free(n->onesided.calls);
}
