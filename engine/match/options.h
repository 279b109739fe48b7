/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h - what may follow the colon in the name of a structure (match.h lists it). */
#ifndef QV_OPTIONS_H
#define QV_OPTIONS_H

#include <stdint.h>

enum qv_list_kind { QV_LIST_LL, QV_LIST_LLA, QV_LIST_LLV };

/* Above which of all sources' counts does a source become a partner? */
enum qv_metric { QV_METRIC_MEAN, QV_METRIC_MEDIAN, QV_METRIC_FENCE };

/* Groups of options that a structure may take. */
enum {
	QV_OPT_BLOCK = 1,     /* block= */
	QV_OPT_LIST = 2,      /* ll, lla, llv */
	QV_OPT_PARTNERS = 4,  /* mean, median, fence, present */
	QV_OPT_LEVELS = 8,    /* t=, c= */
	QV_OPT_CLUSTERS = 16, /* kmeans=, strict */
	QV_OPT_QUEUES = 32,   /* k= */
};

struct qv_options {
	uint32_t list;    /* enum qv_list_kind */
	uint32_t block;   /* entries of a block of lla; 0: its default */
	uint32_t metric;  /* enum qv_metric */
	uint32_t present; /* the metric is of the sources seen only */
	uint32_t t, c;
	uint32_t kmeans; /* clusters; 0: heuristic */
	uint32_t strict;
	uint32_t k;
};

/* text may be NULL: the defaults. QV_EINVAL: it has what is unknown, out of range, or not in one of
 * the groups. */
int qv_options_parse(const char *text, uint32_t groups, struct qv_options *o);

#endif /* QV_OPTIONS_H */
