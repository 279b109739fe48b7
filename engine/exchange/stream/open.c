/* SPDX-License-Identifier: BSD-2-Clause */
/* open.c - streams are made and freed. */
#include "stream.h"
#include "engine/base/settings.h"

#include <stdlib.h>

static int is_right(const struct qv_stream_spec *s)
{
	return s->ranks && s->rank < s->ranks && s->way != QV_WAY_CRYSTAL &&
	       (unsigned int)s->way < QV_N_WAYS && s->items <= 65536 &&
	       (!s->limit || (s->limit >= 64 && s->limit <= 1u << 30)) &&
	       s->envelope <= (s->limit ? s->limit : QV_STREAM_LIMIT) - 64;
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
	struct qv_stream_spec set = {0};
	struct qv_stream *s;

	if (qv_settings_read(&set, sizeof(set), QV_SETTINGS_UPTO(struct qv_stream_spec, envelope),
			     spec) ||
	    !is_right(&set) || !calls->send || !(set.envelope ? !!calls->packed : !!calls->item))
		return QV_EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return QV_ENOMEM;
	s->spec = set;
	s->spec.items = set.items ? set.items : 64;
	s->spec.limit = set.limit ? set.limit : QV_STREAM_LIMIT;
	s->spec.wait_ns = set.wait_ns ? set.wait_ns : 1000000;
	s->spec.window = set.window ? set.window : 64;
	s->longest = s->spec.limit - sizeof(struct qv_bucket_head) - QV_ITEM_HEAD -
		     (set.envelope ? set.envelope + QV_ENVELOPE_HEAD : 0);
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

static void free_kept(struct qv_stream_kept *k)
{
	while (k) {
		struct qv_stream_kept *next = k->next;

		free(k);
		k = next;
	}
}

void qv_stream_free(struct qv_stream *s)
{
	if (!s)
		return;
	free_kept(s->kept);
	for (uint32_t r = 0; s->peers && r < s->spec.ranks; r++)
		free_kept(s->peers[r].early);
	free(s->peers);
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
	return s->longest;
}

void qv_stream_stats(const struct qv_stream *s, struct qv_stream_stats *stats)
{
	*stats = s->stats;
}
