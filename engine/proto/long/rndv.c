/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rndv.c - matched messages whose payload is still coming: by reads of the sender's memory (reads.c),
 * by packets that the sender was asked for with CTS (segs.c), or by the DATA packets of an eager
 * message.
 */
#include "engine/base/clock.h"
#include "engine/proto/internal.h"

#include <string.h>

/* From the pool, which has one in reserve (qv_pool_reserve). */
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

void qv_in_wait(struct qv_in *in)
{
	struct qv_proto *p = in->p;

	if (in->waiting)
		return;
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
	qv_in_wait(in);
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

struct qv_choice *qv_in_choice(const struct qv_in *in)
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
		qv_choice_took(qv_in_choice(in), QV_FETCH_READ, in->want, in->took);
	else
		qv_choice_took(qv_in_choice(in), QV_FETCH_ASK, in->want, p->fetched_ns - since);
}

/* Tell the application, once; free it when the transport has no read of it any more. */
void qv_in_finish(struct qv_in *in)
{
	struct qv_proto *p = in->p;

	if (!in->reported) {
		if (in->info.sreq && !qv_info_stale(&in->info) &&
		    qv_tx_fin(in->info.peer, in->info.sreq, in->status) == QV_ENOMEM) {
			in->whole = true;
			qv_in_wait(in);
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
	if (!in->whole) /* else its sender only does not hear that all is here */
		in->status = status;
	if (!in->reads || qv_peer_loses_transfers(in->info.peer)) /* else they end first */
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
		qv_in_wait(in);
	else if (rc)
		qv_in_fail(in, rc);
}

bool qv_peer_is_own(const struct qv_peer *peer)
{
	const struct qv_proc *self = &peer->p->self, *proc = &peer->proc;

	return proc->pid == self->pid && proc->start == self->start && proc->host == self->host;
}

void qv_in_fetch(struct qv_in *in)
{
	if (in->whole) {
		qv_in_finish(in);
	} else if (in->status || qv_in_can_read(in)) {
		qv_in_read_on(in);
	} else if (!in->reads) { /* else the last of them goes on */
		in->pos = 0;
		in->back = in->want;
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
			qv_in_fetch(in);
		}
	}
}

/* An endpoint of this process need not be asked: its thread may be ours, and it may have closed. */
static void choose(struct qv_in *in)
{
	if (qv_peer_is_own(in->info.peer))
		return;
	in->began = qv_clock_ns();
	if (qv_choice_take(qv_in_choice(in)) == QV_FETCH_ASK)
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
	if (in->info.peer->x->two_paths && qv_in_can_read(in))
		choose(in);
	qv_in_fetch(in);
}
