/* SPDX-License-Identifier: BSD-2-Clause */
/* unexp.c - messages that came before their receives: kept, looked at, dropped. */
#include "internal.h"

#include "engine/match/structure.h"

#include <stdlib.h>
#include <string.h>

static size_t stored_cost(const struct qv_info *info)
{
	return qv_cost(info->rts ? 0 : info->full);
}

void qv_unexp_free(struct qv_proto *p, struct qv_unexp *u)
{
	u->info.peer->refs--;
	if (u->info.epoch == u->info.peer->epoch)
		u->info.peer->stored -= stored_cost(&u->info);
	if (!u->info.rts)
		p->stats.unexpected_bytes -= u->info.full;
	if (u->payload && u->payload != u->small)
		free(u->payload);
	if (u->detached) {
		if (u->prev_detached)
			u->prev_detached->next_detached = u->next_detached;
		else
			p->detached = u->next_detached;
		if (u->next_detached)
			u->next_detached->prev_detached = u->prev_detached;
	}
	qv_pool_put(&p->unexps, u);
}

/* Out of matching, not yet received or dropped: still to be found when the endpoint closes. */
static void detach(struct qv_proto *p, struct qv_unexp *u)
{
	u->detached = true;
	u->prev_detached = NULL;
	u->next_detached = p->detached;
	if (p->detached)
		p->detached->prev_detached = u;
	p->detached = u;
}

void qv_unexp_lose(struct qv_proto *p, struct qv_unexp *u)
{
	p->stats.unexpected_bytes -= u->info.full;
	if (u->payload != u->small)
		free(u->payload);
	u->payload = u->small;
	u->announced = u->info.full;
	u->got = u->info.full = 0;
	u->info.lost = true;
}

/* Does its sender keep to its budget? */
static bool is_allowed(const struct qv_info *info)
{
	const struct qv_peer *peer = info->peer;
	size_t most = peer->allowed > QV_FIRST_BUDGET ? peer->allowed : QV_FIRST_BUDGET;

	return peer->stored + stored_cost(info) <= most || !peer->stored;
}

/* Keep a message whose first packet has come with len bytes of payload. */
static int keep(struct qv_proto *p, const struct qv_info *info, const char *body, size_t len)
{
	struct qv_unexp *u = qv_pool_get(&p->unexps);

	if (!u)
		goto no_entry;
	u->node.tag = info->tag;
	u->node.src = info->peer->src;
	u->node.flags = 0;
	u->info = *info;
	u->got = len;
	u->discard = u->detached = false;
	u->payload = NULL;
	if (info->rts) {
		if (len)
			memcpy(u->segs, body, len);
	} else {
		u->payload = info->full <= sizeof u->small ? u->small : malloc(info->full);
		if (!u->payload)
			goto no_payload;
		qv_copy(u->payload, body, len);
	}
	if (qv_match_queue(p->match[info->engine], &u->node))
		goto not_queued;
	info->peer->received++;
	info->peer->refs++;
	info->peer->stored += stored_cost(info);
	if (info->rts)
		return QV_OK;
	p->stats.copied += len;
	p->stats.unexpected_bytes += info->full;
	if (p->stats.unexpected_bytes > p->stats.unexpected_bytes_max)
		p->stats.unexpected_bytes_max = p->stats.unexpected_bytes;
	if (len < info->full)
		info->peer->open_unexp = u;
	return QV_OK;

not_queued:
	if (u->payload != u->small)
		free(u->payload);
no_payload:
	qv_pool_put(&p->unexps, u);
no_entry:
	qv_match_unarrived(p->match[info->engine]);
	return QV_ENOMEM;
}

int qv_unexp_arrived(struct qv_proto *p, const struct qv_info *info, const char *body, size_t len)
{
	if (is_allowed(info))
		return keep(p, info, body, len);
	qv_match_unarrived(p->match[info->engine]);
	qv_peer_fail(info->peer, "it has sent more than we have room for, and knows that");
	return QV_OK;
}

/* A message that nobody will receive, out of its queue already. */
void qv_unexp_drop(struct qv_proto *p, struct qv_unexp *u)
{
	struct qv_peer *peer = u->info.peer;

	if (!u->info.rts && u->got < u->info.full) {
		u->discard = true; /* once its last packet is here */
		return;
	}
	if (!qv_info_stale(&u->info)) {
		if (u->info.sreq && qv_tx_fin(peer, u->info.sreq, QV_OK) == QV_ENOMEM) {
			u->discard = true;
			return;
		}
		qv_peer_consumed(peer, u->info.rts ? 0 : u->info.full);
	}
	qv_unexp_free(p, u);
}

void qv_unexp_drop_again(struct qv_proto *p)
{
	struct qv_unexp *u = p->detached;

	while (u) {
		struct qv_unexp *next = u->next_detached;

		if (u->discard && u != u->info.peer->open_unexp)
			qv_unexp_drop(p, u);
		u = next;
	}
}

static void report_peek(struct qv_proto *p, const struct qv_recv_args *args,
			const struct qv_unexp *u)
{
	struct qv_comp comp = {.context = args->context,
			       .cookie = args->cookie,
			       .status = QV_ENOENT,
			       .recv = true,
			       .tag = args->tag,
			       .tagged = args->flags & QV_REQ_TAGGED,
			       .user = QV_USER_UNKNOWN};

	if (u) {
		comp.status = QV_OK;
		comp.has_data = u->info.has_data;
		comp.len = comp.full = u->info.lost ? u->announced : u->info.full;
		comp.tag = u->info.tag;
		comp.data = u->info.data;
		comp.user = u->info.peer->user;
	}
	p->ops->complete(p->owner, &comp);
}

void qv_proto_peek(struct qv_proto *p, const struct qv_recv_args *args, enum qv_peek how,
		   struct qv_unexp **claimed)
{
	struct qv_match *engine = p->match[args->flags & QV_REQ_ENGINE];
	struct qv_msg *msg = qv_match_peek(engine, args->tag, args->ignore,
					   args->from ? args->from->src : QV_SRC_ANY);
	struct qv_unexp *u = msg ? QV_CONTAINER(msg, struct qv_unexp, node) : NULL;

	if (u && how != QV_PEEK_LOOK) {
		qv_match_take(engine, msg);
		detach(p, u);
	}
	if (u && how == QV_PEEK_CLAIM)
		*claimed = u;
	if (QV_UNLIKELY(!u && p->ncramped))
		qv_proto_widen(p, args->from);
	report_peek(p, args, u);
	if (u && how == QV_PEEK_DISCARD)
		qv_unexp_drop(p, u);
}
