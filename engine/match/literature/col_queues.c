/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * col_queues.c - structures "col", "col-ll" and "col-pnp": messages of collective operations,
 * known by a bit of their tag, have lists of their own (col.h). The rest
 *     col      shares the list of the operations that have none yet, which all of them search
 *     col-ll   has one list
 *     col-pnp  has the queues of structure "pnp"
 *
 * A receive that could take messages of both kinds, of several operations, or of any source of a
 * collective is in one ordered list, `mixed`, that every arrival looks at.
 */
#include "col.h"
#include "pnp.h"
#include "queues.h"

struct cols {
	struct qv_queues q;
	uint64_t mask, op_mask; /* of the settings */
	int has_pnp;
	struct qv_list prof[2], plain[2];
	struct qv_list *p2p[2]; /* prof or plain; without use if there is pnp */
	struct qv_pnp pnp[2];
	struct qv_col col[2];
	struct qv_list mixed;
};

static int is_collective(const struct cols *c, uint64_t tag)
{
	return (tag & c->mask) != 0;
}

/* A search by source through one operation's lists finds all that this receive accepts. */
static int is_mixed(const struct cols *c, uint64_t tag, uint64_t ignore, uint32_t src)
{
	if (ignore & c->mask)
		return 1;
	return is_collective(c, tag) && (ignore & c->op_mask || src == QV_SRC_ANY);
}

static int append(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	struct cols *c = (struct cols *)q;
	const struct qv_recv *r = qv_recv_of(e);

	if (side == QV_POSTED && is_mixed(c, r->tag, r->ignore, r->src))
		return qv_list_append(&c->mixed, e);
	if (is_collective(c, qv_key_tag(side, e)))
		return qv_col_append(&c->col[side], e);
	if (c->has_pnp)
		return qv_pnp_append(&c->pnp[side], e);
	return qv_list_append(c->p2p[side], e);
}

static void remove_entry(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	qv_list_remove(e);
}

static uint64_t *find_recv(struct qv_queues *q, uint64_t tag, uint32_t src, uint64_t *seen)
{
	struct cols *c = (struct cols *)q;
	uint64_t *e;

	if (is_collective(c, tag))
		e = qv_col_find_recv(&c->col[QV_POSTED], tag, src, seen);
	else if (c->has_pnp)
		e = qv_pnp_find_recv(&c->pnp[QV_POSTED], tag, src, NULL, seen);
	else
		e = qv_list_find_recv(c->p2p[QV_POSTED], tag, src, NULL, seen);
	return qv_list_find_recv(&c->mixed, tag, src, e, seen);
}

static uint64_t *find_p2p(struct cols *c, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *best, uint64_t *seen)
{
	if (c->has_pnp)
		return qv_pnp_find_msg(&c->pnp[QV_UNEXPECTED], tag, ignore, src, best, seen);
	return qv_list_find_msg(c->p2p[QV_UNEXPECTED], tag, ignore, src, best, seen);
}

static uint64_t *find_msg(struct qv_queues *q, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *seen)
{
	struct cols *c = (struct cols *)q;
	uint64_t *e;

	if (!is_mixed(c, tag, ignore, src)) {
		if (is_collective(c, tag))
			return qv_col_find_msg(&c->col[QV_UNEXPECTED], tag, ignore, src, seen);
		return find_p2p(c, tag, ignore, src, NULL, seen);
	}
	e = qv_list_find_msg(&c->prof[QV_UNEXPECTED], tag, ignore, src, NULL, seen);
	e = qv_col_find_any(&c->col[QV_UNEXPECTED], tag, ignore, src, e, seen);
	return find_p2p(c, tag, ignore, src, e, seen);
}

static void each(const struct qv_queues *q, enum qv_side side, qv_each_fn *fn, void *ctx)
{
	const struct cols *c = (const struct cols *)q;

	qv_list_each(&c->prof[side], fn, ctx);
	qv_list_each(&c->plain[side], fn, ctx);
	qv_pnp_each(&c->pnp[side], fn, ctx);
	qv_col_each(&c->col[side], fn, ctx);
	if (side == QV_POSTED)
		qv_list_each(&c->mixed, fn, ctx);
}

static int init(struct qv_match *m, int shares_prof, int has_pnp)
{
	struct cols *c = (struct cols *)m;

	if (!m->settings->collective_mask)
		return QV_EINVAL;
	c->mask = m->settings->collective_mask;
	c->op_mask = m->settings->collective_op;
	c->has_pnp = has_pnp;
	qv_queues_init(&c->q);
	for (int side = 0; side < 2; side++) {
		qv_list_init(&c->prof[side], m, (enum qv_side)side);
		qv_list_init(&c->plain[side], m, (enum qv_side)side);
		c->p2p[side] = shares_prof ? &c->prof[side] : &c->plain[side];
		qv_pnp_init(&c->pnp[side], m, (enum qv_side)side);
		qv_col_init(&c->col[side], m, (enum qv_side)side, &c->prof[side]);
	}
	qv_list_init(&c->mixed, m, QV_POSTED);
	return QV_OK;
}

static int init_col(struct qv_match *m)
{
	return init(m, 1, 0);
}

static int init_col_ll(struct qv_match *m)
{
	return init(m, 0, 0);
}

static int init_col_pnp(struct qv_match *m)
{
	return init(m, 0, 1);
}

static void fini(struct qv_match *m)
{
	struct cols *c = (struct cols *)m;

	for (int side = 0; side < 2; side++) {
		qv_list_clear(&c->prof[side]);
		qv_list_clear(&c->plain[side]);
		qv_pnp_fini(&c->pnp[side]);
		qv_col_fini(&c->col[side]);
	}
	qv_list_clear(&c->mixed);
	qv_queues_fini(&c->q);
}

static const struct qv_queue_ops queue_ops = {append, remove_entry, find_recv, find_msg, each};
QV_QUEUES_CALLS(queue_ops)

const struct qv_match_ops qv_match_col = {
	.name = "col",
	.size = sizeof(struct cols),
	.options = QV_OPT_LIST | QV_OPT_QUEUES,
	.init = init_col,
	.fini = fini,
	QV_QUEUES_OPS,
};

const struct qv_match_ops qv_match_col_ll = {
	.name = "col-ll",
	.size = sizeof(struct cols),
	.options = QV_OPT_LIST | QV_OPT_QUEUES,
	.init = init_col_ll,
	.fini = fini,
	QV_QUEUES_OPS,
};

const struct qv_match_ops qv_match_col_pnp = {
	.name = "col-pnp",
	.size = sizeof(struct cols),
	.options = QV_OPT_LIST | QV_OPT_QUEUES | QV_OPT_PARTNERS | QV_OPT_LEVELS,
	.init = init_col_pnp,
	.fini = fini,
	QV_QUEUES_OPS,
};
