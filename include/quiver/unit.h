/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unit.h - combine unit: one place of a tree where reductions meet and multicasts part, as in a
 * switch (Kumar, "Optimizing Communication for Massively Parallel Processing", chapter 8).
 *
 * The tree joins places by links; a place knows which of its ports lead to links of the tree, and
 * nothing else. What has come over all of them but one, combined, leaves by that one. So the tree
 * has no direction: one leaf, the root, contributes nothing and gets the result, and it may be
 * another leaf in each reduction. For an allreduce it then multicasts the result over the same
 * tree. If every leaf contributed, the results would meet on some link, and a unit would get what
 * it has no use for: that is refused.
 *
 * Reductions of a tree have numbers, one after the other from 0 on, and several may be under way;
 * a unit holds so many of them at once, the same number in all units of a tree, and links, which
 * keep the order, hold what comes too early. Operands are combined
 * in the order in which they come: sums of floating-point numbers differ in their last bits from
 * run to run, all else is exact.
 *
 * No locks, no threads; units share nothing.
 */
#ifndef QUIVER_UNIT_H
#define QUIVER_UNIT_H

#include <quiver/combine.h>
#include <quiver/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

struct qv_unit_spec {
	size_t size;    /* of this structure, see types.h */
	uint64_t ports; /* bit p: port p leads to a link of the tree, or to the host; two or more */
	uint32_t at_once;  /* reductions under way: a power of two, at most 64; 0: 2 */
	enum qv_op op;     /* must be defined on type */
	enum qv_type type; /* of an element */
	size_t count;      /* elements of an operand, 1 or more */
	/* An operation of the caller's that commutes, in the place of op and type; NULL: none. */
	qv_reduce_fn reduce;
	void *context; /* of reduce */
	size_t item;   /* with reduce: bytes of an element, 1 or more */
};

struct qv_unit; /* opaque */

/*
 * Make a unit of a tree.
 *   combine  from qv_combine_open; not looked at where spec has a reduce
 *   spec     what; copied
 *   unit     out: to be given to qv_unit_free
 * QV_EINVAL: a value is out of range; QV_ENOMEM.
 */
QV_API int qv_unit_create(const struct qv_combine *combine, const struct qv_unit_spec *spec,
			  struct qv_unit **unit);

/* Free it, with the reductions that are under way. NULL is allowed. */
QV_API void qv_unit_free(struct qv_unit *unit);

/* What leaves the unit. */
struct qv_unit_out {
	int port;         /* by which; -1: nothing, other ports must come first */
	const void *data; /* spec.count elements, the unit's, until qv_unit_sent */
};

/*
 * An operand has come.
 *   unit    from qv_unit_create
 *   port    over which port
 *   number  of which reduction
 *   data    spec.count elements; may be used again after the call
 *   out     out: what leaves now
 * QV_EAGAIN: too many earlier reductions are under way; the link keeps it, and tries again after
 * qv_unit_sent. QV_EPROTO: the port is not of the tree or has contributed before, the reduction is
 * over, or nobody was its root. Then nothing has changed.
 */
QV_API int qv_unit_reduce(struct qv_unit *unit, unsigned int port, uint32_t number,
			  const void *data, struct qv_unit_out *out);

/*
 * The same of a shorter operand, as the last packet of a vector is.
 *   unit    from qv_unit_create
 *   port    over which port
 *   number  of which reduction
 *   data    count elements; may be used again after the call
 *   count   1 to spec.count, the same for all operands of the reduction
 *   out     out: what leaves now, of count elements
 * QV_EINVAL: the count is out of range. Else as qv_unit_reduce.
 */
QV_API int qv_unit_reduce_part(struct qv_unit *unit, unsigned int port, uint32_t number,
			       const void *data, size_t count, struct qv_unit_out *out);

/*
 * What had left in a reduction is sent; its place in the unit is free once those of earlier
 * reductions are.
 *   unit    from qv_unit_create
 *   number  of which reduction
 * QV_EINVAL: nothing has left in it, or this was called for it before.
 */
QV_API int qv_unit_sent(struct qv_unit *unit, uint32_t number);

/*
 * A packet for all leaves has come.
 *   unit   from qv_unit_create
 *   port   over which port
 *   ports  out: bit p: a copy of it leaves by port p
 * QV_EPROTO: the port is not of the tree.
 */
QV_API int qv_unit_multicast(const struct qv_unit *unit, unsigned int port, uint64_t *ports);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_UNIT_H */
