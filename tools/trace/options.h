/* SPDX-License-Identifier: BSD-2-Clause */
/* options.h - what the command lines of the subcommands share. All but qv_trace_has return false, or
 * 2, after a line on stderr. */
#ifndef QV_TRACE_OPTIONS_H
#define QV_TRACE_OPTIONS_H

#include "engine/trace/trace.h"

enum { QV_TRACE_LIST = 1024 };

/* N[,N]... */
struct qv_trace_list {
	int64_t numbers[QV_TRACE_LIST];
	bool seen[QV_TRACE_LIST]; /* qv_trace_has was true of it */
	size_t n;                 /* 0: the option was not given, all are in it */
};

/* What getopt_long(3) has refused: '?' or ':', with opterr 0 and a first ':' in its string. */
int qv_trace_refuse(const char *command, int refused, char **argv);
/* Files on the command line, from optind on: at least `least`, at most `most` of them. */
bool qv_trace_files_wanted(const char *command, int argc, int least, int most);
/* -o was given. */
bool qv_trace_output_wanted(const char *command, const char *output);

bool qv_trace_parse_list(const char *option, const char *text, int64_t low,
			 struct qv_trace_list *list);
bool qv_trace_parse_count(const char *option, const char *text, uint64_t *count);
/* Seconds as a decimal fraction, in ns. */
bool qv_trace_parse_seconds(const char *option, const char *text, uint64_t *ns);

bool qv_trace_has(struct qv_trace_list *list, int64_t number);

#endif /* QV_TRACE_OPTIONS_H */
