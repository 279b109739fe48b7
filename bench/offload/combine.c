/* SPDX-License-Identifier: BSD-2-Clause */
/* combine.c - an array combined into another: CPU, device and back, kernels alone. */
#include "offload.h"
#include "engine/base/random.h"

#include <string.h>

/* Small whole numbers, which no sum or product of a few takes out of any type. */
static void fill(const struct qv_bo_case *what, char *p, uint64_t seed)
{
	const bool floats = what->type == QV_TYPE_FLOAT;
	const bool doubles = what->type == QV_TYPE_DOUBLE || what->type == QV_TYPE_DOUBLE_COMPLEX;
	uint64_t state = seed;

	for (size_t i = 0; i < what->size; i += 8) {
		const uint64_t value = qv_random(&state);
		const double d = (double)(value >> 33 & 0xff);
		const float f[2] = {(float)d, (float)d + 1};

		if (doubles)
			memcpy(p + i, &d, sizeof(d));
		else if (floats)
			memcpy(p + i, f, sizeof(f));
		else
			memcpy(p + i, &value, sizeof(value));
	}
}

void qv_bo_combine_fill(struct qv_bo *bo, const struct qv_bo_case *what, uint64_t seed)
{
	const size_t count = what->size / qv_type_size(what->type);
	const struct qv_combine *scalar;

	fill(what, bo->arrays[0], seed);
	fill(what, bo->arrays[1], seed + 1);
	qv_combine_open(QV_ISA_SCALAR, &scalar);
	qv_combine_to(scalar, what->op, what->type, bo->arrays[3], bo->arrays[0], bo->arrays[1],
		      count);
}

double qv_bo_combine(struct qv_bo *bo, const struct qv_bo_case *what, enum qv_bo_impl impl,
		     bool *right)
{
	const size_t count = what->size / qv_type_size(what->type);
	const double start = qv_bench_seconds();
	double seconds;
	size_t done = 0;
	int err;

	if (impl == QV_BO_CPU)
		err = qv_combine_to(bo->cpu, what->op, what->type, bo->arrays[2], bo->arrays[0],
				    bo->arrays[1], count);
	else
		err = bo->ops->combine(bo->dev, what->op, what->type, bo->arrays[2], bo->arrays[0],
				       bo->arrays[1], count, &done);
	seconds = impl == QV_BO_KERNEL ? 1e-9 * (double)bo->ops->kernel_ns(bo->dev)
				       : qv_bench_seconds() - start;
	*right = !err && !memcmp(bo->arrays[2], bo->arrays[3], what->size);
	return err ? 0 : seconds;
}
