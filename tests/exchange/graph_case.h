/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_case.h - graphs of neighbours: Moore neighbourhoods of a grid, and random ones. */
#ifndef QV_GRAPH_CASE_H
#define QV_GRAPH_CASE_H

#include <quiver/neighbor.h>

struct qv_graph_case {
	struct qv_graph graph;
	uint32_t *memory; /* of all lists */
	uint32_t **lists;
	uint32_t *node;
};

/* Ranks in the order of the last coordinate first; all within distance r in each of dims
 * directions, around the edges of the grid if it is periodic. per_node consecutive ranks are on a
 * node. */
void qv_graph_moore(struct qv_graph_case *c, uint32_t dims, uint32_t side, uint32_t r, int periodic,
		    int self, uint32_t per_node);
/* Each edge with this probability, in thousandths. */
void qv_graph_random(struct qv_graph_case *c, uint32_t ranks, uint32_t thousandths, int self,
		     uint32_t per_node, uint64_t seed);
void qv_graph_close(struct qv_graph_case *c);

#endif /* QV_GRAPH_CASE_H */
