/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - streams of tiny items over an MPI. */
#include "port.h"

#include "engine/base/settings.h"

#include <stdlib.h>

struct qv_am_stream {
	struct qv_am_port port;
	struct qv_stream *stream;
	void (*item)(void *user, uint32_t from, const void *data, size_t bytes);
	void *user;
	int fencing; /* nothing waits for more */
};

/* What the port calls. */

static int deliver(void *object, uint32_t from, const void *buf, size_t bytes, uint64_t now)
{
	const struct qv_am_stream *s = object;

	return qv_stream_deliver(s->stream, from, buf, bytes, now);
}

static int progress(void *object, uint64_t now)
{
	const struct qv_am_stream *s = object;

	return s->fencing ? qv_stream_flush(s->stream) : qv_stream_progress(s->stream, now);
}

static void done(void *object, uint32_t id, int status)
{
	qv_stream_done(((const struct qv_am_stream *)object)->stream, id, status);
}

/* The stream's port is the first member. */
static void come(void *port, uint32_t from, const void *data, size_t bytes)
{
	struct qv_am_stream *s = port;

	qv_am_port_give(&s->port);
	s->item(s->user, from, data, bytes);
	qv_am_port_give(NULL);
}

/* Made and freed. */

/* What happens on this rank; *same: what must be so on all. */
static int make(struct qv_am_stream *s, const struct qv_stream_spec *spec, uint32_t rank,
		uint32_t ranks, struct qv_stream_spec *same)
{
	static const struct qv_stream_calls calls = {.send = qv_am_port_send, .item = come};
	const size_t first = QV_SETTINGS_UPTO(struct qv_stream_spec, envelope);

	if (qv_settings_read(same, sizeof(*same), first, spec) || !s->item)
		return QV_EINVAL;
	same->rank = rank;
	same->ranks = ranks;
	same->envelope = 0;
	s->port.limit = same->limit ? same->limit : QV_STREAM_LIMIT;
	return qv_stream_create(same, &calls, &s->port, &s->stream);
}

int qv_am_stream_create(int comm, const struct qv_stream_spec *spec,
			void (*item)(void *port, uint32_t from, const void *data, size_t bytes),
			void *user, struct qv_am_stream **stream)
{
	static const struct qv_am_object is = {deliver, progress, done};
	struct qv_am_stream mine = {.item = item, .user = user}, *s;
	struct qv_stream_spec same = {0};
	uint32_t rank, ranks;
	int rc = qv_am_port_open(&mine.port, comm, &rank, &ranks);

	if (rc)
		return rc;
	s = malloc(sizeof(*s));
	rc = QV_ENOMEM;
	if (s) {
		*s = mine;
		s->port.is = &is;
		s->port.object = s;
		rc = make(s, spec, rank, ranks, &same);
	}
	rc = qv_am_port_begin(
		s ? &s->port : &mine.port, rc,
		(const uint64_t[]){same.way, same.items, same.limit, same.wait_ns, same.window}, 5);
	if (rc && s)
		qv_stream_free(s->stream);
	if (rc)
		free(s);
	else
		*stream = s;
	return rc;
}

int qv_am_stream_free(struct qv_am_stream *s)
{
	int rc = s ? qv_am_stream_fence(s) : QV_OK;

	if (s && !rc)
		rc = qv_am_port_close(&s->port);
	if (rc || !s)
		return rc;
	qv_stream_free(s->stream);
	free(s);
	return QV_OK;
}

const struct qv_stream *qv_am_stream_of(const struct qv_am_stream *s)
{
	return s->stream;
}

/* Used. */

static int insert(struct qv_am_stream *s,
		  int (*by)(struct qv_stream *, uint32_t, const void *, size_t, uint64_t),
		  uint32_t to, const void *data, size_t bytes)
{
	int rc = qv_am_port_may_insert(&s->port);

	if (rc)
		return rc;
	while ((rc = by(s->stream, to, data, bytes, qv_am_port_now(&s->port))) == QV_EAGAIN)
		if ((rc = qv_am_port_look(&s->port, 1)))
			return rc;
	return rc ? rc : qv_am_port_look(&s->port, 0);
}

int qv_am_stream_insert(struct qv_am_stream *s, uint32_t to, const void *data, size_t bytes)
{
	return insert(s, qv_stream_insert, to, data, bytes);
}

int qv_am_stream_insert_urgent(struct qv_am_stream *s, uint32_t to, const void *data, size_t bytes)
{
	return insert(s, qv_stream_insert_urgent, to, data, bytes);
}

int qv_am_stream_multicast(struct qv_am_stream *s, enum qv_section by, const uint32_t *to, size_t n,
			   const void *data, size_t bytes)
{
	int rc = qv_am_port_may_insert(&s->port);

	if (rc)
		return rc;
	while ((rc = qv_stream_multicast(s->stream, by, to, n, data, bytes,
					 qv_am_port_now(&s->port))) == QV_EAGAIN)
		if ((rc = qv_am_port_look(&s->port, 1)))
			return rc;
	return rc ? rc : qv_am_port_look(&s->port, 0);
}

int qv_am_stream_progress(struct qv_am_stream *s)
{
	return qv_am_port_is_giving() ? QV_EINVAL : qv_am_port_progress(&s->port);
}

/*
 * Waves of sums: when as many items had come by the last wave as have been inserted by this one,
 * nothing was under way in between (Mattern, "Algorithms for distributed termination detection",
 * 1987, the four counter method).
 */
int qv_am_stream_fence(struct qv_am_stream *s)
{
	uint64_t *sums = s->port.sums, come = UINT64_MAX;
	struct qv_stream_stats stats;
	int rc, over = 0;

	if (qv_am_port_is_giving())
		return QV_EINVAL;
	s->fencing = 1;
	do {
		qv_stream_stats(s->stream, &stats);
		sums[0] = stats.inserted;
		sums[1] = stats.delivered;
		rc = qv_am_port_sum(&s->port);
		over = sums[0] == come;
		come = sums[1];
	} while (!rc && !over);
	s->fencing = 0;
	return rc;
}
