/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_cl_selftest.c - before a device is believed: batches with wildcards and with keys that are all
 * alike, each way, compared with a plain loop.
 */
#include "qv_cl.h"

#include <string.h>

#define KEYS 96

static uint32_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* tags: how many different ones. */
static void fill(struct qv_offload_key *keys, uint32_t n, uint32_t tags, bool wild, uint64_t *state)
{
	memset(keys, 0, n * sizeof(*keys));
	for (uint32_t i = 0; i < n; i++) {
		keys[i].tag = (uint64_t)(draw(state) % tags) << (i % 2 ? 0 : 40) | 5;
		keys[i].src = draw(state) % 3;
		if (wild && draw(state) % 4 == 0)
			keys[i].src = QV_SRC_ANY;
		if (wild && draw(state) % 4 == 0)
			keys[i].ignore = draw(state) % 2 ? UINT64_MAX : (uint64_t)7 << 40;
	}
}

static void expect(const struct qv_offload_key *entries, const struct qv_offload_key *queries,
		   uint32_t n, uint32_t *result)
{
	bool taken[KEYS] = {false};

	for (uint32_t q = 0; q < n; q++) {
		result[q] = QV_OFFLOAD_NONE;
		for (uint32_t e = 0; e < n && result[q] == QV_OFFLOAD_NONE; e++) {
			const uint64_t apart = (entries[e].tag ^ queries[q].tag) &
					       ~(entries[e].ignore | queries[q].ignore);

			if (!taken[e] && !apart &&
			    (entries[e].src == queries[q].src || entries[e].src == QV_SRC_ANY))
				result[q] = e;
		}
		if (result[q] != QV_OFFLOAD_NONE)
			taken[result[q]] = true;
	}
}

int qv_cl_selftest(struct qv_offload_dev *dev)
{
	struct qv_offload_key entries[KEYS], queries[KEYS];
	uint32_t expected[KEYS], result[KEYS];
	uint64_t state = 1;
	int err = QV_OK;

	for (uint32_t round = 0; round < 8 && !err; round++) {
		fill(entries, KEYS, round < 4 ? 9 : 1, round < 4, &state);
		fill(queries, KEYS, round < 4 ? 9 : 1, false, &state);
		expect(entries, queries, KEYS, expected);
		dev->force = QV_OPENCL_SMALL + round % 4;
		err = qv_cl_match_batch(dev, entries, KEYS, queries, KEYS, result);
		if (!err && memcmp(result, expected, sizeof(result)))
			err = qv_cl_wrong(dev, QV_EIO,
					  "the device fails a test of its kernels (way %d)",
					  (int)dev->force);
	}
	dev->force = QV_OPENCL_AUTO;
	memset(&dev->ways, 0, sizeof(dev->ways));
	return err;
}
