/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapped.c - structures "pnp-static" and "clu": lists by source, from a profile. Any-source
 * receives have a list of their own; an any-source search looks at all lists of messages.
 */
#include <stdlib.h>

#include "list.h"
#include "mapped.h"
#include "queues.h"

struct mapped_queue {
	struct qv_phash map;
	struct qv_list *lists;
	uint32_t n_lists, other;
};

struct mapped {
	struct qv_queues q;
	struct mapped_queue queue[2]; /* by side */
	struct qv_list any;
};

static struct qv_list *list_of(const struct mapped *p, enum qv_side side, uint32_t src)
{
	const struct mapped_queue *queue = &p->queue[side];

	return &queue->lists[qv_phash_get(&queue->map, src, queue->other)];
}

static int append(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	struct mapped *p = (struct mapped *)q;
	uint32_t src = qv_key_src(side, e);

	return qv_list_append(src == QV_SRC_ANY ? &p->any : list_of(p, side, src), e);
}

static void remove_entry(struct qv_queues *q, enum qv_side side, uint64_t *e)
{
	qv_list_remove(e);
}

static uint64_t *find_recv(struct qv_queues *q, uint64_t tag, uint32_t src, uint64_t *seen)
{
	struct mapped *p = (struct mapped *)q;
	uint64_t *e = qv_list_find_recv(list_of(p, QV_POSTED, src), tag, src, NULL, seen);

	return qv_list_find_recv(&p->any, tag, src, e, seen);
}

static uint64_t *find_msg(struct qv_queues *q, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *seen)
{
	const struct mapped *p = (const struct mapped *)q;
	const struct mapped_queue *msgs = &p->queue[QV_UNEXPECTED];
	uint64_t *e = NULL;

	if (src != QV_SRC_ANY)
		return qv_list_find_msg(list_of(p, QV_UNEXPECTED, src), tag, ignore, src, NULL,
					seen);
	for (uint32_t i = 0; i < msgs->n_lists; i++)
		e = qv_list_find_msg(&msgs->lists[i], tag, ignore, src, e, seen);
	return e;
}

static void each(const struct qv_queues *q, enum qv_side side, qv_each_fn *fn, void *ctx)
{
	const struct mapped *p = (const struct mapped *)q;

	for (uint32_t i = 0; i < p->queue[side].n_lists; i++)
		qv_list_each(&p->queue[side].lists[i], fn, ctx);
	if (side == QV_POSTED)
		qv_list_each(&p->any, fn, ctx);
}

static void fini(struct qv_match *m)
{
	struct mapped *p = (struct mapped *)m;

	for (int side = 0; side < 2; side++) {
		struct mapped_queue *queue = &p->queue[side];

		for (uint32_t i = 0; queue->lists && i < queue->n_lists; i++)
			qv_list_clear(&queue->lists[i]);
		qv_mem_put(&m->mem, queue->lists, queue->n_lists * sizeof(*queue->lists));
		qv_phash_free(&queue->map, &m->mem);
	}
	qv_list_clear(&p->any);
	qv_queues_fini(&p->q);
}

static int compare_cells(const void *a, const void *b)
{
	const struct qv_phash_cell *x = a, *y = b;

	return (x->src > y->src) - (x->src < y->src);
}

static int make_queue(struct mapped *p, enum qv_side side, const struct qv_mapping *map)
{
	struct mapped_queue *queue = &p->queue[side];
	struct qv_match *m = &p->q.base;

	queue->n_lists = map->n_lists;
	queue->other = map->other;
	queue->lists = qv_mem_get(&m->mem, queue->n_lists * sizeof(*queue->lists));
	if (!queue->lists)
		return QV_ENOMEM;
	for (uint32_t i = 0; i < queue->n_lists; i++)
		qv_list_init(&queue->lists[i], m, side);
	if (map->n)
		qsort(map->cell, map->n, sizeof(*map->cell), compare_cells);
	return qv_phash_build(&queue->map, &m->mem, map->cell, map->n);
}

static int make_queues(struct mapped *p, qv_map_fn *fn, struct qv_profile *profile,
		       struct qv_phash_cell *cell)
{
	struct qv_match *m = &p->q.base;
	uint32_t n = profile->n, population = m->settings->sources;
	int err = QV_OK;

	for (int side = 0; side < 2 && !err; side++) {
		struct qv_mapping map = {.cell = cell};

		qv_counts_by_count(profile->v[side], n);
		fn(&map, profile->v[side], n, population > n ? population : n, &m->options);
		err = make_queue(p, (enum qv_side)side, &map);
	}
	return err;
}

static int init(struct qv_match *m, qv_map_fn *fn)
{
	struct mapped *p = (struct mapped *)m;
	struct qv_phash_cell *cell;
	struct qv_profile profile;
	int err = qv_profile_read(&profile, &m->mem, m->settings->profile);

	if (err)
		return err;
	qv_queues_init(&p->q);
	qv_list_init(&p->any, m, QV_POSTED);
	cell = qv_mem_get(&m->mem, profile.n * sizeof(*cell));
	err = cell ? make_queues(p, fn, &profile, cell) : QV_ENOMEM;
	qv_mem_put(&m->mem, cell, profile.n * sizeof(*cell));
	qv_profile_free(&profile, &m->mem);
	if (err)
		fini(m);
	return err;
}

static int init_pnp_static(struct qv_match *m)
{
	return init(m, qv_map_partners);
}

static int init_clu(struct qv_match *m)
{
	return init(m, qv_map_clusters);
}

static const struct qv_queue_ops queue_ops = {append, remove_entry, find_recv, find_msg, each};
QV_QUEUES_CALLS(queue_ops)

const struct qv_match_ops qv_match_pnp_static = {
	.name = "pnp-static",
	.size = sizeof(struct mapped),
	.options = QV_OPT_LIST | QV_OPT_PARTNERS,
	.init = init_pnp_static,
	.fini = fini,
	QV_QUEUES_OPS,
};

const struct qv_match_ops qv_match_clu = {
	.name = "clu",
	.size = sizeof(struct mapped),
	.options = QV_OPT_LIST | QV_OPT_CLUSTERS,
	.init = init_clu,
	.fini = fini,
	QV_QUEUES_OPS,
};
