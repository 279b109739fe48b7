/* SPDX-License-Identifier: BSD-2-Clause */
/* order.c - structure "auto": the list in order of a short unexpected queue in HASH. */
#include "path.h"

int qv_order_is_on(struct qv_auto *a, struct qv_line *q)
{
	uint32_t n = qv_line_len(q);
	uint64_t **v;

	if (!q->order_pays || n > QV_ORDER_LONG || q->active >> (QV_N_VIEWS - 1) & 1)
		return 0;
	if (q->active & QV_ORDER_ACTIVE)
		return 1;
	v = qv_line_collect(a, q);
	if (!v)
		return 0;
	q->order[QV_YOUNGER] = q->order[QV_OLDER] = (uintptr_t)q->order;
	for (uint32_t i = 0; i < n; i++)
		qv_order_join(q, v[i]);
	qv_line_collect_done(a, q, v);
	qv_line_set_active(q, q->active | QV_ORDER_ACTIVE);
	return 1;
}

void qv_order_drop(struct qv_line *q)
{
	qv_line_set_active(q, q->active & ~QV_ORDER_ACTIVE);
}

uint64_t *qv_order_find(struct qv_line *q, uint64_t tag, uint64_t ignore, uint32_t src)
{
	q->order_used = q->tail;
	for (uint64_t *at = qv_entry(q->order[QV_YOUNGER]); at != q->order;
	     at = qv_entry(at[QV_YOUNGER])) {
		if (msg_fits(at - QV_MSG_ORDER, tag, ignore, src))
			return at - QV_MSG_ORDER;
		q->rejected++;
	}
	return NULL;
}
