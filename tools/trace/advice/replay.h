/* SPDX-License-Identifier: BSD-2-Clause */
/* replay.h - how `quiver trace replay` shows what was measured. */
#ifndef QV_REPLAY_H
#define QV_REPLAY_H

#include "tools/trace/measure.h"

void qv_replay_print(const struct qv_measure *m, const struct qv_load *load);
void qv_replay_rows(struct qv_bench *bench, const struct qv_measure *m, const struct qv_load *load);

#endif /* QV_REPLAY_H */
