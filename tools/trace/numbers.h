/* SPDX-License-Identifier: BSD-2-Clause */
/* numbers.h - small numbers for values, the same for the same value: 0, 1, 2 ... as they come up. */
#ifndef QV_TRACE_NUMBERS_H
#define QV_TRACE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct qv_trace_numbers {
	struct qv_trace_numbered {
		uint64_t value, number; /* number + 1; 0: the slot is free */
	} * slots;
	uint64_t n, room;
};

/* False after a line on stderr: no memory. */
bool qv_trace_number(struct qv_trace_numbers *numbers, uint64_t value, uint64_t *number);
void qv_trace_numbers_free(struct qv_trace_numbers *numbers);

#endif /* QV_TRACE_NUMBERS_H */
