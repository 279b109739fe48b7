/* SPDX-License-Identifier: BSD-2-Clause */
/* line.h - entries that wait, oldest first, each with its place: what a plain list would walk over
 * to get there. Finding, adding and removing one takes the logarithm of their number. */
#ifndef QV_REPORT_LINE_H
#define QV_REPORT_LINE_H

#include "tools/trace/table.h"

/* All zero: empty. Arrays have a place for each entry since the last rebuild, in order. */
struct qv_line {
	uint64_t *entry;       /* node, and GONE or STAYS above its 48 bits */
	uint32_t *older;       /* binary indexed tree: how many of them still wait */
	struct qv_table table; /* place + 1 of a node that waits */
	uint32_t n, room;
	uint32_t waiting;
};

void qv_line_free(struct qv_line *l);
/* stays: it is persistent. One with the same node that waits is removed before. False: no memory. */
bool qv_line_add(struct qv_line *l, uint64_t node, bool stays);
/* How many older ones wait, or -1: no such node does. */
int64_t qv_line_find(const struct qv_line *l, uint64_t node, bool *stays);
/* False: it does not wait. */
bool qv_line_remove(struct qv_line *l, uint64_t node);

#endif /* QV_REPORT_LINE_H */
