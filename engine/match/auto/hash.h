/* SPDX-License-Identifier: BSD-2-Clause */
/* hash.h - structure "auto": the two queues in HASH, and the list in order
 * of the second. */
#ifndef QV_AUTO_HASH_H
#define QV_AUTO_HASH_H

#include "insert.h"

/* fill.c, posted.c: the posted queue in HASH. */

int qv_posted_fill(struct qv_auto *a, struct qv_line *q);
int qv_posted_insert(struct qv_auto *a, struct qv_line *q, uint64_t *e);
/* Whether ix, which is in use, is where such a receive goes. */
QV_INLINE int qv_posted_takes(const struct qv_index *ix, uint64_t ignore, uint32_t src)
{
	uint32_t named = 0u - (src < QV_SRC_ANY);

	return (((ignore ^ ~ix->keep) & (ix->keep | (uint64_t)(int64_t)ix->strict)) |
		((named ^ ix->src_keep) & (ix->src_keep | (uint32_t)ix->strict))) == 0;
}

/* Where in `home` receives of this class are. */
QV_INLINE uint32_t qv_home_of(uint64_t ignore, uint32_t src)
{
	uint32_t mask = (uint32_t)ignore ^ (uint32_t)(ignore >> 32);

	return (mask * 0x9e3779b1u >> 28) ^ (src == QV_SRC_ANY);
}

/* Where a receive goes and is: NULL if its class has no index. */
struct qv_index *qv_posted_class(struct qv_line *q, uint64_t ignore, uint32_t src);
/* A wide index has not paid: wait longer before the next. */
void qv_posted_keep_apart(struct qv_line *q);
/* Receives that share a key in the wide index are too many: index each class by itself. */
void qv_posted_split(struct qv_auto *a, struct qv_line *q);
void qv_posted_find(struct qv_line *q, uint64_t tag, uint32_t src, struct qv_found *f);

/* So many receives that did not fit, met in the wide index in a tick, cost what others would. */
#define QV_STRAYED_MANY 192

/* The same, since the last tick, has cost what indexing anew would. */
QV_INLINE int qv_posted_is_astray(const struct qv_line *q)
{
	return q->strayed > QV_STRAYED_MANY + 3 * (uint64_t)qv_line_len(q);
}
/* For how many receives the table of one of several classes is made. An arrival looks into all of
 * them: what it has no use for should be in few of the buckets. */
#define QV_ROOMY_MAX 8192
QV_INLINE uint32_t qv_posted_room(uint32_t n)
{
	return (n <= QV_ROOMY_MAX ? 2 * n : n) + QV_TICK;
}

/* Take f->e out of its index; the caller counts. */
void qv_posted_remove(struct qv_line *q, const struct qv_found *f);
void qv_posted_upkeep(struct qv_auto *a, struct qv_line *q);

/*
 * order.c: a list of all unexpected messages in order, for a short queue in HASH: to walk
 * it for receives without an index costs less than an index.
 */

/* The list is there, or could be made, and is worth walking. */
int qv_order_is_on(struct qv_auto *a, struct qv_line *q);
void qv_order_drop(struct qv_line *q);
uint64_t *qv_order_find(struct qv_line *q, uint64_t tag, uint64_t ignore, uint32_t src);

/* Up to so many messages if receives use it often, or seldom. */
#define QV_ORDER_MAX  24
#define QV_ORDER_LONG 128

/* A ring of the messages' links, closed by q->order. */
QV_INLINE void qv_order_join(struct qv_line *q, uint64_t *e)
{
	uint64_t *links = e + QV_MSG_ORDER, *newest = qv_entry(q->order[QV_OLDER]);

	links[QV_YOUNGER] = (uintptr_t)q->order;
	links[QV_OLDER] = (uintptr_t)newest;
	newest[QV_YOUNGER] = (uintptr_t)links;
	q->order[QV_OLDER] = (uintptr_t)links;
}

QV_INLINE void qv_order_leave(const uint64_t *e)
{
	const uint64_t *links = e + QV_MSG_ORDER;

	qv_entry(links[QV_YOUNGER])[QV_OLDER] = links[QV_OLDER];
	qv_entry(links[QV_OLDER])[QV_YOUNGER] = links[QV_YOUNGER];
}

/* unexpected.c: the unexpected queue in HASH. */

int qv_unexpected_fill(struct qv_auto *a, struct qv_line *q, uint64_t ignore, uint32_t src);
void qv_unexpected_insert(struct qv_auto *a, struct qv_line *q, uint64_t *e);
void qv_unexpected_find(struct qv_auto *a, struct qv_line *q, uint64_t tag, uint64_t ignore,
			uint32_t src, struct qv_found *f);
/* Take f->e out of all indexes and the log; the caller counts. */
void qv_unexpected_remove(struct qv_line *q, const struct qv_found *f);
void qv_unexpected_upkeep(struct qv_auto *a, struct qv_line *q);

/* Make room in ix, which is in use, for what is queued until the next tick. */
void qv_unexpected_fit(struct qv_auto *a, struct qv_line *q, struct qv_index *ix);

/* Ticks with few messages of one key that it takes to trust in an index of a wider class: at first,
 * and at most. */
#define QV_WARY_MIN 4
#define QV_WARY_MAX 128
/* Searches in a tick, on average, times messages: walking the list in order costs less than an
 * index. Such averages are over about so many ticks: searches of few receives come in clusters. */
#define QV_SELDOM   200
#define QV_AVERAGED 8
/* The log has become of no use. */
void qv_unexpected_drop_log(struct qv_line *q);

#endif /* QV_AUTO_HASH_H */
