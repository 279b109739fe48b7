/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fence.c - fences of vranks: rank 0 asks all how many items they have sent and got, until
 * two rounds give the same and as many came as were sent; so nothing was under way in between. Then
 * it collects who is away from home, and tells all.
 */
#include "vrank.h"

#include <stdlib.h>

/* Sent by one rank to another, or to itself. */

static int tell(struct qv_vranks *v, uint32_t rank, enum qv_vrank_kind kind,
		const uint64_t *numbers, size_t n, const char *list, size_t bytes)
{
	const struct qv_vrank_envelope envelope = {.kind = (uint8_t)kind};

	return qv_vrank_emit(v, rank, envelope, numbers, n, list, bytes);
}

static int tell_others(struct qv_vranks *v, enum qv_vrank_kind kind, const uint64_t *numbers,
		       size_t n, const char *list, size_t bytes)
{
	int rc = QV_OK;

	for (uint32_t r = 1; r < v->ranks && !rc; r++)
		rc = tell(v, r, kind, numbers, n, list, bytes);
	return rc;
}

/* The end. */

static int take_early(struct qv_vranks *v)
{
	struct qv_vrank_kept *k;
	int rc = QV_OK;

	while (!rc && (k = qv_vrank_pop(&v->fence.early))) {
		struct qv_vrank_in in = {k->rank, k->envelope, k->item.data, k->item.bytes, 0};

		rc = qv_vrank_take(v, &in);
		if (rc == QV_EPROTO) {
			v->stats.refused++;
			rc = QV_OK;
		}
		free(k);
	}
	return rc;
}

static int finish(struct qv_vranks *v)
{
	struct qv_vrank_fence *f = &v->fence;

	qv_vrank_tidy(v);
	v->stats.fences++;
	f->on = 0;
	f->over = 1;
	f->quiet = 0;
	f->round = f->reports = f->lists = 0;
	f->sent = f->came = 0;
	f->moves_n = 0;
	for (uint32_t r = 0; f->reported && r < v->ranks; r++)
		f->reported[r] = 0;
	return take_early(v);
}

/* Who is where, at rank 0. */

static int note(struct qv_vrank_fence *f, uint32_t vrank, uint32_t rank)
{
	const size_t room = f->moves_room ? 2 * f->moves_room : 64;
	struct qv_vrank_move *grown;

	if (f->moves_n == f->moves_room) {
		grown = realloc(f->moves, room * sizeof(*grown));
		if (!grown)
			return QV_ENOMEM;
		f->moves = grown;
		f->moves_room = room;
	}
	f->moves[f->moves_n++] = (struct qv_vrank_move){vrank, rank};
	return QV_OK;
}

static int tell_homes(struct qv_vranks *v)
{
	const struct qv_vrank_fence *f = &v->fence;
	uint64_t last = 0;
	size_t i = 0;
	int rc = QV_OK;

	while (!rc && !last) {
		size_t n = 0;

		for (; i < f->moves_n && n + 12 <= v->longest; i++) {
			n += qv_put_number(v->list + n, f->moves[i].vrank);
			n += qv_put_number(v->list + n, f->moves[i].rank);
			v->homes[f->moves[i].vrank] = f->moves[i].rank;
		}
		last = i == f->moves_n;
		rc = tell_others(v, QV_VRANK_HOMES, &last, 1, v->list, n);
	}
	return rc ? rc : finish(v);
}

static int end_list(struct qv_vranks *v, uint32_t rank)
{
	v->fence.reported[rank] = UINT32_MAX;
	return ++v->fence.lists == v->ranks ? tell_homes(v) : QV_OK;
}

int qv_vrank_take_away(struct qv_vranks *v, struct qv_vrank_in *in)
{
	uint64_t last, vrank;
	int rc = QV_OK;

	if (v->rank || !v->fence.quiet || v->fence.reported[in->rank] == UINT32_MAX ||
	    qv_vrank_number(in, 2, &last))
		return QV_EPROTO;
	while (in->at < in->bytes && !rc) {
		if (qv_vrank_number(in, v->spec.vranks, &vrank))
			return QV_EPROTO;
		rc = note(&v->fence, (uint32_t)vrank, in->rank);
	}
	return !rc && last ? end_list(v, in->rank) : rc;
}

/* Those that are here and not at home. */
static int list_away(struct qv_vranks *v)
{
	uint64_t last = 0;
	size_t i = 0;
	int rc = QV_OK;

	while (!rc && !last) {
		size_t n = 0;

		for (; i < v->slots_n && n + 6 <= v->longest && !rc; i++) {
			const struct qv_vrank *vr = v->slots[i];

			if (!vr || !vr->here || v->homes[vr->vrank] == v->rank)
				continue;
			if (v->rank)
				n += qv_put_number(v->list + n, vr->vrank);
			else
				rc = note(&v->fence, vr->vrank, 0);
		}
		last = i == v->slots_n;
		if (v->rank && !rc)
			rc = tell(v, 0, QV_VRANK_AWAY, &last, 1, v->list, n);
	}
	return rc || v->rank ? rc : end_list(v, 0);
}

int qv_vrank_take_quiet(struct qv_vranks *v, struct qv_vrank_in *in)
{
	if (in->rank || !v->rank || !v->fence.on || v->fence.quiet)
		return QV_EPROTO;
	v->fence.quiet = 1;
	return list_away(v);
}

int qv_vrank_take_homes(struct qv_vranks *v, struct qv_vrank_in *in)
{
	uint64_t last, vrank, rank;

	if (in->rank || !v->rank || !v->fence.on || !v->fence.quiet ||
	    qv_vrank_number(in, 2, &last))
		return QV_EPROTO;
	while (in->at < in->bytes) {
		if (qv_vrank_number(in, v->spec.vranks, &vrank) ||
		    qv_vrank_number(in, v->ranks, &rank))
			return QV_EPROTO;
		v->homes[vrank] = (uint32_t)rank;
	}
	return last ? finish(v) : QV_OK;
}

/* Whether anything is under way. */

static int hear(struct qv_vranks *v, uint32_t rank, uint64_t sent, uint64_t came);

static int report(struct qv_vranks *v)
{
	const uint64_t numbers[] = {v->fence.round, v->sent, v->came};

	if (!v->rank)
		return hear(v, 0, v->sent, v->came);
	return tell(v, 0, QV_VRANK_REPORT, numbers, 3, NULL, 0);
}

/* All have reported. */
static int conclude(struct qv_vranks *v)
{
	struct qv_vrank_fence *f = &v->fence;
	const int quiet = f->round && f->sent == f->came && f->sent == f->sent_before &&
			  f->came == f->came_before;
	uint64_t round = f->round + 1;
	int rc;

	f->sent_before = f->sent;
	f->came_before = f->came;
	f->sent = f->came = 0;
	f->reports = 0;
	if (quiet) {
		f->quiet = 1;
		rc = tell_others(v, QV_VRANK_QUIET, NULL, 0, NULL, 0);
		return rc ? rc : list_away(v);
	}
	f->round++;
	rc = tell_others(v, QV_VRANK_ASK, &round, 1, NULL, 0);
	return rc ? rc : report(v);
}

static int hear(struct qv_vranks *v, uint32_t rank, uint64_t sent, uint64_t came)
{
	struct qv_vrank_fence *f = &v->fence;

	f->reported[rank]++;
	f->sent += sent;
	f->came += came;
	return ++f->reports == v->ranks ? conclude(v) : QV_OK;
}

int qv_vrank_take_report(struct qv_vranks *v, struct qv_vrank_in *in)
{
	uint64_t round, sent, came;

	if (v->rank || !in->rank || v->fence.quiet || qv_vrank_number(in, UINT32_MAX, &round) ||
	    qv_vrank_number(in, INT64_MAX, &sent) || qv_vrank_number(in, INT64_MAX, &came) ||
	    round != v->fence.round || v->fence.reported[in->rank] != round)
		return QV_EPROTO;
	return hear(v, in->rank, sent, came);
}

int qv_vrank_take_ask(struct qv_vranks *v, struct qv_vrank_in *in)
{
	uint64_t round;

	if (in->rank || !v->rank || !v->fence.on || v->fence.quiet ||
	    qv_vrank_number(in, UINT32_MAX, &round) || round != v->fence.round + 1)
		return QV_EPROTO;
	v->fence.round = (uint32_t)round;
	return report(v);
}

static void begin(struct qv_vranks *v)
{
	int rc;

	v->fence.on = 1;
	rc = report(v);
	if (rc)
		v->failed = rc;
}

int qv_vranks_fence(struct qv_vranks *v, uint64_t now)
{
	int rc;

	v->now = now;
	if (!v->failed && !v->depth && !v->fence.on && !v->fence.over)
		begin(v);
	rc = qv_vranks_flush(v);
	if (rc && rc != QV_EAGAIN)
		return rc;
	if (!v->fence.over)
		return QV_EAGAIN;
	v->fence.over = 0;
	return QV_OK;
}
