/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_opencl.c - the OpenCL backend on whatever device there is.
 *
 *     test_opencl corpus FILE          the vector corpus, every way
 *     test_opencl random N LIMIT SEED  random batches (N times QV_TEST_SCALE)
 *     test_opencl flood                keys that are made to meet in one chain of the index
 *     test_opencl combine              every op on every type, long arrays
 *     test_opencl pack N               messages packed and unpacked
 * QV_TEST_OPENCL names the library to open, where it is not libOpenCL.so.1; QV_TEST_DEVICE the
 * device, as FI_QUIVER_OFFLOAD_DEVICE does. With QV_TEST_EXACT
 * buffers have no byte more than is used.
 */
#include "device.h"

#include <stdlib.h>
#include <string.h>

static long scaled(const char *text)
{
	const char *scale = getenv("QV_TEST_SCALE");
	const long n = (long)((double)atol(text) * (scale ? atof(scale) : 1));

	return n < 1 ? 1 : n;
}

int main(int argc, char **argv)
{
	const struct qv_offload_config config = {.library = getenv("QV_TEST_OPENCL"),
						 .device = getenv("QV_TEST_DEVICE"),
						 .timeout_ms = 60000};
	struct qv_offload_dev *dev;
	int wrong = 0;

	if (argc < 2)
		return 2;
	dev = qv_device_open(&config);
	if (getenv("QV_TEST_EXACT"))
		qv_opencl_exact(dev);
	if (argc == 3 && !strcmp(argv[1], "corpus"))
		wrong = qv_device_corpus_match(dev, argv[2]) +
			qv_device_corpus_combine(dev, argv[2]);
	else if (argc == 5 && !strcmp(argv[1], "random"))
		wrong = qv_device_random(dev, scaled(argv[2]), (uint32_t)atol(argv[3]),
					 (uint64_t)atol(argv[4]));
	else if (!strcmp(argv[1], "flood"))
		wrong = qv_device_flood(dev);
	else if (!strcmp(argv[1], "combine"))
		wrong = qv_device_combine(dev, 1);
	else if (argc == 3 && !strcmp(argv[1], "pack"))
		wrong = qv_device_pack(dev, scaled(argv[2]));
	else
		wrong = 2;
	qv_opencl_ops.close(dev);
	return wrong ? 1 : 0;
}
