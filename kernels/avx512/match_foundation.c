/* SPDX-License-Identifier: BSD-2-Clause */
/* match_foundation.c - compare kernels for CPUs with AVX-512 Foundation only (Knights Landing). */
#include "match_zmm.h"

QV_MATCH_KERNELS(avx512f);
