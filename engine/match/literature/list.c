/* SPDX-License-Identifier: BSD-2-Clause */
/* list.c - an ordered list of entries of one of three kinds. */
#include "list.h"

void qv_list_init(struct qv_list *l, struct qv_match *m, enum qv_side side)
{
	memset(l, 0, sizeof(*l));
	l->kind = m->options.list;
	if (l->kind == QV_LIST_LLA)
		qv_lla_init(&l->lla, &m->mem, side, m->options.block);
	else if (l->kind == QV_LIST_LLV)
		qv_vlist_init(&l->llv, m, side, QV_E_LINK);
}

void qv_list_clear(struct qv_list *l)
{
	if (l->kind == QV_LIST_LLA)
		qv_lla_clear(&l->lla);
	else if (l->kind == QV_LIST_LLV)
		qv_vlist_clear(&l->llv);
	else
		l->ll.head = l->ll.tail = NULL;
	l->count = 0;
}

int qv_list_append_block(struct qv_list *l, uint64_t *e)
{
	return l->kind == QV_LIST_LLA ? qv_lla_append(&l->lla, e) : qv_vlist_append(&l->llv, e);
}

void qv_list_remove_block(struct qv_list *l, uint64_t *e)
{
	if (l->kind == QV_LIST_LLA)
		qv_lla_remove(&l->lla, e);
	else
		qv_vlist_remove(&l->llv, e);
}

/* Blocks do not show the age of their entries; the first entry's says whether any of them can be
 * older than best. */
static int is_younger(const struct qv_list *l, const uint64_t *best)
{
	const uint64_t *first;

	if (!best)
		return 0;
	first = l->kind == QV_LIST_LLA ? qv_lla_first(&l->lla) : qv_vlist_next(&l->llv, NULL);
	return !qv_older(first, best);
}

uint64_t *qv_list_find_recv_block(struct qv_list *l, uint64_t tag, uint32_t src, uint64_t *best,
				  uint64_t *seen)
{
	if (!l->count || is_younger(l, best))
		return best;
	if (l->kind == QV_LIST_LLA)
		return qv_oldest(best, qv_lla_find_recv(&l->lla, tag, src, seen));
	return qv_oldest(best, qv_vlist_find_recv(&l->llv, tag, src, seen));
}

uint64_t *qv_list_find_msg_block(struct qv_list *l, uint64_t tag, uint64_t ignore, uint32_t src,
				 uint64_t *best, uint64_t *seen)
{
	if (!l->count || is_younger(l, best))
		return best;
	if (l->kind == QV_LIST_LLA)
		return qv_oldest(best, qv_lla_find_msg(&l->lla, tag, ignore, src, seen));
	return qv_oldest(best, qv_vlist_find_msg(&l->llv, tag, ignore, src, seen));
}

void qv_list_each(const struct qv_list *l, qv_each_fn *fn, void *ctx)
{
	if (!l->count)
		return;
	if (l->kind == QV_LIST_LL)
		qv_chain_each(&l->ll, QV_E_LINK, fn, ctx);
	else if (l->kind == QV_LIST_LLA)
		qv_lla_each(&l->lla, fn, ctx);
	else
		for (uint64_t *e = NULL; (e = qv_vlist_next(&l->llv, e));)
			fn(ctx, e);
}
