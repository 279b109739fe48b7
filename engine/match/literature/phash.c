/* SPDX-License-Identifier: BSD-2-Clause */
/* phash.c - a perfect hash by row displacement: building it. */
#include <stdlib.h>

#include "phash.h"

/* The sources of one row: v[first .. first+n-1]. */
struct row {
	uint32_t number, first, n;
};

/* Full rows first, while there is room; equal ones in order, so that runs lie in a run. */
static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static uint32_t split(const struct qv_phash *h, struct row *rows, const struct qv_phash_cell *v,
		      uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!count || rows[count - 1].number != v[i].src / h->m)
			rows[count++] = (struct row){v[i].src / h->m, i, 0};
		rows[count - 1].n++;
	}
	qsort(rows, count, sizeof(*rows), compare);
	return count;
}

static int collides(const struct qv_phash *h, const struct row *r, const struct qv_phash_cell *v,
		    uint32_t shift)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (h->cell[shift + v[r->first + i].src % h->m].src != QV_SRC_ANY)
			return 1;
	return 0;
}

/* Room for `need` cells; the new ones are empty. */
static int reserve(struct qv_phash *h, struct qv_mem *mem, uint32_t need)
{
	uint32_t n = h->n_cells ? h->n_cells : 64;
	struct qv_phash_cell *cell;

	if (need <= h->n_cells)
		return QV_OK;
	while (n < need)
		n *= 2;
	cell = qv_mem_get(mem, n * sizeof(*cell));
	if (!cell)
		return QV_ENOMEM;
	memset(cell, 0xff, n * sizeof(*cell));
	if (h->n_cells)
		memcpy(cell, h->cell, h->n_cells * sizeof(*cell));
	qv_mem_put(mem, h->cell, h->n_cells * sizeof(*cell));
	h->cell = cell;
	h->n_cells = n;
	return QV_OK;
}

static int place(struct qv_phash *h, struct qv_mem *mem, const struct row *r,
		 const struct qv_phash_cell *v, uint32_t *end)
{
	uint32_t shift = 0;

	/* From *end on there is nothing: the search ends there at the latest. */
	if (reserve(h, mem, *end + h->m))
		return QV_ENOMEM;
	while (collides(h, r, v, shift))
		shift++;
	h->shift[r->number] = shift;
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t at = shift + v[r->first + i].src % h->m;

		h->cell[at] = v[r->first + i];
		if (at >= *end)
			*end = at + 1;
	}
	return QV_OK;
}

static uint32_t square_side(uint32_t max)
{
	uint32_t m = 1;

	while ((uint64_t)m * m <= max)
		m++;
	return m;
}

int qv_phash_build(struct qv_phash *h, struct qv_mem *mem, const struct qv_phash_cell *v,
		   uint32_t n)
{
	uint32_t count, end = 0;
	struct row *rows;
	int err = QV_OK;

	memset(h, 0, sizeof(*h));
	if (!n)
		return QV_OK;
	rows = qv_mem_get(mem, n * sizeof(*rows));
	if (!rows)
		return QV_ENOMEM;
	h->m = square_side(v[n - 1].src);
	h->n_rows = v[n - 1].src / h->m + 1;
	h->shift = qv_mem_get_table(mem, h->n_rows * sizeof(*h->shift));
	if (!h->shift)
		err = QV_ENOMEM;
	count = split(h, rows, v, n);
	for (uint32_t i = 0; !err && i < count; i++)
		err = place(h, mem, &rows[i], v, &end);
	qv_mem_put(mem, rows, n * sizeof(*rows));
	/* A row of no source keeps shift 0: any of its columns must be inside. */
	if (!err)
		err = reserve(h, mem, end + h->m);
	if (err)
		qv_phash_free(h, mem);
	return err;
}

void qv_phash_free(struct qv_phash *h, struct qv_mem *mem)
{
	qv_mem_put(mem, h->cell, h->n_cells * sizeof(*h->cell));
	qv_mem_put(mem, h->shift, h->n_rows * sizeof(*h->shift));
	memset(h, 0, sizeof(*h));
}
