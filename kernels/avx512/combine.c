/* SPDX-License-Identifier: BSD-2-Clause */
/* combine.c - combine kernels for AVX-512 with BW, DQ and VL: 64 bytes a step. */
#include "kernels/combine_kinds.h"
#include "combine_zmm.h"

QV_KINDS_SMALL(QV_KERNEL_ZMM)
QV_KINDS_LARGE(QV_KERNEL_ZMM)
QV_KINDS_DERIVED

QV_COMBINE_TABLE(avx512);
