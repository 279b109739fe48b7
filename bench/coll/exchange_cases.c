/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange_cases.c - <operation>/<ranks>/<bytes>/<pattern> of `quiver bench exchange`. */
#include "coll.h"

#include <stdlib.h>
#include <string.h>

bool qv_bx_is(const struct qv_bl_case *c)
{
	return strchr("wukxmdstre", c->pattern) != NULL;
}

static bool is_neighbor(enum qv_bl_operation operation)
{
	return operation == QV_BL_NEIGHBOR_ALLGATHER || operation == QV_BL_NEIGHBOR_ALLTOALL;
}

/* prefix<number>: the number, from low to high. */
static int reach(const char *text, const char *prefix, double low, double high, double *out)
{
	const size_t n = strlen(prefix);
	char *end;

	if (strncmp(text, prefix, n) != 0)
		return -1;
	*out = strtod(text + n, &end);
	return end == text + n || *end || !(*out >= low && *out <= high) ? -1 : 0;
}

/* near<k>, or near<k>-stride<s>: no rank twice. */
static int nearest(const char *text, struct qv_bl_case *c)
{
	static const char suffix[] = "-stride";
	const char *stride = strstr(text, suffix);
	char number[QV_BENCH_NAME];
	double steps = 1;

	snprintf(number, sizeof(number), "%.*s", (int)strcspn(text, "-"), text);
	if (reach(number, "near", 1, c->ranks - 1, &c->reach) ||
	    (text[strlen(number)] && stride != text + strlen(number)) ||
	    (stride && reach(stride, suffix, 1, c->ranks, &steps)) || c->reach * steps >= c->ranks)
		return -1;
	c->stride = (int)steps;
	return 0;
}

static bool in_items(const struct qv_bl_case *c)
{
	return c->bytes >= (long)sizeof(uint64_t) && c->bytes <= QV_BX_ITEM;
}

/* <matrix>, or <matrix>-allgather: rows of all ranks in stripes alike. */
static int product(const char *text, struct qv_bl_case *c)
{
	const long row = QV_BX_COLUMNS * (long)sizeof(double);
	const size_t n = strcspn(text, "-");

	c->matrix = qv_bx_matrix_find(text, n);
	c->pattern = text[n] ? 't' : 's';
	if (c->matrix == QV_BX_MATRICES || (text[n] && strcmp(text + n, QV_BX_GATHER) != 0))
		return -1;
	return c->bytes % row || c->bytes / row * c->ranks > QV_BX_ROWS ? -1 : 0;
}

int qv_bx_pattern(const char *text, struct qv_bl_case *c)
{
	const enum qv_bl_operation o = c->operation;
	const bool v = o == QV_BL_ALLTOALLV || o == QV_BL_ALLGATHERV;

	if ((v || o == QV_BL_ALLGATHER || o == QV_BL_ALLTOALL) && !strcmp(text, "all"))
		c->pattern = 'w';
	else if (v && !strcmp(text, "uneven"))
		c->pattern = 'u';
	else if (o == QV_BL_ALLTOALLV && !reach(text, "partners", 1, c->ranks - 1, &c->reach))
		c->pattern = 'k';
	else if (o == QV_BL_ALLTOALLV && !nearest(text, c))
		c->pattern = 'x';
	else if (is_neighbor(o) && !reach(text, "moore", 1, 100, &c->reach))
		c->pattern = 'm';
	else if (is_neighbor(o) && !reach(text, "random", 0, 1, &c->reach))
		c->pattern = 'd';
	else if (o == QV_BL_SPMM)
		return product(text, c);
	else if (o == QV_BL_STREAM && in_items(c) && !reach(text, "ring", 1, 65536, &c->reach))
		c->pattern = 'r';
	else if (o == QV_BL_STREAM && in_items(c) && !reach(text, "each", 1, 10000, &c->reach))
		c->pattern = 'e';
	else
		return -1;
	return 0;
}

static const struct {
	enum qv_bl_operation operation;
	const char *pattern;
} kinds[] = {
	{QV_BL_ALLGATHER, "all"},
	{QV_BL_ALLTOALL, "all"},
	{QV_BL_ALLGATHERV, "uneven"},
	{QV_BL_ALLTOALLV, "all"},
	{QV_BL_ALLTOALLV, "uneven"},
	{QV_BL_ALLTOALLV, "partners1"},
	{QV_BL_ALLTOALLV, "partners3"},
	{QV_BL_ALLTOALLV, "partners26"},
	{QV_BL_ALLTOALLV, "near26"},
	{QV_BL_ALLTOALLV, "near26-stride4"},
	{QV_BL_NEIGHBOR_ALLGATHER, "moore1"},
	{QV_BL_NEIGHBOR_ALLGATHER, "moore2"},
	{QV_BL_NEIGHBOR_ALLGATHER, "random0.3"},
	{QV_BL_NEIGHBOR_ALLTOALL, "moore1"},
	{QV_BL_NEIGHBOR_ALLTOALL, "moore2"},
	{QV_BL_NEIGHBOR_ALLTOALL, "random0.3"},
	{QV_BL_SPMM, "survey"},
	{QV_BL_SPMM, "survey" QV_BX_GATHER},
	{QV_BL_SPMM, "structure"},
	{QV_BL_SPMM, "structure" QV_BX_GATHER},
	{QV_BL_SPMM, "journals"},
	{QV_BL_SPMM, "journals" QV_BX_GATHER},
	{QV_BL_SPMM, "genes"},
	{QV_BL_SPMM, "genes" QV_BX_GATHER},
	{QV_BL_STREAM, "ring1"},
	{QV_BL_STREAM, "ring5"},
	{QV_BL_STREAM, "ring50"},
	{QV_BL_STREAM, "ring500"},
	{QV_BL_STREAM, "each1"},
	{QV_BL_STREAM, "each10"},
};

size_t qv_bx_case_list(const struct qv_bench_opts *opts, int ranks, struct qv_bl_case *out)
{
	static const long sizes[] = {8, 64, 512, 4096, 32768, 131072};
	size_t n = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			if (opts->quick && !opts->filter && sizes[s] != 64 && sizes[s] != 4096)
				continue;
			n = qv_bl_case_add(opts, ranks, out, n, kinds[k].operation, sizes[s],
					   kinds[k].pattern);
		}
	return qv_bl_case_named(opts, ranks, out, n);
}
