/* SPDX-License-Identifier: BSD-2-Clause */
/* graph.c - the lists of neighbours of a rank or of a whole group, in order and looked through. */
#include "neighbor.h"

#include <stdlib.h>

static int by_rank(const void *x, const void *y)
{
	const struct qv_edge *a = x, *b = y;

	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Of so many ranks, which name some that are less than `ranks`. */
static int sort_lists(uint32_t own, uint32_t ranks, const uint32_t *n, const uint32_t *const *lists,
		      size_t **at, struct qv_edge **edges)
{
	size_t all = 0;

	for (uint32_t r = 0; r < own; r++)
		all += n[r];
	*at = calloc((size_t)own + 1, sizeof(**at));
	*edges = calloc(all + 1, sizeof(**edges));
	if (!*at || !*edges)
		return QV_ENOMEM;
	for (uint32_t r = 0; r < own; r++) {
		struct qv_edge *first = *edges + (*at)[r];

		(*at)[r + 1] = (*at)[r] + n[r];
		for (uint32_t i = 0; i < n[r]; i++)
			first[i] = (struct qv_edge){lists[r][i], i};
		if (n[r])
			qsort(first, n[r], sizeof(*first), by_rank);
		for (uint32_t i = 0; i < n[r]; i++)
			if (first[i].rank >= ranks || (i && first[i].rank == first[i - 1].rank))
				return QV_EINVAL;
	}
	return QV_OK;
}

size_t qv_neighbor_edge(const size_t *at, const struct qv_edge *edges, uint32_t rank,
			uint32_t other)
{
	const struct qv_edge key = {other, 0};
	const struct qv_edge *found =
		bsearch(&key, edges + at[rank], at[rank + 1] - at[rank], sizeof(key), by_rank);

	return found ? (size_t)(found - edges) : SIZE_MAX;
}

int qv_neighbor_graph(struct qv_neighbor_plan *plan, const struct qv_graph *graph)
{
	const uint32_t n = graph->ranks;
	int rc = sort_lists(n, n, graph->out_n, graph->out, &plan->out_at, &plan->out);

	if (!rc)
		rc = sort_lists(n, n, graph->in_n, graph->in, &plan->in_at, &plan->in);
	if (rc)
		return rc;
	if (plan->out_at[n] != plan->in_at[n])
		return QV_EINVAL;
	for (uint32_t r = 0; r < n; r++)
		for (size_t i = plan->out_at[r]; i < plan->out_at[r + 1]; i++)
			if (qv_neighbor_edge(plan->in_at, plan->in, plan->out[i].rank, r) ==
			    SIZE_MAX)
				return QV_EINVAL;
	return QV_OK;
}

int qv_neighbor_lists(struct qv_neighbor_plan *plan, const struct qv_planner_spec *spec)
{
	const uint32_t ranks = spec->ranks;
	int rc = sort_lists(1, ranks, &spec->out_n, &spec->out, &plan->out_at, &plan->out);

	return rc ? rc : sort_lists(1, ranks, &spec->in_n, &spec->in, &plan->in_at, &plan->in);
}
