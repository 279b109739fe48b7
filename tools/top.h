/* SPDX-License-Identifier: BSD-2-Clause */
/* top.h - the endpoints of another process, for `quiver top`. */
#ifndef QV_TOOLS_TOP_H
#define QV_TOOLS_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/match/live.h"

struct qv_top_endpoint {
	uint64_t number;
	char core[sizeof((struct qv_live *)0)->core + 1];
	char structure[sizeof((struct qv_live *)0)->structure + 1];
	bool has[QV_LIVE_ENGINES];
	struct qv_match_stats stats[QV_LIVE_ENGINES];
};

enum { QV_TOP_ENDPOINTS = 256 }; /* of a process, as many as are shown */

struct qv_top_sample {
	uint64_t ns;
	size_t n;
	bool more; /* there are others, for which `at` has no room */
	struct qv_top_endpoint at[QV_TOP_ENDPOINTS];
};

struct qv_top_process {
	pid_t pid;
	uint64_t table; /* address there */
};

/* False, with the reason in why. */
bool qv_top_find(pid_t pid, struct qv_top_process *p, char *why, size_t size);
/* The counters of all its endpoints, in order of numbers. False, with the reason in why; *ended: the
 * process is no more. */
bool qv_top_read(const struct qv_top_process *p, struct qv_top_sample *s, bool *ended, char *why,
		 size_t size);

#endif /* QV_TOOLS_TOP_H */
