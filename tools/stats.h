/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.h - what `quiver stats` makes of FI_QUIVER_STATS=detail. */
#ifndef QV_TOOLS_STATS_H
#define QV_TOOLS_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/match/detail.h"

/* What a rank got from one address of its. */
struct qv_stats_pair {
	int rank;
	json_int_t address; /* -1: of one that had none */
	struct qv_detail_source count;
};

/* Of all processes together. */
struct qv_stats_detail {
	bool any;
	struct qv_detail sum; /* ticks are ns; no sources */
	struct qv_stats_pair *pairs;
	size_t n;
};

/* A member of a file's object; 0: there is none, or it is not a number above 0. */
uint64_t qv_stats_number(const json_t *object, const char *name);

/* Add the detail of a queue, if there is one. False: no memory. */
bool qv_stats_detail_add(struct qv_stats_detail *d, const json_t *queue, int rank);
/* Behind the last: each pair once, the busiest first. */
void qv_stats_detail_sort(struct qv_stats_detail *d);
void qv_stats_detail_print(const struct qv_stats_detail *d);
json_t *qv_stats_detail_json(const struct qv_stats_detail *d);

#endif /* QV_TOOLS_STATS_H */
