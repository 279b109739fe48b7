/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.h - which way for a sparse exchange, and which common-neighbour groups for a
 * neighbourhood, by a model of the network (struct qv_network, best from qv_network_fit_bursts).
 * What is chosen depends on the arguments alone, so ranks that give the same take the same.
 *
 * Where nothing that forwards is faster by a margin, messages go straight to their ranks. Then the
 * caller does best to leave them to what would have sent them without quiver, to the MPI say.
 */
#ifndef QUIVER_CHOOSE_H
#define QUIVER_CHOOSE_H

#include <quiver/exchange.h>
#include <quiver/neighbor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the ranks of a group send each other, on the average; the same on all of them. */
struct qv_traffic {
	uint32_t ranks;
	double degree; /* ranks that one sends a message to, itself aside */
	double bytes;  /* of a message */
};

/*
 * Predict a sparse exchange (exchange.h) whose messages go to ranks at random; where they go to
 * ranks near in number it takes rather less.
 *   network  on which
 *   way      by which
 *   radix    of QV_WAY_CRYSTAL, as in struct qv_exchange_spec
 *   traffic  what the ranks send
 * Returns seconds; 0 for less than 2 ranks.
 */
QV_API double qv_way_seconds(const struct qv_network *network, enum qv_way way, uint32_t radix,
			     const struct qv_traffic *traffic);

/*
 * Predict the same where every rank knows what comes, and each message goes straight to its rank.
 *   network  on which
 *   traffic  what the ranks send
 * Returns seconds.
 */
QV_API double qv_straight_seconds(const struct qv_network *network,
				  const struct qv_traffic *traffic);

struct qv_way_choice {
	int straight; /* each message to its rank; way is then QV_WAY_DIRECT */
	enum qv_way way;
	uint32_t radix; /* of QV_WAY_CRYSTAL, else 0 */
	double seconds; /* by the model */
};

/*
 * Find the fastest way.
 *   network  on which
 *   traffic  what the ranks send
 *   margin   a way through other ranks must take less than this share of the time of messages that
 *            go straight: 0.95, say, or 1
 *   choice   out: the way, and how long it takes
 * QV_EINVAL: no ranks, a degree or bytes that are negative or not finite, or a negative margin.
 */
QV_API int qv_choose_way(const struct qv_network *network, const struct qv_traffic *traffic,
			 double margin, struct qv_way_choice *choice);

/*
 * Predict a neighbourhood's collective by a plan: the messages of each rank one behind the other,
 * each waiting for what it is made of. Of a plan of one rank, what comes to it does so without a pause;
 * the greatest time of any rank is near that of the whole.
 *   network  on which
 *   plan     from qv_neighbor_plan or qv_planner_result
 *   coll     QV_COLL_ALLGATHER or QV_COLL_ALLTOALL
 *   bytes    of a block
 *   seconds  out: until the last rank of the plan is done
 * QV_EINVAL: another collective; QV_ENOMEM.
 */
QV_API int qv_neighbor_seconds(const struct qv_network *network,
			       const struct qv_neighbor_plan *plan, enum qv_coll coll, double bytes,
			       double *seconds);

/*
 * Make the plan that is fastest by qv_neighbor_seconds: without groups, or with groups of 2 to k
 * ranks, cumulative or not.
 *   network  on which
 *   spec     the graph and the nodes; k: the largest group to be tried; cumulative: whether that
 *            is, too. Read during the call.
 *   coll     QV_COLL_ALLGATHER or QV_COLL_ALLTOALL
 *   bytes    of a block
 *   margin   a plan with groups must take less than this share of the time of one without
 *   plan     out: to be given to qv_neighbor_free
 *   seconds  out: of that plan, by the model; may be NULL
 * Errors as qv_neighbor_plan and qv_neighbor_seconds.
 */
QV_API int qv_choose_neighbor(const struct qv_network *network, const struct qv_neighbor_spec *spec,
			      enum qv_coll coll, double bytes, double margin,
			      struct qv_neighbor_plan **plan, double *seconds);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_CHOOSE_H */
