/* SPDX-License-Identifier: BSD-2-Clause */
/* col.c - the collective half of the structures "col*": lists for each operation, in levels. */
#include "col.h"

/* A higher source may be a stray number: limits do not follow it. */
#define MAX_LEARNED (UINT32_C(1) << 20)

void qv_col_init(struct qv_col *c, struct qv_match *m, enum qv_side side, struct qv_list *prof)
{
	memset(c, 0, sizeof(*c));
	c->m = m;
	c->side = side;
	c->op_mask = m->settings->collective_op;
	c->sources = m->settings->sources;
	c->learning = !c->sources;
	c->prof = prof;
}

void qv_col_fini(struct qv_col *c)
{
	for (int i = 0; i < QV_COL_OPS; i++) {
		for (uint32_t l = 0; l < c->op[i].n_levels; l++) {
			struct qv_col_level *level = &c->op[i].level[l];

			for (uint32_t q = 0; q < level->nq; q++)
				qv_list_clear(&level->lists[q]);
			qv_mem_put(&c->m->mem, level->lists, level->nq * sizeof(*level->lists));
		}
	}
}

/* Any spread of the operations will do: two that share lists are still told apart by their tags. */
static struct qv_col_op *op_of(struct qv_col *c, uint64_t tag)
{
	uint64_t id = tag & c->op_mask;

	return &c->op[(id * UINT64_C(0x9e3779b97f4a7c15)) >> 60];
}

/* Lists that all operations together may have: k * sqrt(sources). Sources only become more. */
static uint32_t find_cap(struct qv_col *c)
{
	uint64_t n = (uint64_t)c->m->options.k * c->m->options.k * c->sources;

	while ((uint64_t)(c->cap + 1) * (c->cap + 1) <= n)
		c->cap++;
	return c->cap;
}

static void add_level(struct qv_col *c, struct qv_col_op *op, uint64_t wanted)
{
	uint32_t now = op->n_levels ? op->level[op->n_levels - 1].nq : 0;
	uint32_t cap = find_cap(c), free = cap > c->n_lists ? cap - c->n_lists : 0;
	uint32_t nq = wanted < free ? (uint32_t)wanted : free;
	struct qv_list *lists;

	if (nq <= now || op->n_levels == QV_COL_LEVELS)
		return;
	lists = qv_mem_get(&c->m->mem, nq * sizeof(*lists));
	if (!lists)
		return; /* then it goes on with what it has */
	for (uint32_t i = 0; i < nq; i++)
		qv_list_init(&lists[i], c->m, c->side);
	op->level[op->n_levels++] = (struct qv_col_level){nq, lists};
	c->n_lists += nq;
}

/* A period is over. A search through one of nq lists saw `mean` entries: nq * mean
 * would see one. */
static QV_COLD void end_period(struct qv_col *c, struct qv_col_op *op)
{
	uint64_t now = op->n_levels ? op->level[op->n_levels - 1].nq : 1;
	uint64_t wanted = (now * op->seen + op->searches / 2) / op->searches;

	if (wanted >= 2 * now)
		add_level(c, op, wanted);
	op->searches = 0;
	op->seen = 0;
}

static void count_search(struct qv_col *c, struct qv_col_op *op, uint64_t seen)
{
	op->seen += seen;
	if (QV_UNLIKELY(++op->searches == QV_COL_PERIOD))
		end_period(c, op);
}

int qv_col_append(struct qv_col *c, uint64_t *e)
{
	struct qv_col_op *op = op_of(c, qv_key_tag(c->side, e));
	uint32_t src = qv_key_src(c->side, e);
	const struct qv_col_level *level;

	if (c->learning && src >= c->sources && src < MAX_LEARNED)
		c->sources = src + 1;
	if (!op->n_levels)
		return qv_list_append(c->prof, e);
	level = &op->level[op->n_levels - 1];
	return qv_list_append(&level->lists[src % level->nq], e);
}

uint64_t *qv_col_find_recv(struct qv_col *c, uint64_t tag, uint32_t src, uint64_t *seen)
{
	struct qv_col_op *op = op_of(c, tag);
	uint64_t before = *seen;
	uint64_t *e = qv_list_find_recv(c->prof, tag, src, NULL, seen);

	if (op->n_levels)
		before = *seen;
	for (uint32_t l = 0; l < op->n_levels && !e; l++) {
		const struct qv_col_level *level = &op->level[l];

		e = qv_list_find_recv(&level->lists[src % level->nq], tag, src, NULL, seen);
	}
	count_search(c, op, *seen - before);
	return e;
}

uint64_t *qv_col_find_msg(struct qv_col *c, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *seen)
{
	struct qv_col_op *op = op_of(c, tag);
	uint64_t before = *seen;
	uint64_t *e = qv_list_find_msg(c->prof, tag, ignore, src, NULL, seen);

	if (op->n_levels)
		before = *seen;
	for (uint32_t l = 0; l < op->n_levels && !e; l++) {
		const struct qv_col_level *level = &op->level[l];

		e = qv_list_find_msg(&level->lists[src % level->nq], tag, ignore, src, NULL, seen);
	}
	count_search(c, op, *seen - before);
	return e;
}

uint64_t *qv_col_find_any(const struct qv_col *c, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *best, uint64_t *seen)
{
	for (int i = 0; i < QV_COL_OPS; i++) {
		for (uint32_t l = 0; l < c->op[i].n_levels; l++) {
			const struct qv_col_level *level = &c->op[i].level[l];

			for (uint32_t q = 0; q < level->nq; q++)
				best = qv_list_find_msg(&level->lists[q], tag, ignore, src, best,
							seen);
		}
	}
	return best;
}

void qv_col_each(const struct qv_col *c, qv_each_fn *fn, void *ctx)
{
	for (int i = 0; i < QV_COL_OPS; i++)
		for (uint32_t l = 0; l < c->op[i].n_levels; l++)
			for (uint32_t q = 0; q < c->op[i].level[l].nq; q++)
				qv_list_each(&c->op[i].level[l].lists[q], fn, ctx);
}
