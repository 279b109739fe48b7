/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_arm64.c - which instruction sets can be run, and their kernels: arm64. Every such CPU has NEON. */
#include "select.h"

const struct qv_kernels qv_kernels_of[QV_N_ISAS] = {
	[QV_ISA_SCALAR] = {&qv_kern_scalar, &qv_combine_scalar},
	[QV_ISA_NEON] = {&qv_kern_neon, &qv_combine_neon},
};

int qv_isa_usable(enum qv_isa isa)
{
	return isa == QV_ISA_AUTO || isa == QV_ISA_SCALAR || isa == QV_ISA_NEON;
}

enum qv_isa qv_isa_best(void)
{
	return QV_ISA_NEON;
}
