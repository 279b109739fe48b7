/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_combine_avx512f.c - combine kernels for CPUs with AVX-512 Foundation only (Knights Landing):
 * 64 bytes a step, and 32 with AVX2's instructions where lanes have 8 or 16 bits.
 */
#include "kernels/avx2/qv_combine_kinds.h"
#include "qv_combine_zmm.h"

QV_KINDS_SMALL(QV_KERNEL_YMM)
QV_KINDS_LARGE(QV_KERNEL_ZMM)
QV_KINDS_DERIVED

QV_COMBINE_TABLE(avx512f);
