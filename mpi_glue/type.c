/* SPDX-License-Identifier: BSD-2-Clause */
/* type.c - which of the MPI's operations and types we combine, and by what. */
#include "glue.h"

#include <string.h>

/* Which operations MPI defines on a type, after the tables in its chapter on reductions. */
enum {
	ARITHMETIC = 1, /* sum, prod */
	ORDERED = 2,    /* min, max */
	LOGICAL = 4,
	BITS = 8,
	PAIR = 16, /* minloc, maxloc */
	C_INTEGER = ARITHMETIC | ORDERED | LOGICAL | BITS,
	INTEGER = ARITHMETIC | ORDERED | BITS,
	FLOATING = ARITHMETIC | ORDERED,
};

#define OURS  0
#define LOCAL 1 /* by MPI_Reduce_local: which LOGICALs are true, the Fortran compiler decides */

struct type {
	MPI_Datatype mpi;
	enum qv_type type;
	unsigned int classes;
	int local;
};

static const struct type types[] = {
	{MPI_DOUBLE, QV_TYPE_DOUBLE, FLOATING, OURS},
	{MPI_INT, QV_TYPE_INT32, C_INTEGER, OURS},
	{MPI_FLOAT, QV_TYPE_FLOAT, FLOATING, OURS},
	{MPI_LONG, QV_TYPE_INT64, C_INTEGER, OURS},
	{MPI_DOUBLE_PRECISION, QV_TYPE_DOUBLE, FLOATING, OURS},
	{MPI_INTEGER, QV_TYPE_INT32, INTEGER, OURS},
	{MPI_REAL, QV_TYPE_FLOAT, FLOATING, OURS},
	{MPI_UNSIGNED, QV_TYPE_UINT32, C_INTEGER, OURS},
	{MPI_UNSIGNED_LONG, QV_TYPE_UINT64, C_INTEGER, OURS},
	{MPI_LONG_LONG, QV_TYPE_INT64, C_INTEGER, OURS},
	{MPI_UNSIGNED_LONG_LONG, QV_TYPE_UINT64, C_INTEGER, OURS},
	{MPI_SHORT, QV_TYPE_INT16, C_INTEGER, OURS},
	{MPI_UNSIGNED_SHORT, QV_TYPE_UINT16, C_INTEGER, OURS},
	{MPI_SIGNED_CHAR, QV_TYPE_INT8, C_INTEGER, OURS},
	{MPI_UNSIGNED_CHAR, QV_TYPE_UINT8, C_INTEGER, OURS},
	{MPI_INT8_T, QV_TYPE_INT8, C_INTEGER, OURS},
	{MPI_UINT8_T, QV_TYPE_UINT8, C_INTEGER, OURS},
	{MPI_INT16_T, QV_TYPE_INT16, C_INTEGER, OURS},
	{MPI_UINT16_T, QV_TYPE_UINT16, C_INTEGER, OURS},
	{MPI_INT32_T, QV_TYPE_INT32, C_INTEGER, OURS},
	{MPI_UINT32_T, QV_TYPE_UINT32, C_INTEGER, OURS},
	{MPI_INT64_T, QV_TYPE_INT64, C_INTEGER, OURS},
	{MPI_UINT64_T, QV_TYPE_UINT64, C_INTEGER, OURS},
	{MPI_LONG_DOUBLE, QV_TYPE_LONG_DOUBLE, FLOATING, OURS},
	{MPI_C_BOOL, QV_TYPE_UINT8, LOGICAL, OURS},
	{MPI_BYTE, QV_TYPE_UINT8, BITS, OURS},
	{MPI_AINT, QV_TYPE_INT64, INTEGER, OURS},
	{MPI_OFFSET, QV_TYPE_INT64, INTEGER, OURS},
	{MPI_COUNT, QV_TYPE_INT64, INTEGER, OURS},
	{MPI_C_FLOAT_COMPLEX, QV_TYPE_FLOAT_COMPLEX, ARITHMETIC, OURS},
	{MPI_C_DOUBLE_COMPLEX, QV_TYPE_DOUBLE_COMPLEX, ARITHMETIC, OURS},
	{MPI_C_LONG_DOUBLE_COMPLEX, QV_TYPE_LONG_DOUBLE_COMPLEX, ARITHMETIC, OURS},
	{MPI_COMPLEX, QV_TYPE_FLOAT_COMPLEX, ARITHMETIC, OURS},
	{MPI_DOUBLE_COMPLEX, QV_TYPE_DOUBLE_COMPLEX, ARITHMETIC, OURS},
	{MPI_INTEGER1, QV_TYPE_INT8, INTEGER, OURS},
	{MPI_INTEGER2, QV_TYPE_INT16, INTEGER, OURS},
	{MPI_INTEGER4, QV_TYPE_INT32, INTEGER, OURS},
	{MPI_INTEGER8, QV_TYPE_INT64, INTEGER, OURS},
	{MPI_REAL4, QV_TYPE_FLOAT, FLOATING, OURS},
	{MPI_REAL8, QV_TYPE_DOUBLE, FLOATING, OURS},
	{MPI_LOGICAL, QV_TYPE_INT32, LOGICAL, LOCAL},
	{MPI_2INT, QV_TYPE_INT32, PAIR, LOCAL},
	{MPI_FLOAT_INT, QV_TYPE_INT32, PAIR, LOCAL},
	{MPI_DOUBLE_INT, QV_TYPE_INT32, PAIR, LOCAL},
	{MPI_LONG_INT, QV_TYPE_INT32, PAIR, LOCAL},
	{MPI_SHORT_INT, QV_TYPE_INT32, PAIR, LOCAL},
	{MPI_LONG_DOUBLE_INT, QV_TYPE_INT32, PAIR, LOCAL},
	{MPI_2INTEGER, QV_TYPE_INT32, PAIR, LOCAL},
	{MPI_2REAL, QV_TYPE_INT32, PAIR, LOCAL},
	{MPI_2DOUBLE_PRECISION, QV_TYPE_INT32, PAIR, LOCAL},
	{MPI_CHAR, QV_TYPE_INT8, 0, LOCAL},
	{MPI_WCHAR, QV_TYPE_INT32, 0, LOCAL},
};

struct op {
	MPI_Op mpi;
	enum qv_op op;
	unsigned int classes;
};

static const struct op ops[] = {
	{MPI_SUM, QV_OP_SUM, ARITHMETIC}, {MPI_MAX, QV_OP_MAX, ORDERED},
	{MPI_MIN, QV_OP_MIN, ORDERED},    {MPI_PROD, QV_OP_PROD, ARITHMETIC},
	{MPI_LAND, QV_OP_LAND, LOGICAL},  {MPI_LOR, QV_OP_LOR, LOGICAL},
	{MPI_LXOR, QV_OP_LXOR, LOGICAL},  {MPI_BAND, QV_OP_BAND, BITS},
	{MPI_BOR, QV_OP_BOR, BITS},       {MPI_BXOR, QV_OP_BXOR, BITS},
	{MPI_MINLOC, QV_OP_MIN, PAIR},    {MPI_MAXLOC, QV_OP_MAX, PAIR},
	{MPI_REPLACE, QV_OP_SUM, 0},      {MPI_NO_OP, QV_OP_SUM, 0},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const struct type *find_type(MPI_Datatype type)
{
	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (types[i].mpi == type)
			return &types[i];
	return NULL;
}

static const struct op *find_op(MPI_Op op)
{
	for (size_t i = 0; i < COUNT_OF(ops); i++)
		if (ops[i].mpi == op)
			return &ops[i];
	return NULL;
}

/* Bytes of an element; 0: it has gaps. Elements travel whole, and what is in gaps of the result must
 * stay. */
static size_t whole(MPI_Datatype type, bool is_derived)
{
	MPI_Aint low, extent, true_low, true_extent;
	int size;

	if (PMPI_Type_get_extent(type, &low, &extent) || PMPI_Type_size(type, &size) || low ||
	    extent <= 0 || extent != size)
		return 0;
	if (is_derived && (PMPI_Type_get_true_extent(type, &true_low, &true_extent) || true_low ||
			   true_extent != extent))
		return 0;
	return (size_t)extent;
}

bool qv_mpi_is_committed(MPI_Datatype type)
{
	const char nothing = 0;

	/* Errors of the library's own communicator reach no handler. */
	return qv_mpi_is_plain(type) || qv_mpi.own == MPI_COMM_NULL ||
	       !QV_REAL(Send)(&nothing, 1, type, MPI_PROC_NULL, 0, qv_mpi.own);
}

enum qv_mpi_reason qv_mpi_reduce_of(MPI_Op op, MPI_Datatype type, struct qv_mpi_reduce *r)
{
	static const struct type derived = {.type = QV_TYPE_UINT8, .local = LOCAL};
	const struct type *t = find_type(type);
	const struct op *o = find_op(op);
	const size_t item = whole(type, !t);
	int commutes = 1;

	if (!item)
		return QV_MPI_GAPS;
	if (!t)
		t = &derived;
	if (o && !(o->classes & t->classes))
		return QV_MPI_ODD_OP;
	if (!o && PMPI_Op_commutative(op, &commutes))
		return QV_MPI_ODD_OP;
	if (t == &derived && !qv_mpi_is_committed(type))
		return QV_MPI_ODD_OP; /* the MPI says so */
	*r = (struct qv_mpi_reduce){
		.item = item,
		.local = !o || t->local || item != qv_type_size(t->type),
		.ordered = !commutes,
		.user = !o,
		.op = o ? o->op : QV_OP_SUM,
		.type = t->type,
		.mpi_op = op,
		.mpi_type = type,
	};
	return QV_MPI_TAKEN;
}

/* dst is a or b; the other one is ours, and may be written. */
static void combine_local(const struct qv_mpi_reduce *r, void *dst, const void *a, const void *b,
			  size_t count)
{
	void *right = (void *)(uintptr_t)b;

	if (dst == a && !r->ordered) {
		QV_REAL(Reduce_local)(b, dst, (int)count, r->mpi_type, r->mpi_op);
		return;
	}
	QV_REAL(Reduce_local)(a, right, (int)count, r->mpi_type, r->mpi_op);
	if (dst != right)
		memcpy(dst, right, count * r->item);
}

void qv_mpi_combine(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const struct qv_mpi_reduce *r = context;

	if (r->local)
		combine_local(r, dst, a, b, count);
	else if (qv_mpi.offload)
		qv_mpi_offload_combine(r, dst, a, b, count);
	else
		qv_combine_to(qv_mpi.combine, r->op, r->type, dst, a, b, count);
}
