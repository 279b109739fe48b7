/* SPDX-License-Identifier: BSD-2-Clause */
/* select.c - const tables per ISA, no state. */
#include "select.h"

#if defined(__AVX__)
#error "only the kernels' own files may be compiled for more than the baseline CPU"
#endif

const struct qv_kern_ops *qv_kern_select(enum qv_isa isa)
{
	return qv_kernels_of[isa == QV_ISA_AUTO ? qv_isa_best() : isa].match;
}

const struct qv_combine *qv_kern_combine_select(enum qv_isa isa)
{
	return qv_kernels_of[isa == QV_ISA_AUTO ? qv_isa_best() : isa].combine;
}
