/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.c - life of an endpoint, its queue to the transport, its counters. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int init(struct qv_proto *p, const struct qv_proto_settings *set)
{
	struct qv_match_settings untagged = set->match;
	const struct qv_match_settings coll = {.structure = "auto", .isa = set->match.isa};
	int rc;

	untagged.hints = 0;
	rc = qv_match_create(&untagged, &p->match[0]);
	if (!rc)
		rc = qv_match_create(&set->match, &p->match[1]);
	if (!rc)
		rc = qv_match_create(&coll, &p->match[2]);
	if (rc)
		return rc;
	p->uid_mask = 15;
	p->uids = calloc(p->uid_mask + 1, sizeof *p->uids);
	p->name = malloc(set->namelen + 1);
	p->sources = calloc(set->named_sources / 8 + 1, 1);
	p->named_sources = set->named_sources;
	if (!p->uids || !p->name || !p->sources)
		return QV_ENOMEM;
	if (set->namelen)
		memcpy(p->name, set->name, set->namelen);
	p->namelen = set->namelen;
	return QV_OK;
}

bool qv_proto_can_use(const struct qv_xport *x)
{
	return x->packet_max >= QV_WIRE_MIN_PACKET && x->send_iov;
}

int qv_proto_create(const struct qv_proto_settings *set, const struct qv_proto_owner_ops *ops,
		    void *owner, struct qv_proto **proto)
{
	struct qv_proto *p;
	int rc;

	if (set->namelen > QV_WIRE_MAX_NAME || set->named_sources > QV_PROTO_NAMED)
		return QV_EINVAL;
	p = calloc(1, sizeof *p);
	if (!p)
		return QV_ENOMEM;
	p->ops = ops;
	p->owner = owner;
	p->budget = set->budget;
	p->patience = set->patience;
	p->death = set->death;
	p->queue_max = set->queue_max ? set->queue_max : QV_PROTO_QUEUE_MAX;
	do
		p->uid = qv_proc_random();
	while (p->uid == 0);
	p->sessions = (uint32_t)qv_proc_random();
	p->turn = (uint32_t)qv_proc_random() & ~QV_ID_INDEX;
	qv_proc_self(&p->self);
	qv_pool_init(&p->txs, sizeof(struct qv_tx));
	qv_pool_init(&p->rxs, sizeof(struct qv_rx));
	qv_pool_init(&p->ins, sizeof(struct qv_in));
	qv_pool_init(&p->unexps, sizeof(struct qv_unexp));
	qv_pool_init(&p->flights, sizeof(struct qv_flight));
	qv_handles_init(&p->tx_handles);
	qv_handles_init(&p->in_handles);
	qv_calls_init(p);
	rc = init(p, set);
	if (rc) {
		qv_proto_destroy(p);
		return rc;
	}
	*proto = p;
	return QV_OK;
}

static void drop_unexpected(struct qv_proto *p, struct qv_match *engine)
{
	struct qv_msg *msg;

	while ((msg = qv_match_next_msg(engine, NULL))) {
		qv_match_take(engine, msg);
		qv_unexp_free(p, QV_CONTAINER(msg, struct qv_unexp, node));
	}
}

void qv_proto_destroy(struct qv_proto *p)
{
	qv_proto_abandon(p);
	while (p->detached)
		qv_unexp_free(p, p->detached);
	for (int t = 0; t < 3; t++)
		if (p->match[t]) {
			drop_unexpected(p, p->match[t]);
			qv_match_destroy(p->match[t]);
			qv_cancels_free(&p->cancels[t]);
		}
	for (uint32_t i = 0; i < p->npeers; i++) {
		struct qv_peer *peer = p->peers[i];

		if (!peer)
			continue;
		qv_copies_end(peer);
		qv_window_clear(peer);
		free(peer->name);
		free(peer);
	}
	qv_window_fini(p);
	free(p->peers);
	free(p->uids);
	free(p->sources);
	free(p->name);
	qv_pool_fini(&p->txs);
	qv_pool_fini(&p->rxs);
	qv_pool_fini(&p->ins);
	qv_pool_fini(&p->unexps);
	qv_pool_fini(&p->flights);
	qv_handles_fini(&p->tx_handles);
	qv_handles_fini(&p->in_handles);
	qv_handles_fini(&p->call_handles);
	qv_pool_fini(&p->calls);
	free(p);
}

QV_NOINLINE void qv_proto_progress(struct qv_proto *p)
{
	struct qv_peer *peer = p->head.pending;

	p->head.pending = NULL;
	while (peer) {
		struct qv_peer *next = peer->next_pending;

		peer->listed = false;
		qv_peer_flush(peer);
		if (peer->resend || peer->ctl_head || (peer->head && !peer->starved))
			qv_peer_list(peer);
		peer = next;
	}
	if (p->head.reads)
		qv_in_retry(p);
}

size_t qv_proto_unsent(const struct qv_proto *p)
{
	size_t n = p->waiting;

	/* From the dead, some transports never give anything back. */
	for (uint32_t i = 0; i < p->npeers; i++)
		if (p->peers[i] && !p->peers[i]->failed)
			n += p->peers[i]->flying + p->peers[i]->copies.bytes;
	return n;
}

void qv_proto_get_stats(const struct qv_proto *p, struct qv_proto_stats *stats)
{
	*stats = p->stats;
	qv_match_get_stats(p->match[0], &stats->untagged);
	qv_match_get_stats(p->match[1], &stats->tagged);
}

struct qv_match *qv_proto_engine(struct qv_proto *p, unsigned which)
{
	return p->match[which];
}
