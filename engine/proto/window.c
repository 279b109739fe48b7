/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.c - packets that a peer may not have got yet, in chunks of memory that do not move: the
 * transport may hold a packet while it is acknowledged, or sent again.
 */
#include "internal.h"

#include <stdlib.h>

#define CHUNK_BYTES (32u << 10)
#define CHUNKS_MAX  32u /* of one peer */
#define ALIGN       8u

struct qv_chunk {
	struct qv_chunk *next; /* in the window, or among those that only transfers hold */
	struct qv_chunk **at;  /* of the latter: what leads to it */
	uint32_t begin, end;   /* packets, oldest first */
	uint32_t size;         /* of data */
	unsigned transfers;    /* of packets in it */
	bool dropped;          /* in no window any more */
	char data[] __attribute__((aligned(ALIGN)));
};

static struct qv_kept *kept_at(const struct qv_chunk *chunk, uint32_t at)
{
	return (struct qv_kept *)(uintptr_t)(chunk->data + at);
}

/* One chunk stays at hand: a peer that talks all the time takes and gives one back all the time. */
static void chunk_free(struct qv_proto *p, struct qv_chunk *chunk)
{
	if (!p->spare && chunk->size == CHUNK_BYTES)
		p->spare = chunk;
	else
		free(chunk);
}

static struct qv_chunk *chunk_new(struct qv_proto *p, size_t need)
{
	struct qv_chunk *chunk = p->spare;
	size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;

	if (chunk && size == CHUNK_BYTES)
		p->spare = NULL;
	else
		chunk = malloc(sizeof *chunk + size);
	if (!chunk)
		return NULL;
	*chunk = (struct qv_chunk){.size = (uint32_t)size};
	return chunk;
}

void qv_chunk_hold(struct qv_chunk *chunk)
{
	chunk->transfers++;
}

void qv_chunk_drop(struct qv_proto *p, struct qv_chunk *chunk)
{
	if (--chunk->transfers || !chunk->dropped)
		return;
	*chunk->at = chunk->next;
	if (chunk->next)
		chunk->next->at = chunk->at;
	chunk_free(p, chunk);
}

/* It is in no window any more; the transport still reads from it. */
static void leave_to_transport(struct qv_proto *p, struct qv_chunk *chunk)
{
	chunk->dropped = true;
	chunk->next = p->lent;
	chunk->at = &p->lent;
	if (chunk->next)
		chunk->next->at = &chunk->next;
	p->lent = chunk;
}

/* The window's first chunk has nothing more in it. */
static void unlink_first(struct qv_peer *peer)
{
	struct qv_window *w = &peer->window;
	struct qv_chunk *chunk = w->first;

	w->first = chunk->next;
	if (!w->first)
		w->last = NULL;
	w->chunks--;
	if (chunk->transfers)
		leave_to_transport(peer->p, chunk);
	else
		chunk_free(peer->p, chunk);
}

static size_t entry_size(size_t len)
{
	return (sizeof(struct qv_kept) + len + ALIGN - 1) / ALIGN * ALIGN;
}

static bool add_chunk(struct qv_peer *peer, size_t need)
{
	struct qv_window *w = &peer->window;
	struct qv_chunk *chunk;

	if (w->chunks >= CHUNKS_MAX)
		return false;
	chunk = chunk_new(peer->p, need);
	if (!chunk)
		return false;
	if (w->last)
		w->last->next = chunk;
	else
		w->first = chunk;
	w->last = chunk;
	w->chunks++;
	return true;
}

struct qv_kept *qv_window_room(struct qv_peer *peer, size_t len)
{
	struct qv_window *w = &peer->window;
	size_t need = entry_size(len);
	struct qv_kept *kept;

	if (QV_UNLIKELY(!w->last || w->last->size - w->last->end < need)) {
		qv_peer_acked(peer);
		if ((!w->last || w->last->size - w->last->end < need) && !add_chunk(peer, need))
			return NULL;
	}
	kept = kept_at(w->last, w->last->end);
	kept->tx = NULL;
	kept->n = kept->flying = 0;
	return kept;
}

void qv_window_add(struct qv_peer *peer, struct qv_kept *kept, size_t len)
{
	kept->len = (uint32_t)len;
	kept->size = (uint32_t)entry_size(len);
	peer->window.last->end += kept->size;
	if (kept->tx)
		kept->tx->in_window++;
}

struct qv_chunk *qv_window_chunk(const struct qv_window *w)
{
	return w->last;
}

void qv_window_release(struct qv_peer *peer, uint32_t upto)
{
	struct qv_window *w = &peer->window;

	while (w->first && (int32_t)(upto - w->oldest) >= 0) {
		struct qv_chunk *chunk = w->first;
		struct qv_kept *kept;

		if (chunk->begin == chunk->end) {
			if (chunk == w->last)
				return;
			unlink_first(peer);
			continue;
		}
		kept = kept_at(chunk, chunk->begin);
		chunk->begin += kept->size;
		w->oldest++;
		if (kept->tx)
			kept->tx->in_window--;
	}
	if (w->first && w->first == w->last && w->first->begin == w->first->end &&
	    !w->first->transfers)
		w->first->begin = w->first->end = 0;
}

void qv_window_clear(struct qv_peer *peer)
{
	struct qv_window *w = &peer->window;

	while (w->first) {
		struct qv_chunk *chunk = w->first;

		while (chunk->begin < chunk->end) {
			struct qv_kept *kept = kept_at(chunk, chunk->begin);

			chunk->begin += kept->size;
			if (kept->tx)
				kept->tx->in_window--;
		}
		unlink_first(peer);
	}
}

struct qv_kept *qv_window_seek(const struct qv_window *w, uint32_t seq, struct qv_chunk **in)
{
	uint32_t skip = seq - w->oldest;

	for (struct qv_chunk *chunk = w->first; chunk; chunk = chunk->next)
		for (uint32_t at = chunk->begin; at < chunk->end;) {
			struct qv_kept *kept = kept_at(chunk, at);

			*in = chunk;
			if (!skip--)
				return kept;
			at += kept->size;
		}
	return NULL;
}

struct qv_kept *qv_window_next(struct qv_chunk **in, const struct qv_kept *kept)
{
	struct qv_chunk *chunk = *in;
	uint32_t at = (uint32_t)((const char *)kept - chunk->data) + kept->size;

	while (at >= chunk->end) {
		chunk = chunk->next;
		if (!chunk)
			return NULL;
		at = chunk->begin;
	}
	*in = chunk;
	return kept_at(chunk, at);
}

bool qv_packet_is_message(const char *packet)
{
	struct qv_wire_hdr hdr;

	memcpy(&hdr, packet, sizeof hdr);
	return (hdr.op == QV_PKT_EAGER && !(hdr.flags & QV_WF_SREQ)) || hdr.op == QV_PKT_DATA;
}

bool qv_window_has_messages(const struct qv_window *w)
{
	for (const struct qv_chunk *chunk = w->first; chunk; chunk = chunk->next)
		for (uint32_t at = chunk->begin; at < chunk->end;) {
			const struct qv_kept *kept = kept_at(chunk, at);

			if (qv_packet_is_message(kept->packet))
				return true;
			at += kept->size;
		}
	return false;
}

void qv_window_void(struct qv_peer *peer, struct qv_tx *tx)
{
	for (struct qv_chunk *chunk = peer->window.first; chunk && tx->in_window;
	     chunk = chunk->next)
		for (uint32_t at = chunk->begin; at < chunk->end;) {
			struct qv_kept *kept = kept_at(chunk, at);

			at += kept->size;
			if (kept->tx != tx)
				continue;
			kept->tx = NULL;
			kept->n = 0;
			tx->in_window--;
			qv_wire_make_void(kept->packet, &kept->len);
		}
}

void qv_window_fini(struct qv_proto *p)
{
	while (p->lent) {
		struct qv_chunk *chunk = p->lent;

		p->lent = chunk->next;
		free(chunk);
	}
	free(p->spare);
}
