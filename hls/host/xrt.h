/* SPDX-License-Identifier: BSD-2-Clause */
/* xrt.h - the backend of <quiver/offload.h> for FPGAs, by XRT. */
#ifndef QV_XRT_H
#define QV_XRT_H

#include <quiver/offload.h>

extern const struct qv_offload_ops qv_xrt_ops;

#endif /* QV_XRT_H */
