/* SPDX-License-Identifier: BSD-2-Clause */
/* settings.c - settings with which any structure can be created. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "settings.h"

/* In memory: nothing stays behind, however the program ends. */
const char *qv_settings_profile(const char *text)
{
	static char path[64];
	FILE *file;

	if (!path[0])
		snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd_create("profile", 0));
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file)) {
		perror(path);
		exit(2);
	}
	return path;
}

int qv_settings_is(const struct qv_match_settings *s, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(s->structure, name, len) &&
	       (!s->structure[len] || s->structure[len] == ':');
}

void qv_settings_for(struct qv_match_settings *s, const char *structure)
{
	qv_match_settings_default(s);
	s->structure = structure;
	if (!strncmp(structure, "col", 3)) {
		s->collective_mask = UINT64_C(1) << 40 | 4;
		s->collective_op = UINT64_C(3) << 41 | 3;
	}
	if (qv_settings_is(s, "pnp-static") || qv_settings_is(s, "clu"))
		s->profile =
			qv_settings_profile("# source posted unexpected\n0 10 7\n1 7 0\n2 900 3\n"
					    "3 500 800\n\n4 3\n5 3 600\n6 3\n7 12 1\n"
					    "8 1\n9 0 4\n");
}
