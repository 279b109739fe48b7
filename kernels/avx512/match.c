/* SPDX-License-Identifier: BSD-2-Clause */
/* match.c - compare kernels for AVX-512 with BW, DQ and VL (Skylake-SP, Zen
 * 4 and later). */
#include "match_zmm.h"

QV_MATCH_KERNELS(avx512);
