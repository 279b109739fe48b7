/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - fi_stream.h: streams of tiny items between the members of a group. */
#include "stream.h"
#include "engine/base/clock.h"
#include "engine/base/settings.h"

#include <stdlib.h>

static void come(void *port, uint32_t from, const void *data, size_t bytes)
{
	struct qv_fi_stream *s = port;

	s->giving = true;
	s->item(s->user, from, data, bytes);
	s->giving = false;
}

/* Made and freed. */

static void free_stream(struct qv_fi_stream *s)
{
	qv_stream_free(s->stream);
	free(s->members);
	free(s->buffers);
	free(s->sent);
	free(s);
}

/* A stream of this member, with nothing under way. QV_EINVAL, QV_ENOMEM. */
static int make(const struct qv_fi_group *group, const struct qv_fi_stream_call *call,
		struct qv_fi_stream **stream)
{
	static const struct qv_stream_calls calls = {.send = qv_fi_stream_send, .item = come};
	const size_t first = QV_SETTINGS_UPTO(struct qv_stream_spec, envelope);
	struct qv_stream_spec spec = {0};
	struct qv_fi_stream *s;
	int rc;

	if (!call->item || !call->spec || qv_settings_read(&spec, sizeof(spec), first, call->spec))
		return QV_EINVAL;
	spec.ranks = group->n;
	spec.rank = group->rank;
	spec.envelope = 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return QV_ENOMEM;
	s->item = call->item;
	s->user = call->user;
	s->ranks = group->n;
	s->limit = spec.limit ? spec.limit : QV_STREAM_LIMIT;
	s->now = qv_clock_ns();
	rc = qv_stream_create(&spec, &calls, s, &s->stream);
	if (!rc) {
		s->members = calloc(s->ranks, sizeof(*s->members));
		s->buffers = malloc(s->ranks * s->limit);
		rc = s->members && s->buffers ? QV_OK : QV_ENOMEM;
	}
	if (rc)
		free_stream(s);
	else
		*stream = s;
	return rc;
}

static int open_stream(struct fid *fid, const struct qv_fi_stream_call *call,
		       struct qv_fi_stream **stream)
{
	struct qv_fi_group *group;
	struct qv_fi_stream *s = NULL;
	struct qv_fi_ep *ep;
	int rc = qv_fi_coll_endpoint(fid, 0, &ep);

	if (rc)
		return rc;
	qv_fi_lock(ep->dom);
	rc = qv_fi_coll_group(ep, call->group, &group);
	if (!rc)
		rc = -qv_fi_errno(make(group, call, &s));
	if (!rc) {
		s->op = qv_fi_coll_op_new_stream(ep->coll, group, s);
		if (!s->op) {
			free_stream(s);
			rc = -FI_ENOMEM;
		}
	}
	if (!rc) {
		s->dom = ep->dom;
		s->n_idle = s->ranks - 1;
		qv_fi_stream_post(s);
		qv_fi_coll_op_start(s->op);
		qv_fi_coll_progress(ep);
		*stream = s;
	}
	qv_fi_unlock(ep->dom);
	return rc;
}

/* Used. */

/* 0, or -FI_E*. */
static int may_call(const struct qv_fi_stream *s)
{
	if (s->giving)
		return -FI_EINVAL;
	if (!s->op)
		return -FI_ECANCELED;
	return -qv_fi_errno(s->failed);
}

/* The same. */
static int may_insert(const struct qv_fi_stream *s)
{
	if (!s->op)
		return -FI_ECANCELED;
	if (s->failed)
		return -qv_fi_errno(s->failed);
	return s->fencing && !s->giving ? -FI_EAGAIN : 0;
}

static int insert(struct qv_fi_stream *s,
		  int (*by)(struct qv_stream *, uint32_t, const void *, size_t, uint64_t),
		  uint32_t to, const void *data, size_t bytes)
{
	const int rc = may_insert(s);

	return rc ? rc : -qv_fi_errno(by(s->stream, to, data, bytes, s->now));
}

static int insert_plain(struct qv_fi_stream *s, uint32_t to, const void *data, size_t bytes)
{
	return insert(s, qv_stream_insert, to, data, bytes);
}

static int insert_urgent(struct qv_fi_stream *s, uint32_t to, const void *data, size_t bytes)
{
	return insert(s, qv_stream_insert_urgent, to, data, bytes);
}

static int multicast(struct qv_fi_stream *s, enum qv_section by, const uint32_t *to, size_t n,
		     const void *data, size_t bytes)
{
	const int rc = may_insert(s);

	return rc ? rc
		  : -qv_fi_errno(qv_stream_multicast(s->stream, by, to, n, data, bytes, s->now));
}

/* QV_OK, QV_EAGAIN, or what has ended the stream. */
static int advance(struct qv_fi_stream *s, bool flush)
{
	uint32_t next = 0;
	size_t bytes;
	int rc = QV_OK;

	s->now = qv_clock_ns();
	qv_fi_stream_look(s);
	while (!s->failed && !rc && qv_fi_stream_next(s, &next, &bytes)) {
		const uint32_t from = next - 1;

		rc = qv_stream_deliver(s->stream, from, s->buffers + from * s->limit, bytes,
				       s->now);
		qv_fi_stream_taken(s, from, rc);
	}
	if (!s->failed && !rc)
		rc = flush ? qv_stream_flush(s->stream) : qv_stream_progress(s->stream, s->now);
	if (!s->failed && rc != QV_EAGAIN)
		s->failed = rc;
	return s->failed ? s->failed : rc;
}

static int progress(struct qv_fi_stream *s)
{
	const int rc = may_call(s);

	return rc ? rc : -qv_fi_errno(advance(s, false));
}

static int flush(struct qv_fi_stream *s)
{
	const int rc = may_call(s);

	return rc ? rc : -qv_fi_errno(advance(s, true));
}

/*
 * Waves of sums: when as many items had come by the last wave as have been inserted by this one,
 * nothing was under way in between (Mattern, "Algorithms for distributed termination detection",
 * 1987, the four counter method). 0: so it was; -FI_EAGAIN: another wave is on; or its error.
 */
static int next_wave(struct qv_fi_stream *s)
{
	const struct qv_fi_coll_call sum = {.coll = QV_COLL_ALLREDUCE,
					    .group = s->op->group->mc.fi_addr,
					    .root = FI_ADDR_NOTAVAIL,
					    .buf = s->mine,
					    .result = s->sums,
					    .count = 2,
					    .type = FI_UINT64,
					    .op = FI_SUM};
	struct qv_stream_stats stats;
	int rc;

	if (s->summed) {
		s->summed = false;
		if (s->sums[0] == s->come)
			return 0;
		s->come = s->sums[1];
	}
	qv_stream_stats(s->stream, &stats);
	s->mine[0] = stats.inserted;
	s->mine[1] = stats.delivered;
	rc = qv_fi_coll_start_sums(s->op->coll, &sum, s);
	s->summing = !rc;
	return rc ? rc : -FI_EAGAIN;
}

static int fence(struct qv_fi_stream *s)
{
	int rc = may_call(s);

	if (rc)
		return rc;
	if (!s->fencing)
		s->come = UINT64_MAX;
	s->fencing = true;
	rc = advance(s, true);
	if (rc && rc != QV_EAGAIN)
		return -qv_fi_errno(rc);
	qv_fi_lock(qv_fi_stream_ep(s)->dom);
	if (s->op->status) /* lost since */
		rc = -qv_fi_errno(s->op->status);
	else
		rc = s->summing ? -FI_EAGAIN : next_wave(s);
	qv_fi_unlock(qv_fi_stream_ep(s)->dom);
	s->fencing = rc;
	return rc;
}

static void stats(const struct qv_fi_stream *s, struct qv_stream_stats *stats)
{
	qv_stream_stats(s->stream, stats);
}

/* Is it over? */
static bool end(struct qv_fi_stream *s)
{
	bool over;

	qv_fi_lock(s->dom);
	if (s->op) /* where the group is lost, others are told */
		qv_fi_ep_progress(qv_fi_stream_ep(s));
	if (s->op) {
		struct qv_fi_ep *ep = qv_fi_stream_ep(s);

		s->closing = true;
		qv_fi_coll_op_end(s->op, QV_ECANCELED);
		qv_fi_coll_progress(ep);
	}
	over = !s->op;
	qv_fi_unlock(s->dom);
	return over;
}

static int close_stream(struct qv_fi_stream *s)
{
	if (!s)
		return 0;
	if (s->giving)
		return -FI_EINVAL;
	if (s->op && !s->failed && advance(s, true) == QV_EAGAIN)
		return -FI_EAGAIN;
	if (s->op && !end(s)) {
		s->failed = QV_ECANCELED;
		return -FI_EAGAIN;
	}
	free_stream(s);
	return 0;
}

struct qv_fi_stream_ops qv_fi_stream_ops = {
	.size = sizeof(struct qv_fi_stream_ops),
	.open = open_stream,
	.insert = insert_plain,
	.insert_urgent = insert_urgent,
	.progress = progress,
	.flush = flush,
	.fence = fence,
	.stats = stats,
	.close = close_stream,
	.multicast = multicast,
};
