/* SPDX-License-Identifier: BSD-2-Clause */
/* network.c - messages of a stream over its group. */
#include "stream.h"

#include <stdlib.h>

/* What the operation calls, with the lock. */

void qv_fi_stream_done(struct qv_fi_stream *s, uint32_t step, bool receives, size_t bytes,
		       int status)
{
	if (s->op->status)
		return;
	if (status < 0) {
		s->lost = status;
	} else if (receives) {
		s->members[step] = (struct qv_fi_stream_member){QV_FI_COME, bytes};
		s->n_come++;
	} else {
		s->sent[s->n_sent++] = step;
		s->n_flying--;
	}
}

int qv_fi_stream_step(const struct qv_fi_stream *s)
{
	return s->lost ? s->lost : QV_EAGAIN;
}

bool qv_fi_stream_closes(const struct qv_fi_stream *s)
{
	return s->closing && !s->summing;
}

void qv_fi_stream_gone(struct qv_fi_stream *s)
{
	s->op = NULL;
}

void qv_fi_stream_summed(struct qv_fi_stream *s, int status)
{
	s->summing = false;
	s->summed = !status;
}

/* What the engine calls. */

/* Room to write down that one message more is over. */
static int make_room(struct qv_fi_stream *s)
{
	const uint32_t room = 2 * s->room + 16;
	uint32_t *grown;

	if (s->n_sent + s->n_flying < s->room)
		return QV_OK;
	grown = realloc(s->sent, room * sizeof(*grown));
	if (!grown)
		return QV_EAGAIN; /* later there may be some */
	s->sent = grown;
	s->room = room;
	return QV_OK;
}

static int send_locked(struct qv_fi_stream *s, uint32_t id, uint32_t peer, const void *buf,
		       size_t bytes)
{
	int rc = s->op->status ? s->op->status : make_room(s);

	if (rc)
		return rc;
	s->n_flying++;
	rc = qv_fi_coll_op_send(s->op, id, peer, 0, buf, bytes);
	if (rc)
		s->n_flying--;
	if (rc && rc != QV_EAGAIN)
		s->lost = rc;
	return rc;
}

int qv_fi_stream_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	struct qv_fi_stream *s = port;
	struct qv_fi_domain *dom = qv_fi_stream_ep(s)->dom;
	int rc;

	qv_fi_lock(dom);
	rc = send_locked(s, id, peer, buf, bytes);
	qv_fi_unlock(dom);
	return rc;
}

/* A receive for what a member sends; where there is no memory now, later. */
static void post(struct qv_fi_stream *s, uint32_t rank)
{
	int rc = s->op->status ? s->op->status : s->lost;

	if (rc)
		return;
	s->members[rank].state = QV_FI_POSTED;
	s->n_idle--;
	rc = qv_fi_coll_op_receive(s->op, rank, rank, 0, s->buffers + rank * s->limit, s->limit);
	if (rc) {
		s->members[rank].state = QV_FI_IDLE;
		s->n_idle++;
	}
	if (rc && rc != QV_EAGAIN)
		s->lost = rc;
}

void qv_fi_stream_post(struct qv_fi_stream *s)
{
	for (uint32_t r = 0; r < s->ranks && s->n_idle; r++)
		if (r != s->op->group->rank && s->members[r].state == QV_FI_IDLE)
			post(s, r);
}

void qv_fi_stream_look(struct qv_fi_stream *s)
{
	struct qv_fi_ep *ep = qv_fi_stream_ep(s);

	qv_fi_lock(ep->dom);
	qv_fi_ep_progress(ep);
	s->failed = s->op->status;
	while (s->n_sent)
		qv_stream_done(s->stream, s->sent[--s->n_sent], QV_OK);
	qv_fi_stream_post(s);
	qv_fi_unlock(ep->dom);
}

bool qv_fi_stream_next(struct qv_fi_stream *s, uint32_t *rank, size_t *bytes)
{
	struct qv_fi_domain *dom = qv_fi_stream_ep(s)->dom;
	bool found = false;

	qv_fi_lock(dom);
	for (; s->n_come && *rank < s->ranks && !found; ++*rank) {
		found = s->members[*rank].state == QV_FI_COME;
		*bytes = s->members[*rank].bytes;
	}
	qv_fi_unlock(dom);
	return found;
}

void qv_fi_stream_taken(struct qv_fi_stream *s, uint32_t rank, int rc)
{
	struct qv_fi_domain *dom = qv_fi_stream_ep(s)->dom;

	qv_fi_lock(dom);
	s->members[rank].state = QV_FI_IDLE;
	s->n_come--;
	s->n_idle++;
	if (rc)
		s->lost = rc;
	post(s, rank);
	qv_fi_unlock(dom);
}
