/* SPDX-License-Identifier: BSD-2-Clause */
/* isa.h - instruction set of the compare kernels: what this CPU has and how to name it. */
#ifndef QUIVER_ISA_H
#define QUIVER_ISA_H

#include <quiver/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum qv_isa {
	QV_ISA_AUTO = 0,   /* the widest that CPU and operating system allow */
	QV_ISA_SCALAR = 1, /* plain C, the specification of all others */
	QV_ISA_AVX2 = 2,
	QV_ISA_AVX512F = 3, /* AVX-512 Foundation only: legal on Knights Landing */
	QV_ISA_AVX512 = 4,  /* AVX-512 F, BW, DQ and VL: Skylake-SP, Zen 4 and later */
	QV_ISA_NEON = 5,    /* of every arm64 CPU */
};

/* Name as used in FI_QUIVER_ISA: auto, scalar, avx2, avx512f, avx512, neon; static storage. NULL
 * if isa is unknown. */
QV_API const char *qv_isa_name(enum qv_isa isa);

/*
 * Parse such a name.
 *   name  text, in lower case
 *   isa   out: what it names
 * QV_EINVAL: it is none of them.
 */
QV_API int qv_isa_parse(const char *name, enum qv_isa *isa);

/* 1 if this CPU, operating system (xgetbv) and build can run isa, 0 if not or if there is no such
 * isa. QV_ISA_AUTO and QV_ISA_SCALAR are always 1. */
QV_API int qv_isa_usable(enum qv_isa isa);

/* The instruction set that QV_ISA_AUTO stands for here; never QV_ISA_AUTO itself. */
QV_API enum qv_isa qv_isa_best(void);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_ISA_H */
