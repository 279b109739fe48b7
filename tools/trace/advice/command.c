/* SPDX-License-Identifier: BSD-2-Clause */
/* command.c - the command line, and the traces that it names. */
#include "command.h"

#include <stdio.h>

int qv_advice_command(const char *command, int argc, char **argv, const struct qv_bench_option *all,
		      const struct qv_advice_choice *choice, void (*help)(void),
		      int (*run)(const void *options, const struct qv_load *load),
		      const void *options)
{
	struct qv_load_options wanted;
	struct qv_load load;
	char why[1024];
	int first, status, rc = qv_bench_options(command, argc, argv, all, &first);

	if (rc == 1)
		help();
	if (!rc && first == argc) {
		fprintf(stderr, "quiver: %s needs a trace; see --help\n", command);
		rc = -1;
	}
	if (rc)
		return rc < 0 ? 2 : 0;
	wanted = (struct qv_load_options){.files = argv + first,
					  .files_n = (size_t)(argc - first),
					  .most_events = (uint64_t)choice->most,
					  .rank = choice->rank,
					  .lane = choice->lane};
	if (qv_load(&load, &wanted, why, sizeof(why))) {
		fprintf(stderr, "quiver: %s\n", why);
		return 1;
	}
	status = run(options, &load);
	qv_load_free(&load);
	return status;
}
