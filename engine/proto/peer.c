/* SPDX-License-Identifier: BSD-2-Clause */
/* peer.c - other endpoints: the table of them, by number and by the name that they tell. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

/* The source of a peer, for life, since what waits in the engines goes by it. A user that another
 * peer had before is not free: messages of that one may still be here. */
static uint32_t choose_source(struct qv_proto *p, const struct qv_peer *peer)
{
	uint8_t bit = (uint8_t)(1u << peer->user % 8);

	if (peer->user >= p->named_sources || p->sources[peer->user / 8] & bit)
		return p->named_sources + p->next_src++;
	p->sources[peer->user / 8] |= bit;
	return (uint32_t)peer->user;
}

/* The least payload that the fast path does not take. A message with a header is put together on
 * the stack, and must be short. A headerless one goes from where it is. */
static size_t fast_end(const struct qv_xport *x)
{
	size_t header = sizeof(struct qv_wire_hdr) + sizeof(uint64_t); /* with completion data */

	if (x->inject_max < header)
		return 0;
	if (x->ops->inject_tagged && x->inject_max >= QV_PROTO_SHORT + header)
		return x->inject_max + 1;
	return x->inject_max - header < QV_PROTO_SHORT ? x->inject_max - header + 1
						       : QV_PROTO_SHORT + 1;
}

/* A place in the table of peers: one that is free, or a new one. UINT32_MAX: no memory. */
static uint32_t free_index(struct qv_proto *p)
{
	uint32_t cap = p->peers_cap ? p->peers_cap * 2 : 16;
	struct qv_peer **peers;

	if (p->npeers_free)
		for (uint32_t i = 0; i < p->npeers; i++)
			if (!p->peers[i]) {
				p->npeers_free--;
				return i;
			}
	if (p->npeers == p->peers_cap) {
		peers = cap > QV_ID_INDEX ? NULL : realloc(p->peers, cap * sizeof *peers);
		if (!peers)
			return UINT32_MAX;
		p->peers = peers;
		p->peers_cap = cap;
	}
	return p->npeers++;
}

/* The sender is told of room before it runs out of it. That acknowledges what has come, too: nothing
 * else does so for messages of the fast path, so it comes well before their sender's window is full. */
static size_t tell_at(const struct qv_proto *p, const struct qv_xport *x)
{
	size_t most = x->drops ? QV_UNACKED_MAX : QV_SEQ_WINDOW / 2 * QV_WIRE_MESSAGE_COST;

	return p->budget / 4 < most ? p->budget / 4 : most;
}

bool qv_proto_refuses_unnamed(const struct qv_proto *p)
{
	return p->nunnamed >= QV_UNNAMED_MAX;
}

/* A full table is no want of memory, which may come: nobody waits for a place in it. */
static bool is_full(const struct qv_proto *p)
{
	return p->npeers == p->peers_cap && p->peers_cap * 2 > QV_ID_INDEX;
}

struct qv_peer *qv_proto_peer_new(struct qv_proto *p, struct qv_xport *x, uint64_t addr,
				  uint64_t user)
{
	struct qv_peer *peer;

	if (user == QV_USER_UNKNOWN && qv_proto_refuses_unnamed(p))
		return NULL;
	peer = calloc(1, sizeof *peer);
	if (peer)
		peer->index = free_index(p);
	if (!peer || peer->index == UINT32_MAX) {
		p->no_peer = !peer || !is_full(p);
		free(peer);
		return NULL;
	}
	p->nunnamed += user == QV_USER_UNKNOWN;
	peer->p = p;
	peer->x = peer->over = x;
	peer->fast_end = fast_end(x);
	peer->eager_max = x->eager_max < QV_EAGER_LIMIT ? x->eager_max : QV_EAGER_LIMIT;
	peer->addr = peer->from = addr;
	peer->user = peer->first_user = user;
	peer->src = choose_source(p, peer);
	peer->told_id = QV_SRC_UNKNOWN;
	peer->allowed = p->budget;
	peer->tell_at = tell_at(p, x);
	qv_peer_begin_session(peer);
	p->peers[peer->index] = peer;
	return peer;
}

void qv_proto_no_memory(struct qv_proto *p)
{
	p->no_peer = true;
}

void qv_proto_peer_drop(struct qv_peer *peer)
{
	peer->dropped = true;
	/* Its silence counts from now on: what it has sent may wait here. */
	peer->alive.heard_at = 0;
}

void qv_proto_peer_set_user(struct qv_peer *peer, uint64_t user)
{
	peer->p->nunnamed += user == QV_USER_UNKNOWN;
	peer->p->nunnamed -= peer->user == QV_USER_UNKNOWN;
	peer->user = user;
	/* Who left may be gone by now, and its last word, RESET, still be under way: what is sent from
	 * now on is for who has the name now. */
	if (peer->dropped && peer->leaving && user != QV_USER_UNKNOWN)
		qv_peer_end_session(peer, "it has closed");
	peer->dropped = false;
	if (peer->first_user == QV_USER_UNKNOWN)
		peer->first_user = user;
}

/* So that it is known by what tells that it has died. */
static void introduce(struct qv_peer *peer)
{
	if (!peer->hello_sent && !peer->failed)
		(void)qv_peer_send_hello(peer); /* no memory: with the next message */
}

int qv_proto_peer_want(struct qv_peer *peer)
{
	const int rc = qv_peer_may_try(peer);

	if (rc)
		return rc;
	introduce(peer);
	peer->wanted = true;
	return QV_OK;
}

void qv_proto_peer_hold(struct qv_peer *peer)
{
	peer->held++;
}

void qv_proto_peer_release(struct qv_peer *peer)
{
	peer->held--;
}

bool qv_proto_peer_keeps(struct qv_peer *peer)
{
	if (!peer->failed) {
		introduce(peer); /* of each session */
		return false;
	}
	qv_peer_look_for_failed(peer);
	return qv_peer_loses_transfers(peer);
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

uint32_t qv_proto_peer_source(const struct qv_peer *peer)
{
	return peer->src;
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

	while (next < p->npeers && !p->peers[next])
		next++;
	return next < p->npeers ? p->peers[next] : NULL;
}

/* Uid table: chains, as many buckets as a power of two above the peers that said HELLO. */

struct qv_peer *qv_peer_by_uid(struct qv_proto *p, uint64_t uid)
{
	struct qv_peer *peer = p->uids[uid & p->uid_mask];

	while (peer && peer->uid != uid)
		peer = peer->next_uid;
	return peer;
}

/* Bits of the session are above those that choose the chain. */
struct qv_peer *qv_peer_by_token(struct qv_proto *p, uint64_t token)
{
	struct qv_peer *peer = p->uids[token & p->uid_mask];

	while (peer && qv_wire_token(peer->uid, peer->theirs) != token)
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

void qv_peer_set_uid(struct qv_peer *peer, uint64_t uid)
{
	if (peer->uid)
		uid_remove(peer);
	uid_insert(peer, uid);
}

void qv_proto_peer_free(struct qv_peer *peer)
{
	struct qv_proto *p = peer->p;

	peer->freed = true;
	if (peer->connected && !peer->failed) /* if it lives, it is to know */
		qv_peer_send_reset(peer, peer->theirs);
	if (peer->uid)
		uid_remove(peer);
	qv_peer_fed(peer);
	p->nunnamed -= peer->user == QV_USER_UNKNOWN;
	if (p->suspect == peer)
		p->suspect = NULL;
	if (peer->listed)
		qv_peer_unlist(peer);
	qv_window_clear(peer);
	p->peers[peer->index] = NULL;
	p->npeers_free++;
	while (p->npeers && !p->peers[p->npeers - 1]) {
		p->npeers--;
		p->npeers_free--;
	}
	free(peer->name);
	free(peer);
}
