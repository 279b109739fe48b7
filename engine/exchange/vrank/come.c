/* SPDX-License-Identifier: BSD-2-Clause */
/* come.c - what comes from the stream: each message is judged, and goes to who takes its kind. */
#include "vrank.h"

#include <string.h>

int qv_vrank_take(struct qv_vranks *v, struct qv_vrank_in *in)
{
	static int (*const takes[])(struct qv_vranks *, struct qv_vrank_in *) = {
		[QV_VRANK_SOURCE] = qv_vrank_take_item,   [QV_VRANK_HOME] = qv_vrank_take_item,
		[QV_VRANK_LAST] = qv_vrank_take_item,     [QV_VRANK_SPREAD] = qv_vrank_take_spread,
		[QV_VRANK_MANY] = qv_vrank_take_many,     [QV_VRANK_LEAVE] = qv_vrank_take_leave,
		[QV_VRANK_CLOSED] = qv_vrank_take_closed, [QV_VRANK_STATE] = qv_vrank_take_state,
		[QV_VRANK_REPORT] = qv_vrank_take_report, [QV_VRANK_ASK] = qv_vrank_take_ask,
		[QV_VRANK_QUIET] = qv_vrank_take_quiet,   [QV_VRANK_AWAY] = qv_vrank_take_away,
		[QV_VRANK_HOMES] = qv_vrank_take_homes,
	};

	v->came += in->envelope.kind <= QV_VRANK_STATE;
	return takes[in->envelope.kind](v, in);
}

/* One that is sent behind a fence that is not over here waits for that. What comes by ring or tree says
 * itself who sent it, so it may be nothing but an item for vranks. */
static int judge(struct qv_vranks *v, struct qv_vrank_in *in)
{
	const uint8_t ahead = (uint8_t)(in->envelope.fences - v->stats.fences);

	if (in->envelope.kind >= QV_VRANK_KINDS || in->envelope.zero ||
	    (v->stream->by_section && in->envelope.kind != QV_VRANK_MANY))
		return QV_EPROTO;
	if (!ahead)
		return qv_vrank_take(v, in);
	if (ahead != 1 || !v->fence.on)
		return QV_EPROTO;
	return qv_vrank_keep(&v->fence.early,
			     &(struct qv_vrank_kept){.item = {.data = in->data, .bytes = in->bytes},
						     .envelope = in->envelope,
						     .rank = in->rank});
}

void qv_vrank_come(void *port, uint32_t from, const void *envelope, size_t n, const void *data,
		   size_t bytes)
{
	struct qv_vrank_in in = {.rank = from, .data = data, .bytes = bytes};
	struct qv_vranks *v = port;
	int rc = QV_EPROTO;

	if (v->failed)
		return;
	v->depth++;
	if (n == sizeof(in.envelope)) {
		memcpy(&in.envelope, envelope, n);
		rc = judge(v, &in);
	}
	v->stats.refused += rc == QV_EPROTO;
	if (rc && rc != QV_EPROTO)
		v->failed = rc;
	qv_vrank_end(v, rc);
}

int qv_vranks_deliver(struct qv_vranks *v, uint32_t from, const void *buf, size_t bytes,
		      uint64_t now)
{
	const uint64_t refused = v->stats.refused;
	int rc;

	v->now = now;
	rc = qv_stream_deliver(v->stream, from, buf, bytes, now);
	if (v->failed)
		return v->failed;
	return !rc && v->stats.refused != refused ? QV_EPROTO : rc;
}
