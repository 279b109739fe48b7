/* SPDX-License-Identifier: BSD-2-Clause */
/* setting.h - what a user says of a trace: [max=BYTES:][ring=BYTES:]FILE, in any order. */
#ifndef QV_TRACE_SETTING_H
#define QV_TRACE_SETTING_H

#include <stdbool.h>
#include <stddef.h>

struct qv_trace_setting {
	char *out;   /* a pattern as in engine/base/file_name.h, to be freed, NULL = none */
	size_t most; /* bytes, 0 = no end */
	size_t ring; /* bytes, 0 = all that happens is written */
};

/* True, or false with the reason in why. The pattern names the same file wherever
 * the process goes. */
bool qv_trace_setting_parse(const char *text, struct qv_trace_setting *setting, char *why,
			    size_t size);

#endif /* QV_TRACE_SETTING_H */
