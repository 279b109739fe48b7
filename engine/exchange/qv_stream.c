/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_stream.c - streams of items: where they go, when they leave, what comes of a message. */
#include "qv_stream.h"

#include <stdlib.h>

/* ---- made and freed ----------------------------------------------------------------------------
 */
static int is_right(const struct qv_stream_spec *s)
{
	return s->ranks && s->rank < s->ranks && s->way != QV_WAY_CRYSTAL &&
	       (unsigned int)s->way < QV_N_WAYS && s->items <= 65536 &&
	       (!s->limit || (s->limit >= 64 && s->limit <= 1u << 30));
}

static void open_route(struct qv_stream *s)
{
	static const enum qv_algorithm algorithms[QV_N_WAYS] = {
		[QV_WAY_MESH2] = QV_ALG_MESH2,
		[QV_WAY_MESH3] = QV_ALG_MESH3,
		[QV_WAY_HYPERCUBE] = QV_ALG_HYPERCUBE,
	};

	s->phases = 1;
	if (s->spec.way == QV_WAY_DIRECT)
		return;
	qv_route_open(&s->route, algorithms[s->spec.way], s->spec.ranks, 0);
	s->phases = s->route.phases;
}

int qv_stream_create(const struct qv_stream_spec *spec, const struct qv_stream_calls *calls,
		     void *port, struct qv_stream **stream)
{
	struct qv_stream *s;

	if (!is_right(spec) || !calls->send || !calls->item)
		return QV_EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return QV_ENOMEM;
	s->spec = *spec;
	s->spec.items = spec->items ? spec->items : 64;
	s->spec.limit = spec->limit ? spec->limit : 8192;
	s->spec.wait_ns = spec->wait_ns ? spec->wait_ns : 1000000;
	s->spec.window = spec->window ? spec->window : 64;
	s->calls = *calls;
	s->port = port;
	open_route(s);
	*stream = s;
	return QV_OK;
}

static void free_list(struct qv_bucket *b)
{
	while (b) {
		struct qv_bucket *next = b->next;

		free(b->data);
		free(b);
		b = next;
	}
}

void qv_stream_free(struct qv_stream *s)
{
	if (!s)
		return;
	free_list(s->oldest);
	free_list(s->ready);
	free_list(s->spare);
	for (uint32_t i = 0; i < s->ids; i++)
		free_list(s->flying[i]);
	free(s->flying);
	free(s->slots);
	free(s);
}

size_t qv_stream_longest(const struct qv_stream *s)
{
	return s->spec.limit - sizeof(struct qv_bucket_head) - QV_ITEM_HEAD;
}

void qv_stream_stats(const struct qv_stream *s, struct qv_stream_stats *stats)
{
	*stats = s->stats;
}

/* ---- items -------------------------------------------------------------------------------------
 */
/* The phase from `phase` on in which an item leaves this rank, and for where; or phases. */
static uint32_t next_hop(const struct qv_stream *s, uint32_t phase, uint32_t to, uint32_t *peer)
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

/* The bucket with room for so much; a full one leaves. NULL: no memory. */
static struct qv_bucket *bucket_for(struct qv_stream *s, uint32_t phase, uint32_t peer,
				    size_t bytes, uint64_t now)
{
	struct qv_bucket *b = qv_stream_filling(s, phase, peer);

	if (b && b->bytes + bytes > s->spec.limit) {
		s->stats.full++;
		qv_stream_leave(s, b);
		b = NULL;
	}
	return b ? b : qv_stream_begin(s, phase, peer, now);
}

static int put(struct qv_stream *s, const struct qv_stream_item *item, uint32_t phase, uint64_t now)
{
	struct qv_item_form form = {.phases = s->phases};
	char head[QV_ITEM_HEAD];
	struct qv_bucket *b;
	uint32_t peer;
	size_t n;
	int rc;

	form.phase = next_hop(s, phase, item->to, &peer);
	n = qv_item_head(head, &form, item);
	b = bucket_for(s, form.phase, peer, n + item->bytes, now);
	rc = b ? qv_bucket_add(b, head, n, item, s->spec.limit) : QV_ENOMEM;
	if (b && !b->items)
		qv_stream_drop(s, b);
	if (!rc && b->items == s->spec.items) {
		s->stats.full++;
		qv_stream_leave(s, b);
	}
	if (s->ready)
		qv_stream_push(s);
	return rc;
}

static void come(struct qv_stream *s, const struct qv_stream_item *item)
{
	s->stats.delivered++;
	s->calls.item(s->port, item->from, item->data, item->bytes);
}

int qv_stream_insert(struct qv_stream *s, uint32_t to, const void *data, size_t bytes, uint64_t now)
{
	const struct qv_stream_item item = {to, s->spec.rank, bytes, data};
	int rc;

	if (to >= s->spec.ranks || (bytes && !data))
		return QV_EINVAL;
	if (bytes > qv_stream_longest(s))
		return QV_EMSGSIZE;
	if (s->flying_n + s->ready_n >= s->spec.window)
		qv_stream_push(s);
	if (s->failed)
		return s->failed;
	if (to == s->spec.rank) {
		s->stats.inserted++;
		come(s, &item);
		return QV_OK;
	}
	if (s->flying_n + s->ready_n >= s->spec.window)
		return QV_EAGAIN;
	rc = put(s, &item, 0, now);
	s->stats.inserted += !rc;
	return rc;
}

/* ---- messages that come ------------------------------------------------------------------------
 */
/* Each item in turn: judged, or taken. */
static int go_through(struct qv_stream *s, struct qv_item_form *form, const char *buf, size_t bytes,
		      int64_t items, int take, uint64_t now)
{
	size_t at = sizeof(struct qv_bucket_head);
	struct qv_stream_item item;
	uint32_t peer;

	for (; items; items--) {
		if (qv_bucket_next(buf, bytes, &at, form, &item) || item.to >= s->spec.ranks ||
		    item.from >= s->spec.ranks || item.bytes > qv_stream_longest(s))
			return QV_EPROTO;
		if (item.to != s->spec.rank &&
		    next_hop(s, form->phase + 1, item.to, &peer) >= s->phases)
			return QV_EPROTO;
		if (!take)
			continue;
		if (item.to == s->spec.rank) {
			come(s, &item);
		} else {
			s->stats.forwarded++;
			if (put(s, &item, form->phase + 1, now))
				return s->failed = QV_ENOMEM;
		}
	}
	return at == bytes ? QV_OK : QV_EPROTO;
}

int qv_stream_deliver(struct qv_stream *s, uint32_t from, const void *buf, size_t bytes,
		      uint64_t now)
{
	struct qv_item_form form = {0, s->phases, from, s->spec.rank};
	const int64_t items = qv_bucket_open(buf, bytes, s->phases, &form.phase);
	int rc;

	if (from >= s->spec.ranks || items < 0)
		return QV_EPROTO;
	rc = go_through(s, &form, buf, bytes, items, 0, now);
	return rc ? rc : go_through(s, &form, buf, bytes, items, 1, now);
}

/* ---- time --------------------------------------------------------------------------------------
 */
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
