/* SPDX-License-Identifier: BSD-2-Clause */
/* sources.c - the messages of a lane by their sources. */
#include "sources.h"

#include <stdio.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

bool qv_lane_sources(struct qv_lane_sources *sources, const struct qv_load_lane *lane)
{
	uint32_t *all = malloc((lane->ops_n + 1) * sizeof(*all));
	size_t n = 0;

	*sources = (struct qv_lane_sources){.n = 0};
	if (!all)
		return false;
	for (size_t i = 0; i < lane->ops_n; i++)
		if (lane->ops[i].kind == QV_LOAD_DELIVER || lane->ops[i].kind == QV_LOAD_QUEUE)
			all[n++] = lane->ops[i].src;
	qsort(all, n, sizeof(*all), by_number);
	for (size_t i = 0; i < n; i++)
		sources->n += !i || all[i] != all[i - 1];
	sources->at = calloc((size_t)sources->n + 1, sizeof(*sources->at));
	for (size_t i = 0, k = 0; sources->at && i < n; i++) {
		k += i && all[i] != all[i - 1];
		sources->at[k].src = all[i];
		sources->at[k].messages++;
	}
	free(all);
	return sources->at;
}

bool qv_lane_sources_write(const struct qv_lane_sources *sources, const char *file)
{
	FILE *out = fopen(file, "w");

	if (!out)
		return false;
	if (!sources->n) /* an empty profile is none */
		fprintf(out, "0 1\n");
	for (uint32_t i = 0; i < sources->n; i++)
		fprintf(out, "%u %u\n", sources->at[i].src, sources->at[i].messages);
	return fclose(out) == 0;
}
