/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * phash.h - a perfect hash from sources to small numbers, for sets that never change. Row
 * displacement: source s stands at row s / m, column s % m of a square; the rows are pushed along
 * until no two sources share a column, and laid on top of each other.
 *
 *   cell[shift[s / m] + s % m].src == s, or s is not in the set
 */
#ifndef QV_PHASH_H
#define QV_PHASH_H

#include "engine/match/structure.h"

struct qv_phash_cell {
	uint32_t src; /* QV_SRC_ANY: no source */
	uint32_t value;
};

struct qv_phash {
	struct qv_phash_cell *cell;
	uint32_t *shift; /* of each row */
	uint32_t m;      /* columns; 0: the set is empty */
	uint32_t n_rows;
	uint32_t n_cells;
};

/* Make one of v[0..n-1], which are by source, ascending, none QV_SRC_ANY. QV_ENOMEM. */
int qv_phash_build(struct qv_phash *h, struct qv_mem *mem, const struct qv_phash_cell *v,
		   uint32_t n);
void qv_phash_free(struct qv_phash *h, struct qv_mem *mem);

/* The value of a source, or `missing`. */
QV_INLINE uint32_t qv_phash_get(const struct qv_phash *h, uint32_t src, uint32_t missing)
{
	const struct qv_phash_cell *c;
	uint32_t row;

	if (!h->m)
		return missing;
	row = src / h->m;
	if (row >= h->n_rows)
		return missing;
	c = &h->cell[h->shift[row] + src % h->m];
	return c->src == src ? c->value : missing;
}

#endif /* QV_PHASH_H */
