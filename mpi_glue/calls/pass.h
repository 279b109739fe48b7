/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pass.h - blocking calls that are the MPI's: nobody asked for them, or `auto` has left calls with the same
 * arguments to the MPI for good. Some take a tenth of a microsecond, so what looks them up is inline, and
 * works nothing out. Each rank remembers its own arguments. A rank that does not know a call finds out the
 * same by the longer way, in take.c.
 */
#ifndef QV_MPI_PASS_H
#define QV_MPI_PASS_H

#include "engine/base/compiler.h"
#include "mpi_glue/glue.h"

static inline struct qv_mpi_bypass *qv_mpi_bypass_of(struct qv_mpi_comm *c, enum qv_mpi_name name,
						     const struct qv_mpi_args *args)
{
	return &c->bypass[name][qv_mpi_bypass_index(args->op, (uint32_t)args->count)];
}

static inline struct qv_mpi_args qv_mpi_args(MPI_Datatype type, MPI_Datatype type2, MPI_Op op,
					     int count, int count2, int root)
{
	return (struct qv_mpi_args){type, type2, op, count, count2, root};
}

static inline bool qv_mpi_args_equal(const struct qv_mpi_args *a, const struct qv_mpi_args *b)
{
	return a->type == b->type && a->type2 == b->type2 && a->op == b->op &&
	       a->count == b->count && a->count2 == b->count2 && a->root == b->root;
}

/* As qv_mpi_comm_of, without a call where it was looked up before. */
QV_INLINE struct qv_mpi_comm *qv_mpi_comm_at_once(MPI_Comm comm)
{
	struct qv_mpi_comm *c = qv_mpi.last;

	return QV_LIKELY(c && c->comm == comm) ? c : qv_mpi_comm_of(comm);
}

/* Whether this blocking call goes to the MPI without more ado; it is counted then. */
QV_INLINE bool qv_mpi_passes(enum qv_mpi_name name, enum qv_coll coll, struct qv_mpi_args args,
			     MPI_Comm comm)
{
	struct qv_mpi_comm *c;
	const struct qv_mpi_bypass *b;
	struct qv_expect *expect;

	if (!qv_mpi.on)
		return true;
	if (!qv_mpi.rules->ours[coll]) {
		qv_mpi_comm_used(comm);
		qv_mpi_count(name, QV_MPI_BLOCKING, QV_MPI_NOT_CHOSEN);
		return true;
	}
	if (!qv_mpi.rules->automatic[coll])
		return false;
	c = qv_mpi_comm_at_once(comm);
	if (!c)
		return false;
	b = qv_mpi_bypass_of(c, name, &args);
	expect = qv_mpi_habit(c, coll)->expect;
	if (b->rules != qv_mpi.rules->number || b->late != qv_mpi_late(c, coll) ||
	    !qv_mpi_args_equal(&b->args, &args) ||
	    (b->observed && !(expect && qv_expect_idle(expect))))
		return false;
	c->bypassed = b;
	qv_mpi_count(name, QV_MPI_BLOCKING, QV_MPI_SLOWER);
	return true;
}

/* The same of variable-length blocks and neighbours, which `auto` leaves to the MPI for a number of calls,
 * whatever their arguments are. */
QV_INLINE bool qv_mpi_passes_v(enum qv_mpi_name name, MPI_Comm comm)
{
	struct qv_mpi_comm *c;
	struct qv_mpi_passing *p;

	if (!qv_mpi.on)
		return true;
	if (qv_mpi.rules->rule[name].by == QV_MPI_BY_MPI) {
		qv_mpi_comm_used(comm);
		qv_mpi_count(name, QV_MPI_BLOCKING, QV_MPI_NOT_CHOSEN);
		return true;
	}
	if (qv_mpi.rules->rule[name].by != QV_MPI_BY_AUTO)
		return false;
	c = qv_mpi_comm_at_once(comm);
	if (!c)
		return false;
	p = &c->passing[name];
	if (!p->left || p->rules != qv_mpi.rules->number)
		return false;
	p->left--;
	qv_mpi_count(name, QV_MPI_BLOCKING, QV_MPI_SLOWER);
	return true;
}

/* pass.c: a call that was passed on without a look ends with an error. If the MPI says that this rank's arguments are
 * wrong, its next try is the call that the others are in, and the one that counts. */
void qv_mpi_passed_wrong(enum qv_coll coll, MPI_Comm comm, int rc);
void qv_mpi_passed_wrong_v(enum qv_mpi_name name, MPI_Comm comm, int rc);

static inline int qv_mpi_passed(enum qv_coll coll, MPI_Comm comm, int rc)
{
	if (QV_UNLIKELY(rc))
		qv_mpi_passed_wrong(coll, comm, rc);
	return rc;
}

static inline int qv_mpi_passed_v(enum qv_mpi_name name, MPI_Comm comm, int rc)
{
	if (QV_UNLIKELY(rc))
		qv_mpi_passed_wrong_v(name, comm, rc);
	return rc;
}

/*
 * A blocking function of the MPI's.
 *   known      what it is known by, of qv_mpi_args
 *   call_of    what it is
 *   parameters, arguments  in parentheses
 * The longer way is apart, so that the shorter one keeps nothing on the stack.
 */
#define QV_MPI_DEFINE_BLOCKING(name, upper, coll, known, call_of, parameters, arguments)     \
	QV_NOINLINE static int judge_##name parameters                                       \
	{                                                                                    \
		const struct qv_mpi_args args = known;                                       \
		struct qv_mpi_call call = call_of;                                           \
		struct qv_mpi_op *o;                                                         \
                                                                                             \
		call.args = &args;                                                           \
		o = qv_mpi_take(&call);                                                      \
		return qv_mpi_return(&call, o ? qv_mpi_finish(o) : QV_REAL(name) arguments); \
	}                                                                                    \
	QV_API int MPI_##name parameters                                                     \
	{                                                                                    \
		if (!qv_mpi_passes(QV_MPI_##upper, QV_COLL_##coll, known, comm))             \
			return judge_##name arguments;                                       \
		return qv_mpi_passed(QV_COLL_##coll, comm, QV_REAL(name) arguments);         \
	}                                                                                    \
	QV_MPI_BOTH(name)

#endif /* QV_MPI_PASS_H */
