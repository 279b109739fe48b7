/* SPDX-License-Identifier: BSD-2-Clause */
/* path.c - structure "auto": which indexes are in use, and so which path serves. */
#include "hash.h"

/* The table of an index and its bits are copied to where most calls look. */
static void copy_table(struct qv_queue *q, const struct qv_index *ix, enum qv_path path)
{
	q->path = (uint16_t)path;
	q->slots = ix->slots;
	q->shift = ix->shift;
	q->keep = ix->keep;
	q->ignore = ~ix->keep;
}

/* Bring the index with the most receives to the front. Whether these are most of all, and name
 * their sources. */
static int has_dominant(struct qv_queue *q)
{
	uint32_t most = 0, at = 0, all = 0;
	struct qv_index *first = q->in_use[0];

	for (uint32_t i = 0; i < q->n_in_use; i++) {
		uint32_t live = q->in_use[i]->live;

		all += live;
		if (live > most) {
			most = live;
			at = i;
		}
	}
	q->in_use[0] = q->in_use[at];
	q->in_use[at] = first;
	return most >= QV_DOMINANT * (uint64_t)(all - most) && q->in_use[0]->src_keep;
}

void qv_queue_set_path(struct qv_queue *q)
{
	const struct qv_index *ix = q->sole;
	uint16_t links = q->side == QV_POSTED ? QV_RECV_LINKS : QV_MSG_LINKS;
	int usual = !(q->active & QV_UNUSUAL);

	if (q->mode == QV_AUTO_LIST)
		q->path = QV_PATH_LIST;
	else if (ix && ix->src_keep && ix != q->merged && ix->word == links)
		copy_table(q, ix, QV_PATH_NAMED);
	else if (ix || (q->side == QV_UNEXPECTED && q->n_in_use == 1 && usual))
		q->path = QV_PATH_ONE;
	else if (q->side == QV_POSTED && q->n_in_use > 1 && !q->merged && usual && has_dominant(q))
		copy_table(q, q->in_use[0], QV_PATH_DOMINANT);
	else
		q->path = QV_PATH_MANY;
}

void qv_queue_set_active(struct qv_queue *q, uint32_t active)
{
	uint32_t indexes = active & QV_INDEXES;

	active &= ~QV_KEYED_ACTIVE;
	q->n_in_use = 0;
	for (uint32_t rest = indexes; rest; rest &= rest - 1) {
		struct qv_index *ix = &q->ix[__builtin_ctz(rest)];

		q->in_use[q->n_in_use++] = ix;
		if (ix->keyed)
			active |= QV_KEYED_ACTIVE;
	}
	if (q->sole)
		q->sole->used = q->tail;
	q->active = active;
	q->sole = q->n_in_use == 1 && indexes == active ? q->in_use[0] : NULL;
	qv_queue_set_path(q);
}

void qv_queue_rekey(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix)
{
	/* Without memory the bucket stays long until the next insertion into it tries again. */
	if (ix->keyed || qv_index_rekey(ix, q->side, &a->base.mem, a->secret))
		return;
	if (q->sole == ix && q->side == QV_POSTED)
		ix->live = qv_queue_len(q) + 1; /* and the one that is being inserted */
	qv_queue_set_active(q, q->active);
}
