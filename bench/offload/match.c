/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * match.c - a batch of messages against as many posted receives, or of receives
 * against as many unexpected messages: by the engine, by the engine with a device, and what the
 * device's kernels took of that.
 *
 * Filling the queue is not timed. The CPU's time is that of calls to an engine that is asked as
 * usual; the device's has all that it needs on top: reading the queue, the way there and back, and
 * the engine.
 */
#include "offload.h"

#include <quiver/match.h>

#include <stdlib.h>
#include <string.h>

struct qv_bo_nodes {
	struct qv_match *engine;
	struct qv_recv recvs[QV_BO_KEYS], *precvs[QV_BO_KEYS];
	struct qv_msg msgs[QV_BO_KEYS], *pmsgs[QV_BO_KEYS];
	struct qv_recv *took_recvs[QV_BO_KEYS]; /* what each call has given */
	struct qv_msg *took_msgs[QV_BO_KEYS];
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
		struct qv_offload_key *k = what->posts ? &x->queries[i] : &x->entries[i];
		const uint64_t r = draw(&state) % 10;

		k->ignore = r == 0 || r == 1 || r == 2 ? UINT64_MAX : 0;
		k->src = r == 2 || r == 3 ? QV_SRC_ANY : k->src;
	}
}

/* The entries, oldest first, in a new engine of a structure. */
static int begin(struct qv_bo_nodes *x, const struct qv_bo_case *what, const char *structure)
{
	const struct qv_offload_key *recvs = what->posts ? x->queries : x->entries;
	const struct qv_offload_key *msgs = what->posts ? x->entries : x->queries;
	struct qv_match_settings set;
	int err = QV_OK;

	qv_match_settings_default(&set);
	set.structure = structure;
	if (qv_match_create(&set, &x->engine))
		return -1;
	for (size_t i = 0; i < what->size && !err; i++) {
		struct qv_msg *none;

		x->recvs[i] = (struct qv_recv){
			.tag = recvs[i].tag, .ignore = recvs[i].ignore, .src = recvs[i].src};
		x->msgs[i] = (struct qv_msg){.tag = msgs[i].tag, .src = msgs[i].src};
		x->precvs[i] = &x->recvs[i];
		x->pmsgs[i] = &x->msgs[i];
		err = what->posts ? qv_match_queue(x->engine, &x->msgs[i])
				  : qv_match_post(x->engine, &x->recvs[i], &none);
	}
	return err;
}

/* The queries, to the engine alone or with the device. */
static void calls(struct qv_bo_nodes *x, const struct qv_bo_case *what, struct qv_offload *o)
{
	if (what->posts && o)
		qv_offload_post_many(o, x->engine, x->precvs, what->size, x->took_msgs);
	else if (what->posts)
		qv_match_post_many(x->engine, x->precvs, what->size, x->took_msgs);
	else if (o)
		qv_offload_arrive_many(o, x->engine, x->pmsgs, what->size, x->took_recvs);
	else
		qv_match_arrive_many(x->engine, x->pmsgs, what->size, x->took_recvs);
}

/* The engine is done with: which entries were given. */
static void end(struct qv_bo_nodes *x, const struct qv_bo_case *what, uint32_t *result)
{
	for (size_t i = 0; i < what->size; i++) {
		const struct qv_msg *msg = x->took_msgs[i];
		const struct qv_recv *recv = x->took_recvs[i];

		if (what->posts)
			result[i] = msg ? (uint32_t)(msg - x->msgs) : QV_OFFLOAD_NONE;
		else
			result[i] = recv ? (uint32_t)(recv - x->recvs) : QV_OFFLOAD_NONE;
	}
	qv_match_destroy(x->engine);
	x->engine = NULL;
}

/* The answers of another structure than the one that is measured: one that wildcards do not slow down
 * more than the rest. */
void qv_bo_match_fill(struct qv_bo *bo, const struct qv_bo_case *what, uint64_t seed)
{
	struct qv_bo_nodes *x = bo->nodes;

	draw_keys(x, what, seed);
	memset(x->took_msgs, 0, what->size * sizeof(*x->took_msgs));
	memset(x->took_recvs, 0, what->size * sizeof(*x->took_recvs));
	if (begin(x, what, "llv") == 0)
		calls(x, what, NULL);
	end(x, what, x->expected);
}

static bool by_engine(struct qv_bo *bo, const struct qv_bo_case *what, struct qv_offload *o,
		      double *seconds)
{
	struct qv_offload_stats before = {.batches = 0}, after = {.batches = 1};
	struct qv_bo_nodes *x = bo->nodes;
	double start;

	if (begin(x, what, "auto"))
		return false;
	if (o)
		qv_offload_get_stats(o, &before);
	start = qv_bench_seconds();
	calls(x, what, o);
	*seconds = qv_bench_seconds() - start;
	if (o)
		qv_offload_get_stats(o, &after);
	end(x, what, x->result);
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
		done = by_engine(bo, what, impl == QV_BO_WHOLE ? bo->offload : NULL, &seconds);
	}
	*right = done && !memcmp(x->result, x->expected, n * sizeof(*x->result));
	return done ? seconds : 0;
}
