/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * combine_foundation.c - combine kernels for CPUs with AVX-512 Foundation only (Knights Landing):
 * 64 bytes a step, and 32 with AVX2's instructions where lanes have 8 or 16 bits.
 */
#include "kernels/combine_kinds.h"
#include "combine_zmm.h"

QV_KINDS_SMALL(QV_KERNEL_YMM)
QV_KINDS_LARGE(QV_KERNEL_ZMM)
QV_KINDS_DERIVED

QV_COMBINE_TABLE(avx512f);
