/* SPDX-License-Identifier: BSD-2-Clause */
/* tb.h - what the test benches of the kernels share. */
#ifndef QV_TB_HLS_H
#define QV_TB_HLS_H

#include "hls/qv_hls_flow.h"
#include "tests/offload/vectors.h"

#include <cstdlib>

static inline long qv_tb_scaled(const char *text)
{
	const char *scale = std::getenv("QV_TEST_SCALE");
	const long n = static_cast<long>(static_cast<double>(std::atol(text)) *
					 (scale ? std::atof(scale) : 1));

	return n < 1 ? 1 : n;
}

#endif /* QV_TB_HLS_H */
