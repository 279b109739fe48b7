/* SPDX-License-Identifier: BSD-2-Clause */
/* combine.c - combine kernels for AVX2: 32 bytes a step. */
#include "kernels/combine_kinds.h"
#include "combine_ymm.h"

QV_KINDS_SMALL(QV_KERNEL_YMM)
QV_KINDS_LARGE(QV_KERNEL_YMM)
QV_KINDS_DERIVED

QV_COMBINE_TABLE(avx2);
