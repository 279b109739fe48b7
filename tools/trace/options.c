/* SPDX-License-Identifier: BSD-2-Clause */
/* options.c - see options.h. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int qv_trace_refuse(const char *command, int refused, char **argv)
{
	if (refused == ':')
		fprintf(stderr, "quiver: option %s needs a value\n", argv[optind - 1]);
	else
		fprintf(stderr, "quiver: trace %s has no option '%s'; see --help\n", command,
			argv[optind - 1]);
	return 2;
}

bool qv_trace_files_wanted(const char *command, int argc, int least, int most)
{
	const int files = argc - optind;

	if (files >= least && files <= most)
		return true;
	fprintf(stderr, "quiver: trace %s takes %s, not %d; see --help\n", command,
		most == 1 ? "one FILE" : "FILE...", files);
	return false;
}

bool qv_trace_output_wanted(const char *command, const char *output)
{
	if (!output)
		fprintf(stderr, "quiver: trace %s writes a file: name it by -o OUT\n", command);
	return output != NULL;
}

/* A whole number that ends at a comma or at the end of the text. */
static bool parse_number(const char *text, int64_t low, int64_t *number, const char **end)
{
	char *stop;

	if (!*text || strchr(" \t\n\v\f\r+", *text))
		return false;
	errno = 0;
	*number = strtoll(text, &stop, 10);
	*end = stop;
	return !errno && stop != text && *number >= low && (!*stop || *stop == ',');
}

bool qv_trace_parse_list(const char *option, const char *text, int64_t low,
			 struct qv_trace_list *list)
{
	const char *at = text;

	for (bool more = true; more;) {
		int64_t number;

		if (list->n == QV_TRACE_LIST || !parse_number(at, low, &number, &at) ||
		    number > UINT32_MAX) {
			fprintf(stderr,
				"quiver: --%s takes at most %d numbers, as in 0,3, not '%s'\n",
				option, QV_TRACE_LIST, text);
			return false;
		}
		list->numbers[list->n++] = number;
		more = *at++ == ',';
	}
	return true;
}

bool qv_trace_parse_count(const char *option, const char *text, uint64_t *count)
{
	const char *end;
	int64_t number;

	if (!parse_number(text, 1, &number, &end) || *end) {
		fprintf(stderr, "quiver: --%s takes a number from 1 on, not '%s'\n", option, text);
		return false;
	}
	*count = (uint64_t)number;
	return true;
}

bool qv_trace_parse_seconds(const char *option, const char *text, uint64_t *ns)
{
	const double most = 9e9; /* as ns still less than 2^63 */
	char *end;
	double seconds;

	seconds = strtod(text, &end);
	if (!(*text >= '0' && *text <= '9') || *end || !(seconds <= most)) {
		fprintf(stderr, "quiver: --%s takes seconds, as in 1.5, not '%s'\n", option, text);
		return false;
	}
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return true;
}

bool qv_trace_has(struct qv_trace_list *list, int64_t number)
{
	bool has = !list->n;

	for (size_t i = 0; i < list->n; i++)
		if (list->numbers[i] == number)
			has = list->seen[i] = true;
	return has;
}
