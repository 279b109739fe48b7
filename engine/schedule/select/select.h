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

struct qv_kept_plan; /* select.c */

struct qv_select {
	struct qv_rule rules[QV_N_COLLS];
	struct qv_network network;
	struct qv_network bursts; /* alpha 0: as network */
	uint64_t era, found;
	struct qv_kept_plan *first; /* the one that was used last is in front */
	size_t n;
	uint64_t *arrive; /* room for those of one call */
	uint32_t arrive_room;
};

/* case.c: the network that the model of this collective looks at. */
const struct qv_network *qv_network_of(const struct qv_select *s, enum qv_coll coll);
/* Whether what is chosen, or how it is built, depends on them. */
int qv_rule_uses_arrivals(const struct qv_rule *rule);
/* Its arrivals are good until the next call. */
int qv_case_make(struct qv_select *s, const struct qv_select_call *call, struct qv_case *c);
/* The same for all ranks. */
int qv_cases_alike(const struct qv_case *a, const struct qv_case *b);

/* choose.c: a message, and combining it where the collective does that. */
double qv_round_seconds(const struct qv_network *network, enum qv_coll coll, double bytes);
/* What is fastest, within the rule. */
int qv_choose(const struct qv_rule *rule, const struct qv_network *network, const struct qv_case *c,
	      struct qv_plan *choice);
/* What is to be built for it. */
void qv_choice_spec(const struct qv_network *network, const struct qv_case *c,
		    const struct qv_plan *choice, struct qv_schedule_spec *spec);

#endif /* QV_SELECT_H */
