/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vrank.c - items of vranks: from the sender's home to the receiver's, and on to where it is.
 *
 * The way of a pair changes only where a vrank's state passes the same ranks behind what was sent
 * before it. So items stay in order without numbers, but for those by ring and tree: the stream
 * numbers these.
 */
#include "vrank.h"

#include <stdlib.h>
#include <string.h>

/* What is sent. */

int qv_vrank_emit(struct qv_vranks *v, uint32_t rank, struct qv_vrank_envelope envelope,
		  const uint64_t *numbers, size_t n, const void *data, size_t bytes)
{
	struct qv_stream_item item = {.to = rank,
				      .from = v->rank,
				      .data = v->out,
				      .envelope_bytes = sizeof(envelope),
				      .envelope = (const char *)&envelope};
	int rc;

	envelope.fences = (uint8_t)v->stats.fences;
	for (size_t i = 0; i < n; i++)
		item.bytes += qv_put_number(v->out + item.bytes, numbers[i]);
	if (bytes)
		memcpy(v->out + item.bytes, data, bytes);
	item.bytes += bytes;
	rc = qv_stream_take(v->stream, &item, v->now);
	v->sent += !rc && envelope.kind <= QV_VRANK_STATE;
	return rc;
}

static int emit_item(struct qv_vranks *v, uint32_t rank, enum qv_vrank_kind kind,
		     const struct qv_vrank_item *item)
{
	const struct qv_vrank_envelope envelope = {.kind = (uint8_t)kind, .entry = item->entry};
	const uint64_t numbers[] = {item->to, item->from};

	return qv_vrank_emit(v, rank, envelope, numbers, 2, item->data, item->bytes);
}

/* What comes to a vrank. */

static int give(struct qv_vranks *v, const struct qv_vrank_item *item)
{
	if (v->giving || v->local.first)
		return qv_vrank_keep(&v->local, &(struct qv_vrank_kept){.item = *item});
	v->giving = 1;
	v->stats.delivered++;
	v->calls.item(v->port, item);
	v->giving = 0;
	return QV_OK;
}

/* What functions of the user have left to do. */
void qv_vrank_unwind(struct qv_vranks *v)
{
	struct qv_vrank_kept *k;

	while (!v->failed && (v->local.first || v->leaving)) {
		if ((k = qv_vrank_pop(&v->local))) {
			v->giving = 1;
			v->stats.delivered++;
			v->calls.item(v->port, &k->item);
			v->giving = 0;
			free(k);
		} else {
			struct qv_vrank *vr = v->leaving;
			int rc;

			v->leaving = vr->next;
			rc = qv_vrank_begin_move(v, vr);
			if (rc)
				v->failed = rc;
		}
	}
}

/* At the home of the receiver. */
static int pass(struct qv_vranks *v, const struct qv_vrank *vr, const struct qv_vrank_item *item)
{
	if (vr->here)
		return give(v, item);
	v->stats.forwarded++;
	return emit_item(v, vr->where, QV_VRANK_LAST, item);
}

int qv_vrank_reach(struct qv_vranks *v, const struct qv_vrank_item *item)
{
	struct qv_vrank *vr = qv_vrank_find(v, item->to);

	if (!vr)
		return QV_EPROTO;
	if (vr->closed || vr->held.first)
		return qv_vrank_keep(&vr->held, &(struct qv_vrank_kept){.item = *item});
	return pass(v, vr, item);
}

int qv_vrank_release(struct qv_vranks *v, struct qv_vrank *vr)
{
	struct qv_vrank_kept *k;
	int rc = QV_OK;

	while (!rc && (k = qv_vrank_pop(&vr->held))) {
		rc = pass(v, vr, &k->item);
		free(k);
	}
	return rc;
}

/* At the home of the sender. */
static int route(struct qv_vranks *v, const struct qv_vrank_item *item)
{
	if (v->homes[item->to] == v->rank)
		return qv_vrank_reach(v, item);
	return emit_item(v, v->homes[item->to], QV_VRANK_HOME, item);
}

int qv_vrank_take_item(struct qv_vranks *v, struct qv_vrank_in *in)
{
	struct qv_vrank_item item = {.entry = in->envelope.entry};
	const struct qv_vrank *vr;
	uint64_t to, from;

	if (qv_vrank_number(in, v->spec.vranks, &to) || qv_vrank_number(in, v->spec.vranks, &from))
		return QV_EPROTO;
	item.to = (uint32_t)to;
	item.from = (uint32_t)from;
	item.data = qv_vrank_rest(in, &item.bytes);
	switch (in->envelope.kind) {
	case QV_VRANK_SOURCE:
		if (v->homes[from] != v->rank)
			return QV_EPROTO;
		v->stats.forwarded++;
		return route(v, &item);
	case QV_VRANK_HOME: return v->homes[to] == v->rank ? qv_vrank_reach(v, &item) : QV_EPROTO;
	default:
		vr = qv_vrank_find(v, item.to);
		return vr && vr->here && v->homes[to] == in->rank ? give(v, &item) : QV_EPROTO;
	}
}

/* What the user asks. */

/* During a fence only functions that are given an item go on: it ends when they have no more. */
static int is_closed(const struct qv_vranks *v)
{
	return v->fence.on && !v->giving;
}

int qv_vrank_begin_insert(struct qv_vranks *v, const struct qv_vrank_item *item, uint64_t now)
{
	if (!qv_vranks_here(v, item->from) || (item->bytes && !item->data))
		return QV_EINVAL;
	if (item->bytes > qv_vranks_longest(v))
		return QV_EMSGSIZE;
	if (v->failed || is_closed(v))
		return v->failed ? v->failed : QV_EAGAIN;
	v->now = now;
	v->depth++;
	return QV_OK;
}

int qv_vrank_end_insert(struct qv_vranks *v, uint64_t items, int rc)
{
	if (!rc)
		v->stats.inserted += items;
	return qv_vrank_end(v, rc);
}

int qv_vrank_room(struct qv_vranks *v)
{
	return v->giving ? QV_OK : qv_stream_room(v->stream);
}

static int is_local(struct qv_vranks *v, const struct qv_vrank_item *item)
{
	const struct qv_vrank *vr = qv_vrank_find(v, item->to);

	return vr && vr->here && v->homes[item->to] == v->rank && v->homes[item->from] == v->rank;
}

int qv_vranks_insert(struct qv_vranks *v, const struct qv_vrank_item *item, uint64_t now)
{
	int rc = item->to < v->spec.vranks ? qv_vrank_begin_insert(v, item, now) : QV_EINVAL;

	if (rc)
		return rc;
	rc = is_local(v, item) ? QV_OK : qv_vrank_room(v);
	if (!rc && v->homes[item->from] == v->rank)
		rc = route(v, item);
	else if (!rc)
		rc = emit_item(v, v->homes[item->from], QV_VRANK_SOURCE, item);
	return qv_vrank_end_insert(v, 1, rc);
}

int qv_vranks_move(struct qv_vranks *v, uint32_t vrank, uint32_t to, uint64_t now)
{
	struct qv_vrank *vr = qv_vrank_find(v, vrank);

	if (!vr || !vr->here || to >= v->ranks)
		return QV_EINVAL;
	if (v->failed || is_closed(v) || vr->leaving)
		return v->failed ? v->failed : QV_EAGAIN;
	if (to == v->rank)
		return QV_OK;
	v->now = now;
	v->depth++;
	vr->leaving = 1;
	vr->target = to;
	vr->next = v->leaving;
	v->leaving = vr;
	qv_vrank_end(v, QV_OK);
	return v->failed;
}
