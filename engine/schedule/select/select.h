/* SPDX-License-Identifier: BSD-2-Clause */
/* select.h - parts of the selection. Inside of engine/schedule only. */
#ifndef QV_SELECT_H
#define QV_SELECT_H

#include <quiver/select.h>

/* engine/schedule/time/network.c: whether it can be one. */
int qv_network_valid(const struct qv_network *network);

#define QV_RADIX_FACTORS 30 /* of a number below 2^31 */

/* What the user asks of one operation. */
struct qv_rule {
	int given; /* something is said of this operation */
	int named; /* not 0: this algorithm; else whichever is fastest */
	enum qv_algorithm algorithm;
	int faithful;
	uint32_t k, pace; /* as in struct qv_schedule_spec; 0: the usual */
	/* Of QV_ALG_RADIX: the factors that are named, and their product; 0: none are. */
	uint32_t radix[QV_RADIX_FACTORS], product;
	size_t radix_n;
};

/* rules.c: parse, as qv_select_open. */
int qv_rules_parse(const char *text, struct qv_rule *rules, char *why, size_t room);

/* A call in the form in which it is looked up: what makes no difference is the same. */
struct qv_case {
	uint64_t group;
	enum qv_coll coll;
	uint32_t ranks, rank, root;
	int ordered;
	double bytes;     /* one length for all of a size class */
	uint64_t *arrive; /* from 0, in units; NULL: all at once */
	double unit;      /* s */
	/* Of a gather or scatter: what a message takes behind others; NULL: as one alone. */
	const struct qv_network *bursts;
	const uint32_t *load; /* as of struct qv_schedule_spec; looked at while a plan is made */
};

/* choose.c: a message, and combining it where the collective does that. */
double qv_round_seconds(const struct qv_network *network, enum qv_coll coll, double bytes);
/* What is fastest, within the rule. */
int qv_choose(const struct qv_rule *rule, const struct qv_network *network, const struct qv_case *c,
	      struct qv_plan *choice);
/* What is to be built for it. */
void qv_choice_spec(const struct qv_network *network, const struct qv_case *c,
		    const struct qv_plan *choice, struct qv_schedule_spec *spec);

#endif /* QV_SELECT_H */
