/* SPDX-License-Identifier: BSD-2-Clause */
/* pack.c - pieces of a message put together: CPU, device and back, kernels alone. */
#include "offload.h"
#include "engine/base/random.h"

#include <stdlib.h>
#include <string.h>

/* arrays: where the pieces are, nothing, the result, what is expected. */
int qv_bo_pack_fill(struct qv_bo *bo, const struct qv_bo_case *what, uint64_t seed)
{
	const size_t n = what->size / what->piece;
	struct qv_offload_piece *pieces = realloc(bo->pieces, n * sizeof(*pieces));
	uint64_t state = seed;

	if (!pieces)
		free(bo->pieces);
	bo->pieces = pieces;
	if (!pieces)
		return -1;
	for (size_t i = 0; i < 2 * what->size; i += sizeof state) {
		const uint64_t value = qv_random(&state);

		memcpy(bo->arrays[0] + i, &value, sizeof value);
	}
	for (size_t i = 0; i < n; i++) {
		pieces[i] = (struct qv_offload_piece){2 * i * what->piece, what->piece};
		memcpy(bo->arrays[3] + i * what->piece, bo->arrays[0] + pieces[i].offset,
		       what->piece);
	}
	return 0;
}

double qv_bo_pack(struct qv_bo *bo, const struct qv_bo_case *what, enum qv_bo_impl impl,
		  bool *right)
{
	const size_t n = what->size / what->piece;
	const double start = qv_bench_seconds();
	char *to = bo->arrays[2];
	double seconds;
	int err = 0;

	if (!bo->pieces)
		return 0;
	if (impl == QV_BO_CPU)
		for (size_t i = 0; i < n; to += bo->pieces[i++].bytes)
			memcpy(to, bo->arrays[0] + bo->pieces[i].offset, bo->pieces[i].bytes);
	else
		err = bo->ops->pack(bo->dev, to, bo->arrays[0], bo->pieces, n);
	seconds = impl == QV_BO_KERNEL ? 1e-9 * (double)bo->ops->kernel_ns(bo->dev)
				       : qv_bench_seconds() - start;
	*right = !err && !memcmp(bo->arrays[2], bo->arrays[3], what->size);
	return err ? 0 : seconds;
}
