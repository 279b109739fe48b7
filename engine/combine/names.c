/* SPDX-License-Identifier: BSD-2-Clause */
/* names.c - operations and element types: names, sizes, which pairs are defined. */
#include <string.h>

#include <quiver/combine.h>

static const char *const op_names[QV_N_OPS] = {
	"sum", "prod", "min", "max", "land", "lor", "lxor", "band", "bor", "bxor",
};

static const struct {
	const char *name;
	size_t size;
} types[QV_N_TYPES] = {
	{"int8", 1},
	{"uint8", 1},
	{"int16", 2},
	{"uint16", 2},
	{"int32", 4},
	{"uint32", 4},
	{"int64", 8},
	{"uint64", 8},
	{"int128", 16},
	{"uint128", 16},
	{"float", sizeof(float)},
	{"double", sizeof(double)},
	{"long_double", sizeof(long double)},
	{"float_complex", 2 * sizeof(float)},
	{"double_complex", 2 * sizeof(double)},
	{"long_double_complex", 2 * sizeof(long double)},
};

static int is_op(enum qv_op op)
{
	return (unsigned int)op < QV_N_OPS;
}

static int is_type(enum qv_type type)
{
	return (unsigned int)type < QV_N_TYPES;
}

int qv_combine_defined(enum qv_op op, enum qv_type type)
{
	if (!is_op(op) || !is_type(type))
		return 0;
	switch (op) {
	case QV_OP_BAND:
	case QV_OP_BOR:
	case QV_OP_BXOR: return type <= QV_TYPE_UINT128;
	case QV_OP_MIN:
	case QV_OP_MAX: return type < QV_TYPE_FLOAT_COMPLEX;
	default: return 1;
	}
}

size_t qv_type_size(enum qv_type type)
{
	return is_type(type) ? types[type].size : 0;
}

const char *qv_op_name(enum qv_op op)
{
	return is_op(op) ? op_names[op] : NULL;
}

const char *qv_type_name(enum qv_type type)
{
	return is_type(type) ? types[type].name : NULL;
}

int qv_op_parse(const char *name, enum qv_op *op)
{
	for (int i = 0; i < QV_N_OPS; i++) {
		if (!strcmp(name, op_names[i])) {
			*op = (enum qv_op)i;
			return QV_OK;
		}
	}
	return QV_EINVAL;
}

int qv_type_parse(const char *name, enum qv_type *type)
{
	for (int i = 0; i < QV_N_TYPES; i++) {
		if (!strcmp(name, types[i].name)) {
			*type = (enum qv_type)i;
			return QV_OK;
		}
	}
	return QV_EINVAL;
}
