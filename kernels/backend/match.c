/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - batches: whether one may be asked, whether an answer can be right, and some whose
 * answers are known. */
#include "backend.h"
#include "engine/base/random.h"

#include <string.h>

#define KEYS 96 /* of a batch whose answer is known */

int qv_backend_batch(struct qv_offload_dev *dev, uint32_t n, uint32_t m)
{
	struct qv_backend_head *head = (struct qv_backend_head *)dev;

	head->kernel_ns = 0;
	if (!n || !m || n > head->caps.max_keys || m > head->caps.max_keys)
		return qv_backend_wrong(dev, QV_EINVAL, "%u entries and %u queries", n, m);
	return head->lost ? QV_EPEER : QV_OK;
}

bool qv_backend_accepts(const struct qv_offload_key *e, const struct qv_offload_key *q)
{
	return ((e->tag ^ q->tag) & ~(e->ignore | q->ignore)) == 0 &&
	       (e->src == q->src || e->src == QV_SRC_ANY || q->src == QV_SRC_ANY);
}

/* As match.cl and the match unit compute it. */
static uint32_t seal_of(uint32_t query, uint32_t entry)
{
	uint32_t x = query * 0x9e3779b1u ^ (entry + 0x7f4a7c15u) * 0x85ebca77u;

	x = (x ^ x >> 15) * 0x2c1b3c6du;
	return x ^ x >> 13;
}

int qv_backend_look(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		    const struct qv_offload_key *queries, uint32_t m, const uint32_t *out,
		    uint32_t seal, uint8_t *taken)
{
	memset(taken, 0, (n + 7) / 8);
	for (uint32_t q = 0; q < m; q++) {
		const uint32_t e = out[q];

		if (e == QV_OFFLOAD_NONE)
			continue;
		if (e >= n || taken[e / 8] >> e % 8 & 1 ||
		    !qv_backend_accepts(&entries[e], &queries[q]))
			return qv_backend_wrong(dev, QV_EIO,
						"a wrong answer: query %u takes entry %u", q, e);
		taken[e / 8] |= (uint8_t)(1u << e % 8);
		seal += seal_of(q, e);
	}
	if (seal != out[m])
		return qv_backend_wrong(dev, QV_EIO, "a wrong answer: its seal does not fit");
	return QV_OK;
}

/* Known answers. */

uint32_t qv_backend_draw(uint64_t *state)
{
	return (uint32_t)(qv_random(state) >> 33);
}

static void draw_keys(struct qv_offload_key *keys, uint32_t tags, bool wild, uint64_t *state)
{
	memset(keys, 0, KEYS * sizeof(*keys));
	for (uint32_t i = 0; i < KEYS; i++) {
		keys[i].tag = (uint64_t)(qv_backend_draw(state) % tags) << (i % 2 ? 0 : 40) | 5;
		keys[i].src = qv_backend_draw(state) % 3;
		if (wild && qv_backend_draw(state) % 4 == 0)
			keys[i].src = QV_SRC_ANY;
		if (wild && qv_backend_draw(state) % 4 == 0)
			keys[i].ignore =
				qv_backend_draw(state) % 2 ? UINT64_MAX : (uint64_t)7 << 40;
	}
}

/* Which entry each query gets, in MPI's order. */
static void match(const struct qv_offload_key *entries, const struct qv_offload_key *queries,
		  uint32_t *result)
{
	bool taken[KEYS] = {false};

	for (uint32_t q = 0; q < KEYS; q++) {
		uint32_t e = 0;

		while (e < KEYS && (taken[e] || !qv_backend_accepts(&entries[e], &queries[q])))
			e++;
		result[q] = e < KEYS ? e : QV_OFFLOAD_NONE;
		if (e < KEYS)
			taken[e] = true;
	}
}

int qv_backend_try(struct qv_offload_dev *dev, uint32_t tags, bool wild, uint64_t *state,
		   bool *right)
{
	const struct qv_offload_ops *ops = ((struct qv_backend_head *)dev)->backend->ops;
	struct qv_offload_key entries[KEYS], queries[KEYS];
	uint32_t expected[KEYS], result[KEYS];
	int err;

	draw_keys(entries, tags, wild, state);
	draw_keys(queries, tags, false, state);
	match(entries, queries, expected);
	err = ops->match_batch(dev, entries, KEYS, queries, KEYS, result);
	*right = !err && !memcmp(result, expected, sizeof(result));
	return err;
}
