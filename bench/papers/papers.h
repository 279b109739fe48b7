/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * papers.h - `quiver bench match --papers`: the quantitative results of the papers whose
 * structures quiver has, measured again, each with the paper's figure beside ours.
 */
#ifndef BENCH_PAPERS_H
#define BENCH_PAPERS_H

#include "bench/common/bench.h"

/*
 * Measure, print, write JSON as *opts say (--filter takes names of groups, such as q10 or mb*).
 * Returns the exit status: 0 done, whether or not a bound was met; 1 a wrong answer or a file that
 * cannot be written; 2 bad use.
 */
int qv_bench_papers(struct qv_bench_opts *opts);

#endif /* BENCH_PAPERS_H */
