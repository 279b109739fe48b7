/* SPDX-License-Identifier: BSD-2-Clause */
/* combine.c - combine kernels for NEON: 16 bytes a step. */
#include "kernels/combine_kinds.h"
#include "combine_q.h"

QV_KINDS_SMALL(QV_KERNEL_Q)
QV_KINDS_LARGE(QV_KERNEL_Q)
QV_KINDS_DERIVED

QV_COMBINE_TABLE(neon);
