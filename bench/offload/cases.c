/* SPDX-License-Identifier: BSD-2-Clause */
/* cases.c - `match|post/<keys>/<batch>` `combine/<op>/<type>/<bytes>`,
 * `pack/<piece>/<bytes>`. */
#include "offload.h"

#include <stdlib.h>
#include <string.h>

static const char *const key_names[] = {"unique", "same", "wild"};
static const size_t batches[] = {16, 64, 256, 1024, 4096, 16384, 65536};
static const size_t lengths[] = {4096, 65536, 1048576, 16777216, 268435456};
/* One of each size of element, and what MPI programs reduce most. */
static const struct {
	enum qv_op op;
	enum qv_type type;
} pairs[] = {
	{QV_OP_SUM, QV_TYPE_FLOAT},           {QV_OP_SUM, QV_TYPE_DOUBLE},
	{QV_OP_MAX, QV_TYPE_INT32},           {QV_OP_BOR, QV_TYPE_UINT8},
	{QV_OP_PROD, QV_TYPE_DOUBLE_COMPLEX},
};

static const size_t pieces[] = {64, 4096};
static const size_t packed[] = {65536, 1048576, 16777216};

#define N(array) (sizeof(array) / sizeof((array)[0]))

static bool quick_batch(size_t n)
{
	return n == 16 || n == 256 || n == 4096;
}

static size_t add_match(const struct qv_bench_opts *opts, bool posts, struct qv_bo_case *out)
{
	size_t n = 0;

	for (size_t k = 0; k < N(key_names); k++)
		for (size_t i = 0; i < N(batches); i++) {
			struct qv_bo_case *c = &out[n];

			if (opts->quick && !quick_batch(batches[i]))
				continue;
			*c = (struct qv_bo_case){.match = true,
						 .posts = posts,
						 .keys = (enum qv_bo_keys)k,
						 .size = batches[i]};
			snprintf(c->name, sizeof(c->name), "%s/%s/%zu", posts ? "post" : "match",
				 key_names[k], batches[i]);
			n += qv_bench_case_wanted(opts, c->name);
		}
	return n;
}

static size_t add_combine(const struct qv_bench_opts *opts, struct qv_bo_case *out)
{
	size_t n = 0;

	for (size_t p = 0; p < N(pairs); p++)
		for (size_t i = 0; i < N(lengths); i++) {
			struct qv_bo_case *c = &out[n];

			if (opts->quick && (p > 1 || i > 2))
				continue;
			*c = (struct qv_bo_case){
				.op = pairs[p].op, .type = pairs[p].type, .size = lengths[i]};
			snprintf(c->name, sizeof(c->name), "combine/%s/%s/%zu",
				 qv_op_name(pairs[p].op), qv_type_name(pairs[p].type), lengths[i]);
			n += qv_bench_case_wanted(opts, c->name);
		}
	return n;
}

static size_t add_pack(const struct qv_bench_opts *opts, struct qv_bo_case *out)
{
	size_t n = 0;

	for (size_t p = 0; p < N(pieces); p++)
		for (size_t i = 0; i < N(packed); i++) {
			struct qv_bo_case *c = &out[n];

			if (opts->quick && i != 1)
				continue;
			*c = (struct qv_bo_case){.piece = pieces[p], .size = packed[i]};
			snprintf(c->name, sizeof(c->name), "pack/%zu/%zu", pieces[p], packed[i]);
			n += qv_bench_case_wanted(opts, c->name);
		}
	return n;
}

size_t qv_bo_case_list(const struct qv_bench_opts *opts, struct qv_bo_case **out)
{
	const size_t room =
		2 * N(key_names) * N(batches) + N(pairs) * N(lengths) + N(pieces) * N(packed) + 3;
	size_t n;

	*out = calloc(room, sizeof(**out));
	if (!*out)
		return 0;
	n = add_match(opts, false, *out);
	n += add_match(opts, true, *out + n);
	n += add_combine(opts, *out + n);
	return n + add_pack(opts, *out + n);
}

bool qv_bo_case_done_there(const struct qv_bo *bo, const struct qv_bo_case *what)
{
	const struct qv_offload_caps *caps = bo->ops->caps(bo->dev);

	return what->match   ? what->size <= caps->max_keys
	       : what->piece ? 2 * what->size <= caps->max_pack
			     : what->size <= caps->max_bytes &&
				       bo->ops->combines(bo->dev, what->op, what->type);
}
