/* SPDX-License-Identifier: BSD-2-Clause */
/* vranks.c - vranks over an MPI: they move between its processes. */
#include "port.h"

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

	v->port.giving++;
	v->calls.item(v->user, item);
	v->port.giving--;
}

static int leave(void *port, uint32_t vrank, struct qv_vrank_state *state)
{
	struct qv_am_vranks *v = port;
	int rc;

	v->port.giving++;
	rc = v->calls.leave(v->user, vrank, state);
	v->port.giving--;
	return rc;
}

static int arrive(void *port, uint32_t vrank, const void *state, size_t bytes)
{
	struct qv_am_vranks *v = port;
	int rc;

	v->port.giving++;
	rc = v->calls.arrive(v->user, vrank, state, bytes);
	v->port.giving--;
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

static int begin(struct qv_am_vranks *v, const struct qv_vranks_spec *spec)
{
	static const struct qv_vranks_calls calls = {qv_am_port_send, come, leave, arrive};
	const struct qv_stream_spec *st = &spec->stream;
	const uint64_t same[] = {st->way,    st->items,    st->limit,   st->wait_ns,
				 st->window, spec->vranks, spec->state, hash_of(spec)};
	int rc = v->calls.item && v->calls.leave && v->calls.arrive ? QV_OK : QV_EINVAL;

	v->port.limit = st->limit ? st->limit : 8192;
	if (!rc)
		rc = qv_vranks_create(spec, &calls, &v->port, &v->vranks);
	return qv_am_port_begin(&v->port, rc, same, sizeof(same) / sizeof(same[0]));
}

int qv_am_vranks_create(int comm, const struct qv_vranks_spec *spec,
			const struct qv_vranks_calls *calls, void *user,
			struct qv_am_vranks **vranks)
{
	static const struct qv_am_object is = {deliver, progress, done};
	struct qv_am_vranks *v = calloc(1, sizeof(*v));
	struct qv_vranks_spec mine;
	int rc = v ? qv_am_copy(&mine, sizeof(mine), spec, spec->size) : QV_ENOMEM;

	if (rc) {
		free(v);
		return rc;
	}
	v->calls = *calls;
	v->user = user;
	v->port.is = &is;
	v->port.object = v;
	rc = qv_am_port_open(&v->port, comm, &mine.stream.rank, &mine.stream.ranks);
	if (!rc)
		rc = begin(v, &mine);
	if (rc) {
		qv_vranks_free(v->vranks);
		free(v);
		return rc;
	}
	*vranks = v;
	return QV_OK;
}

/* Behind the fence some ranks still send on what tells others that it is over. */
int qv_am_vranks_free(struct qv_am_vranks *v)
{
	uint64_t nothing = 0;
	int rc = v ? qv_am_vranks_fence(v) : QV_OK;

	if (!v)
		return QV_OK;
	v->fencing = 1;
	if (!rc)
		rc = qv_am_port_sum(&v->port, &nothing, 1);
	if (!rc)
		rc = qv_am_port_close(&v->port);
	if (rc)
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
	return qv_vranks_insert(v->vranks, item, v->port.now);
}

int qv_am_vranks_multicast(struct qv_am_vranks *v, const struct qv_vrank_item *item,
			   const uint32_t *to, size_t n)
{
	return qv_vranks_multicast(v->vranks, item, to, n, v->port.now);
}

int qv_am_vranks_move(struct qv_am_vranks *v, uint32_t vrank, uint32_t to)
{
	return qv_vranks_move(v->vranks, vrank, to, v->port.now);
}

int qv_am_vranks_progress(struct qv_am_vranks *v)
{
	return v->port.giving ? QV_EINVAL : qv_am_port_progress(&v->port);
}

int qv_am_vranks_fence(struct qv_am_vranks *v)
{
	int rc;

	if (v->port.giving)
		return QV_EINVAL;
	v->fencing = 1;
	while ((rc = qv_vranks_fence(v->vranks, v->port.now)) == QV_EAGAIN) {
		qv_am_port_progress(&v->port);
		if ((rc = v->port.failed))
			break;
	}
	v->fencing = 0;
	return rc;
}
