/* SPDX-License-Identifier: BSD-2-Clause */
/* bucket.c - items into messages, and out of messages of which nothing is believed. */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

size_t qv_put_number(char *at, uint64_t value)
{
	size_t n = 0;

	for (; value > 127; value >>= 7)
		at[n++] = (char)(value | 128);
	at[n++] = (char)value;
	return n;
}

int qv_get_number(const char *buf, size_t bytes, size_t *at, uint64_t most, uint64_t *value)
{
	*value = 0;
	for (unsigned int shift = 0; *at < bytes && shift < 63; shift += 7) {
		const uint8_t byte = (uint8_t)buf[(*at)++];

		*value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return *value <= most ? 0 : -1;
	}
	return -1;
}

static int is_shared(const struct qv_stream_item *item, const struct qv_bucket *b)
{
	return b && b->items && b->envelope_bytes == item->envelope_bytes &&
	       (!item->envelope_bytes ||
		!memcmp(b->data + b->envelope, item->envelope, item->envelope_bytes));
}

void qv_item_head(struct qv_item_head *h, const struct qv_item_form *form,
		  const struct qv_stream_item *item, const struct qv_bucket *b)
{
	h->n = 0;
	h->fresh = form->enveloped && !is_shared(item, b);
	if (form->phase + 1 < form->phases)
		h->n += qv_put_number(h->at + h->n, item->to);
	if (form->phase)
		h->n += qv_put_number(h->at + h->n, item->from);
	if (!form->enveloped) {
		h->n += qv_put_number(h->at + h->n, item->bytes);
		return;
	}
	h->n += qv_put_number(h->at + h->n, (uint64_t)item->bytes * 2 + (h->fresh ? 1 : 0));
	if (h->fresh)
		h->n += qv_put_number(h->at + h->n, item->envelope_bytes);
}

size_t qv_item_room(const struct qv_item_head *h, const struct qv_stream_item *item)
{
	return h->n + (h->fresh ? item->envelope_bytes : 0) + item->bytes;
}

static int make_room(struct qv_bucket *b, size_t need, size_t limit)
{
	size_t room = b->room ? 2 * b->room : 512;
	char *grown;

	if (need <= b->room)
		return QV_OK;
	if (room < need)
		room = need;
	if (room > limit)
		room = limit;
	grown = realloc(b->data, room);
	if (!grown)
		return QV_ENOMEM;
	b->data = grown;
	b->room = room;
	return QV_OK;
}

static void append(struct qv_bucket *b, const void *data, size_t bytes)
{
	if (bytes)
		memcpy(b->data + b->bytes, data, bytes);
	b->bytes += bytes;
}

int qv_bucket_add(struct qv_bucket *b, const struct qv_item_head *h,
		  const struct qv_stream_item *item, size_t limit)
{
	if (make_room(b, b->bytes + qv_item_room(h, item), limit))
		return QV_ENOMEM;
	append(b, h->at, h->n);
	if (h->fresh) {
		b->envelope = b->bytes;
		b->envelope_bytes = item->envelope_bytes;
		append(b, item->envelope, item->envelope_bytes);
	}
	append(b, item->data, item->bytes);
	b->items++;
	return QV_OK;
}

void qv_bucket_close(struct qv_bucket *b)
{
	const struct qv_bucket_head head = {.version = QV_STREAM_VERSION,
					    .phase = (uint8_t)b->phase,
					    .urgent = (uint8_t)b->urgent,
					    .items = b->items};

	memcpy(b->data, &head, sizeof(head));
}

int64_t qv_bucket_open(const char *buf, size_t bytes, uint32_t phases, uint32_t *phase, int *urgent)
{
	struct qv_bucket_head head;

	if (bytes < sizeof(head))
		return -1;
	memcpy(&head, buf, sizeof(head));
	if (head.version != QV_STREAM_VERSION || head.urgent > 1 || head.zero ||
	    head.phase > phases)
		return -1;
	*phase = head.phase;
	*urgent = head.urgent;
	return head.items;
}

/* The envelope and the length of an item. */
static int get_lengths(const char *buf, size_t bytes, size_t *at, const struct qv_item_form *form,
		       struct qv_stream_item *item)
{
	uint64_t length, n;

	if (qv_get_number(buf, bytes, at, SIZE_MAX, &length))
		return -1;
	item->bytes = (size_t)(form->enveloped ? length / 2 : length);
	if (!form->enveloped)
		return 0;
	if (length % 2 == 0)
		return item->envelope ? 0 : -1;
	if (qv_get_number(buf, bytes, at, UINT32_MAX, &n) || n > bytes - *at)
		return -1;
	item->envelope = buf + *at;
	item->envelope_bytes = (size_t)n;
	*at += (size_t)n;
	return 0;
}

int qv_bucket_next(const char *buf, size_t bytes, size_t *at, const struct qv_item_form *form,
		   struct qv_stream_item *item)
{
	uint64_t to = form->receiver, from = form->sender;

	if (form->phase + 1 < form->phases && qv_get_number(buf, bytes, at, UINT32_MAX, &to))
		return -1;
	if (form->phase && qv_get_number(buf, bytes, at, UINT32_MAX, &from))
		return -1;
	if (get_lengths(buf, bytes, at, form, item) || item->bytes > bytes - *at)
		return -1;
	item->to = (uint32_t)to;
	item->from = (uint32_t)from;
	item->data = buf + *at;
	*at += item->bytes;
	return 0;
}
