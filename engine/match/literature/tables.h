/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tables.h - what structures "hash" and "nm" have in common: hash tables with one FIFO per key
 * (engine/match/auto/index.h). A receive whose mask has a table is in that, the others are in an ordered list. A
 * message is in every table; a receive whose mask has none looks at all messages.
 *
 * The hash is the quick one of engine/match/auto/index.h. An insertion that meets too many keys in one bucket
 * changes that table to the keyed hash, for good: whoever sends tags that collide gains one
 * rebuilding. Nothing else pays for that but a comparison where a bucket was not empty.
 *
 * A structure is this header with a constant `struct qv_tables_shape`; all calls are in line.
 */
#ifndef QV_TABLES_H
#define QV_TABLES_H

#include <sys/random.h>

#include "queues.h"

_Static_assert(QV_RECV_LINKS == QV_E_LINK, "the words of a receive are the same in both");

#define QV_TABLES_MASKS 2
/* A receive's QV_E_HOME if it is in no table. */
#define QV_NO_TABLE (2 * QV_TABLES_MASKS)

struct qv_tables_shape {
	uint32_t n_masks, n_tables; /* of each mask: source compared; and not */
};

struct qv_tables {
	struct qv_queues q;
	struct qv_class mask[QV_TABLES_MASKS];
	struct qv_index
		ix[2][2 * QV_TABLES_MASKS]; /* by side; mask 0 source, mask 0 any, mask 1 ... */
	struct qv_chain wild;               /* receives that are in no table */
};

/* The table for receives (ignore, src), or QV_NO_TABLE. */
QV_INLINE uint32_t qv_tables_choose(const struct qv_tables *t, const struct qv_tables_shape *s,
				    uint64_t ignore, uint32_t src)
{
	uint32_t per_mask = s->n_tables / s->n_masks, any = src == QV_SRC_ANY;

	if (any >= per_mask)
		return QV_NO_TABLE;
	for (uint32_t i = 0; i < s->n_masks; i++)
		if (ignore == t->mask[i].ignore)
			return i * per_mask + any;
	return QV_NO_TABLE;
}

struct qv_tables_change {
	struct qv_tables *t;
	const struct qv_tables_shape *s;
	uint32_t mask;
	uint64_t ignore;
};

static void qv_tables_set_mask(void *ctx)
{
	const struct qv_tables_change *c = ctx;
	uint32_t per_mask = c->s->n_tables / c->s->n_masks;

	c->t->mask[c->mask].ignore = c->ignore;
	c->t->mask[c->mask].learned = 1;
	for (uint32_t any = 0; any < per_mask; any++)
		for (int side = 0; side < 2; side++)
			qv_index_set_class(&c->t->ix[side][c->mask * per_mask + any], c->ignore,
					   any);
}

/* A mask without tables: let it have some that serve nobody. */
static QV_COLD void qv_tables_learn(struct qv_tables *t, const struct qv_tables_shape *s,
				    const struct qv_queue_ops *ops, uint64_t ignore, uint32_t src)
{
	struct qv_tables_change c = {t, s, 0, ignore};

	if (src == QV_SRC_ANY && s->n_tables == s->n_masks)
		return;
	for (uint32_t i = 0; i < s->n_masks; i++)
		if (t->mask[i].ignore == ignore)
			return;
	for (; c.mask < s->n_masks; c.mask++) {
		if (qv_class_is_open(&t->mask[c.mask], &t->q)) {
			(void)qv_queues_refile(&t->q, ops, qv_tables_set_mask, &c);
			return;
		}
	}
}

/* The oldest entry that (tag, src) finds in one table, or NULL. */
QV_INLINE uint64_t *qv_tables_look(const struct qv_index *ix, enum qv_side side, uint64_t tag,
				   uint32_t src, uint64_t *seen)
{
	uint64_t *at, *e = qv_index_find(ix, side, tag, src, &at, seen);

	*seen += e != NULL;
	return e;
}

/* Keys in the bucket of entry e, up to its own. */
static uint32_t qv_tables_crowd(const struct qv_index *ix, enum qv_side side, const uint64_t *e)
{
	uint64_t *head = qv_entry(*qv_index_slot_of(ix, side, e));
	uint32_t n = 1;

	while (!qv_index_same(ix, side, head, qv_key_tag(side, e), qv_key_src(side, e))) {
		head = qv_entry(qv_links(ix, side, head)[QV_BUCKET]);
		n++;
	}
	return n;
}

static void qv_tables_rekey(struct qv_match *m, struct qv_index *ix, enum qv_side side)
{
	uint64_t secret[2];

	/* If the system has no random numbers to give, addresses must do. */
	if (getrandom(secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret)) {
		secret[0] = qv_mix((uintptr_t)m, QV_MUL_TAG);
		secret[1] = qv_mix((uintptr_t)ix->slots, QV_MUL_SRC);
	}
	/* Without memory the bucket stays long until the next insertion into it tries again. */
	(void)qv_index_rekey(ix, side, &m->mem, secret);
}

/*
 * The insertion of e into n tables met many keys. If one bucket has more than chance would put
 * there, someone knows the hash and aims at it: change that table to the keyed one.
 */
static QV_COLD void qv_tables_review(struct qv_match *m, struct qv_index *ix, uint32_t n,
				     enum qv_side side, const uint64_t *e)
{
	for (uint32_t i = 0; i < n; i++)
		if (!ix[i].keyed && qv_tables_crowd(&ix[i], side, e) > QV_BUCKET_MAX)
			qv_tables_rekey(m, &ix[i], side);
}

QV_INLINE uint32_t qv_tables_insert(struct qv_index *ix, enum qv_side side, uint64_t *e)
{
	return qv_index_insert_at(ix, side, qv_index_slot_of(ix, side, e), e);
}

QV_INLINE void qv_tables_remove_from(struct qv_index *ix, enum qv_side side, uint64_t *e)
{
	qv_index_remove(ix, side, 1, e);
}

QV_INLINE int qv_tables_append_recv(struct qv_tables *t, const struct qv_tables_shape *s,
				    const struct qv_queue_ops *ops, uint64_t *e)
{
	const struct qv_recv *r = qv_recv_of(e);
	uint32_t i = qv_tables_choose(t, s, r->ignore, r->src);
	struct qv_index *ix;
	uint32_t seen;

	if (QV_UNLIKELY(i == QV_NO_TABLE)) {
		qv_tables_learn(t, s, ops, r->ignore, r->src);
		i = qv_tables_choose(t, s, r->ignore, r->src);
	}
	e[QV_E_HOME] = i;
	if (i == QV_NO_TABLE) {
		qv_chain_append(&t->wild, e, QV_E_LINK);
		return QV_OK;
	}
	ix = &t->ix[QV_POSTED][i];
	if (qv_index_reserve(ix, QV_POSTED, &t->q.base.mem, ix->live + 1))
		return QV_ENOMEM;
	ix->live++;
	t->mask[i * s->n_masks / s->n_tables].recvs++;
	t->mask[i * s->n_masks / s->n_tables].learned = 1;
	seen = qv_tables_insert(ix, QV_POSTED, e);
	t->q.base.stats.inspected += seen;
	if (QV_UNLIKELY(seen > QV_BUCKET_MAX))
		qv_tables_review(&t->q.base, ix, 1, QV_POSTED, e);
	return QV_OK;
}

QV_INLINE int qv_tables_append_msg(struct qv_tables *t, const struct qv_tables_shape *s,
				   uint64_t *e)
{
	uint32_t n = t->ix[QV_UNEXPECTED][0].live + 1, seen = 0;

	for (uint32_t i = 0; i < s->n_tables; i++)
		if (qv_index_reserve(&t->ix[QV_UNEXPECTED][i], QV_UNEXPECTED, &t->q.base.mem, n))
			return QV_ENOMEM;
	t->ix[QV_UNEXPECTED][0].live = n;
	for (uint32_t i = 0; i < s->n_tables; i++)
		seen += qv_tables_insert(&t->ix[QV_UNEXPECTED][i], QV_UNEXPECTED, e);
	t->q.base.stats.inspected += seen;
	if (QV_UNLIKELY(seen > QV_BUCKET_MAX))
		qv_tables_review(&t->q.base, t->ix[QV_UNEXPECTED], s->n_tables, QV_UNEXPECTED, e);
	return QV_OK;
}

QV_INLINE void qv_tables_remove(struct qv_tables *t, const struct qv_tables_shape *s,
				enum qv_side side, uint64_t *e)
{
	uint64_t i = e[QV_E_HOME];

	if (side == QV_UNEXPECTED) {
		t->ix[QV_UNEXPECTED][0].live--;
		for (i = 0; i < s->n_tables; i++)
			qv_tables_remove_from(&t->ix[QV_UNEXPECTED][i], QV_UNEXPECTED, e);
	} else if (i == QV_NO_TABLE) {
		qv_chain_remove(&t->wild, e, QV_E_LINK);
	} else {
		t->ix[QV_POSTED][i].live--;
		t->mask[i * s->n_masks / s->n_tables].recvs--;
		qv_tables_remove_from(&t->ix[QV_POSTED][i], QV_POSTED, e);
	}
}

QV_INLINE uint64_t *qv_tables_find_recv(struct qv_tables *t, const struct qv_tables_shape *s,
					uint64_t tag, uint32_t src, uint64_t *seen)
{
	uint64_t *e = NULL;

	for (uint32_t i = 0; i < s->n_tables; i++) {
		const struct qv_index *ix = &t->ix[QV_POSTED][i];

		if (ix->live)
			e = qv_oldest(e, qv_tables_look(ix, QV_POSTED, tag, src, seen));
	}
	return qv_chain_find_recv(&t->wild, QV_E_LINK, tag, src, e, seen);
}

QV_INLINE uint64_t *qv_tables_find_msg(struct qv_tables *t, const struct qv_tables_shape *s,
				       const struct qv_queue_ops *ops, uint64_t tag,
				       uint64_t ignore, uint32_t src, uint64_t *seen)
{
	uint32_t i = qv_tables_choose(t, s, ignore, src);

	if (QV_UNLIKELY(i == QV_NO_TABLE)) {
		qv_tables_learn(t, s, ops, ignore, src);
		i = qv_tables_choose(t, s, ignore, src);
	}
	if (i == QV_NO_TABLE)
		return qv_queues_scan(&t->q, ops, tag, ignore, src, seen);
	return qv_tables_look(&t->ix[QV_UNEXPECTED][i], QV_UNEXPECTED, tag, src, seen);
}

static void qv_tables_each_in(const struct qv_index *ix, enum qv_side side, qv_each_fn *fn,
			      void *ctx)
{
	uint32_t n = qv_index_slots(ix);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t *head = qv_entry(ix->slots[i]);

		for (; head; head = qv_entry(qv_links(ix, side, head)[QV_BUCKET]))
			for (uint64_t *e = head; e; e = qv_entry(qv_links(ix, side, e)[QV_NEXT]))
				fn(ctx, e);
	}
}

static void qv_tables_each(const struct qv_queues *q, enum qv_side side, qv_each_fn *fn, void *ctx)
{
	const struct qv_tables *t = (const struct qv_tables *)q;

	if (side == QV_UNEXPECTED) { /* each table has all */
		qv_tables_each_in(&t->ix[side][0], side, fn, ctx);
		return;
	}
	for (uint32_t i = 0; i < 2 * QV_TABLES_MASKS; i++)
		qv_tables_each_in(&t->ix[side][i], side, fn, ctx);
	qv_chain_each(&t->wild, QV_E_LINK, fn, ctx);
}

static void qv_tables_init(struct qv_tables *t, const struct qv_tables_shape *s)
{
	struct qv_tables_change c = {.t = t, .s = s};

	qv_queues_init(&t->q);
	for (uint32_t i = 0; i < 2 * QV_TABLES_MASKS; i++) {
		for (int side = 0; side < 2; side++) {
			struct qv_index *ix = &t->ix[side][i];

			ix->word =
				(uint8_t)(QV_RECV_LINKS + (side == QV_POSTED ? 0 : QV_LINKS * i));
		}
	}
	/* Before anybody has said otherwise: exact is every bit, any tag is none. */
	for (; c.mask < s->n_masks; c.mask++) {
		c.ignore = c.mask ? UINT64_MAX : 0;
		qv_tables_set_mask(&c);
		t->mask[c.mask].learned = 0;
	}
}

static void qv_tables_fini(struct qv_match *m)
{
	struct qv_tables *t = (struct qv_tables *)m;

	for (uint32_t i = 0; i < 2 * QV_TABLES_MASKS; i++) {
		qv_index_free(&t->ix[QV_POSTED][i], &m->mem);
		qv_index_free(&t->ix[QV_UNEXPECTED][i], &m->mem);
	}
	qv_queues_fini(&t->q);
}

static void qv_tables_prefetch(const struct qv_match *m, uint64_t tag, uint32_t src, int step)
{
	const struct qv_tables *t = (const struct qv_tables *)m;

	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < 2 * QV_TABLES_MASKS; i++) {
			const struct qv_index *ix = &t->ix[side][i];
			const uint64_t *slot;

			if (!ix->slots)
				continue;
			slot = qv_index_slot(ix, tag, src);
			if (step == 0)
				__builtin_prefetch(slot, 1);
			else if (*slot)
				__builtin_prefetch(qv_entry(*slot), 1);
		}
	}
}

/* The functions and the table that queues.h asks for. */
#define QV_TABLES_CALLS(shape)                                                                   \
	static const struct qv_queue_ops queue_ops;                                              \
	static int append(struct qv_queues *q, enum qv_side side, uint64_t *e)                   \
	{                                                                                        \
		struct qv_tables *t = (struct qv_tables *)q;                                     \
                                                                                                 \
		return side == QV_POSTED ? qv_tables_append_recv(t, &(shape), &queue_ops, e)     \
					 : qv_tables_append_msg(t, &(shape), e);                 \
	}                                                                                        \
	static void remove_entry(struct qv_queues *q, enum qv_side side, uint64_t *e)            \
	{                                                                                        \
		qv_tables_remove((struct qv_tables *)q, &(shape), side, e);                      \
	}                                                                                        \
	static uint64_t *find_recv(struct qv_queues *q, uint64_t tag, uint32_t src,              \
				   uint64_t *seen)                                               \
	{                                                                                        \
		return qv_tables_find_recv((struct qv_tables *)q, &(shape), tag, src, seen);     \
	}                                                                                        \
	static uint64_t *find_msg(struct qv_queues *q, uint64_t tag, uint64_t ignore,            \
				  uint32_t src, uint64_t *seen)                                  \
	{                                                                                        \
		return qv_tables_find_msg((struct qv_tables *)q, &(shape), &queue_ops, tag,      \
					  ignore, src, seen);                                    \
	}                                                                                        \
	static int init(struct qv_match *m)                                                      \
	{                                                                                        \
		qv_tables_init((struct qv_tables *)m, &(shape));                                 \
		return QV_OK;                                                                    \
	}                                                                                        \
	static const struct qv_queue_ops queue_ops = {append, remove_entry, find_recv, find_msg, \
						      qv_tables_each};                           \
	QV_QUEUES_CALLS(queue_ops)

#endif /* QV_TABLES_H */
