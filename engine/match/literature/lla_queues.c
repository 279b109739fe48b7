/* SPDX-License-Identifier: BSD-2-Clause */
/* lla_queues.c - structure "lla": both queues are linked lists of arrays. */
#include "list.h"
#include "queues.h"

struct lla {
	struct qv_queues q;
	struct qv_list list[2];
};

static int append(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	return qv_list_append(&((struct lla *)q)->list[side], e);
}

static void remove_entry(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	qv_list_remove(e);
}

static uint64_t *find_recv(struct qv_queues *q, uint64_t tag, uint32_t src, uint64_t *seen)
{
	return qv_list_find_recv(&((struct lla *)q)->list[QV_POSTED], tag, src, NULL, seen);
}

static uint64_t *find_msg(struct qv_queues *q, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *seen)
{
	return qv_list_find_msg(&((struct lla *)q)->list[QV_UNEXPECTED], tag, ignore, src, NULL,
				seen);
}

static void each(const struct qv_queues *q, enum qv_side side, qv_each_fn *fn, void *ctx)
{
	qv_list_each(&((const struct lla *)q)->list[side], fn, ctx);
}

static int init(struct qv_match *m)
{
	struct lla *l = (struct lla *)m;

	m->options.list = QV_LIST_LLA;
	qv_queues_init(&l->q);
	qv_list_init(&l->list[QV_POSTED], m, QV_POSTED);
	qv_list_init(&l->list[QV_UNEXPECTED], m, QV_UNEXPECTED);
	return QV_OK;
}

static void fini(struct qv_match *m)
{
	struct lla *l = (struct lla *)m;

	qv_list_clear(&l->list[QV_POSTED]);
	qv_list_clear(&l->list[QV_UNEXPECTED]);
	qv_queues_fini(&l->q);
}

static const struct qv_queue_ops queue_ops = {append, remove_entry, find_recv, find_msg, each};
QV_QUEUES_CALLS(queue_ops)

const struct qv_match_ops qv_match_lla = {
	.name = "lla",
	.size = sizeof(struct lla),
	.options = QV_OPT_BLOCK,
	.init = init,
	.fini = fini,
	QV_QUEUES_OPS,
};
