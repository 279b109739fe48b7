/* SPDX-License-Identifier: BSD-2-Clause */
/* cases.c - names of cases, `<op>/<type>/<bytes>`: which exist and which are run. */
#include "combine.h"

#include <stdlib.h>
#include <string.h>

static const size_t sizes[] = {8, 64, 512, 4096, 32768, 262144, 2097152, 16777216};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* The part of *text before the next slash; *text moves behind it. -1 if there is none. */
static int next_part(const char **text, char *part, size_t size)
{
	size_t n = strcspn(*text, "/");

	if (!n || n >= size || (*text)[n] != '/')
		return -1;
	memcpy(part, *text, n);
	part[n] = 0;
	*text += n + 1;
	return 0;
}

int qv_bc_case_parse(const char *name, struct qv_bc_case *out)
{
	char op[QV_BENCH_NAME], type[QV_BENCH_NAME], *end;
	const char *text = name;
	unsigned long bytes;

	if (strlen(name) >= sizeof(out->name) || next_part(&text, op, sizeof(op)) ||
	    next_part(&text, type, sizeof(type)) || *text < '0' || *text > '9')
		return -1;
	bytes = strtoul(text, &end, 10);
	if (*end || !bytes || bytes > QV_BC_BYTES || qv_op_parse(op, &out->op) ||
	    qv_type_parse(type, &out->type) || !qv_combine_defined(out->op, out->type) ||
	    bytes % qv_type_size(out->type))
		return -1;
	strcpy(out->name, name);
	out->bytes = bytes;
	out->count = bytes / qv_type_size(out->type);
	return 0;
}

/* Arrays beyond the caches are all alike: some pairs stand for the rest. */
static bool in_full_run(enum qv_op op, enum qv_type type, size_t bytes)
{
	return bytes <= 262144 || op == QV_OP_SUM || type == QV_TYPE_DOUBLE ||
	       type == QV_TYPE_INT32;
}

static bool in_quick_run(enum qv_op op, enum qv_type type, size_t bytes)
{
	const bool some_op = op == QV_OP_SUM || op == QV_OP_PROD || op == QV_OP_MIN ||
			     op == QV_OP_LAND || op == QV_OP_BXOR;
	const bool some_type = type == QV_TYPE_INT8 || type == QV_TYPE_INT32 ||
			       type == QV_TYPE_INT64 || type == QV_TYPE_FLOAT ||
			       type == QV_TYPE_DOUBLE || type == QV_TYPE_DOUBLE_COMPLEX;

	return some_op && some_type && (bytes == 64 || bytes == 4096 || bytes == 262144);
}

static bool is_run(const struct qv_bench_opts *opts, const struct qv_bc_case *c)
{
	/* A filter says itself how much is to be run. */
	if (opts->filter)
		return qv_bench_case_wanted(opts, c->name);
	return opts->quick ? in_quick_run(c->op, c->type, c->bytes)
			   : in_full_run(c->op, c->type, c->bytes);
}

size_t qv_bc_case_list(const struct qv_bench_opts *opts, struct qv_bc_case **out)
{
	size_t n = 0;

	*out = calloc(QV_N_OPS * QV_N_TYPES * N_SIZES + 1, sizeof(**out));
	if (!*out)
		abort();
	for (size_t i = 0; i < QV_N_OPS * QV_N_TYPES * N_SIZES; i++) {
		const enum qv_op op = (enum qv_op)(i / N_SIZES / QV_N_TYPES);
		const enum qv_type type = (enum qv_type)(i / N_SIZES % QV_N_TYPES);
		const size_t item = qv_type_size(type), size = sizes[i % N_SIZES];
		char name[QV_BENCH_NAME];

		snprintf(name, sizeof(name), "%s/%s/%zu", qv_op_name(op), qv_type_name(type),
			 size < item ? item : size);
		if (qv_bc_case_parse(name, &(*out)[n]) == 0 && is_run(opts, &(*out)[n]))
			n++;
	}
	/* Any other size can be named in full. */
	if (!n && opts->filter && qv_bc_case_parse(opts->filter, &(*out)[0]) == 0)
		n = 1;
	return n;
}
