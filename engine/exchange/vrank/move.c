/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * move.c - vranks that move, by way of their home, behind all that was sent before.
 *
 * From its home a vrank just leaves: what comes for it later goes after its state. From another
 * rank it asks its home first. The home holds back what comes from then on and says so; when that
 * word is there, so is all that the home had sent on. Now the vrank leaves, its state goes to its
 * home and on to where it goes, and what was held back behind it.
 */
#include "vrank.h"

#include <stdlib.h>
#include <string.h>

#define STATE_HEAD 30 /* at most: two numbers of 32 bits, two lengths */

/* It leaves. */

int qv_vrank_add(struct qv_vrank_state *state, const void *data, size_t bytes)
{
	size_t room = state->room ? state->room : 256;
	char *grown;

	if (bytes > state->most - state->n)
		return state->failed = QV_EMSGSIZE;
	while (room < state->n + bytes)
		room *= 2;
	if (room > state->room) {
		grown = realloc(state->at, room);
		if (!grown)
			return state->failed = QV_ENOMEM;
		state->at = grown;
		state->room = room;
	}
	if (bytes)
		memcpy(state->at + state->n, data, bytes);
	state->n += bytes;
	return QV_OK;
}

static int emit_piece(struct qv_vranks *v, uint32_t rank, const uint64_t *numbers, const char *data,
		      size_t bytes)
{
	const struct qv_vrank_envelope envelope = {.kind = QV_VRANK_STATE};

	return qv_vrank_emit(v, rank, envelope, numbers, 4, data, bytes);
}

static int send_state(struct qv_vranks *v, const struct qv_vrank *vr, uint32_t rank,
		      const struct qv_vrank_state *state)
{
	const size_t most = v->longest - STATE_HEAD;
	size_t at = 0, bytes;
	int rc;

	do {
		const uint64_t numbers[] = {vr->vrank, vr->target, state->n, at};

		bytes = state->n - at < most ? state->n - at : most;
		rc = emit_piece(v, rank, numbers, bytes ? state->at + at : NULL, bytes);
		at += bytes;
	} while (!rc && at < state->n);
	return rc;
}

/* What the user's functions say ends all, whatever it is: by another name where calls say by that one that
 * nothing has changed. */
static int end_with(struct qv_vranks *v, int rc)
{
	if (rc == QV_EAGAIN || rc == QV_EINVAL || rc == QV_EMSGSIZE)
		rc = QV_ECANCELED;
	if (rc < 0)
		v->failed = rc;
	return QV_OK;
}

static int depart(struct qv_vranks *v, struct qv_vrank *vr)
{
	const int is_home = v->homes[vr->vrank] == v->rank;
	struct qv_vrank_state state = {.most = v->spec.state};
	int rc;

	vr->here = vr->leaving = 0;
	vr->where = vr->target;
	vr->closed = is_home; /* what comes within the call goes behind the state */
	v->giving = 1;
	rc = v->calls.leave(v->port, vr->vrank, &state);
	v->giving = 0;
	if (rc >= 0)
		rc = state.failed;
	if (!rc)
		rc = send_state(v, vr, is_home ? vr->target : v->homes[vr->vrank], &state);
	free(state.at);
	vr->closed = 0;
	return rc ? end_with(v, rc) : qv_vrank_release(v, vr);
}

int qv_vrank_begin_move(struct qv_vranks *v, struct qv_vrank *vr)
{
	const struct qv_vrank_envelope envelope = {.kind = QV_VRANK_LEAVE};
	const uint64_t numbers[] = {vr->vrank, vr->target};
	const uint32_t home = v->homes[vr->vrank];

	return home == v->rank ? depart(v, vr)
			       : qv_vrank_emit(v, home, envelope, numbers, 2, NULL, 0);
}

/* At its home: a vrank that is away wants to go elsewhere. */
int qv_vrank_take_leave(struct qv_vranks *v, struct qv_vrank_in *in)
{
	const struct qv_vrank_envelope envelope = {.kind = QV_VRANK_CLOSED};
	uint64_t vrank, target;
	struct qv_vrank *vr;

	if (qv_vrank_number(in, v->spec.vranks, &vrank) || qv_vrank_number(in, v->ranks, &target) ||
	    v->homes[vrank] != v->rank)
		return QV_EPROTO;
	vr = qv_vrank_find(v, (uint32_t)vrank);
	if (!vr || vr->here || vr->closed || vr->where != in->rank)
		return QV_EPROTO;
	vr->closed = 1;
	vr->target = (uint32_t)target;
	vr->have = 0;
	return qv_vrank_emit(v, in->rank, envelope, &vrank, 1, NULL, 0);
}

/* Nothing more will come for it here. */
int qv_vrank_take_closed(struct qv_vranks *v, struct qv_vrank_in *in)
{
	struct qv_vrank *vr;
	uint64_t vrank;

	if (qv_vrank_number(in, v->spec.vranks, &vrank) || v->homes[vrank] != in->rank)
		return QV_EPROTO;
	vr = qv_vrank_find(v, (uint32_t)vrank);
	return vr && vr->here && vr->leaving ? depart(v, vr) : QV_EPROTO;
}

/* It comes. */

struct piece {
	uint64_t vrank, target, total, offset;
	const char *data;
	size_t bytes;
};

static int read_piece(const struct qv_vranks *v, struct qv_vrank_in *in, struct piece *p)
{
	if (qv_vrank_number(in, v->spec.vranks, &p->vrank) ||
	    qv_vrank_number(in, v->ranks, &p->target) ||
	    qv_vrank_number(in, (uint64_t)v->spec.state + 1, &p->total) ||
	    qv_vrank_number(in, p->total + 1, &p->offset))
		return QV_EPROTO;
	p->data = qv_vrank_rest(in, &p->bytes);
	return p->bytes <= p->total - p->offset && (p->bytes || !p->total) ? QV_OK : QV_EPROTO;
}

static int is_last(const struct piece *p)
{
	return p->offset + p->bytes == p->total;
}

static int put_together(struct qv_vrank *vr, const struct piece *p)
{
	if (!vr->state)
		vr->state = malloc((size_t)p->total + 1);
	if (!vr->state)
		return QV_ENOMEM;
	if (p->bytes)
		memcpy(vr->state + p->offset, p->data, p->bytes);
	return QV_OK;
}

static int arrive(struct qv_vranks *v, struct qv_vrank *vr, size_t bytes)
{
	int rc;

	vr->here = 1;
	vr->where = v->rank;
	v->stats.moved++;
	v->giving = 1;
	rc = v->calls.arrive(v->port, vr->vrank, vr->state, bytes);
	v->giving = 0;
	free(vr->state);
	vr->state = NULL;
	return end_with(v, rc);
}

/* At its home, from where it was away. */
static int pass_state(struct qv_vranks *v, struct qv_vrank *vr, const struct piece *p)
{
	const uint64_t numbers[] = {p->vrank, p->target, p->total, p->offset};
	int rc;

	if (vr->target == v->rank)
		rc = put_together(vr, p);
	else
		rc = emit_piece(v, vr->target, numbers, p->data, p->bytes);
	if (rc || !is_last(p))
		return rc;
	vr->closed = 0;
	vr->where = vr->target;
	if (vr->target == v->rank)
		rc = arrive(v, vr, (size_t)p->total);
	return rc ? rc : qv_vrank_release(v, vr);
}

/* Where it goes, from its home. */
static int end_state(struct qv_vranks *v, struct qv_vrank *vr, const struct piece *p)
{
	const int rc = put_together(vr, p);

	return rc || !is_last(p) ? rc : arrive(v, vr, (size_t)p->total);
}

int qv_vrank_take_state(struct qv_vranks *v, struct qv_vrank_in *in)
{
	struct qv_vrank *vr;
	struct piece p;
	int is_home;

	if (read_piece(v, in, &p))
		return QV_EPROTO;
	is_home = v->homes[p.vrank] == v->rank;
	vr = qv_vrank_find(v, (uint32_t)p.vrank);
	if (is_home && (!vr || !vr->closed || vr->where != in->rank || vr->target != p.target))
		return QV_EPROTO;
	if (!is_home && (v->homes[p.vrank] != in->rank || p.target != v->rank || (vr && vr->here)))
		return QV_EPROTO;
	if (!vr)
		vr = qv_vrank_make(v, (uint32_t)p.vrank);
	if (!vr)
		return QV_ENOMEM;
	if (p.offset != vr->have || (vr->have && p.total != vr->total))
		return QV_EPROTO;
	vr->total = (size_t)p.total;
	vr->have = is_last(&p) ? 0 : vr->have + p.bytes;
	return is_home ? pass_state(v, vr, &p) : end_state(v, vr, &p);
}
