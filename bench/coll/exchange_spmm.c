/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange_spmm.c - C = A * B, A sparse, rows of all in stripes. A rank needs the stripes of
 * B that its columns of A name, and gathers them from its neighbours in that graph. A is made as
 * the matrices of meshes are: most nonzeros near the diagonal, a few long bonds. All numbers are
 * whole and small, so every order of sums gives the same.
 */
#include "worker.h"

#include <stdlib.h>

#define PER_ROW 10 /* nonzeros */
#define NEAR    8  /* of them */

struct qv_bx_spmm {
	int rows;    /* of a stripe */
	int *place;  /* by rank: of its stripe in what is gathered */
	double *own; /* the rows of the product */
};

static int rows_of(const struct qv_bl_case *c)
{
	return (int)(c->bytes / (QV_BX_COLUMNS * (long)sizeof(double)));
}

static unsigned draw(unsigned row, unsigned i, unsigned limit)
{
	unsigned x = (row * PER_ROW + i) * 0x9e3779b1u;

	x = (x ^ x >> 15) * 0x2c1b3c6du;
	return (x ^ x >> 13) % limit;
}

/* Of nonzero i in a row: a band of a sixteenth of all rows, then a quarter of them
 * away, and half. */
static int column(int row, int i, int rows)
{
	const int wide = rows / 16 + 1;

	if (i < NEAR)
		return (row + (i - NEAR / 2) * wide / NEAR + rows) % rows;
	return (row + (i - NEAR + 1) * (rows / 4)) % rows;
}

static double value(int row, int i)
{
	return 1 + draw((unsigned)row + 1, (unsigned)i, 9);
}

bool qv_bx_spmm_needs(const struct qv_bl_case *c, int to, int from)
{
	const int rows = rows_of(c), all = rows * c->ranks;

	for (int row = to * rows; row < (to + 1) * rows; row++)
		for (int i = 0; i < PER_ROW; i++)
			if (column(row, i, all) / rows == from)
				return true;
	return false;
}

void qv_bx_spmm_open(struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	struct qv_bx_spmm *m = calloc(1, sizeof(*m));
	int n = 0;

	r->shape.spmm = m;
	if (m) {
		m->rows = rows_of(c);
		m->place = calloc((size_t)r->ranks, sizeof(*m->place));
		m->own = calloc((size_t)m->rows * QV_BX_COLUMNS, sizeof(*m->own));
	}
	if (!m || !m->place || !m->own)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int from = 0; m && from < r->ranks; from++)
		if (qv_bx_spmm_needs(c, r->rank, from))
			m->place[from] = n++;
}

void qv_bx_spmm_free(struct qv_bx_spmm *spmm)
{
	if (!spmm)
		return;
	free(spmm->place);
	free(spmm->own);
	free(spmm);
}

void qv_bx_spmm_call(struct qv_bl_rank *r)
{
	struct qv_bx_spmm *m = r->shape.spmm;
	const int n = m->rows * QV_BX_COLUMNS, all = m->rows * r->ranks;

	MPI_Neighbor_allgather(r->in, n, MPI_DOUBLE, r->out, n, MPI_DOUBLE, r->shape.comm);
	for (int k = 0; k < m->rows; k++) {
		const int row = r->rank * m->rows + k;
		double *own = m->own + (size_t)k * QV_BX_COLUMNS;

		for (int j = 0; j < QV_BX_COLUMNS; j++)
			own[j] = 0;
		for (int i = 0; i < PER_ROW; i++) {
			const int at = column(row, i, all), stripe = m->place[at / m->rows];
			const double *b = r->out + ((size_t)stripe * (size_t)m->rows +
						    (size_t)(at % m->rows)) *
							   QV_BX_COLUMNS;

			for (int j = 0; j < QV_BX_COLUMNS; j++)
				own[j] += value(row, i) * b[j];
		}
	}
}

/* The serial product knows all of B. */
static double element(const struct qv_bx_spmm *m, int ranks, int row, int j)
{
	double sum = 0;

	for (int i = 0; i < PER_ROW; i++) {
		const int at = column(row, i, m->rows * ranks);
		const size_t in_stripe = (size_t)(at % m->rows) * QV_BX_COLUMNS + (size_t)j;

		sum += value(row, i) * qv_bl_value(at / m->rows, in_stripe);
	}
	return sum;
}

bool qv_bx_spmm_is_right(const struct qv_bl_rank *r)
{
	const struct qv_bx_spmm *m = r->shape.spmm;

	for (int k = 0; k < m->rows; k++)
		for (int j = 0; j < QV_BX_COLUMNS; j++) {
			const double want = element(m, r->ranks, r->rank * m->rows + k, j);
			const double have = m->own[(size_t)k * QV_BX_COLUMNS + (size_t)j];

			if (have < want || have > want)
				return false;
		}
	return true;
}
