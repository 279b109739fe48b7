/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rndv.c - matched messages whose payload is still coming: by reads of the sender's
 * memory, by SEG packets that the sender was asked for (CTS), or by the DATA packets of an eager
 * message.
 */
#include "engine/base/clock.h"
#include "internal.h"

#include <string.h>

static void fetch(struct qv_in *in);

/* From the pool, which has one in reserve (qv_in_reserve). */
static struct qv_in *in_get(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info)
{
	struct qv_in *in = qv_pool_get(&p->ins);

	memset(in, 0, offsetof(struct qv_in, segs));
	in->info = *info;
	in->p = p;
	in->rx = rx;
	in->next = p->ins_head;
	if (in->next)
		in->next->prev = in;
	p->ins_head = in;
	qv_peer_add_outstanding(info->peer);
	return in;
}

/* Takes the room in the buffer. */
struct qv_in *qv_in_new(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info)
{
	struct qv_in *in = in_get(p, rx, info);

	in->want = qv_rx_reserve(p, rx, info->full, in->iov, &in->cnt);
	return in;
}

/* Again at the next progress. */
static void wait(struct qv_in *in)
{
	struct qv_proto *p = in->p;

	in->waiting = true;
	in->next_read = p->head.reads;
	p->head.reads = in;
}

void qv_in_hold(struct qv_proto *p, struct qv_rx *rx, const struct qv_info *info, void *buf,
		size_t len)
{
	struct qv_in *in = in_get(p, rx, info);

	in->iov[0] = (struct iovec){buf, len};
	in->cnt = 1;
	in->want = in->pos = len;
	in->whole = true;
	wait(in);
}

static void *buffer(const struct qv_in *in)
{
	return (in->rx->flags & QV_REQ_MULTI ? in->iov : in->rx->iov)->iov_base;
}

static void unlink_in(struct qv_in *in)
{
	struct qv_proto *p = in->p;

	if (in->prev)
		in->prev->next = in->next;
	else
		p->ins_head = in->next;
	if (in->next)
		in->next->prev = in->prev;
	if (in->handle)
		qv_handle_free(&p->in_handles, in->handle);
	qv_peer_end_outstanding(in->info.peer);
}

/* Where both paths are open: what is known of messages of its length. */
static struct qv_choice *choice_of(const struct qv_in *in)
{
	unsigned at = 0;

	for (size_t len = in->want >> 14; len && at < QV_FETCH_CLASSES - 1; len >>= 1)
		at++;
	return &in->info.peer->fetches[at];
}

/* All of it is here. What came before the end of the message before it was that one's time. */
static void fetched(const struct qv_in *in)
{
	struct qv_proto *p = in->p;
	uint64_t since = in->began > p->fetched_ns ? in->began : p->fetched_ns;

	p->fetched_ns = qv_clock_ns();
	if (in->info.nsegs)
		qv_choice_took(choice_of(in), QV_FETCH_READ, in->want, in->took);
	else
		qv_choice_took(choice_of(in), QV_FETCH_ASK, in->want, p->fetched_ns - since);
}

/* Tell the application, once; free it when the transport has no read of it any more. */
void qv_in_finish(struct qv_in *in)
{
	struct qv_proto *p = in->p;

	if (!in->reported) {
		if (in->info.sreq && !qv_info_stale(&in->info) &&
		    qv_tx_fin(in->info.peer, in->info.sreq, in->status) == QV_ENOMEM) {
			in->whole = true;
			wait(in);
			return;
		}
		if (in->began && !in->status)
			fetched(in);
		in->reported = true;
		unlink_in(in);
		qv_rx_complete(p, in->rx, &in->info, in->status ? 0 : in->want, buffer(in),
			       in->status);
	}
	if (in->reads == 0 && !in->waiting)
		qv_pool_put(&p->ins, in);
}

void qv_in_fail(struct qv_in *in, int status)
{
	if (in->info.peer->open_in == in)
		in->info.peer->open_in = NULL;
	in->status = status;
	if (!in->reads || qv_peer_loses_transfers(in->info.peer)) /* else they end first */
		qv_in_finish(in);
}

/* The transport could not read. The sender may be able to send, all of it. */
static void give_up_reading(struct qv_in *in, int status)
{
	if (in->status || in->reported)
		return;
	if (qv_info_stale(&in->info))
		in->status = status;
	if (in->began)
		qv_choice_took(choice_of(in), QV_FETCH_READ, in->want, QV_CHOICE_NEVER);
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
		fetch(in);
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

/* Issue reads until all is asked for or the transport is full; then wait in the list. */
static void read_on(struct qv_in *in)
{
	int rc = QV_OK;

	while (in->pos < in->want && !in->status && rc == QV_OK)
		rc = read_some(in);
	if (rc == QV_EAGAIN || rc == QV_ENOMEM) {
		wait(in);
		return;
	}
	if (in->began) /* then reads are over when they return */
		in->took = qv_clock_ns() - in->began;
	if (rc)
		give_up_reading(in, rc);
	if (in->reads)
		return;
	if (rc && !in->status)
		fetch(in);
	else
		qv_in_finish(in);
}

/* Ask the sender to send it in pieces. */
static void ask_segments(struct qv_in *in)
{
	struct qv_wire_cts cts = {.want = in->want};
	int rc = QV_ENOMEM;

	if (!in->handle)
		in->handle = qv_handle_new(&in->p->in_handles, in);
	cts.rreq = in->handle;
	if (in->handle)
		rc = qv_tx_control(in->info.peer, QV_PKT_CTS, in->info.sreq, &cts, sizeof cts);
	if (rc == QV_ENOMEM)
		wait(in);
	else if (rc)
		qv_in_fail(in, rc);
}

bool qv_peer_is_own(const struct qv_peer *peer)
{
	const struct qv_proc *self = &peer->p->self, *proc = &peer->proc;

	return proc->pid == self->pid && proc->start == self->start && proc->host == self->host;
}

static bool can_read(const struct qv_in *in)
{
	const struct qv_peer *peer = in->info.peer;

	return in->info.nsegs && peer->x->read_max && !qv_peer_is_asymmetric(peer) &&
	       !(peer->x->apart && qv_peer_is_own(peer));
}

/* Fetch what is still missing: by reads if both sides can, else by SEG packets. */
static void fetch(struct qv_in *in)
{
	if (in->whole) {
		qv_in_finish(in);
	} else if (in->status || can_read(in)) {
		read_on(in);
	} else if (!in->reads) { /* else the last of them goes on */
		in->pos = 0;
		ask_segments(in);
	}
}

void qv_in_retry(struct qv_proto *p)
{
	struct qv_in *list = p->head.reads;

	p->head.reads = NULL;
	while (list) {
		struct qv_in *in = list;

		list = in->next_read;
		in->waiting = false;
		if (in->reported) {
			if (in->reads == 0)
				qv_pool_put(&p->ins, in);
		} else {
			fetch(in);
		}
	}
}

/* An endpoint of this process need not be asked: its thread may be ours, and it may have closed. */
static void choose(struct qv_in *in)
{
	if (qv_peer_is_own(in->info.peer))
		return;
	in->began = qv_clock_ns();
	if (qv_choice_take(choice_of(in)) == QV_FETCH_ASK)
		in->info.nsegs = 0;
}

/* A rendezvous has its receive. */
void qv_in_start(struct qv_in *in, const struct qv_wire_seg *segs)
{
	if (qv_info_stale(&in->info)) {
		qv_in_fail(in, QV_EPEER);
		return;
	}
	if (in->want == 0) {
		qv_in_finish(in);
		return;
	}
	if (in->info.nsegs)
		memcpy(in->segs, segs, in->info.nsegs * sizeof *segs);
	if (in->info.peer->x->two_paths && can_read(in))
		choose(in);
	fetch(in);
}

void qv_in_on_seg(struct qv_peer *peer, const struct qv_wire_pkt *pkt)
{
	struct qv_in *in = qv_handle_get(&peer->p->in_handles, pkt->hdr.arg);
	size_t len = pkt->len - sizeof(uint64_t);
	uint64_t offset;

	memcpy(&offset, pkt->body, sizeof offset);
	if (!in || in->reads || in->info.peer != peer || in->handle != pkt->hdr.arg ||
	    offset != in->pos || len > in->want - in->pos) {
		qv_refuse(peer->p, "piece of a message that was not asked for");
		return;
	}
	qv_iov_put(in->iov, in->cnt, in->pos, pkt->body + sizeof offset, len);
	peer->p->stats.copied += len;
	in->pos += len;
	if (in->pos == in->want)
		qv_in_finish(in);
}
