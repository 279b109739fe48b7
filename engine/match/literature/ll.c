/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ll.c - structure "ll": two plain linked lists in order of arrival, the specification of the
 * others. The links lie in the callers' nodes: priv[0] next, priv[1] previous.
 */
#include "engine/match/structure.h"

enum { NEXT, PREV };

struct ll_list {
	uint64_t *head; /* oldest entry */
	uint64_t *tail; /* youngest */
};

struct ll {
	struct qv_match base;
	struct ll_list posted;
	struct ll_list unexpected;
};

static struct ll *ll_of(struct qv_match *m)
{
	return (struct ll *)m;
}

static void append(struct ll_list *list, uint64_t *e)
{
	e[NEXT] = 0;
	e[PREV] = (uintptr_t)list->tail;
	if (list->tail)
		list->tail[NEXT] = (uintptr_t)e;
	else
		list->head = e;
	list->tail = e;
}

static void unlink_entry(struct ll_list *list, const uint64_t *e)
{
	uint64_t *next = qv_entry(e[NEXT]);
	uint64_t *prev = qv_entry(e[PREV]);

	if (prev)
		prev[NEXT] = e[NEXT];
	else
		list->head = next;
	if (next)
		next[PREV] = e[PREV];
	else
		list->tail = prev;
}

static int ll_init(struct qv_match *m)
{
	return QV_OK;
}

static void ll_fini(struct qv_match *m)
{
}

static struct qv_msg *ll_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src)
{
	uint64_t inspected = 0;
	struct qv_msg *found = NULL;

	for (uint64_t *e = ll_of(m)->unexpected.head; e && !found; e = qv_entry(e[NEXT])) {
		struct qv_msg *msg = qv_msg_of(e);

		inspected++;
		if (qv_accepts(tag, ignore, src, msg->tag, msg->src))
			found = msg;
	}
	m->stats.inspected += inspected;
	return found;
}

static void ll_take(struct qv_match *m, struct qv_msg *msg)
{
	unlink_entry(&ll_of(m)->unexpected, msg->priv);
	m->stats.unexpected_now--;
}

static int ll_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)
{
	m->stats.posted++;
	*msg = ll_peek(m, recv->tag, recv->ignore, recv->src);
	if (*msg) {
		ll_take(m, *msg);
		m->stats.matched++;
		return QV_OK;
	}
	append(&ll_of(m)->posted, recv->priv);
	qv_count_in(&m->stats.posted_now, &m->stats.posted_max);
	return QV_OK;
}

static void ll_cancel(struct qv_match *m, struct qv_recv *recv)
{
	unlink_entry(&ll_of(m)->posted, recv->priv);
	m->stats.posted_now--;
}

static struct qv_recv *ll_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	uint64_t inspected = 0;
	struct qv_recv *found = NULL;

	for (uint64_t *e = ll_of(m)->posted.head; e && !found; e = qv_entry(e[NEXT])) {
		struct qv_recv *recv = qv_recv_of(e);

		inspected++;
		if (qv_accepts(recv->tag, recv->ignore, recv->src, tag, src))
			found = recv;
	}
	m->stats.arrived++;
	m->stats.inspected += inspected;
	if (found) {
		m->stats.matched++;
		if (!(found->flags & QV_RECV_STICKY))
			ll_cancel(m, found);
	}
	return found;
}

static int ll_queue(struct qv_match *m, struct qv_msg *msg)
{
	append(&ll_of(m)->unexpected, msg->priv);
	m->stats.unexpected++;
	qv_count_in(&m->stats.unexpected_now, &m->stats.unexpected_max);
	return QV_OK;
}

static struct qv_recv *ll_next_recv(struct qv_match *m, const struct qv_recv *prev)
{
	uint64_t *e = prev ? qv_entry(prev->priv[NEXT]) : ll_of(m)->posted.head;

	return e ? qv_recv_of(e) : NULL;
}

static struct qv_msg *ll_next_msg(struct qv_match *m, const struct qv_msg *prev)
{
	uint64_t *e = prev ? qv_entry(prev->priv[NEXT]) : ll_of(m)->unexpected.head;

	return e ? qv_msg_of(e) : NULL;
}

static void ll_get_stats(const struct qv_match *m, struct qv_match_stats *stats)
{
	*stats = m->stats;
}

const struct qv_match_ops qv_match_ll = {
	.name = "ll",
	.size = sizeof(struct ll),
	.init = ll_init,
	.fini = ll_fini,
	.post = ll_post,
	.arrive = ll_arrive,
	.queue = ll_queue,
	.peek = ll_peek,
	.take = ll_take,
	.cancel = ll_cancel,
	.next_recv = ll_next_recv,
	.next_msg = ll_next_msg,
	.get_stats = ll_get_stats,
};
