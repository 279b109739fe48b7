/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_xrt.c - the XRT backend on the double of XRT's library, or on that with the real one behind.
 *
 *     test_xrt corpus LIBRARY XCLBIN FILE           the vector corpus
 *     test_xrt random LIBRARY XCLBIN N LIMIT SEED   random batches (N times QV_TEST_SCALE)
 *     test_xrt combine LIBRARY XCLBIN               every op on every type, long arrays
 *     test_xrt refuse LIBRARY XCLBIN TEXT           it cannot be opened, for a reason with TEXT in
 * it
 */
#include "tests/offload/device.h"
#include "hls/host/xrt.h"

#include <stdlib.h>
#include <string.h>

static long scaled(const char *text)
{
	const char *scale = getenv("QV_TEST_SCALE");
	const long n = (long)((double)atol(text) * (scale ? atof(scale) : 1));

	return n < 1 ? 1 : n;
}

static int refuse(const struct qv_offload_config *config, const char *text)
{
	struct qv_offload_dev *dev;
	char why[512] = "";
	const int err = qv_xrt_ops.open(config, &dev, why, sizeof(why));

	printf("refused: %s\n", why);
	if (!err)
		qv_xrt_ops.close(dev);
	return !err || !strstr(why, text);
}

int main(int argc, char **argv)
{
	struct qv_offload_config config = {.timeout_ms = 60000};
	struct qv_offload_dev *dev;
	int wrong = 0;

	if (argc < 4)
		return 2;
	config.library = argv[2];
	config.bitstream = argv[3];
	qv_device_ops = &qv_xrt_ops;
	if (argc == 5 && !strcmp(argv[1], "refuse"))
		return refuse(&config, argv[4]);
	/* Not qv_device_open: there is always a device. */
	char why[512] = "";
	if (qv_xrt_ops.open(&config, &dev, why, sizeof(why))) {
		fprintf(stderr, "cannot be opened: %s\n", why);
		return 1;
	}
	printf("%s (%s)\n", qv_xrt_ops.caps(dev)->name, qv_xrt_ops.caps(dev)->version);
	if (argc == 5 && !strcmp(argv[1], "corpus"))
		wrong = qv_device_corpus_match(dev, argv[4]) +
			qv_device_corpus_combine(dev, argv[4]);
	else if (argc == 7 && !strcmp(argv[1], "random"))
		wrong = qv_device_random(dev, scaled(argv[4]), (uint32_t)atol(argv[5]),
					 (uint64_t)atol(argv[6]));
	else if (!strcmp(argv[1], "combine"))
		wrong = qv_device_combine(dev, 10);
	else
		wrong = 2;
	qv_xrt_ops.close(dev);
	return wrong ? 1 : 0;
}
