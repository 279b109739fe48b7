/* SPDX-License-Identifier: BSD-2-Clause */
/* cpu_any.c - which instruction sets can be run, and their kernels: any other processor, which
 * gets plain C. */
#include "select.h"

const struct qv_kernels qv_kernels_of[QV_N_ISAS] = {
	[QV_ISA_SCALAR] = {&qv_kern_scalar, &qv_combine_scalar},
};

int qv_isa_usable(enum qv_isa isa)
{
	return isa == QV_ISA_AUTO || isa == QV_ISA_SCALAR;
}

enum qv_isa qv_isa_best(void)
{
	return QV_ISA_SCALAR;
}
