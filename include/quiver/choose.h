/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choose.h - which way for a sparse exchange, and which friends for a neighbourhood, by a model of
 * the network (struct qv_network, best from qv_network_fit_bursts). What is chosen depends on the
 * arguments alone, so ranks that give the same take the same.
 *
 * Where nothing that forwards is faster by a margin, messages go straight: then whoever asks does
 * best to leave them to whom it would have left them without quiver.
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
 * Seconds of a sparse exchange whose ranks are sent to at random; of ranks that are near each other
 * in number it is rather less.
 *   network  on which
 *   way      by which
 *   radix    as in struct qv_exchange_spec
 *   traffic  what
 */
QV_API double qv_way_seconds(const struct qv_network *network, enum qv_way way, uint32_t radix,
			     const struct qv_traffic *traffic);

/* Seconds if every rank knows what comes, and each message goes straight to its rank. */
QV_API double qv_straight_seconds(const struct qv_network *network,
				  const struct qv_traffic *traffic);

struct qv_way_choice {
	int straight; /* each message to its rank; way is then QV_WAY_DIRECT */
	enum qv_way way;
	uint32_t radix; /* of QV_WAY_CRYSTAL, else 0 */
	double seconds; /* by the model */
};

/*
 * The fastest way.
 *   network, traffic   as above
 *   margin   a way through other ranks must take less than this share of the time of messages that
 *            go straight: 0.95, say, or 1
 *   choice   out
 * QV_EINVAL: no ranks, or a number that is none.
 */
QV_API int qv_choose_way(const struct qv_network *network, const struct qv_traffic *traffic,
			 double margin, struct qv_way_choice *choice);

/*
 * Seconds of a neighbourhood's collective by a plan: the messages of each rank one behind the
 * other, each waiting for what it is made of.
 *   network  on which
 *   plan     whose
 *   coll     QV_COLL_ALLGATHER or QV_COLL_ALLTOALL
 *   bytes    of a block
 *   seconds  out
 * QV_EINVAL: another collective; QV_ENOMEM.
 */
QV_API int qv_neighbor_seconds(const struct qv_network *network,
			       const struct qv_neighbor_plan *plan, enum qv_coll coll, double bytes,
			       double *seconds);

/*
 * Make the plan that is fastest: without friends, or with groups of 2 to k of them, cumulative or
 * not.
 *   network, coll, bytes  as above
 *   spec     the graph and nodes; k: the most to be tried, cumulative: whether that is, too
 *   margin   a plan with friends must take less than this share of the time of one without
 *   plan     out: to be given to qv_neighbor_free
 *   seconds  out, may be NULL: by the model
 * Errors as qv_neighbor_plan and qv_neighbor_seconds.
 */
QV_API int qv_choose_neighbor(const struct qv_network *network, const struct qv_neighbor_spec *spec,
			      enum qv_coll coll, double bytes, double margin,
			      struct qv_neighbor_plan **plan, double *seconds);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_CHOOSE_H */
