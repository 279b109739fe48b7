/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plain.h - the operations of a trace over two plain arrays, oldest entry first: obviously right.
 * It judges the recorded answers, and counts what a list inspects.
 */
#ifndef QV_PLAIN_H
#define QV_PLAIN_H

#include "load.h"

struct qv_plain {
	uint64_t hits, misses; /* searches: POST, DELIVER, ARRIVE, PEEK */
	/* Entries compared by them. */
	uint64_t inspected_hit, inspected_miss;
	uint64_t median_position; /* of hits: entries compared, with the one that fits; 0: no hit */
	uint64_t checked;         /* operations whose answers were compared with their record */
};

/*
 * Walk all lanes. They may take so many comparisons: a lane that needs more than what is left for it
 * is walked up to there. 0; 1: a recorded answer is wrong, and why[size] says which; -1: no memory.
 */
int qv_plain(struct qv_plain *plain, const struct qv_load *load, uint64_t comparisons, char *why,
	     size_t size);

#endif /* QV_PLAIN_H */
