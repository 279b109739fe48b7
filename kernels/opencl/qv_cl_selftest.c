/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_cl_selftest.c - before a device is believed: batches with wildcards and with keys that are all
 * alike, each way, compared with a plain loop.
 */
#include "qv_cl.h"
#include "kernels/samples/qv_samples.h"

#include <string.h>

#define KEYS 96

int qv_cl_selftest(struct qv_offload_dev *dev)
{
	struct qv_offload_key entries[KEYS], queries[KEYS];
	uint32_t expected[KEYS], result[KEYS];
	uint64_t state = 1;
	int err = QV_OK;

	for (uint32_t round = 0; round < 8 && !err; round++) {
		qv_samples_keys(entries, KEYS, round < 4 ? 9 : 1, round < 4, &state);
		qv_samples_keys(queries, KEYS, round < 4 ? 9 : 1, false, &state);
		qv_samples_match(entries, queries, KEYS, expected);
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
