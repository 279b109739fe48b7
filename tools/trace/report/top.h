/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * top.h - the most frequent of any number of keys, in bounded memory: exactly, while there are no more
 * than QV_TOP_ROOM of them; beyond, each that has more than one in QV_TOP_ROOM of all occurrences is
 * found for certain (J. Misra and D. Gries, "Finding repeated elements", 1982).
 */
#ifndef QV_REPORT_TOP_H
#define QV_REPORT_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QV_TOP_ROOM = 1 << 15, QV_TOP_MOST = 32 };

struct qv_top {
	uint64_t *key, *count; /* tables of 2 * QV_TOP_ROOM; count 0: free */
	uint32_t used;
	bool full; /* there were more keys: not all are counted */
	/* After qv_top_choose, by frequency. */
	uint64_t chosen[QV_TOP_MOST];
	uint32_t n;
};

bool qv_top_init(struct qv_top *t); /* false: no memory */
void qv_top_fini(struct qv_top *t);
void qv_top_add(struct qv_top *t, uint64_t key);
/* The most frequent ones so far; those that are equally frequent by their key. */
void qv_top_choose(struct qv_top *t);
/* The index of a chosen key, or n. */
uint32_t qv_top_index(const struct qv_top *t, uint64_t key);

#endif /* QV_REPORT_TOP_H */
