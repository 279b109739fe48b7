/* SPDX-License-Identifier: BSD-2-Clause */
/* vranks.c - vranks over an MPI: they move between its processes. */
#include "port.h"

#include "engine/base/settings.h"

#include <stdlib.h>

struct qv_am_vranks {
	struct qv_am_port port;
	struct qv_vranks *vranks;
	struct qv_vranks_calls calls;
	void *user;
	int fencing;
};

/* What the port calls. */

static int deliver(void *object, uint32_t from, const void *buf, size_t bytes, uint64_t now)
{
	const struct qv_am_vranks *v = object;

	return qv_vranks_deliver(v->vranks, from, buf, bytes, now);
}

static int progress(void *object, uint64_t now)
{
	const struct qv_am_vranks *v = object;

	return v->fencing ? qv_vranks_flush(v->vranks) : qv_vranks_progress(v->vranks, now);
}

static void done(void *object, uint32_t id, int status)
{
	qv_vranks_done(((const struct qv_am_vranks *)object)->vranks, id, status);
}

/* The program's functions; the port is the first member. */

static void come(void *port, const struct qv_vrank_item *item)
{
	struct qv_am_vranks *v = port;

	qv_am_port_give(&v->port);
	v->calls.item(v->user, item);
	qv_am_port_give(NULL);
}

static int leave(void *port, uint32_t vrank, struct qv_vrank_state *state)
{
	struct qv_am_vranks *v = port;
	int rc;

	qv_am_port_give(&v->port);
	rc = v->calls.leave(v->user, vrank, state);
	qv_am_port_give(NULL);
	return rc;
}

static int arrive(void *port, uint32_t vrank, const void *state, size_t bytes)
{
	struct qv_am_vranks *v = port;
	int rc;

	qv_am_port_give(&v->port);
	rc = v->calls.arrive(v->user, vrank, state, bytes);
	qv_am_port_give(NULL);
	return rc;
}

/* Made and freed. */

/* A number for the table of homes, as good as surely another one for another table. */
static uint64_t hash_of(const struct qv_vranks_spec *spec)
{
	uint64_t h = 14695981039346656037u;

	for (uint32_t i = 0; spec->homes && i < spec->vranks; i++)
		h = (h ^ spec->homes[i]) * 1099511628211u;
	return h;
}

/* What happens on this rank; *same: what must be so on all. */
static int make(struct qv_am_vranks *v, const struct qv_vranks_spec *spec, uint32_t rank,
		uint32_t ranks, struct qv_vranks_spec *same)
{
	static const struct qv_vranks_calls calls = {qv_am_port_send, come, leave, arrive};
	const size_t first = QV_SETTINGS_UPTO(struct qv_vranks_spec, state);

	if (qv_settings_read(same, sizeof(*same), first, spec) || !v->calls.item ||
	    !v->calls.leave || !v->calls.arrive)
		return QV_EINVAL;
	same->stream.rank = rank;
	same->stream.ranks = ranks;
	v->port.limit = same->stream.limit ? same->stream.limit : QV_STREAM_LIMIT;
	return qv_vranks_create(same, &calls, &v->port, &v->vranks);
}

int qv_am_vranks_create(int comm, const struct qv_vranks_spec *spec,
			const struct qv_vranks_calls *calls, void *user,
			struct qv_am_vranks **vranks)
{
	static const struct qv_am_object is = {deliver, progress, done};
	struct qv_am_vranks mine = {.calls = *calls, .user = user}, *v;
	struct qv_vranks_spec same = {0};
	uint32_t rank, ranks;
	int rc = qv_am_port_open(&mine.port, comm, &rank, &ranks);

	if (rc)
		return rc;
	v = malloc(sizeof(*v));
	rc = QV_ENOMEM;
	if (v) {
		*v = mine;
		v->port.is = &is;
		v->port.object = v;
		rc = make(v, spec, rank, ranks, &same);
	}
	rc = qv_am_port_begin(v ? &v->port : &mine.port, rc,
			      (const uint64_t[]){same.stream.way, same.stream.items,
						 same.stream.limit, same.stream.wait_ns,
						 same.stream.window, same.vranks, same.state,
						 rc ? 0 : hash_of(&same)},
			      8);
	if (rc && v)
		qv_vranks_free(v->vranks);
	if (rc)
		free(v);
	else
		*vranks = v;
	return rc;
}

int qv_am_vranks_free(struct qv_am_vranks *v)
{
	int rc = v ? qv_am_vranks_fence(v) : QV_OK;

	if (v && !rc)
		rc = qv_am_port_close(&v->port);
	if (rc || !v)
		return rc;
	qv_vranks_free(v->vranks);
	free(v);
	return QV_OK;
}

const struct qv_vranks *qv_am_vranks_of(const struct qv_am_vranks *v)
{
	return v->vranks;
}

/* Used. */

int qv_am_vranks_insert(struct qv_am_vranks *v, const struct qv_vrank_item *item)
{
	const int rc = qv_am_port_may_insert(&v->port);

	return rc ? rc : qv_vranks_insert(v->vranks, item, qv_am_port_now(&v->port));
}

int qv_am_vranks_multicast(struct qv_am_vranks *v, const struct qv_vrank_item *item,
			   enum qv_section by, const uint32_t *to, size_t n)
{
	const int rc = qv_am_port_may_insert(&v->port);

	return rc ? rc : qv_vranks_multicast(v->vranks, item, by, to, n, qv_am_port_now(&v->port));
}

int qv_am_vranks_move(struct qv_am_vranks *v, uint32_t vrank, uint32_t to)
{
	const int rc = qv_am_port_may_insert(&v->port);

	return rc ? rc : qv_vranks_move(v->vranks, vrank, to, qv_am_port_now(&v->port));
}

int qv_am_vranks_progress(struct qv_am_vranks *v)
{
	return qv_am_port_is_giving() ? QV_EINVAL : qv_am_port_progress(&v->port);
}

/* When it is over here, what tells another rank so may still have to be sent on from here: all go on until
 * it is over for all. */
int qv_am_vranks_fence(struct qv_am_vranks *v)
{
	int rc;

	if (qv_am_port_is_giving())
		return QV_EINVAL;
	v->fencing = 1;
	while ((rc = qv_vranks_fence(v->vranks, qv_am_port_now(&v->port))) == QV_EAGAIN) {
		qv_am_port_progress(&v->port);
		if (v->port.failed)
			break;
	}
	rc = v->port.failed ? v->port.failed : rc;
	if (!rc)
		rc = qv_am_port_sum(&v->port);
	v->fencing = 0;
	return rc;
}
