/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selftest.c - before a card is believed: what its kernels are, batches and arrays whose
 * answers are known, and what its floating-point cores make of denormals.
 */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define KEYS  96
#define ROUND 6

/* A run without keys says version and depth. */
static int ask_version(struct qv_offload_dev *dev)
{
	const uint32_t number[3] = {0, 0, 1};
	struct qv_xrt_slot *s = &dev->batch;
	uint32_t *out;
	int err = QV_OK;

	for (int i = 0; i < 3 && !err; i++)
		err = qv_xrt_room(dev, s, i, sizeof(struct qv_hls_key));
	if (err)
		return err;
	out = s->bo[2].map;
	memset(out, 0, QV_HLS_MATCH_WORDS * sizeof(*out));
	err = qv_xrt_start(dev, s, number);
	if (!err)
		err = qv_xrt_wait(dev, s);
	if (!err)
		err = qv_xrt_sync(dev, s, 2, QV_XRT_FROM_DEVICE, QV_HLS_MATCH_WORDS * sizeof(*out));
	if (err)
		return err;
	if (out[QV_HLS_MATCH_VERSION] != QV_HLS_VERSION)
		return qv_backend_wrong(dev, QV_EIO,
					"the bitstream's kernels have version %#x, not %#x",
					out[QV_HLS_MATCH_VERSION], QV_HLS_VERSION);
	dev->depth = out[QV_HLS_MATCH_DEPTH];
	if (!dev->depth || dev->depth > QV_XRT_MAX_KEYS)
		return qv_backend_wrong(dev, QV_EIO, "the match unit says it holds %u entries",
					dev->depth);
	return QV_OK;
}

/* Match. */

static int test_match(struct qv_offload_dev *dev)
{
	uint64_t state = 1;
	int err = QV_OK;

	for (uint32_t round = 0; round < ROUND && !err; round++) {
		bool right;

		err = qv_backend_try(dev, round % 2 ? 1 : 9, round < 3, &state, &right);
		if (!err && !right)
			err = qv_backend_wrong(dev, QV_EIO,
					       "the card fails a test of its match unit");
	}
	return err;
}

/* Combine. */

static int test_combine(struct qv_offload_dev *dev)
{
	uint64_t a[KEYS], b[KEYS], result[KEYS];
	uint64_t state = 2;
	size_t done;
	int err;

	for (int i = 0; i < KEYS; i++) {
		a[i] = (uint64_t)qv_backend_draw(&state) << 33 | qv_backend_draw(&state);
		b[i] = (uint64_t)qv_backend_draw(&state) << 33 | qv_backend_draw(&state);
	}
	err = qv_backend_combine(dev, QV_OP_SUM, QV_TYPE_UINT64, result, a, b, KEYS, &done);
	for (int i = 0; i < KEYS && !err; i++)
		if (result[i] != a[i] + b[i])
			err = qv_backend_wrong(dev, QV_EIO,
					       "the card fails a test of its combine unit");
	return err;
}

/* Whether the smallest denormal, added to itself and multiplied by one, is kept. The samples would
 * call it a wrong answer otherwise, which is one here. */
static int keeps(struct qv_offload_dev *dev, enum qv_type type, const void *small, const void *one,
		 bool *ok)
{
	char result[8];
	size_t done;
	int err;

	*ok = true;
	err = qv_backend_combine(dev, QV_OP_SUM, type, result, small, small, 1, &done);
	if (!err)
		err = qv_backend_combine(dev, QV_OP_PROD, type, result, small, one, 1, &done);
	*ok = !err;
	return err == QV_EIO ? QV_OK : err;
}

static int test_reals(struct qv_offload_dev *dev)
{
	const uint32_t small_float = 1;
	const uint64_t small_double = 1;
	const float one_float = 1;
	const double one_double = 1;
	bool float_ok = false, double_ok = false;
	int err;

	dev->float_ok = dev->double_ok = true; /* to be asked */
	err = keeps(dev, QV_TYPE_FLOAT, &small_float, &one_float, &float_ok);
	if (!err)
		err = keeps(dev, QV_TYPE_DOUBLE, &small_double, &one_double, &double_ok);
	dev->float_ok = float_ok;
	dev->double_ok = double_ok;
	return err;
}

int qv_xrt_selftest(struct qv_offload_dev *dev)
{
	int err = ask_version(dev);

	if (!err)
		err = test_match(dev);
	if (!err)
		err = test_combine(dev);
	return err ? err : test_reals(dev);
}
