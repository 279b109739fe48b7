/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_hls_kind.h - the types of <quiver/combine.h> as the combine kernel knows them. */
#ifndef QV_HLS_KIND_H
#define QV_HLS_KIND_H

#include "qv_hls.h"

#include <quiver/combine.h>

/* The kind of an element, or of the two parts of which one is made; -1: the kernel does not do it.
 * It sums complex numbers only: their parts are apart there. */
static inline int qv_hls_kind(enum qv_op op, enum qv_type type)
{
	if (!qv_combine_defined(op, type))
		return -1;
	switch (type) {
	case QV_TYPE_FLOAT: return QV_HLS_REAL | 2;
	case QV_TYPE_DOUBLE: return QV_HLS_REAL | 3;
	case QV_TYPE_FLOAT_COMPLEX: return op == QV_OP_SUM ? (int)QV_HLS_REAL | 2 : -1;
	case QV_TYPE_DOUBLE_COMPLEX: return op == QV_OP_SUM ? (int)QV_HLS_REAL | 3 : -1;
	case QV_TYPE_LONG_DOUBLE:
	case QV_TYPE_LONG_DOUBLE_COMPLEX: return -1;
	default: return (int)type / 2 + (type % 2 ? 0 : (int)QV_HLS_SIGNED);
	}
}

#endif /* QV_HLS_KIND_H */
