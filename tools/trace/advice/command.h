/* SPDX-License-Identifier: BSD-2-Clause */
/* command.h - what `quiver trace replay` and `advise` do before they differ: options, and the files. */
#ifndef QV_ADVICE_COMMAND_H
#define QV_ADVICE_COMMAND_H

#include "tools/trace/measure.h"

/* Which events are loaded: the values of --rank, --lane and --max-events. */
struct qv_advice_choice {
	long rank, lane, most;
};

#define QV_ADVICE_ALL                                          \
	{                                                      \
		.rank = -1, .lane = -1, .most = QV_LOAD_EVENTS \
	}

/* These options, in a table of struct qv_bench_option. */
#define QV_ADVICE_CHOICES(choice)                                                          \
	{"rank", .number = &(choice)->rank, .low = 0, .high = INT32_MAX},                  \
		{"lane", .number = &(choice)->lane, .low = 0, .high = INT32_MAX},          \
	{                                                                                  \
		"max-events", .number = &(choice)->most, .low = 1, .high = UINT32_MAX - 8l \
	}

/*
 * Parse the command line by the table `all`, load the files that it names, and run.
 *   command  "trace replay"
 *   choice   filled in by the table
 *   help     prints the text of --help
 *   run      called with `options` and what was loaded; returns the exit status
 * Returns the exit status.
 */
int qv_advice_command(const char *command, int argc, char **argv, const struct qv_bench_option *all,
		      const struct qv_advice_choice *choice, void (*help)(void),
		      int (*run)(const void *options, const struct qv_load *load),
		      const void *options);

#endif /* QV_ADVICE_COMMAND_H */
