/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.c - traces: nodes, operations, phases, and where nodes lie in memory. */
#include "match.h"
#include "engine/base/random.h"

#include <stdlib.h>
#include <string.h>

#define QV_BM_SKEW 33 /* lines: receive i and message i are not to fall into the same cache set */

/* A bench that runs out of memory has no figures to save. */
static void *resized(void *array, size_t n, size_t item)
{
	array = realloc(array, n * item);
	if (!array)
		abort();
	return array;
}

static uint32_t add_key(struct qv_bm_trace *t, struct qv_bm_key key)
{
	if (t->keys_n == t->keys_room) {
		t->keys_room = t->keys_room ? 2 * t->keys_room : 256;
		t->keys = resized(t->keys, t->keys_room, sizeof(key));
	}
	if (key.src != QV_SRC_ANY && key.src >= t->sources)
		t->sources = key.src + 1;
	t->keys[t->keys_n] = key;
	return t->keys_n++;
}

/* All receives are added before the first message. */
uint32_t qv_bm_recv(struct qv_bm_trace *t, struct qv_bm_key key)
{
	t->any_source |= key.src == QV_SRC_ANY;
	t->any_tag |= key.ignore != 0;
	t->recvs_n++;
	return add_key(t, key);
}

uint32_t qv_bm_msg(struct qv_bm_trace *t, struct qv_bm_key key)
{
	return add_key(t, key);
}

void qv_bm_op(struct qv_bm_trace *t, uint32_t node, uint32_t answer)
{
	if (t->ops == t->room) {
		t->room = t->room ? 2 * t->room : 4096;
		t->node = resized(t->node, t->room, sizeof(*t->node));
		t->expect = resized(t->expect, t->room, sizeof(*t->expect));
	}
	t->node[t->ops] = node;
	t->expect[t->ops++] = answer == QV_BM_NONE ? 0 : answer + 1;
}

void qv_bm_phase_add(struct qv_bm_trace *t, enum qv_bm_op first, uint32_t n0, uint32_t n1,
		     uint32_t reps, bool timed)
{
	struct qv_bm_phase *phase = &t->loop[t->phases++];

	*phase = (struct qv_bm_phase){.first = first, .n = {n0, n1}, .reps = reps, .timed = timed};
	t->some_timed |= !timed;
}

/* A case has the same trace in every run. */
uint64_t qv_bm_draw(struct qv_bm_trace *t)
{
	return qv_random(&t->seed) >> 32;
}

uint32_t *qv_bm_shuffled(struct qv_bm_trace *t, uint32_t n)
{
	uint32_t *order = resized(NULL, n ? n : 1, sizeof(*order));

	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = (uint32_t)(qv_bm_draw(t) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

void qv_bm_trace_build(struct qv_bm_trace *t, const struct qv_bm_case *c)
{
	memset(t, 0, sizeof(*t));
	t->seed = 0x9E3779B97F4A7C15u;
	for (const char *p = c->name; *p; p++)
		t->seed = (t->seed ^ (unsigned char)*p) * 0x100000001B3u;
	switch (c->group) {
	case QV_BM_PRQ:
	case QV_BM_UMQ: qv_bm_build_steady(t, c); break;
	case QV_BM_WPRQ:
	case QV_BM_WUMQ: qv_bm_build_wild(t, c); break;
	case QV_BM_APP: qv_bm_build_app(t, c); break;
	default: qv_bm_build_fill(t, c);
	}
	for (size_t i = 0; i < t->phases; i++) {
		size_t ops = ((size_t)t->loop[i].n[0] + t->loop[i].n[1]) * t->loop[i].reps;

		t->loop_ops += ops;
		t->timed_ops += t->loop[i].timed ? ops : 0;
	}
	t->prologue_ops = t->prologue.n[0];
	if (t->prologue_ops + t->loop_ops != t->ops)
		abort(); /* the builder is wrong */
}

void qv_bm_trace_free(struct qv_bm_trace *t)
{
	free(t->keys);
	free(t->node);
	free(t->expect);
	free(t->line);
}

void qv_bm_trace_lay_out(struct qv_bm_trace *t, uint32_t lines, bool scatter)
{
	uint32_t n[2] = {t->recvs_n, t->keys_n - t->recvs_n}, at = 0;

	t->line = resized(NULL, t->keys_n, sizeof(*t->line));
	for (int side = 0; side < 2; side++) {
		uint32_t *order = scatter ? qv_bm_shuffled(t, n[side]) : NULL;

		/* Line 0 stays free: 0 means no node. */
		for (uint32_t i = 0; i < n[side]; i++, at++)
			t->line[at] = lines * (1 + (order ? order[i] : i) + (at - i)) +
				      (side ? QV_BM_SKEW : 0);
		free(order);
	}
	t->arena_lines = lines * (t->keys_n + 2) + QV_BM_SKEW;
	for (size_t i = 0; i < t->ops; i++) {
		t->node[i] = t->line[t->node[i]];
		if (t->expect[i])
			t->expect[i] = t->line[t->expect[i] - 1];
	}
}
