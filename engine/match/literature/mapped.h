/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mapped.h - structures "pnp-static" and "clu": a profile of an earlier run says once and for
 * all, for each queue by its own counts, which list the entries of a source go to. How it says that
 * is all they differ in.
 */
#ifndef QV_MAPPED_H
#define QV_MAPPED_H

#include "engine/match/partners.h"
#include "phash.h"

/* Sources to lists. */
struct qv_mapping {
	struct qv_phash_cell *cell; /* room for every source of the profile */
	uint32_t n;                 /* of them used */
	uint32_t n_lists;           /* values are below this, which is at least 1 */
	uint32_t other;             /* the list of a source that has no cell */
};

/*
 * v: the n sources of the profile by their count in a queue, ascending; population: how many there
 * are, those beyond n having added nothing. Fills *map.
 */
typedef void qv_map_fn(struct qv_mapping *map, const struct qv_source_count *v, uint32_t n,
		       uint32_t population, const struct qv_options *options);

/* pnp_static.c: each partner has a list, the others share one. */
qv_map_fn qv_map_partners;
/* clu.c: by clusters of sources. */
qv_map_fn qv_map_clusters;

#endif /* QV_MAPPED_H */
