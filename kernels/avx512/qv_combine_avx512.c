/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_combine_avx512.c - combine kernels for AVX-512 with BW, DQ and VL: 64 bytes a step. */
#include "kernels/avx2/qv_combine_kinds.h"
#include "qv_combine_zmm.h"

QV_KINDS_SMALL(QV_KERNEL_ZMM)
QV_KINDS_LARGE(QV_KERNEL_ZMM)
QV_KINDS_DERIVED

QV_COMBINE_TABLE(avx512);
