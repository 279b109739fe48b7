/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * section.c - items for many ranks that the receivers themselves send on, by a ring or a binomial
 * tree.
 *
 * They go straight to a receiver, in messages of a phase behind the last one of the way. So they may
 * overtake others: each has a number of its sender for its receiver, who is given them by these.
 *
 * The bytes of such an item begin with this number, doubled, and odd if it is to be sent on. Then the
 * shape follows, the bytes that the receiver gets before those of all, first how many, and the list of
 * the others, in the order of the ranks behind this one and around. Of each: its distance from the one
 * before, doubled, and odd if it has bytes of its own; its number; how many bytes of its own; they. 0
 * ends the list. The bytes of all follow. Where it is not to be sent on, the receiver's own bytes and
 * those of all follow the number.
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

/* Sent. */

static size_t append(char *out, size_t at, const char *data, size_t bytes)
{
	if (bytes)
		memcpy(out + at, data, bytes);
	return at + bytes;
}

static size_t write_first(const struct qv_stream_receiver *r, enum qv_section by, char *out)
{
	size_t at = qv_put_number(out, 2 * (uint64_t)r->number + 1);

	at += qv_put_number(out + at, by);
	at += qv_put_number(out + at, r->own_bytes);
	return append(out, at, r->own, r->own_bytes);
}

static size_t write_other(const struct qv_stream_receiver *r, uint32_t distance, char *out)
{
	size_t at = qv_put_number(out, 2 * (uint64_t)distance + (r->own_bytes > 0));

	at += qv_put_number(out + at, r->number);
	if (!r->own_bytes)
		return at;
	at += qv_put_number(out + at, r->own_bytes);
	return append(out, at, r->own, r->own_bytes);
}

/* For the first of these, who is to send it to as many of the others as fit into one item: how many
 * receivers that are, with the first. out: room for all. */
static size_t write_item(const struct qv_stream *s, const struct qv_stream_item *item,
			 enum qv_section by, const struct qv_stream_receiver *to, size_t n,
			 char *out, size_t *bytes)
{
	const size_t room = s->longest + QV_SECTION_HEAD - item->bytes - 1;
	size_t at = write_first(to, by, out), i = 1;

	for (; i < n; i++) {
		const size_t end =
			at + write_other(to + i, to[i].distance - to[i - 1].distance, out + at);

		if (end > room)
			break;
		at = end;
	}
	if (i > 1) {
		out[at++] = 0;
	} else {
		at = qv_put_number(out, 2 * (uint64_t)to->number);
		at = append(out, at, to->own, to->own_bytes);
	}
	*bytes = append(out, at, item->data, item->bytes);
	return i;
}

static int send_to_first(struct qv_stream *s, const struct qv_stream_item *item, enum qv_section by,
			 const struct qv_stream_receiver *to, size_t n, char *out, uint64_t now)
{
	int rc = QV_OK;

	for (size_t i = 0, piece; i < n && !rc; i += piece) {
		struct qv_stream_item some = *item;

		some.data = out;
		piece = write_item(s, item, by, to + i, n - i, out, &some.bytes);
		rc = qv_stream_put_for(s, &some, to[i].to, s->phases, now);
	}
	return rc;
}

/* In the order of their distances. By a tree, the first of the farther half has to send it to the
 * rest of that half, and so on with the nearer half. */
static int send_on(struct qv_stream *s, const struct qv_stream_item *item, enum qv_section by,
		   const struct qv_stream_receiver *to, size_t n, char *out, uint64_t now)
{
	int rc = QV_OK;

	while (n && !rc) {
		const size_t part = by == QV_SECTION_RING ? n : (n + 1) / 2;

		n -= part;
		rc = send_to_first(s, item, by, to + n, part, out, now);
	}
	return rc;
}

static int by_distance(const void *x, const void *y)
{
	const struct qv_stream_receiver *a = x, *b = y;

	return a->distance > b->distance ? 1 : -1;
}

int qv_stream_know_peers(struct qv_stream *s)
{
	if (!s->peers)
		s->peers = calloc(s->spec.ranks, sizeof(*s->peers));
	return s->peers ? QV_OK : QV_ENOMEM;
}

int qv_stream_send_section(struct qv_stream *s, const struct qv_stream_item *item,
			   enum qv_section by, struct qv_stream_receiver *to, size_t n, char *out,
			   uint64_t now)
{
	const uint32_t rank = s->spec.rank;

	for (size_t i = 0; i < n; i++) {
		to[i].number = s->peers[to[i].to].sent++;
		to[i].distance = to[i].to - rank + (to[i].to < rank ? s->spec.ranks : 0);
	}
	qsort(to, n, sizeof(*to), by_distance);
	return send_on(s, item, by, to, n, out, now);
}

/* Come. */

struct section {
	int is_sent_on;
	enum qv_section by;
	struct qv_stream_receiver here;
	size_t at; /* of what is to be read next */
};

/* 0, or -1. */
static int open_section(const struct qv_stream *s, const struct qv_stream_item *item,
			struct section *in)
{
	uint64_t number, by = 0, own = 0;

	*in = (struct section){.here.to = s->spec.rank};
	if (qv_get_number(item->data, item->bytes, &in->at, 2 * (uint64_t)UINT32_MAX + 1, &number))
		return -1;
	in->is_sent_on = number % 2;
	in->here.number = (uint32_t)(number / 2);
	if (!in->is_sent_on)
		return 0;
	if (qv_get_number(item->data, item->bytes, &in->at, QV_N_SECTIONS - 1, &by) || !by ||
	    qv_get_number(item->data, item->bytes, &in->at, s->longest, &own))
		return -1;
	in->by = (enum qv_section)by;
	in->here.own = item->data + in->at;
	in->here.own_bytes = (size_t)own;
	in->at += (size_t)own;
	return 0;
}

/* The next of the others, behind the one at `distance` from here: 1, 0 at the end, -1 if there is
 * none. */
static int read_other(const struct qv_stream *s, const struct qv_stream_item *item,
		      struct section *in, uint32_t distance, struct qv_stream_receiver *r)
{
	const uint32_t left = s->spec.ranks - 1 - distance;
	uint64_t step, number, own = 0;
	uint32_t to;

	if (qv_get_number(item->data, item->bytes, &in->at, 2 * (uint64_t)left + 1, &step))
		return -1;
	if (!step)
		return 0;
	if (step == 1 || qv_get_number(item->data, item->bytes, &in->at, UINT32_MAX, &number) ||
	    (step % 2 && qv_get_number(item->data, item->bytes, &in->at, s->longest, &own)))
		return -1;
	distance += (uint32_t)(step / 2);
	to = (uint32_t)(((uint64_t)s->spec.rank + distance) % s->spec.ranks);
	if (to == item->from)
		return -1;
	*r = (struct qv_stream_receiver){.to = to,
					 .distance = distance,
					 .number = (uint32_t)number,
					 .own = item->data + in->at,
					 .own_bytes = (size_t)own};
	in->at += (size_t)own;
	return 1;
}

int qv_stream_is_wrong_section(const struct qv_stream *s, const struct qv_stream_item *item)
{
	struct qv_stream_receiver r = {0};
	struct section in;
	size_t own;
	int rc = 0;

	if (item->from == s->spec.rank || open_section(s, item, &in))
		return 1;
	own = in.here.own_bytes;
	while (in.is_sent_on && (rc = read_other(s, item, &in, r.distance, &r)) > 0)
		own = own > r.own_bytes ? own : r.own_bytes;
	return rc || (in.is_sent_on && !r.distance) || own + item->bytes - in.at > s->longest;
}

/* The place of this number among those that wait: most come behind the last one. */
static struct qv_stream_kept **place_of(struct qv_stream_peer *peer, uint32_t number)
{
	const uint32_t ahead = number - peer->come;
	struct qv_stream_kept **at = &peer->early;

	if (*at && peer->early_end->number - peer->come < ahead)
		return &peer->early_end->next;
	while (*at && (*at)->number - peer->come < ahead)
		at = &(*at)->next;
	return at;
}

/* Whether the item with this number was given to the user, or waits. */
static int has_come(struct qv_stream_peer *peer, uint32_t number)
{
	struct qv_stream_kept *const *at = place_of(peer, number);

	return (int32_t)(number - peer->come) < 0 || (*at && (*at)->number == number);
}

/* One that has overtaken others waits for these. */
static int keep_early(struct qv_stream_peer *peer, const struct qv_stream_item *item,
		      uint32_t number)
{
	struct qv_stream_kept **at = place_of(peer, number), *k = qv_stream_copy(item);

	if (!k)
		return QV_ENOMEM;
	k->number = number;
	k->next = *at;
	*at = k;
	if (!k->next)
		peer->early_end = k;
	return QV_OK;
}

static int come_by_number(struct qv_stream *s, const struct qv_stream_item *item, uint32_t number)
{
	struct qv_stream_peer *peer = &s->peers[item->from];
	struct qv_stream_kept *k;

	if (number != peer->come)
		return keep_early(peer, item, number);
	peer->come++;
	qv_stream_come(s, item);
	while ((k = peer->early) && k->number == peer->come) {
		peer->early = k->next;
		peer->come++;
		qv_stream_come(s, &k->item);
		free(k);
	}
	return QV_OK;
}

/* It is sent on as an urgent one, or it would wait anew at each receiver. The same again is dropped, and not
 * sent on: who sends it need not be the one who repeats it. */
int qv_stream_take_section(struct qv_stream *s, const struct qv_stream_item *item, uint64_t now)
{
	struct qv_stream_receiver *others, r = {0};
	struct qv_stream_item common = *item;
	struct section in;
	size_t n = 0;
	char *out;
	int rc;

	if (qv_stream_know_peers(s))
		return QV_ENOMEM;
	open_section(s, item, &in);
	if (has_come(&s->peers[item->from], in.here.number))
		return QV_OK;
	while (in.is_sent_on && read_other(s, item, &in, r.distance, &r) > 0)
		n++;
	common.by_section = common.urgent = 1;
	common.data += in.at;
	common.bytes -= in.at;
	others = malloc(n * sizeof(*others) + item->bytes + (n + 1) * QV_RECEIVER_HEAD);
	if (!others)
		return QV_ENOMEM;
	out = (char *)(others + n);
	open_section(s, item, &in);
	for (size_t i = 0; i < n; i++)
		read_other(s, item, &in, i ? others[i - 1].distance : 0, &others[i]);
	s->stats.forwarded += n;
	rc = send_on(s, &common, in.by, others, n, out, now);
	common = qv_stream_item_for(&common, &in.here, out);
	if (!rc)
		rc = come_by_number(s, &common, in.here.number);
	free(others);
	return rc;
}
