/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * llv.c - structure "llv": both queues are linked lists of vector blocks, whatever the tags,
 * masks and sources. No index: cost grows with depth, 64 entries per step of a few vectors.
 */
#include "vlist.h"

struct llv {
	struct qv_match base;
	struct qv_vlist posted;
	struct qv_vlist unexpected;
};

static struct llv *llv_of(struct qv_match *m)
{
	return (struct llv *)m;
}

static int llv_init(struct qv_match *m)
{
	qv_vlist_init(&llv_of(m)->posted, m, QV_POSTED, 0);
	qv_vlist_init(&llv_of(m)->unexpected, m, QV_UNEXPECTED, 0);
	return QV_OK;
}

static void llv_fini(struct qv_match *m)
{
	qv_vlist_clear(&llv_of(m)->posted);
	qv_vlist_clear(&llv_of(m)->unexpected);
}

static struct qv_msg *llv_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	uint64_t *e =
		qv_vlist_find_msg(&llv_of(m)->unexpected, tag, ignore, src, &m->stats.inspected);

	return e ? qv_msg_of(e) : NULL;
}

static void llv_take(struct qv_match *m, struct qv_msg *msg)
{
	qv_vlist_remove(&llv_of(m)->unexpected, msg->priv);
	m->stats.unexpected_now--;
}

static int llv_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_vlist *v = &llv_of(m)->unexpected;
	struct qv_vplace at;
	uint64_t *e = qv_vlist_find_msg_at(v, recv->tag, recv->ignore, recv->src,
					   &m->stats.inspected, &at);

	if (e) {
		qv_vlist_remove_at(v, at);
		m->stats.unexpected_now--;
		m->stats.matched++;
	} else {
		if (qv_vlist_append(&llv_of(m)->posted, recv->priv))
			return QV_ENOMEM;
		qv_count_in(&m->stats.posted_now, &m->stats.posted_max);
	}
	m->stats.posted++;
	*msg = e ? qv_msg_of(e) : NULL;
	return QV_OK;
}

static void llv_cancel(struct qv_match *m, struct qv_recv *recv)
{
	qv_vlist_remove(&llv_of(m)->posted, recv->priv);
	m->stats.posted_now--;
}

static struct qv_recv *llv_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	struct qv_vlist *v = &llv_of(m)->posted;
	struct qv_vplace at;
	uint64_t *e = qv_vlist_find_recv_at(v, tag, src, &m->stats.inspected, &at);
	struct qv_recv *found;

	m->stats.arrived++;
	if (!e)
		return NULL;
	m->stats.matched++;
	found = qv_recv_of(e);
	if (!(found->flags & QV_RECV_STICKY)) {
		qv_vlist_remove_at(v, at);
		m->stats.posted_now--;
	}
	return found;
}

static int llv_queue(struct qv_match *m, struct qv_msg *msg)
{
	if (qv_vlist_append(&llv_of(m)->unexpected, msg->priv))
		return QV_ENOMEM;
	m->stats.unexpected++;
	qv_count_in(&m->stats.unexpected_now, &m->stats.unexpected_max);
	return QV_OK;
}

static struct qv_recv *llv_next_recv(struct qv_match *m, const struct qv_recv *prev)
{
	uint64_t *e = qv_vlist_next(&llv_of(m)->posted, prev ? prev->priv : NULL);

	return e ? qv_recv_of(e) : NULL;
}

static struct qv_msg *llv_next_msg(struct qv_match *m, const struct qv_msg *prev)
{
	uint64_t *e = qv_vlist_next(&llv_of(m)->unexpected, prev ? prev->priv : NULL);

	return e ? qv_msg_of(e) : NULL;
}

static void llv_get_stats(const struct qv_match *m, struct qv_match_stats *stats)
{
	*stats = m->stats;
}

const struct qv_match_ops qv_match_llv = {
	.name = "llv",
	.size = sizeof(struct llv),
	.init = llv_init,
	.fini = llv_fini,
	.post = llv_post,
	.arrive = llv_arrive,
	.queue = llv_queue,
	.peek = llv_peek,
	.take = llv_take,
	.cancel = llv_cancel,
	.next_recv = llv_next_recv,
	.next_msg = llv_next_msg,
	.get_stats = llv_get_stats,
};
