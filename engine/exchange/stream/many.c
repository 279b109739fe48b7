/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many.c - items for many ranks: by the stream's way, once over each part of it that several of them
 * have in common, in the buckets of the items for one, and so in order with those; or by section.c.
 *
 * Where it is still to be sent on by others, such an item is one for rank `ranks`. Its bytes begin
 * with the list of its receivers, in ascending order, each of them: its distance from the one
 * before, doubled, and odd if it has bytes of its own; their number; they. 0 ends the list. The
 * bytes of all follow. What goes to one receiver only is an item as any other: its own bytes, those
 * of all.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

/* Lists. */

/* The receiver at *at, `next` being the one before and 1: 1, 0 at the end, -1 if there is none. */
static int read_receiver(const struct qv_stream *s, const struct qv_stream_item *item, size_t *at,
			 uint32_t next, struct qv_stream_receiver *r)
{
	uint64_t distance, own = 0, to;

	if (qv_get_number(item->data, item->bytes, at, 2 * (uint64_t)s->spec.ranks + 1, &distance))
		return -1;
	if (!distance)
		return 0;
	to = next + distance / 2 - 1;
	if (distance == 1 || to >= s->spec.ranks ||
	    (distance % 2 && qv_get_number(item->data, item->bytes, at, item->bytes, &own)))
		return -1;
	*r = (struct qv_stream_receiver){
		.to = (uint32_t)to, .own = item->data + *at, .own_bytes = (size_t)own};
	*at += (size_t)own;
	return 1;
}

/* As many receivers as fit into one item, two at least, and its bytes; 0: fewer do. */
static size_t write_list(const struct qv_stream *s, const struct qv_stream_item *item,
			 const struct qv_stream_receiver *to, size_t n, char *out, size_t *bytes)
{
	const size_t room = s->longest - item->bytes;
	uint32_t next = 0;
	size_t i, at = 0;

	for (i = 0; i < n; i++) {
		char head[QV_RECEIVER_HEAD];
		const uint64_t distance = (uint64_t)to[i].to - next + 1;
		size_t k = qv_put_number(head, 2 * distance + (to[i].own_bytes > 0));

		if (to[i].own_bytes)
			k += qv_put_number(head + k, to[i].own_bytes);
		if (at + k + to[i].own_bytes + 1 > room)
			break;
		memcpy(out + at, head, k);
		if (to[i].own_bytes)
			memcpy(out + at + k, to[i].own, to[i].own_bytes);
		at += k + to[i].own_bytes;
		next = to[i].to + 1;
	}
	if (i < 2)
		return 0;
	out[at++] = 0;
	if (item->bytes)
		memcpy(out + at, item->data, item->bytes);
	*bytes = at + item->bytes;
	return i;
}

struct qv_stream_item qv_stream_item_for(const struct qv_stream_item *item,
					 const struct qv_stream_receiver *r, char *out)
{
	struct qv_stream_item one = *item;

	one.to = r->to;
	if (!r->own_bytes)
		return one;
	memcpy(out, r->own, r->own_bytes);
	if (item->bytes)
		memcpy(out + r->own_bytes, item->data, item->bytes);
	one.data = out;
	one.bytes += r->own_bytes;
	return one;
}

/* The way. */

static int by_way(const void *x, const void *y)
{
	const struct qv_stream_receiver *a = x, *b = y;

	if (a->phase != b->phase)
		return a->phase > b->phase ? 1 : -1;
	if (a->peer != b->peer)
		return a->peer > b->peer ? 1 : -1;
	return a->to > b->to ? 1 : -1;
}

/* To receivers that have the next part of the way in common. */
static int put_all(struct qv_stream *s, const struct qv_stream_item *item,
		   const struct qv_stream_receiver *to, size_t n, uint32_t phase, char *out,
		   uint64_t now)
{
	size_t piece;
	int rc = QV_OK;

	for (size_t i = 0; i < n && !rc; i += piece) {
		struct qv_stream_item some = *item;

		some.to = s->spec.ranks;
		some.data = out;
		piece = write_list(s, item, to + i, n - i, out, &some.bytes);
		if (!piece) {
			some = qv_stream_item_for(item, to + i, out);
			piece = 1;
		}
		rc = qv_stream_put(s, &some, to[i].to, phase, now);
	}
	return rc;
}

/* To all, from this phase on; none of them is this rank. out: room for any item of these. */
static int split(struct qv_stream *s, const struct qv_stream_item *item,
		 struct qv_stream_receiver *to, size_t n, uint32_t phase, char *out, uint64_t now)
{
	int rc = QV_OK;

	for (size_t i = 0; i < n; i++)
		to[i].phase = qv_stream_hop(s, phase, to[i].to, &to[i].peer);
	qsort(to, n, sizeof(*to), by_way);
	for (size_t i = 0, end; i < n && !rc; i = end) {
		for (end = i + 1;
		     end < n && to[end].phase == to[i].phase && to[end].peer == to[i].peer;)
			end++;
		rc = put_all(s, item, to + i, end - i, phase, out, now);
	}
	return rc;
}

/* Where they are inserted. */

int qv_stream_take_many(struct qv_stream *s, const struct qv_stream_item *item, enum qv_section by,
			struct qv_stream_receiver *to, size_t n, uint64_t now)
{
	size_t room = item->bytes + 1;
	char *out;
	int rc;

	if (s->failed)
		return s->failed;
	for (size_t i = 0; i < n; i++)
		room += QV_RECEIVER_HEAD + to[i].own_bytes;
	if (by != QV_SECTION_WAY && qv_stream_know_peers(s))
		return QV_ENOMEM;
	out = malloc(room);
	if (!out)
		return QV_ENOMEM;
	if (by == QV_SECTION_WAY)
		rc = split(s, item, to, n, 0, out, now);
	else
		rc = qv_stream_send_section(s, item, by, to, n, out, now);
	if (rc)
		s->failed = rc; /* some have got it */
	else
		s->stats.inserted += n;
	free(out);
	return s->failed;
}

/* The others first: nothing that this rank says to them because of it comes before it. */
static int multicast(struct qv_stream *s, const struct qv_stream_item *item, enum qv_section by,
		     const uint32_t *to, size_t n, uint64_t now)
{
	struct qv_stream_receiver *others = calloc(n, sizeof(*others));
	size_t n_others = 0;
	int rc;

	if (!others)
		return QV_ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (to[i] != s->spec.rank)
			others[n_others++].to = to[i];
	rc = qv_stream_take_many(s, item, by, others, n_others, now);
	free(others);
	if (rc || n_others == n)
		return rc;
	rc = qv_stream_take(s, item, now);
	if (rc && n_others)
		s->failed = rc;
	return rc;
}

int qv_stream_multicast(struct qv_stream *s, enum qv_section by, const uint32_t *to, size_t n,
			const void *data, size_t bytes, uint64_t now)
{
	const struct qv_stream_item item = {.to = s->spec.rank,
					    .from = s->spec.rank,
					    .bytes = bytes,
					    .data = data,
					    .envelope = ""};
	int rc;

	if ((unsigned int)by >= QV_N_SECTIONS || !n || !to || (bytes && !data))
		return QV_EINVAL;
	for (size_t i = 0; i < n; i++)
		if (to[i] >= s->spec.ranks || (i && to[i] <= to[i - 1]))
			return QV_EINVAL;
	if (bytes > s->longest)
		return QV_EMSGSIZE;
	rc = qv_stream_room(s);
	return rc ? rc : multicast(s, &item, by, to, n, now);
}

/* Where they come. */

int qv_stream_is_wrong_list(const struct qv_stream *s, uint32_t phase,
			    const struct qv_stream_item *item)
{
	struct qv_stream_receiver r = {0};
	uint32_t next = 0, peer;
	size_t at = 0;
	int rc;

	for (; (rc = read_receiver(s, item, &at, next, &r)) > 0; next = r.to + 1)
		if (r.to != s->spec.rank && qv_stream_hop(s, phase, r.to, &peer) >= s->phases)
			return 1;
	return rc || !next;
}

int qv_stream_pass(struct qv_stream *s, const struct qv_stream_item *item, uint32_t phase,
		   uint64_t now)
{
	struct qv_stream_item common = *item;
	struct qv_stream_receiver *others, r = {0}, here = {0};
	size_t n = 0, at = 0;
	uint32_t next = 0;
	int is_here = 0, rc;
	char *out;

	while (read_receiver(s, item, &at, next, &r) > 0) {
		n++;
		next = r.to + 1;
	}
	others = malloc(n * sizeof(*others) + item->bytes + 1);
	if (!others)
		return QV_ENOMEM;
	out = (char *)(others + n);
	common.data += at;
	common.bytes -= at;
	n = at = next = 0;
	while (read_receiver(s, item, &at, next, &r) > 0) {
		next = r.to + 1;
		if (r.to == s->spec.rank) {
			here = r;
			is_here = 1;
		} else {
			others[n++] = r;
		}
	}
	s->stats.forwarded += n;
	rc = split(s, &common, others, n, phase, out, now);
	if (!rc && is_here) {
		common = qv_stream_item_for(&common, &here, out);
		qv_stream_come(s, &common);
	}
	free(others);
	return rc;
}
