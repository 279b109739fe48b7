/* SPDX-License-Identifier: BSD-2-Clause */
/* judge.h - what the figures mean, in words. */
#ifndef QV_REPORT_JUDGE_H
#define QV_REPORT_JUDGE_H

#include "figures.h"

enum qv_judge_tone { QV_JUDGE_NOTHING, QV_JUDGE_NO, QV_JUDGE_LITTLE, QV_JUDGE_YES };

enum { QV_JUDGE_REASONS = 8 };

struct qv_judgement {
	enum qv_judge_tone tone;
	char verdict[256];
	char reason[QV_JUDGE_REASONS][400];
	unsigned reasons;
	/* Whose searches compare most entries, and its share of all of them; lanes_n: nobody's. */
	uint32_t lane;
	uint64_t steps, all;
};

/* Names of a trace are in none of the texts. */
void qv_judge(struct qv_judgement *j, const struct qv_figures *f);
/* "rank 3", or "process 1234" where the rank is not known; in text[size], which it returns. */
const char *qv_judge_name(const struct qv_figures_process *p, char *text, size_t size);

#endif /* QV_REPORT_JUDGE_H */
