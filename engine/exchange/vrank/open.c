/* SPDX-License-Identifier: BSD-2-Clause */
/* open.c - the vranks of a rank: made, asked about, moved on, freed. */
#include "vrank.h"
#include "engine/base/settings.h"

#include <stdlib.h>

#define ITEM_HEAD 32 /* at most: two vranks, or those of a multicast to one */

static int is_right(const struct qv_vranks_spec *s, const struct qv_vranks_calls *calls)
{
	if (!s->vranks || s->vranks == UINT32_MAX || !s->stream.ranks ||
	    s->stream.rank >= s->stream.ranks || (s->stream.limit && s->stream.limit < 256) ||
	    !calls->send || !calls->item || !calls->leave || !calls->arrive)
		return 0;
	for (uint32_t i = 0; s->homes && i < s->vranks; i++)
		if (s->homes[i] >= s->stream.ranks)
			return 0;
	return 1;
}

static int port_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	const struct qv_vranks *v = port;

	return v->calls.send(v->port, id, peer, buf, bytes);
}

static int open_stream(struct qv_vranks *v)
{
	static const struct qv_stream_calls calls = {.send = port_send, .packed = qv_vrank_come};
	struct qv_stream_spec spec = v->spec.stream;
	int rc;

	spec.size = sizeof(spec);
	spec.envelope = sizeof(struct qv_vrank_envelope);
	rc = qv_stream_create(&spec, &calls, v, &v->stream);
	if (rc)
		return rc;
	v->longest = qv_stream_longest(v->stream);
	v->out = malloc(v->longest);
	v->list = malloc(v->longest);
	return v->out && v->list ? QV_OK : QV_ENOMEM;
}

static int settle(struct qv_vranks *v)
{
	v->homes = malloc(v->spec.vranks * sizeof(*v->homes));
	if (!v->homes)
		return QV_ENOMEM;
	for (uint32_t i = 0; i < v->spec.vranks; i++) {
		const uint32_t home = v->spec.homes
					      ? v->spec.homes[i]
					      : (uint32_t)((uint64_t)i * v->ranks / v->spec.vranks);
		struct qv_vrank *vr = home == v->rank ? qv_vrank_make(v, i) : NULL;

		v->homes[i] = home;
		if (home == v->rank && !vr)
			return QV_ENOMEM;
		if (vr)
			vr->here = 1;
	}
	if (v->rank == 0)
		v->fence.reported = calloc(v->ranks, sizeof(*v->fence.reported));
	return v->rank || v->fence.reported ? QV_OK : QV_ENOMEM;
}

int qv_vranks_create(const struct qv_vranks_spec *spec, const struct qv_vranks_calls *calls,
		     void *port, struct qv_vranks **vranks)
{
	struct qv_vranks_spec s = {0};
	struct qv_vranks *v;
	int rc;

	if (qv_settings_read(&s, sizeof(s), QV_SETTINGS_UPTO(struct qv_vranks_spec, state), spec) ||
	    !is_right(&s, calls))
		return QV_EINVAL;
	v = calloc(1, sizeof(*v));
	if (!v)
		return QV_ENOMEM;
	v->spec = s;
	v->spec.state = s.state ? s.state : 1 << 20;
	v->calls = *calls;
	v->port = port;
	v->rank = s.stream.rank;
	v->ranks = s.stream.ranks;
	rc = open_stream(v);
	if (!rc)
		rc = settle(v);
	v->spec.homes = NULL; /* the caller's */
	if (rc) {
		qv_vranks_free(v);
		return rc;
	}
	*vranks = v;
	return QV_OK;
}

static void free_queue(struct qv_vrank_queue *q)
{
	struct qv_vrank_kept *k;

	while ((k = qv_vrank_pop(q)))
		free(k);
}

void qv_vranks_free(struct qv_vranks *v)
{
	if (!v)
		return;
	qv_stream_free(v->stream);
	qv_vrank_free_table(v);
	free_queue(&v->local);
	free_queue(&v->fence.early);
	free(v->fence.reported);
	free(v->fence.moves);
	free(v->homes);
	free(v->out);
	free(v->list);
	free(v);
}

uint32_t qv_vranks_home(const struct qv_vranks *v, uint32_t vrank)
{
	return vrank < v->spec.vranks ? v->homes[vrank] : UINT32_MAX;
}

int qv_vranks_here(const struct qv_vranks *v, uint32_t vrank)
{
	const struct qv_vrank *vr = qv_vrank_look(v, vrank);

	return vr && vr->here;
}

size_t qv_vranks_longest(const struct qv_vranks *v)
{
	return v->longest - ITEM_HEAD;
}

int qv_vranks_flush(struct qv_vranks *v)
{
	const int rc = qv_stream_flush(v->stream);

	return v->failed ? v->failed : rc;
}

int qv_vranks_progress(struct qv_vranks *v, uint64_t now)
{
	const int rc = qv_stream_progress(v->stream, now);

	return v->failed ? v->failed : rc;
}

void qv_vranks_done(struct qv_vranks *v, uint32_t id, int status)
{
	qv_stream_done(v->stream, id, status);
}

void qv_vranks_stats(const struct qv_vranks *v, struct qv_vranks_stats *stats)
{
	*stats = v->stats;
	qv_stream_stats(v->stream, &stats->stream);
}
