/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_offload_match.c - a batch of messages against as many posted receives: by the engine, by
 * the engine with a device, and what the device's kernels took of that.
 *
 * Posting is not timed. The CPU's time is that of arrivals in an engine that is asked as usual; the
 * device's has all that it needs on top: reading the queue, the way there and back, and the engine.
 */
#include "bench_offload.h"

#include <quiver/match.h>

#include <stdlib.h>
#include <string.h>

struct qv_bo_nodes {
	struct qv_match *engine;
	struct qv_recv recvs[QV_BO_KEYS], *took[QV_BO_KEYS];
	struct qv_msg msgs[QV_BO_KEYS], *pmsgs[QV_BO_KEYS];
	struct qv_offload_key entries[QV_BO_KEYS], queries[QV_BO_KEYS];
	uint32_t expected[QV_BO_KEYS], result[QV_BO_KEYS];
};

int qv_bo_nodes_open(struct qv_bo *bo)
{
	bo->nodes = calloc(1, sizeof(*bo->nodes));
	return bo->nodes ? 0 : -1;
}

void qv_bo_nodes_close(struct qv_bo *bo)
{
	free(bo->nodes);
}

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* unique: every tag once, in another order; same: all alike; wild: 32 tags of 4 sources, and of 10
 * receives 4 ignore the tag, the source or both. */
static void draw_keys(struct qv_bo_nodes *x, const struct qv_bo_case *what, uint64_t seed)
{
	uint64_t state = 88172645463325252u + seed * 977;
	const size_t n = what->size;

	memset(x->entries, 0, n * sizeof(*x->entries));
	for (size_t i = 0; i < n; i++) {
		struct qv_offload_key *e = &x->entries[i];

		if (what->keys == QV_BO_UNIQUE)
			e->tag = i;
		if (what->keys == QV_BO_WILD) {
			e->tag = draw(&state) % 32;
			e->src = (uint32_t)(draw(&state) % 4);
		}
		x->queries[i] = *e;
	}
	for (size_t i = n; what->keys != QV_BO_SAME && i > 1; i--) {
		const size_t j = draw(&state) % i;
		const struct qv_offload_key k = x->queries[j];

		x->queries[j] = x->queries[i - 1];
		x->queries[i - 1] = k;
	}
	for (size_t i = 0; what->keys == QV_BO_WILD && i < n; i++) {
		const uint64_t r = draw(&state) % 10;

		x->entries[i].ignore = r == 0 || r == 1 || r == 2 ? UINT64_MAX : 0;
		x->entries[i].src = r == 2 || r == 3 ? QV_SRC_ANY : x->entries[i].src;
	}
}

/* The receives, oldest first, in a new engine of a structure. */
static int post(struct qv_bo_nodes *x, size_t n, const char *structure)
{
	struct qv_match_settings set;

	qv_match_settings_default(&set);
	set.structure = structure;
	if (qv_match_create(&set, &x->engine))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct qv_msg *none;

		x->recvs[i] = (struct qv_recv){.tag = x->entries[i].tag,
					       .ignore = x->entries[i].ignore,
					       .src = x->entries[i].src};
		x->msgs[i] = (struct qv_msg){.tag = x->queries[i].tag, .src = x->queries[i].src};
		x->pmsgs[i] = &x->msgs[i];
		if (qv_match_post(x->engine, &x->recvs[i], &none))
			return -1;
	}
	return 0;
}

/* The answers of another structure than the one that is measured. */
void qv_bo_match_fill(struct qv_bo *bo, const struct qv_bo_case *what, uint64_t seed)
{
	struct qv_bo_nodes *x = bo->nodes;

	draw_keys(x, what, seed);
	if (post(x, what->size, "hash") == 0)
		qv_match_arrive_many(x->engine, x->pmsgs, what->size, x->took);
	for (size_t i = 0; i < what->size; i++)
		x->expected[i] = x->took[i] ? (uint32_t)(x->took[i] - x->recvs) : QV_OFFLOAD_NONE;
	qv_match_destroy(x->engine);
	x->engine = NULL;
}

static bool by_engine(struct qv_bo *bo, size_t n, bool device, double *seconds)
{
	struct qv_bo_nodes *x = bo->nodes;
	struct qv_offload_stats before = {.batches = 0}, after = {.batches = 1};
	double start;

	if (post(x, n, "auto"))
		return false;
	if (device)
		qv_offload_get_stats(bo->offload, &before);
	start = qv_bench_seconds();
	if (device)
		qv_offload_arrive_many(bo->offload, x->engine, x->pmsgs, n, x->took);
	else
		qv_match_arrive_many(x->engine, x->pmsgs, n, x->took);
	*seconds = qv_bench_seconds() - start;
	if (device)
		qv_offload_get_stats(bo->offload, &after);
	for (size_t i = 0; i < n; i++)
		x->result[i] = x->took[i] ? (uint32_t)(x->took[i] - x->recvs) : QV_OFFLOAD_NONE;
	qv_match_destroy(x->engine);
	x->engine = NULL;
	return after.batches == before.batches + 1;
}

double qv_bo_match(struct qv_bo *bo, const struct qv_bo_case *what, enum qv_bo_impl impl,
		   bool *right)
{
	struct qv_bo_nodes *x = bo->nodes;
	const uint32_t n = (uint32_t)what->size;
	double seconds = 0;
	bool done;

	if (impl == QV_BO_KERNEL) {
		done = !bo->ops->match_batch(bo->dev, x->entries, n, x->queries, n, x->result);
		seconds = 1e-9 * (double)bo->ops->kernel_ns(bo->dev);
	} else {
		done = by_engine(bo, n, impl == QV_BO_WHOLE, &seconds);
	}
	*right = done && !memcmp(x->result, x->expected, n * sizeof(*x->result));
	return done ? seconds : 0;
}
