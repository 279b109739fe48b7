/* SPDX-License-Identifier: BSD-2-Clause */
/* pnp_static.c - structure "pnp-static": a list for each partner of the profile. */
#include "mapped.h"

void qv_map_partners(struct qv_mapping *map, const struct qv_source_count *v, uint32_t n,
		     uint32_t population, const struct qv_options *options)
{
	double edge = qv_counts_edge(v, n, population, options);

	map->n = 0;
	while (n-- && (double)v[n].count > edge) {
		map->cell[map->n] = (struct qv_phash_cell){v[n].src, map->n};
		map->n++;
	}
	map->other = map->n;
	map->n_lists = map->n + 1;
}
