/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_stream_bucket.c - items into messages, and out of messages of which nothing is believed. */
#include "qv_stream.h"

#include <stdlib.h>
#include <string.h>

static size_t put_number(char *at, uint64_t value)
{
	size_t n = 0;

	for (; value > 127; value >>= 7)
		at[n++] = (char)(value | 128);
	at[n++] = (char)value;
	return n;
}

static int get_number(const char *buf, size_t bytes, size_t *at, uint64_t most, uint64_t *value)
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

size_t qv_item_head(char *at, const struct qv_item_form *form, const struct qv_stream_item *item)
{
	size_t n = 0;

	if (form->phase + 1 < form->phases)
		n += put_number(at + n, item->to);
	if (form->phase)
		n += put_number(at + n, item->from);
	return n + put_number(at + n, item->bytes);
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

int qv_bucket_add(struct qv_bucket *b, const char *head, size_t n,
		  const struct qv_stream_item *item, size_t limit)
{
	if (make_room(b, b->bytes + n + item->bytes, limit))
		return QV_ENOMEM;
	memcpy(b->data + b->bytes, head, n);
	if (item->bytes)
		memcpy(b->data + b->bytes + n, item->data, item->bytes);
	b->bytes += n + item->bytes;
	b->items++;
	return QV_OK;
}

void qv_bucket_close(struct qv_bucket *b)
{
	const struct qv_bucket_head head = {QV_STREAM_VERSION, (uint8_t)b->phase, 0, b->items};

	memcpy(b->data, &head, sizeof(head));
}

int64_t qv_bucket_open(const char *buf, size_t bytes, uint32_t phases, uint32_t *phase)
{
	struct qv_bucket_head head;

	if (bytes < sizeof(head))
		return -1;
	memcpy(&head, buf, sizeof(head));
	if (head.version != QV_STREAM_VERSION || head.zero || head.phase >= phases)
		return -1;
	*phase = head.phase;
	return head.items;
}

int qv_bucket_next(const char *buf, size_t bytes, size_t *at, const struct qv_item_form *form,
		   struct qv_stream_item *item)
{
	uint64_t to = form->receiver, from = form->sender, length;

	if (form->phase + 1 < form->phases && get_number(buf, bytes, at, UINT32_MAX, &to))
		return -1;
	if (form->phase && get_number(buf, bytes, at, UINT32_MAX, &from))
		return -1;
	if (get_number(buf, bytes, at, SIZE_MAX, &length) || length > bytes - *at)
		return -1;
	*item = (struct qv_stream_item){(uint32_t)to, (uint32_t)from, (size_t)length, buf + *at};
	*at += (size_t)length;
	return 0;
}
