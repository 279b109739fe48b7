/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.c - buckets that fill, those that wait for the network, those under way.
 *
 * Buckets that fill are found by a table of phase and peer, which grows with those that have been
 * used, and stand in a list by age. One that leaves goes through a queue, so that messages of a
 * pair stay in order where the network is busy.
 */
#include "stream.h"

#include <stdlib.h>

/* Buckets that fill. */

static struct qv_bucket_slot *find(struct qv_bucket_slot *slots, size_t n, uint64_t key)
{
	size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (n - 1);

	while (slots[i].key && slots[i].key != key)
		i = (i + 1) & (n - 1);
	return &slots[i];
}

static int grow_table(struct qv_stream *s)
{
	const size_t n = s->slots_n ? 2 * s->slots_n : 16;
	struct qv_bucket_slot *grown;

	if (2 * s->used < s->slots_n)
		return QV_OK;
	grown = calloc(n, sizeof(*grown));
	if (!grown)
		return QV_ENOMEM;
	for (size_t i = 0; i < s->slots_n; i++)
		if (s->slots[i].key)
			*find(grown, n, s->slots[i].key) = s->slots[i];
	free(s->slots);
	s->slots = grown;
	s->slots_n = n;
	return QV_OK;
}

static uint64_t key_of(const struct qv_stream *s, uint32_t phase, uint32_t peer)
{
	return (uint64_t)phase * s->spec.ranks + peer + 1;
}

struct qv_bucket *qv_stream_filling(const struct qv_stream *s, uint32_t phase, uint32_t peer)
{
	struct qv_bucket *b = s->youngest;

	if (b && b->peer == peer && b->phase == phase)
		return b;
	return s->slots_n ? find(s->slots, s->slots_n, key_of(s, phase, peer))->bucket : NULL;
}

static struct qv_bucket *take_spare(struct qv_stream *s)
{
	struct qv_bucket *b = s->spare;

	if (!b)
		return calloc(1, sizeof(*b));
	s->spare = b->next;
	return b;
}

struct qv_bucket *qv_stream_begin(struct qv_stream *s, uint32_t phase, uint32_t peer, uint64_t now)
{
	struct qv_bucket *b = grow_table(s) ? NULL : take_spare(s);
	struct qv_bucket_slot *slot;

	if (!b)
		return NULL;
	slot = find(s->slots, s->slots_n, key_of(s, phase, peer));
	s->used += !slot->key;
	slot->key = key_of(s, phase, peer);
	slot->bucket = b;
	b->peer = peer;
	b->phase = phase;
	b->items = 0;
	b->urgent = 0;
	b->bytes = sizeof(struct qv_bucket_head);
	b->since = now;
	b->next = NULL;
	b->prev = s->youngest;
	*(s->youngest ? &s->youngest->next : &s->oldest) = b;
	s->youngest = b;
	return b;
}

static void take_out(struct qv_stream *s, struct qv_bucket *b)
{
	find(s->slots, s->slots_n, key_of(s, b->phase, b->peer))->bucket = NULL;
	*(b->prev ? &b->prev->next : &s->oldest) = b->next;
	*(b->next ? &b->next->prev : &s->youngest) = b->prev;
	b->next = NULL;
}

void qv_stream_drop(struct qv_stream *s, struct qv_bucket *b)
{
	take_out(s, b);
	b->next = s->spare;
	s->spare = b;
}

/* Behind the last in the queue that is for this peer, or urgent. */
static struct qv_bucket **before_others(struct qv_stream *s, uint32_t peer)
{
	struct qv_bucket **at = &s->ready;

	for (struct qv_bucket *b = s->ready; b; b = b->next)
		if (b->peer == peer || b->urgent)
			at = &b->next;
	return at;
}

void qv_stream_leave(struct qv_stream *s, struct qv_bucket *b)
{
	struct qv_bucket **at;

	take_out(s, b);
	qv_bucket_close(b);
	at = b->urgent ? before_others(s, b->peer) : s->ready ? &s->ready_end->next : &s->ready;
	b->next = *at;
	*at = b;
	if (!b->next)
		s->ready_end = b;
	s->ready_n++;
}

/* The network. */

static int new_id(struct qv_stream *s, uint32_t *id)
{
	const uint32_t room = s->ids ? 2 * s->ids : 16;
	struct qv_bucket **grown;

	for (uint32_t i = 0; i < s->ids; i++) {
		*id = s->last_id = (s->last_id + 1) % s->ids;
		if (!s->flying[*id])
			return QV_OK;
	}
	*id = s->last_id = s->ids;
	grown = realloc(s->flying, room * sizeof(struct qv_bucket *));
	if (!grown)
		return QV_ENOMEM;
	for (uint32_t i = s->ids; i < room; i++)
		grown[i] = NULL;
	s->flying = grown;
	s->ids = room;
	return QV_OK;
}

static void take_first(struct qv_stream *s)
{
	s->ready = s->ready->next;
	s->ready_n--;
	s->flying_n++;
}

static void put_back(struct qv_stream *s, struct qv_bucket *b)
{
	s->flying[b->id] = NULL;
	b->next = s->ready;
	s->ready = b;
	if (!b->next)
		s->ready_end = b;
	s->ready_n++;
	s->flying_n--;
}

/* The first of the queue; it may be done before this returns. */
static int send_first(struct qv_stream *s)
{
	struct qv_bucket *b = s->ready;
	const size_t bytes = b->bytes;
	int rc;

	if (new_id(s, &b->id))
		return QV_EAGAIN; /* of memory, here: later */
	take_first(s);
	b->next = NULL;
	s->flying[b->id] = b;
	rc = s->calls.send(s->port, b->id, b->peer, b->data, bytes);
	if (rc < 0) {
		put_back(s, b);
		return rc;
	}
	s->stats.messages++;
	s->stats.bytes += bytes;
	return QV_OK;
}

void qv_stream_push(struct qv_stream *s)
{
	int rc = QV_OK;

	if (s->sending) /* a message was done within its own send */
		return;
	s->sending = 1;
	while (s->ready && !rc && !s->failed)
		rc = send_first(s);
	s->sending = 0;
	if (rc < 0 && rc != QV_EAGAIN)
		s->failed = rc;
}

void qv_stream_done(struct qv_stream *s, uint32_t id, int status)
{
	struct qv_bucket *b = id < s->ids ? s->flying[id] : NULL;

	if (!b)
		return;
	s->flying[id] = NULL;
	s->flying_n--;
	b->next = s->spare;
	s->spare = b;
	if (status < 0)
		s->failed = status;
}
