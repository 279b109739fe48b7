/* SPDX-License-Identifier: BSD-2-Clause */
/* side.h - which of the two queues: an index of arrays that have one thing for each. */
#ifndef QV_SIDE_H
#define QV_SIDE_H

enum qv_side { QV_POSTED, QV_UNEXPECTED };

#endif /* QV_SIDE_H */
