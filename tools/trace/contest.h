/* SPDX-License-Identifier: BSD-2-Clause */
/* contest.h - implementations on all lanes of a trace: each is checked, then takes turns. */
#ifndef QV_CONTEST_H
#define QV_CONTEST_H

#include "measure.h"
#include "pass.h"
#include "sources.h"

#define QV_CONTEST_ROUNDS 1000

struct qv_contestant {
	const struct qv_bm_impl *impl;
	bool in, wrong;
	char answer[2 * QV_BENCH_NAME]; /* "checked", or why it is not in */
	struct qv_pass_counts counts;
	/* Of its turns: ns of an operation; ns of each process; ns of an operation in each piece. */
	double *means, *process_ns;
	size_t rounds;
	float *samples;
	size_t samples_n, samples_room;
};

struct qv_contest {
	const struct qv_load *load;
	struct qv_bm_impls impls;
	struct qv_contestant *at;
	size_t n;
	struct qv_lane_sources *sources; /* of each lane */
	struct qv_pass_arena arena;
	double share; /* of the operations of each lane */
};

/* For the implementations that c->impls has. Without memory these end the program, with a line. */
void qv_contest_begin(struct qv_contest *c, struct qv_tag_bits collective);
void qv_contest_end(struct qv_contest *c);

/* Operations of this lane that are measured: its first ones. */
size_t qv_contest_ops(const struct qv_contest *c, const struct qv_load_lane *lane);

/* Every answer, in so much CPU time. Returns the part that was done; less than 1, it is out. */
double qv_contest_check(struct qv_contest *c, struct qv_contestant *one, double ns);

/* One round of one that is in. */
void qv_contest_turn(struct qv_contest *c, struct qv_contestant *one);

#endif /* QV_CONTEST_H */
