/* SPDX-License-Identifier: BSD-2-Clause */
/* count.h - one event after the other is added to the figures. */
#ifndef QV_REPORT_COUNT_H
#define QV_REPORT_COUNT_H

#include "figures.h"

/* f has the times of all events, and its sources and tags are chosen. False: no memory. */
bool qv_figures_count(struct qv_figures *f, struct qv_figures_lane *lane,
		      const struct qv_trace_event *event);
/* After the last one: sums over lanes. */
void qv_figures_sum_up(struct qv_figures *f);

#endif /* QV_REPORT_COUNT_H */
