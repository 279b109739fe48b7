/* SPDX-License-Identifier: BSD-2-Clause */
/* opencl.h - the OpenCL backend of <quiver/offload.h>. */
#ifndef QV_OPENCL_H
#define QV_OPENCL_H

#include <quiver/offload.h>

extern const struct qv_offload_ops qv_opencl_ops;

/* For the test that compares them: which way match_batch goes. */
enum qv_opencl_way {
	QV_OPENCL_AUTO = 0,
	QV_OPENCL_SMALL = 1, /* one launch; batches that are too large for it go the next way */
	QV_OPENCL_LARGE = 2, /* three launches */
	QV_OPENCL_BITS = 3,  /* bit matrix */
	QV_OPENCL_INDEX = 4, /* hash table; batches that it does not serve go another way */
};
#define QV_OPENCL_WAYS 5
void qv_opencl_force(struct qv_offload_dev *dev, enum qv_opencl_way way);

/* The same for checkers of memory: every buffer has as many bytes as are used, no more. */
void qv_opencl_exact(struct qv_offload_dev *dev);

/* How many batches have gone each way. */
struct qv_opencl_ways {
	uint64_t small, large, bits, index;
	uint64_t again; /* of index: gave up, and went another way after that */
};
void qv_opencl_count(const struct qv_offload_dev *dev, struct qv_opencl_ways *ways);

/* For the test that makes keys collide: the secret of the index's hash. */
void qv_opencl_secret(struct qv_offload_dev *dev, const uint64_t secret[2]);

#endif /* QV_OPENCL_H */
