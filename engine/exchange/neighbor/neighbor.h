/* SPDX-License-Identifier: BSD-2-Clause */
/* neighbor.h - parts of the neighbourhood collectives. Inside of engine/exchange only. */
#ifndef QV_NEIGHBOR_H
#define QV_NEIGHBOR_H

#include <quiver/neighbor.h>

/* Of all the hops of a plan, a block from one rank to another: those of the last
 * phase come last. */
struct qv_edge_hop {
	uint32_t phase, from, to, src, dst;
};

#define QV_LAST_PHASE UINT32_MAX

/* A graph as the plan keeps it: lists in ascending order, and where each stood. */
struct qv_edge {
	uint32_t rank, place;
};

struct qv_neighbor_plan {
	uint32_t ranks;
	size_t *out_at, *in_at; /* by rank: its first edge; and of one more */
	struct qv_edge *out, *in;
	struct qv_edge_hop *hops;
	size_t n, room;
	size_t *touch_at, *touch; /* by rank: the hops that begin or end there */
	struct qv_neighbor_stats stats;
};

/* friends.c: who could be friends. */

struct qv_friends_list {
	struct qv_friends *at;
	size_t n, room;
};

struct qv_crowd {
	uint32_t ranks, k;
	uint32_t least;       /* a group has more neighbours than that in common */
	const uint32_t *node; /* NULL: any may be friends */
	size_t words;
	uint64_t *active; /* by rank: a bit for each neighbour that may be taken over */
};

static inline uint64_t *qv_active(const struct qv_crowd *c, uint32_t rank)
{
	return c->active + rank * c->words;
}

/* All groups that there can be, each once; QV_ENOMEM. */
int qv_friends_find(const struct qv_crowd *c, struct qv_friends_list *list);
/* Take the first, and of those that have no rank in common with what is taken the next, and so on;
 * taken ones come to the front, *n of them. QV_ENOMEM. */
int qv_friends_match(const struct qv_crowd *c, struct qv_friends_list *list, size_t *n);
/* -1: a is taken before b. */
int qv_friends_order(const struct qv_friends *a, const struct qv_friends *b, uint32_t k);
int qv_friends_better(const void *a, const void *b);

/* From neighbor.c. */

/* A caller's spec as this build has it. QV_EINVAL: it has fields that are not known here. */
int qv_neighbor_read(struct qv_neighbor_spec *to, const struct qv_neighbor_spec *spec);

/* From graph.c. */

/* Sorted lists, of a graph that is right. */
int qv_neighbor_graph(struct qv_neighbor_plan *plan, const struct qv_graph *graph);
/* The place of a rank in a list of another; SIZE_MAX: it is not there. */
size_t qv_neighbor_edge(const size_t *at, const struct qv_edge *edges, uint32_t rank,
			uint32_t other);

#endif /* QV_NEIGHBOR_H */
