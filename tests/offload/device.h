/* SPDX-License-Identifier: BSD-2-Clause */
/* device.h - what tests of a device share: opening it, comparing, the batches. */
#ifndef QV_DEVICE_H
#define QV_DEVICE_H

#include "kernels/opencl/opencl.h"
#include "vectors.h"

/* The backend that is tested; the OpenCL one if nothing else is said. */
extern const struct qv_offload_ops *qv_device_ops;

/* Open the device, or end the test: 77 if there is none. */
struct qv_offload_dev *qv_device_open(const struct qv_offload_config *config);

/* One batch, compared with `expected`. 0, or 1 after a line on stderr. */
int qv_device_match(struct qv_offload_dev *dev, const struct qv_offload_key *entries, uint32_t n,
		    const struct qv_offload_key *queries, uint32_t m, const uint32_t *expected,
		    const char *what);

/* Every batch of a corpus, each way. How many were wrong. */
int qv_device_corpus_match(struct qv_offload_dev *dev, const char *file);
/* Every array of a corpus. */
int qv_device_corpus_combine(struct qv_offload_dev *dev, const char *file);
/* Random batches of at most `limit` keys on each side. */
int qv_device_random(struct qv_offload_dev *dev, long batches, uint32_t limit, uint64_t seed);
/* Keys that meet in one chain of the index if its secret is known, and spread if it is not; how
 * long no index is tried after one that did not serve. */
int qv_device_flood(struct qv_offload_dev *dev);
/* Every op on every type, lengths around all that the device cuts arrays by; long ones for one pair
 * in `thin`. */
int qv_device_combine(struct qv_offload_dev *dev, int thin);
int qv_device_pack(struct qv_offload_dev *dev, long rounds);

#endif /* QV_DEVICE_H */
