/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * binned.h - what structures "bins" and "ucx" have in common: a fixed number of lists, chosen by
 * a hash of tag and source, and an ordered list of the receives that are not exact. Sequence
 * numbers order the two.
 *
 * A structure is this header with a constant `struct qv_bin_shape`; all calls are in line.
 */
#ifndef QV_BINNED_H
#define QV_BINNED_H

#include "queues.h"

struct qv_bin_shape {
	uint32_t n_bins;
	uint32_t (*hash)(uint64_t tag, uint32_t src); /* below n_bins */
	int all; /* messages are in one list of all of them too: a receive that is not exact walks
		  * that. Otherwise it looks in every bin. */
};

struct qv_binned {
	struct qv_queues q;
	struct qv_class exact; /* receives with this mask and a source are in the bins */
	struct qv_chain wild;  /* the other receives */
	struct qv_chain all;   /* all messages, if the shape has it so */
	struct qv_chain bin[]; /* n_bins of receives, n_bins of messages */
};

/* Words of a message that link it into `all`. */
enum { QV_BIN_ALL_LINK = QV_E_LINK + 2 };

QV_INLINE struct qv_chain *qv_bin_of(struct qv_binned *b, const struct qv_bin_shape *shape,
				     enum qv_side side, uint64_t tag, uint32_t src)
{
	uint32_t i = shape->hash(tag & ~b->exact.ignore, src);

	return &b->bin[side == QV_POSTED ? i : shape->n_bins + i];
}

QV_INLINE int qv_bin_is_exact(const struct qv_binned *b, uint64_t ignore, uint32_t src)
{
	return ignore == b->exact.ignore && src != QV_SRC_ANY;
}

struct qv_bin_change {
	struct qv_class *exact;
	uint64_t ignore;
};

static void qv_bin_set_class(void *ctx)
{
	const struct qv_bin_change *c = ctx;

	c->exact->ignore = c->ignore;
	c->exact->learned = 1;
}

/* A receive with a source has another mask: make that the exact one if nothing speaks against. */
static QV_COLD void qv_bin_learn(struct qv_binned *b, const struct qv_queue_ops *ops,
				 uint64_t ignore)
{
	struct qv_bin_change change = {&b->exact, ignore};

	if (qv_class_is_open(&b->exact, &b->q))
		(void)qv_queues_refile(&b->q, ops, qv_bin_set_class, &change);
}

QV_INLINE int qv_bin_append(struct qv_binned *b, const struct qv_bin_shape *shape,
			    const struct qv_queue_ops *ops, enum qv_side side, uint64_t *e)
{
	const struct qv_recv *r = qv_recv_of(e);
	struct qv_chain *c;

	if (side == QV_UNEXPECTED) {
		c = qv_bin_of(b, shape, side, qv_msg_of(e)->tag, qv_msg_of(e)->src);
		if (shape->all)
			qv_chain_append(&b->all, e, QV_BIN_ALL_LINK);
	} else {
		if (QV_UNLIKELY(r->ignore != b->exact.ignore) && r->src != QV_SRC_ANY)
			qv_bin_learn(b, ops, r->ignore);
		c = &b->wild;
		if (QV_LIKELY(qv_bin_is_exact(b, r->ignore, r->src))) {
			c = qv_bin_of(b, shape, side, r->tag, r->src);
			b->exact.recvs++;
			b->exact.learned = 1;
		}
	}
	e[QV_E_HOME] = (uintptr_t)c;
	qv_chain_append(c, e, QV_E_LINK);
	return QV_OK;
}

QV_INLINE void qv_bin_remove(struct qv_binned *b, const struct qv_bin_shape *shape,
			     enum qv_side side, uint64_t *e)
{
	struct qv_chain *c = (struct qv_chain *)qv_entry(e[QV_E_HOME]);

	if (side == QV_POSTED)
		b->exact.recvs -= c != &b->wild;
	else if (shape->all)
		qv_chain_remove(&b->all, e, QV_BIN_ALL_LINK);
	qv_chain_remove(c, e, QV_E_LINK);
}

QV_INLINE uint64_t *qv_bin_find_recv(struct qv_binned *b, const struct qv_bin_shape *shape,
				     uint64_t tag, uint32_t src, uint64_t *seen)
{
	const struct qv_chain *c = qv_bin_of(b, shape, QV_POSTED, tag, src);
	uint64_t *e = qv_chain_find_recv(c, QV_E_LINK, tag, src, NULL, seen);

	return qv_chain_find_recv(&b->wild, QV_E_LINK, tag, src, e, seen);
}

QV_INLINE uint64_t *qv_bin_find_msg(struct qv_binned *b, const struct qv_bin_shape *shape,
				    const struct qv_queue_ops *ops, uint64_t tag, uint64_t ignore,
				    uint32_t src, uint64_t *seen)
{
	uint64_t *e = NULL;

	if (QV_UNLIKELY(ignore != b->exact.ignore) && src != QV_SRC_ANY)
		qv_bin_learn(b, ops, ignore);
	if (QV_LIKELY(qv_bin_is_exact(b, ignore, src)))
		return qv_chain_find_msg(qv_bin_of(b, shape, QV_UNEXPECTED, tag, src), QV_E_LINK,
					 tag, ignore, src, NULL, seen);
	if (shape->all)
		return qv_chain_find_msg(&b->all, QV_BIN_ALL_LINK, tag, ignore, src, NULL, seen);
	for (uint32_t i = 0; i < shape->n_bins; i++)
		e = qv_chain_find_msg(&b->bin[shape->n_bins + i], QV_E_LINK, tag, ignore, src, e,
				      seen);
	return e;
}

QV_INLINE void qv_bin_each(const struct qv_binned *b, const struct qv_bin_shape *shape,
			   enum qv_side side, qv_each_fn *fn, void *ctx)
{
	const struct qv_chain *bin = &b->bin[side == QV_POSTED ? 0 : shape->n_bins];

	for (uint32_t i = 0; i < shape->n_bins; i++)
		qv_chain_each(&bin[i], QV_E_LINK, fn, ctx);
	if (side == QV_POSTED)
		qv_chain_each(&b->wild, QV_E_LINK, fn, ctx);
}

/* The functions and the table that queues.h asks for. */
#define QV_BINNED_CALLS(shape)                                                                    \
	static const struct qv_queue_ops queue_ops;                                               \
	static int append(struct qv_queues *q, enum qv_side side, uint64_t *e)                    \
	{                                                                                         \
		return qv_bin_append((struct qv_binned *)q, &(shape), &queue_ops, side, e);       \
	}                                                                                         \
	static void remove_entry(struct qv_queues *q, enum qv_side side, uint64_t *e)             \
	{                                                                                         \
		qv_bin_remove((struct qv_binned *)q, &(shape), side, e);                          \
	}                                                                                         \
	static uint64_t *find_recv(struct qv_queues *q, uint64_t tag, uint32_t src,               \
				   uint64_t *seen)                                                \
	{                                                                                         \
		return qv_bin_find_recv((struct qv_binned *)q, &(shape), tag, src, seen);         \
	}                                                                                         \
	static uint64_t *find_msg(struct qv_queues *q, uint64_t tag, uint64_t ignore,             \
				  uint32_t src, uint64_t *seen)                                   \
	{                                                                                         \
		return qv_bin_find_msg((struct qv_binned *)q, &(shape), &queue_ops, tag, ignore,  \
				       src, seen);                                                \
	}                                                                                         \
	static void each(const struct qv_queues *q, enum qv_side side, qv_each_fn *fn, void *ctx) \
	{                                                                                         \
		qv_bin_each((const struct qv_binned *)q, &(shape), side, fn, ctx);                \
	}                                                                                         \
	static int init(struct qv_match *m)                                                       \
	{                                                                                         \
		qv_queues_init(qv_queues_of(m));                                                  \
		return QV_OK;                                                                     \
	}                                                                                         \
	static void fini(struct qv_match *m)                                                      \
	{                                                                                         \
		qv_queues_fini(qv_queues_of(m));                                                  \
	}                                                                                         \
	static const struct qv_queue_ops queue_ops = {append, remove_entry, find_recv, find_msg,  \
						      each};                                      \
	QV_QUEUES_CALLS(queue_ops)

#endif /* QV_BINNED_H */
