/* SPDX-License-Identifier: BSD-2-Clause */
/* select.c - const tables per ISA, no state. */
#include "select.h"

#if defined(__AVX__)
#error "only the kernels' own files may be compiled for more than the baseline CPU"
#endif

const struct qv_kern_ops *qv_kern_select(enum qv_isa isa)
{
	if (isa == QV_ISA_AUTO)
		isa = qv_isa_best();
	switch (isa) {
	case QV_ISA_AVX2: return &qv_kern_avx2;
	case QV_ISA_AVX512F: return &qv_kern_avx512f;
#ifndef QV_KNL
	case QV_ISA_AVX512: return &qv_kern_avx512;
#endif
	default: return &qv_kern_scalar;
	}
}

const struct qv_combine *qv_kern_combine_select(enum qv_isa isa)
{
	if (isa == QV_ISA_AUTO)
		isa = qv_isa_best();
	switch (isa) {
	case QV_ISA_AVX2: return &qv_combine_avx2;
	case QV_ISA_AVX512F: return &qv_combine_avx512f;
#ifndef QV_KNL
	case QV_ISA_AVX512: return &qv_combine_avx512;
#endif
	default: return &qv_combine_scalar;
	}
}
