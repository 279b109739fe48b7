/* SPDX-License-Identifier: BSD-2-Clause */
/* advise.h - what `quiver trace advise` has measured, and who says it. */
#ifndef QV_ADVISE_H
#define QV_ADVISE_H

#include "advice.h"
#include "tools/trace/measure.h"

struct qv_advise_job {
	const struct qv_load *load;
	const struct qv_measure *m;
	const struct qv_measure_figure *list, *ob1, *quiver;
	double *wall;  /* ns of each process */
	size_t judged; /* the process where the list costs most, in the program's time */
	uint64_t posted_max, unexpected_max;
};

/* Answer, costs, setting, assertions and depth in words, to stdout. */
void qv_advise_print(const struct qv_advise_job *j, const struct qv_advice_facts *facts,
		     const struct qv_advice *advice);
/* The same to opts->json_file. 0, or 1 after a line on stderr. */
int qv_advise_json(const struct qv_advise_job *j, const struct qv_advice_facts *facts,
		   const struct qv_advice *advice, const struct qv_bench_opts *opts);

#endif /* QV_ADVISE_H */
