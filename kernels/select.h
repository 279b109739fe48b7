/* SPDX-License-Identifier: BSD-2-Clause */
/* select.h - from an ISA to its tables of kernels. */
#ifndef QV_KERN_SELECT_H
#define QV_KERN_SELECT_H

#include <quiver/isa.h>

#include "kern.h"
#include "combine.h"

/* The kernels of isa (QV_ISA_AUTO: the best here). The caller has checked qv_isa_usable. */
const struct qv_kern_ops *qv_kern_select(enum qv_isa isa);

/* The same for combine. */
const struct qv_combine *qv_kern_combine_select(enum qv_isa isa);

#endif /* QV_KERN_SELECT_H */
