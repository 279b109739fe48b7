/* SPDX-License-Identifier: BSD-2-Clause */
/* cost.h - what matching by each structure costs on these traces, measured here. */
#ifndef QV_REPORT_COST_H
#define QV_REPORT_COST_H

#include <stdio.h>

#include "tools/trace/measure.h"

struct qv_cost {
	bool known;
	char why[512]; /* not known: why, a sentence; empty: nobody has asked */
	struct qv_load load;
	struct qv_measure m;
};

/*
 * Replay the files.
 *   seconds  about so long
 * *c is to be freed in any case.
 */
void qv_cost_measure(struct qv_cost *c, char *const *files, size_t n, double seconds);
void qv_cost_free(struct qv_cost *c);

#endif /* QV_REPORT_COST_H */
