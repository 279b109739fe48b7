/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.c - a tree of combine units that ranks run: which rank has links to which. Every rank hangs
 * on the unit of the leader of its group, leaders on that of a leader of leaders, and so on. The
 * tree has no direction: it is the same for each root.
 */
#include "engine/schedule/unit/unit.h"

#include <stdlib.h>

static uint32_t levels_of(uint32_t ranks, uint32_t ways)
{
	uint32_t levels = 0;

	for (uint64_t reached = 1; reached < ranks; reached *= ways)
		levels++;
	return levels;
}

/* As many as are asked for, or as a unit has ports for if its rank leads at all levels. */
static uint32_t ways_of(const struct qv_schedule_spec *spec)
{
	uint32_t ways = spec->k ? spec->k : QV_UNIT_WAYS;

	while (ways > 2 && (uint64_t)(ways - 1) * levels_of(spec->ranks, ways) >= QV_UNIT_LINKS)
		ways--;
	return ways;
}

/* Of so many ranks the one that runs the fewest units, or the first of these. */
static uint32_t least_loaded(const uint32_t *ranks, uint32_t n, const uint32_t *load)
{
	uint32_t least = ranks[0];

	for (uint32_t i = 1; i < n && load; i++)
		if (load[ranks[i]] < load[least])
			least = ranks[i];
	return least;
}

/* The parents of all ranks, and the levels at which they got them; ranks is room for those that have
 * none yet. Returns the rank that has none in the end. */
static uint32_t plan(const struct qv_schedule_spec *spec, uint32_t *ranks, uint32_t *parent,
		     uint32_t *level)
{
	const uint32_t ways = ways_of(spec);
	uint32_t n = spec->ranks, levels = 0;

	for (uint32_t r = 0; r < n; r++)
		ranks[r] = r;
	while (n > 1) {
		uint32_t leaders = 0;

		for (uint32_t i = 0; i < n; i += ways) {
			const uint32_t members = n - i < ways ? n - i : ways;
			const uint32_t leader = least_loaded(ranks + i, members, spec->load);

			for (uint32_t j = i; j < i + members; j++) {
				parent[ranks[j]] = leader;
				level[ranks[j]] = levels;
			}
			ranks[leaders++] = leader;
		}
		n = leaders;
		levels++;
	}
	parent[ranks[0]] = QV_STEP_NONE;
	return ranks[0];
}

/* The neighbour of a rank by which another one is reached. */
static uint32_t toward(const uint32_t *parent, uint32_t rank, uint32_t to)
{
	for (; to != QV_STEP_NONE; to = parent[to])
		if (parent[to] == rank)
			return to;
	return parent[rank];
}

/* Links of this rank: all whose parent it is, by level, and its own parent. */
static void list_links(struct qv_unit_place *at, const struct qv_builder *b, const uint32_t *parent,
		       const uint32_t *level)
{
	const uint32_t own = parent[b->rank], levels = levels_of(b->spec->ranks, ways_of(b->spec));

	at->n = 0;
	for (uint32_t l = 0; l < levels; l++)
		for (uint32_t r = 0; r < b->spec->ranks; r++)
			if (r != at->out && parent[r] == b->rank && level[r] == l)
				at->in[at->n++] = r;
	if (own != QV_STEP_NONE && own != at->out)
		at->in[at->n++] = own;
}

static int find_place(struct qv_unit_place *at, const struct qv_builder *b)
{
	const struct qv_schedule_spec *spec = b->spec;
	uint32_t *parent = calloc(spec->ranks, 3 * sizeof(*parent)), *ranks, *level;

	if (!parent)
		return QV_ENOMEM;
	ranks = parent + spec->ranks;
	level = ranks + spec->ranks;
	at->root = plan(spec, ranks, parent, level);
	if (spec->coll == QV_COLL_REDUCE || spec->coll == QV_COLL_BROADCAST)
		at->root = spec->root;
	at->out = at->root == b->rank ? QV_STEP_NONE : toward(parent, b->rank, at->root);
	list_links(at, b, parent, level);
	free(parent);
	return QV_OK;
}

/* From the root to all. */
static void multicast(struct qv_builder *b, const struct qv_unit_place *at)
{
	uint32_t got = QV_STEP_NONE;

	qv_add_fence(b);
	if (at->out != QV_STEP_NONE)
		got = qv_add_receive(b, QV_STEP_STORE, at->out, 0, b->s->blocks, got);
	for (uint32_t i = at->n;
	     i-- > 0;) /* leaders of leaders are the last, and have more to do */
		qv_add_send(b, at->in[i], 0, b->s->blocks, got);
}

static void barrier(struct qv_builder *b, const struct qv_unit_place *at)
{
	for (uint32_t i = 0; i < at->n; i++)
		qv_add_signal(b, QV_STEP_STORE, at->in[i]);
	qv_add_fence(b);
	if (at->out != QV_STEP_NONE) {
		qv_add_signal(b, QV_STEP_SEND, at->out);
		qv_add_fence(b);
		qv_add_signal(b, QV_STEP_STORE, at->out);
		qv_add_fence(b);
	}
	for (uint32_t i = at->n; i-- > 0;)
		qv_add_signal(b, QV_STEP_SEND, at->in[i]);
}

/* The steps are one way the reduction can go: operands come in the order of the links. They stand
 * for it in proofs and in virtual time, and tell the run where its links lead; its messages have
 * the numbers of the first steps. */
static void reduction(struct qv_builder *b, const struct qv_unit_place *at)
{
	uint32_t last = QV_STEP_NONE;

	b->s->live = &qv_unit_live;
	b->s->live_first = (uint32_t)b->s->n;
	for (uint32_t i = 0; i < qv_unit_slots(at->n); i++)
		qv_add_nothing(b);
	for (uint32_t i = 0; i < at->n; i++)
		last = qv_add_receive(b, QV_STEP_COMBINE, at->in[i], 0, b->s->blocks, last);
	if (at->out != QV_STEP_NONE)
		qv_add_send(b, at->out, 0, b->s->blocks, last);
}

void qv_build_unit(struct qv_builder *b)
{
	struct qv_unit_place at;

	if (find_place(&at, b)) {
		b->failed = 1;
		return;
	}
	if (b->spec->coll == QV_COLL_BARRIER) {
		barrier(b, &at);
		return;
	}
	if (b->spec->coll != QV_COLL_BROADCAST)
		reduction(b, &at);
	if (b->spec->coll != QV_COLL_REDUCE)
		multicast(b, &at);
}

/* Groups are ranks in a row at each level, and the leader of one runs the fewest units of all below it. */
int qv_unit_leads(const struct qv_schedule_spec *spec, uint32_t rank)
{
	const uint32_t ways = ways_of(spec), *load = spec->load;
	uint64_t width = ways, first = rank - rank % width;
	uint32_t least;

	/* Alone in its group, it is in one of the next level. */
	while (first && first + 1 == spec->ranks) {
		width *= ways;
		first = rank - rank % width;
	}
	least = (uint32_t)first;
	for (uint64_t r = first; r < first + width && r < spec->ranks && load; r++)
		if (load[r] < load[least])
			least = (uint32_t)r;
	return least == rank && first + 1 < spec->ranks;
}
