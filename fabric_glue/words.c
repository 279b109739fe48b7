/* SPDX-License-Identifier: BSD-2-Clause */
/* words.c - operations and element types of libfabric in the words of combine.h. */
#include "data.h"

bool qv_fi_type(enum fi_datatype type, enum qv_type *out)
{
	static const struct {
		enum fi_datatype fi;
		enum qv_type qv;
	} types[] = {
		{FI_INT8, QV_TYPE_INT8},
		{FI_UINT8, QV_TYPE_UINT8},
		{FI_INT16, QV_TYPE_INT16},
		{FI_UINT16, QV_TYPE_UINT16},
		{FI_INT32, QV_TYPE_INT32},
		{FI_UINT32, QV_TYPE_UINT32},
		{FI_INT64, QV_TYPE_INT64},
		{FI_UINT64, QV_TYPE_UINT64},
		{FI_INT128, QV_TYPE_INT128},
		{FI_UINT128, QV_TYPE_UINT128},
		{FI_FLOAT, QV_TYPE_FLOAT},
		{FI_DOUBLE, QV_TYPE_DOUBLE},
		{FI_LONG_DOUBLE, QV_TYPE_LONG_DOUBLE},
		{FI_FLOAT_COMPLEX, QV_TYPE_FLOAT_COMPLEX},
		{FI_DOUBLE_COMPLEX, QV_TYPE_DOUBLE_COMPLEX},
		{FI_LONG_DOUBLE_COMPLEX, QV_TYPE_LONG_DOUBLE_COMPLEX},
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].fi == type) {
			*out = types[i].qv;
			return true;
		}
	return false;
}

bool qv_fi_op(enum fi_op op, enum qv_op *out)
{
	switch (op) {
	case FI_SUM: *out = QV_OP_SUM; return true;
	case FI_PROD: *out = QV_OP_PROD; return true;
	case FI_MIN: *out = QV_OP_MIN; return true;
	case FI_MAX: *out = QV_OP_MAX; return true;
	case FI_LAND: *out = QV_OP_LAND; return true;
	case FI_LOR: *out = QV_OP_LOR; return true;
	case FI_LXOR: *out = QV_OP_LXOR; return true;
	case FI_BAND: *out = QV_OP_BAND; return true;
	case FI_BOR: *out = QV_OP_BOR; return true;
	case FI_BXOR: *out = QV_OP_BXOR; return true;
	default: return false;
	}
}
