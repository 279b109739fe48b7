/* SPDX-License-Identifier: BSD-2-Clause */
/* select.h - from an ISA to its tables of kernels. */
#ifndef QV_KERN_SELECT_H
#define QV_KERN_SELECT_H

#include <quiver/isa.h>

#include "kern.h"
#include "combine.h"

#define QV_N_ISAS ((int)QV_ISA_NEON + 1)

/* What this build has of an ISA: both, or neither. Defined with qv_isa_usable and qv_isa_best, in one
 * of cpu_x86.c, cpu_arm64.c and cpu_any.c. */
struct qv_kernels {
	const struct qv_kern_ops *match;
	const struct qv_combine *combine;
};

extern const struct qv_kernels qv_kernels_of[QV_N_ISAS];

/* The kernels of isa (QV_ISA_AUTO: the best here). The caller has checked qv_isa_usable. */
const struct qv_kern_ops *qv_kern_select(enum qv_isa isa);

/* The same for combine. */
const struct qv_combine *qv_kern_combine_select(enum qv_isa isa);

#endif /* QV_KERN_SELECT_H */
