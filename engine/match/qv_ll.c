/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_ll.c - structure "ll": two plain linked lists in order of arrival, the specification of the
 * others. The links lie in the callers' nodes: priv[0] next, priv[1] previous.
 */
#include "match/qv_match_ops.h"

enum { NEXT, PREV };

struct ll_list {
	uint64_t *head; /* priv of the oldest node */
	uint64_t *tail; /* priv of the youngest */
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

static uint64_t *link_of(uint64_t *priv, int which)
{
	return (uint64_t *)(uintptr_t)priv[which];
}

static struct qv_recv *recv_of(const uint64_t *priv)
{
	return (struct qv_recv *)((char *)(uintptr_t)priv - offsetof(struct qv_recv, priv));
}

static struct qv_msg *msg_of(const uint64_t *priv)
{
	return (struct qv_msg *)((char *)(uintptr_t)priv - offsetof(struct qv_msg, priv));
}

static void append(struct ll_list *list, uint64_t *priv)
{
	priv[NEXT] = 0;
	priv[PREV] = (uintptr_t)list->tail;
	if (list->tail)
		list->tail[NEXT] = (uintptr_t)priv;
	else
		list->head = priv;
	list->tail = priv;
}

static void unlink_node(struct ll_list *list, const uint64_t *priv)
{
	uint64_t *next = (uint64_t *)(uintptr_t)priv[NEXT];
	uint64_t *prev = (uint64_t *)(uintptr_t)priv[PREV];

	if (prev)
		prev[NEXT] = priv[NEXT];
	else
		list->head = next;
	if (next)
		next[PREV] = priv[PREV];
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

	for (uint64_t *p = ll_of(m)->unexpected.head; p && !found; p = link_of(p, NEXT)) {
		struct qv_msg *msg = msg_of(p);

		inspected++;
		if (qv_accepts(tag, ignore, src, msg->tag, msg->src))
			found = msg;
	}
	m->stats.inspected += inspected;
	return found;
}

static void ll_take(struct qv_match *m, struct qv_msg *msg)
{
	unlink_node(&ll_of(m)->unexpected, msg->priv);
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
	qv_count_posted(m);
	return QV_OK;
}

static void ll_cancel(struct qv_match *m, struct qv_recv *recv)
{
	unlink_node(&ll_of(m)->posted, recv->priv);
	m->stats.posted_now--;
}

static struct qv_recv *ll_arrive(struct qv_match *m, uint64_t tag, uint32_t src)
{
	uint64_t inspected = 0;
	struct qv_recv *found = NULL;

	for (uint64_t *p = ll_of(m)->posted.head; p && !found; p = link_of(p, NEXT)) {
		struct qv_recv *recv = recv_of(p);

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
	qv_count_unexpected(m);
	return QV_OK;
}

static struct qv_recv *ll_next_recv(struct qv_match *m, const struct qv_recv *prev)
{
	uint64_t *p = prev ? (uint64_t *)(uintptr_t)prev->priv[NEXT] : ll_of(m)->posted.head;

	return p ? recv_of(p) : NULL;
}

static struct qv_msg *ll_next_msg(struct qv_match *m, const struct qv_msg *prev)
{
	uint64_t *p = prev ? (uint64_t *)(uintptr_t)prev->priv[NEXT] : ll_of(m)->unexpected.head;

	return p ? msg_of(p) : NULL;
}

static size_t ll_memory(const struct qv_match *m)
{
	return 0;
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
	.memory = ll_memory,
};
