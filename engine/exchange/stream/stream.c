/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - streams of items: where they go, when they leave, what comes of a message. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

/* Items. */

uint32_t qv_stream_hop(const struct qv_stream *s, uint32_t phase, uint32_t to, uint32_t *peer)
{
	*peer = to;
	if (s->spec.way == QV_WAY_DIRECT)
		return phase ? 1 : 0;
	for (; phase < s->phases; phase++) {
		*peer = qv_route_hop(&s->route, phase, s->spec.rank, to);
		if (*peer != s->spec.rank)
			break;
	}
	return phase;
}

/* The bucket with room for an item, and what stands before it there; a full one leaves. NULL: no
 * memory. */
static struct qv_bucket *bucket_for(struct qv_stream *s, const struct qv_item_form *form,
				    const struct qv_stream_item *item, uint32_t peer,
				    struct qv_item_head *h, uint64_t now)
{
	struct qv_bucket *b = qv_stream_filling(s, form->phase, peer);

	qv_item_head(h, form, item, b);
	if (b && b->bytes + qv_item_room(h, item) > s->spec.limit) {
		s->stats.full++;
		qv_stream_leave(s, b);
		b = NULL;
		qv_item_head(h, form, item, b);
	}
	return b ? b : qv_stream_begin(s, form->phase, peer, now);
}

int qv_stream_put_for(struct qv_stream *s, const struct qv_stream_item *item, uint32_t peer,
		      uint32_t phase, uint64_t now)
{
	const struct qv_item_form form = {
		.phase = phase, .phases = s->phases, .enveloped = s->spec.envelope != 0};
	struct qv_item_head head;
	struct qv_bucket *b;
	int rc;

	b = bucket_for(s, &form, item, peer, &head, now);
	rc = b ? qv_bucket_add(b, &head, item, s->spec.limit) : QV_ENOMEM;
	if (b && !b->items)
		qv_stream_drop(s, b);
	s->stats.envelopes += !rc && head.fresh;
	if (!rc)
		b->urgent |= item->urgent;
	if (!rc && b->items == s->spec.items) {
		s->stats.full++;
		qv_stream_leave(s, b);
	}
	if (s->ready)
		qv_stream_push(s);
	return rc;
}

int qv_stream_put(struct qv_stream *s, const struct qv_stream_item *item, uint32_t toward,
		  uint32_t phase, uint64_t now)
{
	uint32_t peer;

	phase = qv_stream_hop(s, phase, toward, &peer);
	return qv_stream_put_for(s, item, peer, phase, now);
}

/* Buckets with urgent items, after the last one. */
static void hurry(struct qv_stream *s)
{
	for (struct qv_bucket *b = s->oldest, *next; b; b = next) {
		next = b->next;
		if (!b->urgent)
			continue;
		s->stats.urgent++;
		qv_stream_leave(s, b);
	}
	qv_stream_push(s);
}

static void give(struct qv_stream *s, const struct qv_stream_item *item)
{
	s->stats.delivered++;
	s->giving = 1;
	s->by_section = item->by_section;
	if (s->spec.envelope)
		s->calls.packed(s->port, item->from, item->envelope, item->envelope_bytes,
				item->data, item->bytes);
	else
		s->calls.item(s->port, item->from, item->data, item->bytes);
	s->giving = 0;
}

struct qv_stream_kept *qv_stream_copy(const struct qv_stream_item *item)
{
	struct qv_stream_kept *k = malloc(sizeof(*k) + item->bytes + item->envelope_bytes);
	char *at = (char *)(k + 1);

	if (!k)
		return NULL;
	*k = (struct qv_stream_kept){.item = *item};
	if (item->bytes)
		memcpy(at, item->data, item->bytes);
	if (item->envelope_bytes)
		memcpy(at + item->bytes, item->envelope, item->envelope_bytes);
	k->item.data = at;
	k->item.envelope = at + item->bytes;
	return k;
}

/* A function that is given an item is not called again before it has returned. */
static int keep(struct qv_stream *s, const struct qv_stream_item *item)
{
	struct qv_stream_kept *k = qv_stream_copy(item);

	if (!k)
		return QV_ENOMEM;
	*(s->kept ? &s->kept_end->next : &s->kept) = k;
	s->kept_end = k;
	return QV_OK;
}

void qv_stream_come(struct qv_stream *s, const struct qv_stream_item *item)
{
	struct qv_stream_kept *k;

	give(s, item);
	while ((k = s->kept)) {
		s->kept = k->next;
		give(s, &k->item);
		free(k);
	}
}

int qv_stream_room(struct qv_stream *s)
{
	if (s->flying_n + s->ready_n >= s->spec.window)
		qv_stream_push(s);
	if (s->failed)
		return s->failed;
	return !s->giving && s->flying_n + s->ready_n >= s->spec.window ? QV_EAGAIN : QV_OK;
}

int qv_stream_take(struct qv_stream *s, const struct qv_stream_item *item, uint64_t now)
{
	const int here = item->to == s->spec.rank;
	int rc = s->failed;

	if (!rc && !here)
		rc = qv_stream_put(s, item, item->to, 0, now);
	else if (!rc && s->giving)
		rc = keep(s, item);
	if (!rc && item->urgent)
		hurry(s);
	s->stats.inserted += !rc;
	if (!rc && here && !s->giving)
		qv_stream_come(s, item);
	return rc;
}

static int insert(struct qv_stream *s, const struct qv_stream_item *item, uint64_t now)
{
	int rc;

	if (item->to >= s->spec.ranks || (item->bytes && !item->data) ||
	    (item->envelope_bytes && !item->envelope))
		return QV_EINVAL;
	if (item->bytes > s->longest || item->envelope_bytes > s->spec.envelope)
		return QV_EMSGSIZE;
	rc = qv_stream_room(s);
	if (rc && !(rc == QV_EAGAIN && item->to == s->spec.rank))
		return rc;
	return qv_stream_take(s, item, now);
}

int qv_stream_pack(struct qv_stream *s, uint32_t to, const void *envelope, size_t n,
		   const void *data, size_t bytes, uint64_t now)
{
	const struct qv_stream_item item = {.to = to,
					    .from = s->spec.rank,
					    .bytes = bytes,
					    .data = data,
					    .envelope_bytes = n,
					    .envelope = n ? envelope : ""};

	return insert(s, &item, now);
}

int qv_stream_insert(struct qv_stream *s, uint32_t to, const void *data, size_t bytes, uint64_t now)
{
	return qv_stream_pack(s, to, NULL, 0, data, bytes, now);
}

int qv_stream_insert_urgent(struct qv_stream *s, uint32_t to, const void *data, size_t bytes,
			    uint64_t now)
{
	const struct qv_stream_item item = {.to = to,
					    .from = s->spec.rank,
					    .urgent = 1,
					    .bytes = bytes,
					    .data = data,
					    .envelope = ""};

	return insert(s, &item, now);
}

/* Messages that come. */

static int is_wrong(const struct qv_stream *s, const struct qv_item_form *form,
		    const struct qv_stream_item *item)
{
	uint32_t peer;

	if (item->from >= s->spec.ranks || item->envelope_bytes > s->spec.envelope)
		return 1;
	if (form->phase == s->phases)
		return qv_stream_is_wrong_section(s, item);
	if (item->bytes > s->longest)
		return 1;
	if (item->to >= s->spec.ranks)
		return item->to > s->spec.ranks ||
		       qv_stream_is_wrong_list(s, form->phase + 1, item);
	return item->to != s->spec.rank &&
	       qv_stream_hop(s, form->phase + 1, item->to, &peer) >= s->phases;
}

static int judge(const struct qv_stream *s, const struct qv_item_form *form, const char *buf,
		 size_t bytes, int64_t items)
{
	size_t at = sizeof(struct qv_bucket_head);
	struct qv_stream_item item = {0};

	for (; items; items--)
		if (qv_bucket_next(buf, bytes, &at, form, &item) || is_wrong(s, form, &item))
			return QV_EPROTO;
	return at == bytes ? QV_OK : QV_EPROTO;
}

static int take_one(struct qv_stream *s, const struct qv_item_form *form,
		    const struct qv_stream_item *item, uint64_t now)
{
	if (form->phase == s->phases)
		return qv_stream_take_section(s, item, now);
	if (item->to >= s->spec.ranks)
		return qv_stream_pass(s, item, form->phase + 1, now);
	if (item->to == s->spec.rank) {
		qv_stream_come(s, item);
		return QV_OK;
	}
	s->stats.forwarded++;
	return qv_stream_put(s, item, item->to, form->phase + 1, now);
}

/* Of a message that is right. */
static int take_all(struct qv_stream *s, const struct qv_item_form *form, const char *buf,
		    size_t bytes, int64_t items, uint64_t now)
{
	size_t at = sizeof(struct qv_bucket_head);
	struct qv_stream_item item = {.urgent = form->urgent};
	for (; items && !s->failed; items--) {
		qv_bucket_next(buf, bytes, &at, form, &item);
		s->failed = take_one(s, form, &item, now);
	}
	return s->failed;
}

int qv_stream_deliver(struct qv_stream *s, uint32_t from, const void *buf, size_t bytes,
		      uint64_t now)
{
	struct qv_item_form form = {.phases = s->phases,
				    .sender = from,
				    .receiver = s->spec.rank,
				    .enveloped = s->spec.envelope != 0};
	const int64_t items = qv_bucket_open(buf, bytes, s->phases, &form.phase, &form.urgent);
	int rc;

	if (from >= s->spec.ranks || items < 0)
		return QV_EPROTO;
	rc = judge(s, &form, buf, bytes, items);
	if (!rc)
		rc = take_all(s, &form, buf, bytes, items, now);
	if (!rc && (form.urgent || form.phase == s->phases))
		hurry(s);
	return rc;
}

/* Time. */

static int state(const struct qv_stream *s)
{
	if (s->failed)
		return s->failed;
	return s->oldest || s->ready || s->flying_n ? QV_EAGAIN : QV_OK;
}

int qv_stream_flush(struct qv_stream *s)
{
	for (; s->oldest; s->stats.flushed++)
		qv_stream_leave(s, s->oldest);
	qv_stream_push(s);
	return state(s);
}

int qv_stream_progress(struct qv_stream *s, uint64_t now)
{
	for (; s->oldest && now - s->oldest->since >= s->spec.wait_ns; s->stats.late++)
		qv_stream_leave(s, s->oldest);
	qv_stream_push(s);
	return state(s);
}
