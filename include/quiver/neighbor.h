/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * neighbor.h - allgather and alltoall with the neighbours of a directed graph by message combining
 * (MPI_Neighbor_allgather(3), MPI_Neighbor_alltoall(3)): ranks that send to many of the same
 * neighbours form a common-neighbour group; each takes over some of these neighbours from the other
 * members, exchanges blocks with them, and sends one message for all.
 *
 * A plan is made once for a graph, a schedule of a rank from it for each collective; a schedule is
 * run as those of schedule.h are. Who knows the graph makes the plan of all ranks by
 * qv_neighbor_plan. Where each rank knows its own neighbours only, each makes its part of the same
 * plan by a struct qv_planner.
 */
#ifndef QUIVER_NEIGHBOR_H
#define QUIVER_NEIGHBOR_H

#include <quiver/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A directed graph: rank r sends to out[r][0 .. out_n[r]-1] and receives from in[r][...]; blocks
 * stand in that order. An edge is in both lists, once; one from a rank to itself is allowed. */
struct qv_graph {
	uint32_t ranks;
	const uint32_t *out_n, *in_n;
	const uint32_t *const *out;
	const uint32_t *const *in;
};

#define QV_MOST_FRIENDS 16 /* ranks in a common-neighbour group */

struct qv_neighbor_spec {
	size_t size; /* of this structure, see types.h */
	struct qv_graph graph;
	/* The node on which each rank is: only ranks of one node form a group, where they have
	 * more than k neighbours in common. NULL: any ranks that have more than k * (k - 1). */
	const uint32_t *node;
	uint32_t k; /* ranks in a common-neighbour group, 2 to QV_MOST_FRIENDS; 0 or 1: no groups */
	/* Not 0: a rank that takes over a neighbour may pass it on, with all that it has for it.
	 * Fewer messages, but one waits for the other. */
	int cumulative;
};

struct qv_neighbor_plan; /* opaque */

/*
 * Make a plan.
 *   spec  what; read during the call, with all its arrays
 *   plan  out: to be given to qv_neighbor_free
 * QV_EINVAL: lists do not fit each other, name a rank twice or one that there is not, there is no
 * rank, or k is out of range; QV_ENOMEM.
 */
QV_API int qv_neighbor_plan(const struct qv_neighbor_spec *spec, struct qv_neighbor_plan **plan);

/* Free it, while none of its schedules is being built. NULL is allowed. */
QV_API void qv_neighbor_free(struct qv_neighbor_plan *plan);

struct qv_neighbor_stats {
	uint64_t edges;    /* less those from a rank to itself */
	uint64_t possible; /* common-neighbour groups that there could be at first */
	uint64_t groups;   /* that there are */
	uint32_t rounds;   /* in which they were found */
	uint64_t messages; /* that the group sends in one collective */
	uint64_t far;      /* of them between nodes; 0 without nodes */
	uint64_t far_edges;
};

/*
 * Read what a plan comes to.
 *   plan   from qv_neighbor_plan or qv_planner_result
 *   stats  out
 */
QV_API void qv_neighbor_stats(const struct qv_neighbor_plan *plan, struct qv_neighbor_stats *stats);

/*
 * Build the schedule of one rank. In a run, count is the elements of one block, and the work vector
 * has a block of each neighbour that it receives from.
 *   plan      from qv_neighbor_plan or qv_planner_result; need not live as long as the schedule
 *   coll      QV_COLL_ALLGATHER: the contribution is one block, which all neighbours get;
 *             QV_COLL_ALLTOALL: one for each neighbour
 *   rank      whose
 *   schedule  out: to be given to qv_schedule_free
 * QV_EINVAL: another collective, or a rank that the plan is not of; QV_ENOMEM.
 */
QV_API int qv_neighbor_schedule(const struct qv_neighbor_plan *plan, enum qv_coll coll,
				uint32_t rank, struct qv_schedule **schedule);

/*
 * A plan by messages: each rank has a planner, which knows the rank's own neighbours and hears from
 * other ranks what it needs of theirs, and no more (after S. M. Ghazimirsaeed, PhD thesis, Queen's
 * University, 2019, chapter 7). Together the planners come to the plan that qv_neighbor_plan makes of
 * the whole graph.
 *
 * The caller carries their messages. A planner has heard all that is for it when qv_planner_result has
 * its plan; then nothing of it is under way to this rank.
 */

#define QV_ANY_NODE UINT32_MAX

struct qv_planner_spec {
	size_t size;    /* of this structure, see types.h */
	uint32_t ranks; /* in the graph */
	uint32_t rank;  /* whose part it is */
	/* Its neighbours, as in struct qv_graph; the ranks named must name it, too. */
	uint32_t out_n, in_n;
	const uint32_t *out, *in;
	/* The node on which the rank is, any number: only ranks of one node form a group. QV_ANY_NODE,
	 * which is given by all ranks then: any may, as without nodes in struct qv_neighbor_spec. */
	uint32_t node;
	uint32_t k;     /* as there, the same on all ranks */
	int cumulative; /* the same */
};

struct qv_planner; /* of one rank, opaque */

/*
 * Make a planner.
 *   spec     what; read during the call, with its arrays
 *   send     called from qv_planner_start and qv_planner_hear, for each message to another rank;
 *            words, n: n numbers, to be copied during the call. It must not call qv_planner_hear.
 *            Messages from one rank to another must arrive in order.
 *   context  given to send
 *   planner  out: to be given to qv_planner_free
 * QV_EINVAL: a list names a rank twice or one that there is not, or k is out of range; QV_ENOMEM.
 */
QV_API int qv_planner_create(const struct qv_planner_spec *spec,
			     void (*send)(void *context, uint32_t to, const uint32_t *words,
					  size_t n),
			     void *context, struct qv_planner **planner);

/* Begin: send the first messages. QV_ENOMEM. */
QV_API int qv_planner_start(struct qv_planner *planner);

/*
 * A message has come, after qv_planner_start.
 *   planner   from qv_planner_create
 *   from      the rank that sent it
 *   words, n  as it was sent; read during the call
 * QV_EINVAL: no planner sends such a message, or that rank's neighbours are not what this one's are;
 * QV_ENOMEM. After an error the planner is of no use.
 */
QV_API int qv_planner_hear(struct qv_planner *planner, uint32_t from, const uint32_t *words,
			   size_t n);

/*
 * The plan, which has this rank's part alone: qv_neighbor_schedule builds the schedule of this rank.
 * Of its statistics, those that are sums are this rank's share, a group being that of its lowest rank;
 * the rounds of the whole are the most of any rank. far and far_edges are 0.
 *   planner  from qv_planner_create
 *   plan     out: to be given to qv_neighbor_free
 * QV_EAGAIN: something has still to be heard; QV_ENOENT: it has been given before; QV_ENOMEM.
 */
QV_API int qv_planner_result(struct qv_planner *planner, struct qv_neighbor_plan **plan);

/* Free it, at any time. NULL is allowed. */
QV_API void qv_planner_free(struct qv_planner *planner);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_NEIGHBOR_H */
