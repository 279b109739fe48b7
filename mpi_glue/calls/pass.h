/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pass.h - blocking calls that are the MPI's: nobody asked for them, or `auto` has left calls with the same
 * arguments to the MPI for good. Some take a tenth of a microsecond, so what looks them up is inline, and
 * works nothing out. Each rank remembers its own arguments. A rank that does not know a call finds out the
 * same by the longer way, in take.c.
 */
#ifndef QV_MPI_PASS_H
#define QV_MPI_PASS_H

#include "mpi_glue/glue.h"

static inline struct qv_mpi_bypass *qv_mpi_bypass_of(struct qv_mpi_comm *c, enum qv_mpi_name name,
						     const struct qv_mpi_args *args)
{
	const uint64_t key = (uint64_t)(uintptr_t)args->op + (uint32_t)args->count;

	return &c->bypass[name][key * 0x9E3779B97F4A7C15u >> 61];
}

static inline bool qv_mpi_args_equal(const struct qv_mpi_args *a, const struct qv_mpi_args *b)
{
	return a->type == b->type && a->type2 == b->type2 && a->op == b->op &&
	       a->count == b->count && a->count2 == b->count2 && a->root == b->root;
}

/* Whether this blocking call goes to the MPI without more ado; it is counted then. */
static inline bool qv_mpi_passes(enum qv_mpi_name name, enum qv_coll coll,
				 const struct qv_mpi_args *args, MPI_Comm comm)
{
	struct qv_mpi_comm *c = qv_mpi.last;
	const struct qv_mpi_bypass *b;

	if (!qv_mpi.on)
		return true;
	if (!qv_mpi.rules->ours[coll]) {
		qv_mpi_count(name, QV_MPI_BLOCKING, QV_MPI_NOT_CHOSEN);
		return true;
	}
	if (!qv_mpi.rules->automatic[coll])
		return false;
	if (!c || c->comm != comm)
		c = qv_mpi_comm_of(comm);
	if (!c)
		return false;
	b = qv_mpi_bypass_of(c, name, args);
	if (b->rules != qv_mpi.rules->number || b->late != c->late ||
	    !qv_mpi_args_equal(&b->args, args) || (b->observed && !qv_mpi_expect_idle(c)))
		return false;
	qv_mpi_count(name, QV_MPI_BLOCKING, QV_MPI_SLOWER);
	return true;
}

/* The same of variable-length blocks and neighbours, which `auto` leaves to the MPI for a number of calls,
 * whatever their arguments are. */
static inline bool qv_mpi_passes_v(enum qv_mpi_name name, MPI_Comm comm)
{
	struct qv_mpi_comm *c = qv_mpi.last;
	struct qv_mpi_passing *p;

	if (!qv_mpi.on)
		return true;
	if (qv_mpi.rules->rule[name].by == QV_MPI_BY_MPI) {
		qv_mpi_count(name, QV_MPI_BLOCKING, QV_MPI_NOT_CHOSEN);
		return true;
	}
	if (qv_mpi.rules->rule[name].by != QV_MPI_BY_AUTO)
		return false;
	if (!c || c->comm != comm)
		c = qv_mpi_comm_of(comm);
	if (!c)
		return false;
	p = &c->passing[name];
	if (!p->left || p->rules != qv_mpi.rules->number)
		return false;
	p->left--;
	qv_mpi_count(name, QV_MPI_BLOCKING, QV_MPI_SLOWER);
	return true;
}

#endif /* QV_MPI_PASS_H */
