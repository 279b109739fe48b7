/* SPDX-License-Identifier: BSD-2-Clause */
/* vectors_draw.c - random batches of every kind, and the definition of their answers. */
#include "vectors.h"
#include "engine/base/random.h"

#include <string.h>

uint64_t qv_vec_random(struct qv_vec_rnd *rnd)
{
	return qv_random(&rnd->state);
}

static uint32_t below(struct qv_vec_rnd *rnd, uint32_t limit)
{
	return (uint32_t)((qv_vec_random(rnd) >> 32) * limit >> 32);
}

/* Draws are one to a statement: arguments are evaluated in any order. */
static struct qv_offload_key exact(uint64_t tag, uint32_t src)
{
	return (struct qv_offload_key){.tag = tag, .src = src};
}

/* Tags 0, 1, 2 ... spread over all bits, so that no two are alike. */
static uint64_t spread(uint64_t i)
{
	return i * 0x9e3779b97f4a7c15u;
}

static void unique(struct qv_vec_rnd *rnd, struct qv_offload_key *entries, uint32_t n,
		   struct qv_offload_key *queries, uint32_t m)
{
	for (uint32_t i = 0; i < n; i++)
		entries[i] = exact(spread(i), i % 7);
	for (uint32_t i = 0; i < m; i++)
		queries[i] = exact(spread(i), i % 7);
	for (uint32_t i = m; i > 1; i--) {
		uint32_t j = below(rnd, i);
		struct qv_offload_key k = queries[j];

		queries[j] = queries[i - 1];
		queries[i - 1] = k;
	}
}

static void few(struct qv_vec_rnd *rnd, struct qv_offload_key *keys, uint32_t n, uint32_t tags,
		uint32_t srcs)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t tag = below(rnd, tags);

		keys[i] = exact(tag, below(rnd, srcs));
	}
}

/* Turn some of the keys into what MPI_ANY_TAG and MPI_ANY_SOURCE become. */
static void loosen(struct qv_vec_rnd *rnd, struct qv_offload_key *keys, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		switch (below(rnd, 8)) {
		case 0: keys[i].ignore = UINT64_MAX; break;
		case 1: keys[i].src = QV_SRC_ANY; break;
		case 2: keys[i].ignore = 3; break;
		case 3:
			keys[i].ignore = below(rnd, 4) ? 3 : UINT64_MAX;
			keys[i].src = QV_SRC_ANY;
			break;
		}
	}
}

static void masks(struct qv_vec_rnd *rnd, struct qv_offload_key *entries, uint32_t n,
		  struct qv_offload_key *queries, uint32_t m)
{
	static const uint64_t tags[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 32};
	static const uint32_t srcs[] = {0, 1, UINT32_MAX - 1, (uint32_t)1 << 31};

	for (uint32_t i = 0; i < m; i++) {
		const uint64_t tag = tags[below(rnd, 5)];

		queries[i] = exact(tag, srcs[below(rnd, 4)]);
	}
	for (uint32_t i = 0; i < n; i++) {
		entries[i].tag = tags[below(rnd, 5)];
		entries[i] = exact(entries[i].tag, srcs[below(rnd, 4)]);
		/* Few bits are compared, or all but a few, or all. */
		switch (below(rnd, 4)) {
		case 0: entries[i].ignore = ~((uint64_t)1 << below(rnd, 64)); break;
		case 1: entries[i].ignore = (uint64_t)1 << below(rnd, 64); break;
		case 2: entries[i].ignore = qv_vec_random(rnd); break;
		}
		if (below(rnd, 5) == 0)
			entries[i].src = QV_SRC_ANY;
	}
}

void qv_vec_draw(struct qv_vec_rnd *rnd, enum qv_vec_kind kind, struct qv_offload_key *entries,
		 uint32_t n, struct qv_offload_key *queries, uint32_t m)
{
	const uint32_t tags = 1 + below(rnd, 12);
	const uint32_t srcs = 1 + below(rnd, 4);

	switch (kind) {
	case QV_VEC_UNIQUE: unique(rnd, entries, n, queries, m); return;
	case QV_VEC_MASKS: masks(rnd, entries, n, queries, m); return;
	case QV_VEC_SAME:
		few(rnd, entries, n, 1, 1);
		few(rnd, queries, m, 1, 1);
		return;
	default: few(rnd, entries, n, tags, srcs); few(rnd, queries, m, tags, srcs);
	}
	if (kind == QV_VEC_WILD)
		loosen(rnd, entries, n);
	if (kind == QV_VEC_WILD_POST)
		loosen(rnd, queries, m);
}

static int accepts(const struct qv_offload_key *e, const struct qv_offload_key *q)
{
	if (e->src != q->src && e->src != QV_SRC_ANY && q->src != QV_SRC_ANY)
		return 0;
	return (e->tag | e->ignore | q->ignore) == (q->tag | e->ignore | q->ignore);
}

void qv_vec_match(const struct qv_offload_key *entries, uint32_t n,
		  const struct qv_offload_key *queries, uint32_t m, uint8_t *taken,
		  uint32_t *result)
{
	memset(taken, 0, n);
	for (uint32_t q = 0; q < m; q++) {
		result[q] = QV_OFFLOAD_NONE;
		for (uint32_t e = 0; e < n && result[q] == QV_OFFLOAD_NONE; e++)
			if (!taken[e] && accepts(&entries[e], &queries[q]))
				result[q] = e;
		if (result[q] != QV_OFFLOAD_NONE)
			taken[result[q]] = 1;
	}
}
