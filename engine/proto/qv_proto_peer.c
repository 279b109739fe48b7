/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_proto_peer.c - other endpoints and how they get acquainted (HELLO).
 *
 * Each side tells the other, in its HELLO, the id that the other puts into its packets. Packets
 * sent before the peer's HELLO has come carry the sender's uid instead; our own HELLO travels ahead
 * of them.
 */
#include "proto/qv_proto_i.h"

#include <stdlib.h>
#include <string.h>

/* Eager bytes that may be sent to a stranger. */
#define FIRST_BUDGET 65536u

/* For life: what waits in the engines goes by it. A name that was given to another peer before, and
 * taken away again, is not free: messages of that one may still be here. */
static uint32_t choose_source(struct qv_proto *p, const struct qv_peer *peer)
{
	uint8_t bit = (uint8_t)(1u << peer->user % 8);

	if (peer->user >= p->named_sources)
		return p->named_sources + peer->index;
	if (p->sources[peer->user / 8] & bit)
		return p->named_sources + peer->index;
	p->sources[peer->user / 8] |= bit;
	return (uint32_t)peer->user;
}

/* Behind its header, payload is put together with it on the stack; without one it goes as it is. */
static size_t fast_end(const struct qv_xport *x)
{
	size_t header = sizeof(struct qv_wire_hdr) + sizeof(uint64_t); /* with completion data */

	if (x->inject_max < header)
		return 0;
	if (x->ops->inject_tagged && x->inject_max >= QV_PROTO_INJECT + header)
		return x->inject_max + 1;
	return x->inject_max - header < QV_PROTO_INJECT ? x->inject_max - header + 1
							: QV_PROTO_INJECT + 1;
}

struct qv_peer *qv_proto_peer_new(struct qv_proto *p, struct qv_xport *x, uint64_t addr,
				  uint64_t user)
{
	struct qv_peer *peer;

	if (p->npeers == p->peers_cap) {
		uint32_t cap = p->peers_cap ? p->peers_cap * 2 : 16;
		struct qv_peer **peers;

		if (cap > QV_ID_INDEX)
			return NULL;
		peers = realloc(p->peers, cap * sizeof *peers);
		if (!peers) {
			p->no_peer = true;
			return NULL;
		}
		p->peers = peers;
		p->peers_cap = cap;
	}
	peer = calloc(1, sizeof *peer);
	if (!peer) {
		p->no_peer = true;
		return NULL;
	}
	peer->p = p;
	peer->x = x;
	peer->fast_end = fast_end(x);
	peer->eager_max = x->eager_max < QV_EAGER_LIMIT ? x->eager_max : QV_EAGER_LIMIT;
	peer->addr = addr;
	peer->user = peer->first_user = user;
	peer->index = p->npeers;
	peer->src = choose_source(p, peer);
	peer->id = peer->index | (uint32_t)(qv_proc_random() << 24 & 0xfe000000u);
	peer->told_id = peer->remote_id = QV_SRC_UNKNOWN;
	/* What it can take is not known before its HELLO: what every endpoint can. */
	peer->budget = p->budget < FIRST_BUDGET ? p->budget : FIRST_BUDGET;
	peer->packet_max = QV_WIRE_MIN_PACKET;
	p->peers[p->npeers++] = peer;
	return peer;
}

void qv_proto_peer_set_user(struct qv_peer *peer, uint64_t user)
{
	peer->user = user;
	if (peer->first_user == QV_USER_UNKNOWN)
		peer->first_user = user;
}

uint64_t qv_proto_peer_user(const struct qv_peer *peer)
{
	return peer->user;
}

uint64_t qv_proto_peer_addr(const struct qv_peer *peer)
{
	return peer->addr;
}

uint64_t qv_proto_peer_first_user(const struct qv_peer *peer)
{
	return peer->first_user;
}

uint64_t qv_proto_peer_received(const struct qv_peer *peer)
{
	return peer->received;
}

struct qv_xport *qv_proto_peer_xport(const struct qv_peer *peer)
{
	return peer->x;
}

int qv_proto_peer_set_name(struct qv_peer *peer, const void *name, size_t len)
{
	char *copy = malloc(len ? len : 1);

	if (!copy)
		return QV_ENOMEM;
	memcpy(copy, name, len);
	free(peer->name);
	peer->name = copy;
	peer->namelen = len;
	return QV_OK;
}

bool qv_proto_peer_has_name(const struct qv_peer *peer, const void *name, size_t len)
{
	return peer->name && peer->namelen == len && !memcmp(peer->name, name, len);
}

struct qv_peer *qv_proto_next_peer(struct qv_proto *p, const struct qv_peer *prev)
{
	uint32_t next = prev ? prev->index + 1 : 0;

	return next < p->npeers ? p->peers[next] : NULL;
}

/* ---- uid table: chains, as many buckets as a power of two above the peers that said HELLO ------
 */

struct qv_peer *qv_peer_by_uid(struct qv_proto *p, uint64_t uid)
{
	struct qv_peer *peer = p->uids[uid & p->uid_mask];

	while (peer && peer->uid != uid)
		peer = peer->next_uid;
	return peer;
}

static void uid_remove(struct qv_peer *peer)
{
	struct qv_peer **at = &peer->p->uids[peer->uid & peer->p->uid_mask];

	while (*at && *at != peer)
		at = &(*at)->next_uid;
	if (*at)
		*at = peer->next_uid;
}

static void uid_insert(struct qv_peer *peer, uint64_t uid)
{
	struct qv_proto *p = peer->p;

	if (p->npeers > p->uid_mask) { /* double; if there is no memory, chains just get longer */
		uint32_t mask = p->uid_mask * 2 + 1;
		struct qv_peer **uids = calloc(mask + 1ul, sizeof *uids);

		for (uint32_t i = 0; uids && i <= p->uid_mask; i++)
			for (struct qv_peer *q = p->uids[i], *next; q; q = next) {
				next = q->next_uid;
				q->next_uid = uids[q->uid & mask];
				uids[q->uid & mask] = q;
			}
		if (uids) {
			free(p->uids);
			p->uids = uids;
			p->uid_mask = mask;
		}
	}
	peer->uid = uid;
	peer->next_uid = p->uids[uid & p->uid_mask];
	p->uids[uid & p->uid_mask] = peer;
}

/* ---- HELLO ----------------------------------------------------------------------------------- */

size_t qv_peer_write_hello(const struct qv_peer *peer, char *body)
{
	const struct qv_proto *p = peer->p;
	struct qv_wire_hello hello = {
		.uid = p->uid,
		.host = p->self.host,
		.start = p->self.start,
		.pid = p->self.pid,
		.budget = p->budget,
		.id = peer->id,
		.packet_max = (uint32_t)peer->x->packet_max,
		.namelen = (uint32_t)p->namelen,
	};

	memcpy(body, &hello, sizeof hello);
	if (p->namelen)
		memcpy(body + sizeof hello, p->name, p->namelen);
	return sizeof hello + p->namelen;
}

int qv_peer_say_hello(struct qv_peer *peer)
{
	char body[QV_WIRE_MAX_BODY];

	if (qv_tx_control(peer, QV_PKT_HELLO, 0, body, qv_peer_write_hello(peer, body)))
		return QV_ENOMEM;
	peer->hello_sent = true;
	if (!peer->greeting)
		peer->remote_id = peer->told_id;
	return QV_OK;
}

/* After a loss: as if we had never met. A process that we have met knows the id that it has from
 * us; another one gets another id, so that packets of the first are found out. */
static void revive(struct qv_peer *peer, bool another)
{
	peer->failed = false;
	peer->look_at = peer->absent_since = 0;
	peer->hello_sent = peer->leaving = peer->greeting = peer->asking = false;
	peer->life++;
	peer->eager_out = 0;
	if (another)
		peer->id = (peer->id & QV_ID_INDEX) | ((peer->id + 0x02000000u) & 0xfe000000u);
}

void qv_peer_revive(struct qv_peer *peer)
{
	revive(peer, false);
}

/* Who says it: QV_OK with *peer NULL: nobody that we may know. */
static int hello_from(struct qv_proto *p, struct qv_xport *x, const struct qv_wire_hello *hello,
		      const char *name, uint64_t from, struct qv_peer **peer)
{
	const struct qv_peer *known = qv_peer_by_uid(p, hello->uid);

	*peer = NULL;
	if (hello->uid == 0 || hello->id == QV_SRC_UNKNOWN) {
		qv_refuse(p, "HELLO without a name");
		return QV_OK;
	}
	if (hello->uid == p->uid &&
	    (hello->namelen != p->namelen || memcmp(name, p->name, p->namelen))) {
		qv_refuse(p, "HELLO of another endpoint with our own name");
		return QV_OK;
	}
	p->no_peer = false;
	*peer = p->ops->identify(p->owner, x, from, name, hello->namelen);
	if (!*peer && p->no_peer)
		return QV_ENOMEM;
	if (!*peer || (known && known != *peer)) {
		qv_refuse(p, "HELLO from an address that cannot be used");
		*peer = NULL;
	}
	return QV_OK;
}

int qv_peer_on_hello(struct qv_proto *p, struct qv_xport *x, const struct qv_wire_pkt *pkt,
		     uint64_t from)
{
	struct qv_wire_hello hello;
	struct qv_peer *peer;
	bool again;
	int rc;

	memcpy(&hello, pkt->body, sizeof hello);
	rc = hello_from(p, x, &hello, pkt->body + sizeof hello, from, &peer);
	if (rc || !peer)
		return rc;
	again = peer->uid == hello.uid;
	if (again) /* it took us for lost and has given up what it had sent */
		qv_peer_forget(peer);
	else if (peer->uid)
		qv_peer_fail(peer, "its address was taken over");
	if (peer->doom)
		qv_peer_fail(peer, peer->doom);
	if (peer->failed)
		revive(peer, peer->uid && !again);
	if (!again) {
		if (peer->uid)
			uid_remove(peer);
		uid_insert(peer, hello.uid);
	}
	peer->told_id = hello.id;
	peer->budget = hello.budget;
	/* What it receives over our way to it: over a transport, all sides receive the same. */
	peer->packet_max =
		hello.packet_max < peer->x->packet_max ? hello.packet_max : peer->x->packet_max;
	peer->crossed = x != peer->x;
	peer->proc = (struct qv_proc){hello.host, hello.start, hello.pid};
	if (peer->greeting)
		; /* once that has gone */
	else if (peer->hello_sent)
		peer->remote_id = hello.id;
	else
		(void)qv_peer_say_hello(peer); /* else before the first packet to it */
	return QV_OK;
}
