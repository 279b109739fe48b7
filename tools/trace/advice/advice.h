/* SPDX-License-Identifier: BSD-2-Clause */
/* advice.h - what to tell of a program whose matching was measured: the judgement, without measuring
 * and without words. */
#ifndef QV_ADVICE_H
#define QV_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What matching costs when somebody does it. */
struct qv_advice_cost {
	double ns;    /* of a message, of all processes */
	double share; /* of the time of the process that is judged; NaN: not known */
};

struct qv_advice_facts {
	struct qv_advice_cost list, ob1, quiver; /* ll, ompi, auto */
	uint64_t messages;                       /* that arrived at the process that is judged */
	double measured;                         /* share of the operations that were measured */
	uint64_t operations, left_out, lost;
	bool whole;
	/* The structure of qv_advice_candidate, or NULL; and, measured once more, its cost in that of
	 * auto, with the high end of the 95 % interval (NaN: not known). */
	const char *cheapest;
	double ratio, ratio_high;
	/* Receives and looks of tagged queues: all, from any source, of any tag. */
	uint64_t wanted, any_source, any_tag;
};

enum qv_advice_answer {
	QV_ADVICE_UNKNOWN, /* no time to compare with */
	QV_ADVICE_EQUAL,   /* the difference does not matter */
	QV_ADVICE_HELPS,
	QV_ADVICE_HURTS,
};

enum qv_advice_doubt {
	QV_ADVICE_SURE,
	QV_ADVICE_NEAR,    /* a little more or less would turn the answer */
	QV_ADVICE_PART,    /* only the first part of the trace was measured */
	QV_ADVICE_MISSING, /* events are missing */
	QV_ADVICE_FEW,     /* few messages: hardly more than a guess */
};

struct qv_advice {
	enum qv_advice_answer over_list,
		over_ob1;               /* what quiver's matching does, instead of theirs */
	const char *structure;          /* to be set; NULL: keep the default */
	bool no_any_source, no_any_tag; /* what the program could assert */
	enum qv_advice_doubt doubt;
};

/* A structure's cost in that of auto, measured beside all others. */
struct qv_advice_trial {
	const char *name;
	double ratio; /* NaN: not known */
};

/*
 * The cheapest of n, if it may be worth a setting: to be measured once more. The cheapest of many is
 * cheap by chance, too; what it costs then is what counts. NULL: none.
 */
const char *qv_advice_candidate(const struct qv_advice_trial *trials, size_t n);

struct qv_advice qv_advise(const struct qv_advice_facts *facts);

#endif /* QV_ADVICE_H */
