/* SPDX-License-Identifier: BSD-2-Clause */
/* reads.c - payload of a rendezvous by reads of the sender's memory. */
#include "engine/base/clock.h"
#include "engine/proto/internal.h"

bool qv_in_can_read(const struct qv_in *in)
{
	const struct qv_peer *peer = in->info.peer;

	return in->info.nsegs && peer->x->read_max && !qv_peer_is_asymmetric(peer) &&
	       !(peer->x->apart && qv_peer_is_own(peer));
}

/* The transport could not read. The sender may be able to send, all of it. */
static void give_up_reading(struct qv_in *in, int status)
{
	if (in->status || in->reported)
		return;
	if (qv_info_stale(&in->info))
		in->status = status;
	if (in->began)
		qv_choice_took(qv_in_choice(in), QV_FETCH_READ, in->want, QV_CHOICE_NEVER);
	in->began = 0;
	in->info.nsegs = 0;
	in->p->stats.unread++;
}

static void read_done(struct qv_xfer *xfer, int status)
{
	struct qv_flight *f = QV_CONTAINER(xfer, struct qv_flight, xfer);
	struct qv_in *in = f->owner;

	qv_pool_put(&f->p->flights, f);
	in->reads--;
	in->info.peer->flying--;
	if (status)
		give_up_reading(in, status);
	if (in->reads || in->waiting)
		return;
	if (in->reported || in->status || (in->pos == in->want && in->info.nsegs))
		qv_in_finish(in);
	else if (!in->info.nsegs)
		qv_in_fetch(in);
}

/* One read at in->pos: as long as the sender's piece and the transport allow. */
static int read_some(struct qv_in *in)
{
	struct qv_xport *x = in->info.peer->x;
	struct qv_flight *f = qv_pool_get(&in->p->flights);
	struct iovec part[QV_IOV_MAX];
	size_t offset = in->pos, len, cnt;
	unsigned s = 0;
	int rc;

	if (!f)
		return QV_ENOMEM;
	while (offset >= in->segs[s].len)
		offset -= in->segs[s++].len;
	len = in->segs[s].len - offset;
	if (len > in->want - in->pos)
		len = in->want - in->pos;
	if (len > x->read_max)
		len = x->read_max;
	cnt = qv_iov_slice(in->iov, in->cnt, in->pos, len, part);
	if (cnt > x->send_iov) {
		cnt = x->send_iov;
		len = qv_iov_len(part, cnt);
	}
	f->xfer.done = read_done;
	f->p = in->p;
	f->peer = in->info.peer;
	f->owner = in;
	f->chunk = NULL;
	in->reads++;
	in->pos += len;
	rc = x->ops->read(x, in->info.peer->addr, part, cnt, in->segs[s].addr + offset,
			  in->segs[s].key, &f->xfer);
	if (rc) {
		in->reads--;
		in->pos -= len;
		qv_pool_put(&in->p->flights, f);
	} else {
		in->info.peer->flying++;
	}
	return rc;
}

void qv_in_read_on(struct qv_in *in)
{
	int rc = QV_OK;

	while (in->pos < in->want && !in->status && rc == QV_OK)
		rc = read_some(in);
	if (rc == QV_EAGAIN || rc == QV_ENOMEM) {
		qv_in_wait(in);
		return;
	}
	if (in->began) /* then reads are over when they return */
		in->took = qv_clock_ns() - in->began;
	if (rc)
		give_up_reading(in, rc);
	if (in->reads)
		return;
	if (rc && !in->status)
		qv_in_fetch(in);
	else
		qv_in_finish(in);
}
