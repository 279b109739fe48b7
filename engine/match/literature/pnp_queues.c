/* SPDX-License-Identifier: BSD-2-Clause */
/* pnp_queues.c - structure "pnp": partners and non-partners, found while the program runs. */
#include "pnp.h"
#include "queues.h"

struct pnp {
	struct qv_queues q;
	struct qv_pnp side[2];
};

QV_INLINE int append(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	return qv_pnp_append(&((struct pnp *)q)->side[side], e);
}

QV_INLINE void remove_entry(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	qv_pnp_remove(&((struct pnp *)q)->side[side], e);
}

QV_INLINE uint64_t *find_recv(struct qv_queues *q, uint64_t tag, uint32_t src, uint64_t *seen)
{
	return qv_pnp_find_recv(&((struct pnp *)q)->side[QV_POSTED], tag, src, NULL, seen);
}

QV_INLINE uint64_t *find_msg(struct qv_queues *q, uint64_t tag, uint64_t ignore, uint32_t src,
			     uint64_t *seen)
{
	return qv_pnp_find_msg(&((struct pnp *)q)->side[QV_UNEXPECTED], tag, ignore, src, NULL,
			       seen);
}

static void each(const struct qv_queues *q, enum qv_side side, qv_each_fn *fn, void *ctx)
{
	qv_pnp_each(&((const struct pnp *)q)->side[side], fn, ctx);
}

static int init(struct qv_match *m)
{
	struct pnp *p = (struct pnp *)m;

	qv_queues_init(&p->q);
	qv_pnp_init(&p->side[QV_POSTED], m, QV_POSTED);
	qv_pnp_init(&p->side[QV_UNEXPECTED], m, QV_UNEXPECTED);
	return QV_OK;
}

static void fini(struct qv_match *m)
{
	struct pnp *p = (struct pnp *)m;

	qv_pnp_fini(&p->side[QV_POSTED]);
	qv_pnp_fini(&p->side[QV_UNEXPECTED]);
	qv_queues_fini(&p->q);
}

static const struct qv_queue_ops queue_ops = {append, remove_entry, find_recv, find_msg, each};
QV_QUEUES_CALLS(queue_ops)

const struct qv_match_ops qv_match_pnp = {
	.name = "pnp",
	.size = sizeof(struct pnp),
	.options = QV_OPT_LIST | QV_OPT_PARTNERS | QV_OPT_LEVELS,
	.init = init,
	.fini = fini,
	QV_QUEUES_OPS,
};
