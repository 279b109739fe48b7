/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * neighbor.h - allgather and alltoall with the neighbours of a directed graph by message combining
 * (MPI_Neighbor_allgather(3), MPI_Neighbor_alltoall(3)): ranks that send to many of the same
 * neighbours form a common-neighbour group; each takes over some of these neighbours from the other
 * members, exchanges blocks with them, and sends one message for all.
 *
 * A plan is made once for a graph, a schedule of a rank from it for each collective; a schedule is
 * run as those of schedule.h are. The plan is that of the whole group of ranks: its maker knows the
 * graph.
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
 *   plan   from qv_neighbor_plan
 *   stats  out
 */
QV_API void qv_neighbor_stats(const struct qv_neighbor_plan *plan, struct qv_neighbor_stats *stats);

/*
 * Build the schedule of one rank. In a run, count is the elements of one block, and the work vector
 * has a block of each neighbour that it receives from.
 *   plan      from qv_neighbor_plan; need not live as long as the schedule
 *   coll      QV_COLL_ALLGATHER: the contribution is one block, which all neighbours get;
 *             QV_COLL_ALLTOALL: one for each neighbour
 *   rank      whose
 *   schedule  out: to be given to qv_schedule_free
 * QV_EINVAL: another collective, or no such rank; QV_ENOMEM.
 */
QV_API int qv_neighbor_schedule(const struct qv_neighbor_plan *plan, enum qv_coll coll,
				uint32_t rank, struct qv_schedule **schedule);

/* Which ranks form groups, found by messages: nobody knows the graph. */

#define QV_MOST_FRIENDS 16

/* Ranks that could form a common-neighbour group. */
struct qv_friends {
	uint32_t weight;                 /* neighbours in common */
	uint32_t ranks[QV_MOST_FRIENDS]; /* ascending; the first k */
};

enum qv_match_word {
	QV_MATCH_REQUEST = 0, /* I want this group */
	QV_MATCH_DROP = 1,    /* I have a group: do not count on me */
};

struct qv_matching; /* of one rank, opaque */

/*
 * One rank's part in finding groups, a matching after Hoepman: the heaviest first, of equal ones
 * that of the lower ranks, so that nobody waits in a circle. All ranks come to the groups that
 * taking the first possible one again and again would find.
 *   rank         whose
 *   k            ranks in a group, 2 to QV_MOST_FRIENDS
 *   possible, n  n groups, in any order, each with rank; all their members know of them. Copied.
 *   send         called from qv_matching_start and qv_matching_hear, for each word to be sent to
 *                another rank; group is to be copied during the call. Words from one rank to
 *                another must arrive in order.
 *   context      given to send
 *   matching     out: to be given to qv_matching_free
 * QV_EINVAL: a group without the rank, not in order, or k is out of range; QV_ENOMEM.
 */
QV_API int qv_matching_create(uint32_t rank, uint32_t k, const struct qv_friends *possible,
			      size_t n,
			      void (*send)(void *context, uint32_t to, enum qv_match_word word,
					   const struct qv_friends *group),
			      void *context, struct qv_matching **matching);

/* Begin: send the first words. Does nothing if this, or a word that came first, has begun it. */
QV_API void qv_matching_start(struct qv_matching *matching);

/*
 * A word has come, at any time after qv_matching_create; one that comes after the end is ignored.
 *   matching  from qv_matching_create
 *   from      the rank that sent it
 *   word      as it was sent
 *   group     as it was sent; read during the call
 */
QV_API void qv_matching_hear(struct qv_matching *matching, uint32_t from, enum qv_match_word word,
			     const struct qv_friends *group);

/*
 * What was found.
 *   matching  from qv_matching_create
 *   group     out: the group of this rank
 * QV_ENOENT: there is none for this rank; QV_EAGAIN: not known yet.
 */
QV_API int qv_matching_result(const struct qv_matching *matching, struct qv_friends *group);

/* Free it, at any time. NULL is allowed. */
QV_API void qv_matching_free(struct qv_matching *matching);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_NEIGHBOR_H */
