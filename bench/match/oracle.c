/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * oracle.c - matching over two plain arrays, oldest entry first: it confirms the
 * answers that the builder of a trace wrote down.
 */
#include "match.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	struct qv_bm_key key;
	uint32_t node;
};

struct oracle {
	struct entry *queue[2];
	size_t n[2];
	uint64_t compares;
};

static bool accepts(const struct qv_bm_key *recv, const struct qv_bm_key *msg)
{
	return ((recv->tag ^ msg->tag) & ~recv->ignore) == 0 &&
	       (recv->src == msg->src || recv->src == QV_SRC_ANY);
}

/* Take the oldest entry of the other queue that fits, or append to one's own. */
static uint32_t answer(struct oracle *o, enum qv_bm_op op, struct entry mine)
{
	enum qv_bm_op other = op == QV_BM_POST ? QV_BM_ARRIVE : QV_BM_POST;
	struct entry *queue = o->queue[other];
	size_t n = o->n[other];

	for (size_t i = 0; i < n; i++) {
		uint32_t node = queue[i].node;

		o->compares++;
		if (!(op == QV_BM_POST ? accepts(&mine.key, &queue[i].key)
				       : accepts(&queue[i].key, &mine.key)))
			continue;
		memmove(queue + i, queue + i + 1, (n - i - 1) * sizeof(*queue));
		o->n[other]--;
		o->compares += (n - i) / 4;
		return node + 1;
	}
	o->queue[op][o->n[op]++] = mine;
	return 0;
}

/* The next n operations of one kind. 0; 1: enough; -1: wrong. */
static int run(struct oracle *o, const struct qv_bm_trace *t, enum qv_bm_op op, uint32_t n,
	       size_t *at, uint64_t most)
{
	for (uint32_t i = 0; i < n; i++, ++*at) {
		uint32_t node = t->node[*at];

		if (o->compares > most)
			return 1;
		if (answer(o, op, (struct entry){t->keys[node], node}) != t->expect[*at])
			return -1;
	}
	return 0;
}

static int run_phase(struct oracle *o, const struct qv_bm_trace *t, const struct qv_bm_phase *p,
		     size_t *at, uint64_t most)
{
	enum qv_bm_op second = p->first == QV_BM_POST ? QV_BM_ARRIVE : QV_BM_POST;

	for (uint32_t r = 0; r < p->reps; r++) {
		int rc = run(o, t, p->first, p->n[0], at, most);

		if (!rc)
			rc = run(o, t, second, p->n[1], at, most);
		if (rc)
			return rc;
	}
	return 0;
}

int qv_bm_oracle(const struct qv_bm_trace *t, const char *name, uint64_t compares)
{
	struct oracle o = {.compares = 0};
	size_t at = 0;
	int rc;

	for (int q = 0; q < 2; q++) {
		o.queue[q] = malloc((t->keys_n + 1) * sizeof(struct entry));
		if (!o.queue[q])
			abort();
	}
	rc = run_phase(&o, t, &t->prologue, &at, compares);
	/* The loop twice: it must leave what it found. */
	for (int twice = 0; twice < 2 && !rc; twice++) {
		at = t->prologue_ops;
		for (size_t i = 0; i < t->phases && !rc; i++)
			rc = run_phase(&o, t, &t->loop[i], &at, compares);
	}
	free(o.queue[0]);
	free(o.queue[1]);
	if (rc >= 0)
		return 0;
	fprintf(stderr, "quiver: bench match: the trace of %s is wrong at operation %zu\n", name,
		at);
	return -1;
}
