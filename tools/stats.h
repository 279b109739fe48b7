/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.h - what `quiver stats` makes of the counters of a job's processes, and of their detail. */
#ifndef QV_TOOLS_STATS_H
#define QV_TOOLS_STATS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/match/detail.h"

/* Of one process, or of several together. */
struct qv_stats_counters {
	uint64_t arrived, matched, unexpected, inspected, posted_max, unexpected_max, bytes_max,
		mode_changes;
};

struct qv_stats_process {
	int rank, pid;
	const char *path; /* of its file */
	char host[64];
	bool automatic; /* no other structure than auto */
	struct qv_stats_counters c;
};

struct qv_stats_detail;

/* From stats_process.c. */

/* root: a file of FI_QUIVER_STATS=json:FILE; what it has of detail is added to `detail`. 1; 0: it has no
 * counters of quiver; -1: no memory. */
int qv_stats_process_read(const json_t *root, struct qv_stats_process *p,
			  struct qv_stats_detail *detail);
/* Sums stay at INT64_MAX, the most that JSON has. */
void qv_stats_add(struct qv_stats_counters *sum, const struct qv_stats_counters *c);

/* From stats_spread.c. */

/* The columns of the table. */
enum {
	QV_STATS_ARRIVED,
	QV_STATS_UNEXPECTED, /* of the messages, 0 to 1 */
	QV_STATS_INSPECTED,  /* for a message */
	QV_STATS_POSTED_MAX,
	QV_STATS_UNEXPECTED_MAX,
	QV_STATS_BYTES_MAX,
	QV_STATS_COLUMNS
};

/* Of one column, over the processes. */
struct qv_stats_spread {
	double mean,
		deviation;  /* of just these processes: the squares are divided by their number */
	double quartile[3]; /* between two values by a straight line; the second is the median */
};

/* n divided by `of`; 0, where that is 0. */
double qv_stats_per(uint64_t n, uint64_t of);
/* spread: out, one for each column. p: n processes, 1 at least. False: no memory. */
bool qv_stats_spread(struct qv_stats_spread *spread, const struct qv_stats_process *p, size_t n);
void qv_stats_spread_print(const struct qv_stats_spread *spread);
json_t *qv_stats_spread_json(const struct qv_stats_spread *spread);

/* From stats_detail.c and stats_bars.c. */

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
