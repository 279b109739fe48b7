/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * select.h - which schedule for a call of a collective: what the user asked for, or else what a
 * model of the network finds fastest. Schedules are kept, so that they are built once.
 *
 * The choice depends on nothing but the arguments of the call, the rules and the network, so ranks
 * that give the same take the same. What has been called before plays no part.
 *
 * An object is for one thread at a time.
 */
#ifndef QUIVER_SELECT_H
#define QUIVER_SELECT_H

#include <quiver/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Seconds that a collective takes in the model of struct qv_network if all ranks begin at once:
 * formulas, exact where ranks is a power of two and blocks are of one length, else near.
 *   network          alpha, beta, gamma
 *   coll, algorithm  for which qv_schedule_exists; QV_ALG_RADIX: with the prime factors of ranks
 *   ranks            of the group, 1 or more
 *   bytes            length of the whole vector
 *   segments         of QV_ALG_PIPELINE, QV_ALG_SEGMENTED and QV_ALG_BINARY; 0: 1
 * Returns seconds; 0 for one rank.
 */
QV_API double qv_model_seconds(const struct qv_network *network, enum qv_coll coll,
			       enum qv_algorithm algorithm, uint32_t ranks, double bytes,
			       uint32_t segments);

/*
 * How many segments are best by that model.
 *   network    alpha, beta, gamma
 *   algorithm  QV_ALG_PIPELINE, QV_ALG_SEGMENTED or QV_ALG_BINARY; others do not take segments
 *   ranks      of the group, 1 or more
 *   bytes      length of the whole vector
 * Returns a power of two, 1 to 128, so that none is shorter than 1 KiB; 1 of other algorithms.
 */
QV_API uint32_t qv_model_segments(const struct qv_network *network, enum qv_algorithm algorithm,
				  uint32_t ranks, double bytes);

struct qv_select; /* opaque */

/*
 * Open a selection.
 *   rules   what the user asks for, read during the call; NULL or "": nothing. Else
 *               operation=algorithm[:faithful|extended|number|factors][:paced=number][,...]
 *           with the names of qv_coll_name and qv_algorithm_name, or `auto` for the algorithm. An
 *           algorithm that is named is taken. Where it is built from expected arrivals,
 *               faithful   does so always
 *               extended   (default) only if the model says that it is faster by that
 *           kprefix:8, kshift:8, hybrid:3 and unit:4 name k of struct qv_schedule_spec, radix:4:4:8
 *           its radix. paced=1, with another mode before it or alone (kshift:8:paced=1), is its pace.
 *           Groups whose ranks are not the product of these factors get the prime ones.
 *           With `auto`, faithful takes what is fastest by the model; extended takes a schedule
 *           from expected arrivals only if it is faster by 5 %, since expectations can be wrong.
 *   why, room  out, on QV_EINVAL: what is wrong and what is known, as text; may be NULL, 0
 *   select  out: to be given to qv_select_close
 * QV_EINVAL: rules do not have that form, a name is not known, an operation is named twice or
 * cannot be had so; QV_ENOMEM.
 */
QV_API int qv_select_open(const char *rules, char *why, size_t room, struct qv_select **select);

/* Close it; no plan may be in use. NULL is allowed. */
QV_API void qv_select_close(struct qv_select *select);

/*
 * Tell what network the model is about; until then, one of a fast cluster. Plans that were chosen
 * before are not given out any more.
 *   select   from qv_select_open
 *   network  the same on all ranks; copied
 * QV_EINVAL: a value is negative or not finite, alpha is 0, or ranges of lengths are not in order.
 * Then nothing has changed.
 */
QV_API int qv_select_network(struct qv_select *select, const struct qv_network *network);

/*
 * The same for allgather and alltoall, whose ranks send several messages one behind the other, and
 * for gather and scatter by `direct`, whose root has them all under way at once: behind the first one
 * each takes what one of a burst does. qv_select_network makes it forgotten.
 *   select  from qv_select_open
 *   bursts  what a message of a burst takes (qv_network_fit_bursts), which is less than one alone;
 *           the same on all ranks; copied
 * Errors as qv_select_network.
 */
QV_API int qv_select_bursts(struct qv_select *select, const struct qv_network *bursts);

/* A call; the same on all ranks, but for rank. */
struct qv_select_call {
	uint64_t group; /* a number of the caller's, another one for each group */
	enum qv_coll coll;
	uint32_t ranks, rank, root; /* as in struct qv_schedule_spec */
	size_t bytes;               /* length of the whole vector */
	int ordered;                /* not 0: the operation does not commute */
	/* When each rank is expected, in ns from any moment; read during the call. NULL: nothing is
	 * known. Looked at for reductions and broadcasts only, and not where the rules name an algorithm
	 * that is not built from them. */
	const uint64_t *arrive;
	/* By rank: how many combine units it runs for other groups, as in struct qv_schedule_spec; the
	 * same in all calls of a group. Read during the call; NULL: none. */
	const uint32_t *load;
};

/* What is to be done for it. */
struct qv_plan {
	const struct qv_schedule *schedule; /* of this rank */
	enum qv_algorithm algorithm;
	uint32_t segments; /* as in struct qv_schedule_spec */
	int by_arrival;    /* built from the expected arrivals of the call */
	/* From the first arrival to the end, by the model; of QV_ALG_RADIX with the prime factors
	 * of ranks, also where the rules name others, and without what a pace adds. */
	double seconds;
	int primes; /* the factors that the rules name do not make ranks, so the prime ones are taken */
};

/*
 * Get the plan for a call.
 *   select  from qv_select_open
 *   call    which; read during the call
 *   plan    out: the selection's; constant, until it is given to qv_select_put
 * QV_EINVAL: a field of the call is out of range; QV_ENOSYS: the algorithm that the user named
 * cannot keep the order of the operands; QV_ENOMEM.
 */
QV_API int qv_select_get(struct qv_select *select, const struct qv_select_call *call,
			 const struct qv_plan **plan);

/*
 * End the use of a plan. It stays, to be had again, for a while.
 *   select  from which it is
 *   plan    from qv_select_get, as often as it was got
 */
QV_API void qv_select_put(struct qv_select *select, const struct qv_plan *plan);

/*
 * How many combine units a rank runs for a group: operations for which the rules name `unit`, and in
 * whose tree it is a leader.
 *   select  from qv_select_open
 *   call    ranks, rank and load of the group; read during the call
 * Returns the number.
 */
QV_API int qv_select_units(const struct qv_select *select, const struct qv_select_call *call);

/*
 * Whether expected arrivals are worth their cost: the rules name an algorithm that is built from
 * them.
 *   select  from qv_select_open
 *   coll    of which collective, one that there is
 * Returns 1 or 0.
 */
QV_API int qv_select_wants_arrivals(const struct qv_select *select, enum qv_coll coll);

/*
 * Whether the rules name an algorithm.
 *   select  from qv_select_open
 *   coll    of which collective, one that there is
 * Returns 1 or 0; 0 of `auto`, too.
 */
QV_API int qv_select_is_named(const struct qv_select *select, enum qv_coll coll);

/*
 * Whether the rules say `auto`.
 *   select  from qv_select_open
 *   coll    of which collective, one that there is
 * Returns 1 or 0; 0 where they say nothing, too.
 */
QV_API int qv_select_is_auto(const struct qv_select *select, enum qv_coll coll);

/*
 * A group is gone: its plans that are not in use are freed.
 *   select  from qv_select_open
 *   group   as in struct qv_select_call
 */
QV_API void qv_select_forget(struct qv_select *select, uint64_t group);

/*
 * Read the counters.
 *   select  from qv_select_open
 *   plans   out: how many there are
 *   found   out: how many calls of qv_select_get found theirs among them
 */
QV_API void qv_select_stats(const struct qv_select *select, size_t *plans, uint64_t *found);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_SELECT_H */
