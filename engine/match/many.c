/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * many.c - many posts or arrivals in one call.
 *
 * Where a structure can say what a call will touch, and its queues have outgrown the caches, that
 * is prefetched a few calls before. A short call needs no such help: the processor is in the next
 * ones already while it waits for memory.
 */
#include "structure.h"

/* Entries queued from which on prefetching pays. */
#define MANY 32768

/* How many calls before its own a node is prefetched, and the two steps of qv_match_ops.prefetch
 * are taken: each as far from the next as memory is slow compared with a match. */
enum { NODE_BEFORE = 32, FIRST_BEFORE = 20, SECOND_BEFORE = 10 };

/* All that is looked at here of a receive or a message. */
struct key {
	uint64_t tag;
	uint32_t src;
};

QV_INLINE struct key recv_key(const void *node)
{
	const struct qv_recv *r = node;

	return (struct key){r->tag, r->src};
}

QV_INLINE struct key msg_key(const void *node)
{
	const struct qv_msg *msg = node;

	return (struct key){msg->tag, msg->src};
}

QV_INLINE void prefetch(const struct qv_match *m, void *const *nodes, size_t i, size_t n,
			struct key (*key)(const void *node))
{
	struct key k;

	if (i + NODE_BEFORE < n)
		__builtin_prefetch(nodes[i + NODE_BEFORE], 1);
	if (i + FIRST_BEFORE < n) {
		k = key(nodes[i + FIRST_BEFORE]);
		m->ops->prefetch(m, k.tag, k.src, 0);
	}
	if (i + SECOND_BEFORE < n) {
		k = key(nodes[i + SECOND_BEFORE]);
		m->ops->prefetch(m, k.tag, k.src, 1);
	}
}

static int prefetch_helps(const struct qv_match *m)
{
	struct qv_match_stats now;

	if (!m->ops->prefetch)
		return 0;
	m->ops->get_stats(m, &now);
	return now.posted_now + now.unexpected_now >= MANY;
}

size_t qv_match_post_many(struct qv_match *engine, struct qv_recv *const *recvs, size_t n,
			  struct qv_msg **msgs)
{
	int helps = prefetch_helps(engine);
	size_t i;

	for (i = 0; i < n; i++) {
		if (helps)
			prefetch(engine, (void *const *)recvs, i, n, recv_key);
		if (qv_match_post(engine, recvs[i], &msgs[i]))
			break;
	}
	return i;
}

size_t qv_match_arrive_many(struct qv_match *engine, struct qv_msg *const *msgs, size_t n,
			    struct qv_recv **recvs)
{
	int helps = prefetch_helps(engine);
	size_t i;

	for (i = 0; i < n; i++) {
		if (helps)
			prefetch(engine, (void *const *)msgs, i, n, msg_key);
		if (qv_match_deliver(engine, msgs[i], &recvs[i]))
			break;
	}
	return i;
}
