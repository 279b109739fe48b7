/* SPDX-License-Identifier: BSD-2-Clause */
/* table.h - numbers that are found by a key. */
#ifndef QV_TRACE_TABLE_H
#define QV_TRACE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: empty. */
struct qv_table {
	struct qv_table_slot {
		uint64_t key, number; /* number 0: the slot is free */
	} * slots;
	uint64_t n, room;
};

/* 0: the key has none. */
uint64_t qv_table_find(const struct qv_table *table, uint64_t key);
/* The key has this number from now on, which is not 0. False: no memory; where the key had one before,
 * none is needed. */
bool qv_table_put(struct qv_table *table, uint64_t key, uint64_t number);
/* A key that has a number has none any more. */
void qv_table_remove(struct qv_table *table, uint64_t key);
/* The number of a key less 1; keys that come up get 0, 1, 2 ... False: no memory. Not for a table of which
 * keys are removed. */
bool qv_table_number(struct qv_table *table, uint64_t key, uint64_t *number);
void qv_table_free(struct qv_table *table);

#endif /* QV_TRACE_TABLE_H */
