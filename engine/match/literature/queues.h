/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queues.h - the calls of a structure (engine/match/structure.h) made from five of its own: append,
 * remove, two searches, and a walk over all entries in whatever order.
 *
 * A structure embeds struct qv_queues first, has one `static const struct qv_queue_ops queue_ops`,
 * and says QV_QUEUES_CALLS(queue_ops): since the table is constant, the compiler puts the
 * structure's functions in line. QV_QUEUES_OPS then fills struct qv_match_ops.
 *
 * Entries carry sequence numbers (chain.h). No structure keeps one list of all of them for the
 * sake of iteration alone: the first step gathers and sorts them, and the result is kept until the
 * queue changes otherwise than by the removal of its oldest entry.
 */
#ifndef QV_QUEUES_H
#define QV_QUEUES_H

#include "chain.h"

struct qv_in_order {
	uint64_t seq;
	uint64_t *e;
};

struct qv_order {
	struct qv_in_order *v; /* NULL: not known now */
	uint32_t first, n;     /* v[first] .. v[n-1] are queued */
	uint32_t room;         /* as allocated */
};

struct qv_queues {
	struct qv_match base;
	uint64_t seq[2]; /* of the next entry; indexed by enum qv_side, as all pairs here */
	struct qv_order order[2];
};

/*
 * The ignore mask that an index is made for. MPIs never compare a few bits of their own, so what is
 * exact to them has a mask too: the first receive decides which, and when nothing is queued that
 * depends on it another may.
 */
struct qv_class {
	uint64_t ignore;
	uint32_t recvs;   /* receives in the index */
	uint32_t learned; /* a receive has decided */
};

struct qv_queue_ops {
	/* e has its sequence number. QV_ENOMEM: nothing changed. */
	int (*append)(struct qv_queues *q, enum qv_side side, uint64_t *e);
	void (*remove)(struct qv_queues *q, enum qv_side side, uint64_t *e);
	/* The oldest that matches, or NULL. *seen grows by the entries compared. Called only when
	 * the queue is not empty. */
	uint64_t *(*find_recv)(struct qv_queues *q, uint64_t tag, uint32_t src, uint64_t *seen);
	uint64_t *(*find_msg)(struct qv_queues *q, uint64_t tag, uint64_t ignore, uint32_t src,
			      uint64_t *seen);
	void (*each)(const struct qv_queues *q, enum qv_side side, qv_each_fn *fn, void *ctx);
};

QV_INLINE struct qv_queues *qv_queues_of(struct qv_match *m)
{
	return (struct qv_queues *)m;
}

/* Entries queued. */
QV_INLINE uint64_t qv_queues_len(const struct qv_queues *q, enum qv_side side)
{
	return side == QV_POSTED ? q->base.stats.posted_now : q->base.stats.unexpected_now;
}

/* 1 if the class may become another now. */
QV_INLINE int qv_class_is_open(const struct qv_class *c, const struct qv_queues *q)
{
	return !c->recvs && (!c->learned || !qv_queues_len(q, QV_UNEXPECTED));
}

/* Call from the structure's init and fini. */
void qv_queues_init(struct qv_queues *q);
void qv_queues_fini(struct qv_queues *q);

/* The entry after prev in order, the first if prev is NULL; NULL at the end. */
uint64_t *qv_queues_next(struct qv_queues *q, const struct qv_queue_ops *ops, enum qv_side side,
			 const uint64_t *prev);

/* Entry e is about to leave, or one has joined (e NULL), while the order is known. */
void qv_order_changed(struct qv_queues *q, enum qv_side side, const uint64_t *e);

/* find_msg for what no index of a structure serves: look at all messages. */
uint64_t *qv_queues_scan(const struct qv_queues *q, const struct qv_queue_ops *ops, uint64_t tag,
			 uint64_t ignore, uint32_t src, uint64_t *seen);

/*
 * Take all messages out, call change(ctx), and append them again in order; append must not need
 * memory for that. QV_ENOMEM: nothing done, change was not called.
 */
int qv_queues_refile(struct qv_queues *q, const struct qv_queue_ops *ops, void (*change)(void *ctx),
		     void *ctx);

QV_INLINE int qv_queues_append(struct qv_queues *q, const struct qv_queue_ops *ops,
			       enum qv_side side, uint64_t *e)
{
	e[QV_E_SEQ] = q->seq[side];
	if (ops->append(q, side, e))
		return QV_ENOMEM;
	q->seq[side]++;
	if (QV_UNLIKELY(q->order[side].v != NULL))
		qv_order_changed(q, side, NULL);
	return QV_OK;
}

QV_INLINE void qv_queues_remove(struct qv_queues *q, const struct qv_queue_ops *ops,
				enum qv_side side, uint64_t *e)
{
	if (QV_UNLIKELY(q->order[side].v != NULL))
		qv_order_changed(q, side, e);
	ops->remove(q, side, e);
	if (side == QV_POSTED)
		q->base.stats.posted_now--;
	else
		q->base.stats.unexpected_now--;
}

QV_INLINE struct qv_msg *qv_queues_peek(struct qv_match *m, const struct qv_queue_ops *ops,
					uint64_t tag, uint64_t ignore, uint32_t src)
{
	uint64_t *e;

	if (!m->stats.unexpected_now)
		return NULL;
	e = ops->find_msg(qv_queues_of(m), tag, ignore, src, &m->stats.inspected);
	return e ? qv_msg_of(e) : NULL;
}

QV_INLINE int qv_queues_post(struct qv_match *m, const struct qv_queue_ops *ops,
			     struct qv_recv *recv, struct qv_msg **msg)
{
	struct qv_msg *found = qv_queues_peek(m, ops, recv->tag, recv->ignore, recv->src);

	if (found) {
		qv_queues_remove(qv_queues_of(m), ops, QV_UNEXPECTED, found->priv);
		m->stats.matched++;
	} else {
		if (qv_queues_append(qv_queues_of(m), ops, QV_POSTED, recv->priv))
			return QV_ENOMEM;
		qv_count_in(&m->stats.posted_now, &m->stats.posted_max);
	}
	m->stats.posted++;
	*msg = found;
	return QV_OK;
}

QV_INLINE struct qv_recv *qv_queues_arrive(struct qv_match *m, const struct qv_queue_ops *ops,
					   uint64_t tag, uint32_t src)
{
	struct qv_recv *found;
	uint64_t *e = NULL;

	m->stats.arrived++;
	if (m->stats.posted_now)
		e = ops->find_recv(qv_queues_of(m), tag, src, &m->stats.inspected);
	if (!e)
		return NULL;
	m->stats.matched++;
	found = qv_recv_of(e);
	if (!(found->flags & QV_RECV_STICKY))
		qv_queues_remove(qv_queues_of(m), ops, QV_POSTED, e);
	return found;
}

QV_INLINE int qv_queues_queue(struct qv_match *m, const struct qv_queue_ops *ops,
			      struct qv_msg *msg)
{
	if (qv_queues_append(qv_queues_of(m), ops, QV_UNEXPECTED, msg->priv))
		return QV_ENOMEM;
	m->stats.unexpected++;
	qv_count_in(&m->stats.unexpected_now, &m->stats.unexpected_max);
	return QV_OK;
}

#define QV_QUEUES_CALLS(ops)                                                                  \
	static int call_post(struct qv_match *m, struct qv_recv *recv, struct qv_msg **msg)   \
	{                                                                                     \
		return qv_queues_post(m, &(ops), recv, msg);                                  \
	}                                                                                     \
	static struct qv_recv *call_arrive(struct qv_match *m, uint64_t tag, uint32_t src)    \
	{                                                                                     \
		return qv_queues_arrive(m, &(ops), tag, src);                                 \
	}                                                                                     \
	static int call_queue(struct qv_match *m, struct qv_msg *msg)                         \
	{                                                                                     \
		return qv_queues_queue(m, &(ops), msg);                                       \
	}                                                                                     \
	static struct qv_msg *call_peek(struct qv_match *m, uint64_t tag, uint64_t ignore,    \
					uint32_t src)                                         \
	{                                                                                     \
		return qv_queues_peek(m, &(ops), tag, ignore, src);                           \
	}                                                                                     \
	static void call_take(struct qv_match *m, struct qv_msg *msg)                         \
	{                                                                                     \
		qv_queues_remove(qv_queues_of(m), &(ops), QV_UNEXPECTED, msg->priv);          \
	}                                                                                     \
	static void call_cancel(struct qv_match *m, struct qv_recv *recv)                     \
	{                                                                                     \
		qv_queues_remove(qv_queues_of(m), &(ops), QV_POSTED, recv->priv);             \
	}                                                                                     \
	static struct qv_recv *call_next_recv(struct qv_match *m, const struct qv_recv *prev) \
	{                                                                                     \
		uint64_t *e = qv_queues_next(qv_queues_of(m), &(ops), QV_POSTED,              \
					     prev ? prev->priv : NULL);                       \
                                                                                              \
		return e ? qv_recv_of(e) : NULL;                                              \
	}                                                                                     \
	static struct qv_msg *call_next_msg(struct qv_match *m, const struct qv_msg *prev)    \
	{                                                                                     \
		uint64_t *e = qv_queues_next(qv_queues_of(m), &(ops), QV_UNEXPECTED,          \
					     prev ? prev->priv : NULL);                       \
                                                                                              \
		return e ? qv_msg_of(e) : NULL;                                               \
	}                                                                                     \
	static void call_get_stats(const struct qv_match *m, struct qv_match_stats *stats)    \
	{                                                                                     \
		*stats = m->stats;                                                            \
	}

#define QV_QUEUES_OPS                                                                     \
	.post = call_post, .arrive = call_arrive, .queue = call_queue, .peek = call_peek, \
	.take = call_take, .cancel = call_cancel, .next_recv = call_next_recv,            \
	.next_msg = call_next_msg, .get_stats = call_get_stats

#endif /* QV_QUEUES_H */
