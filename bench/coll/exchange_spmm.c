/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exchange_spmm.c - C = A * B, A sparse and symmetric, rows of all in stripes. A rank needs the
 * stripes of B that its columns of A name: it gathers these from its neighbours in that graph, or
 * all of B from all ranks. All numbers are whole and small, so every order of sums gives the same.
 */
#include "worker.h"

#include <stdlib.h>

struct nonzero {
	size_t from; /* the row of B that it multiplies, in what is gathered */
	double value;
};

struct qv_bx_spmm {
	enum qv_bx_matrix matrix;
	unsigned rows, all; /* of a stripe, of all */
	size_t *start;      /* by row of the stripe, and one more: its nonzeros */
	struct nonzero *nonzeros;
	double *own; /* the rows of the product */
};

static unsigned rows_of(const struct qv_bl_case *c)
{
	return (unsigned)(c->bytes / (QV_BX_COLUMNS * (long)sizeof(double)));
}

bool qv_bx_spmm_needs(const struct qv_bl_case *c, int to, int from)
{
	const unsigned rows = rows_of(c), all = rows * (unsigned)c->ranks;

	for (unsigned i = 0; i < rows; i++)
		for (unsigned k = 0; k < rows; k++)
			if (qv_bx_element(c->matrix, all, (unsigned)to * rows + i,
					  (unsigned)from * rows + k))
				return true;
	return false;
}

/* Append what a row has in the stripe of B that is gathered as this one; how many there are then. */
static size_t add_row(struct qv_bx_spmm *m, size_t n, unsigned row, unsigned stripe, unsigned place)
{
	for (unsigned k = 0; k < m->rows; k++) {
		const int value = qv_bx_element(m->matrix, m->all, row, stripe * m->rows + k);

		if (!value)
			continue;
		if (m->nonzeros)
			m->nonzeros[n] = (struct nonzero){
				((size_t)place * m->rows + k) * QV_BX_COLUMNS, value};
		n++;
	}
	return n;
}

/* The nonzeros of the own stripe, or without room for them how many; place: of each rank's stripe
 * in what is gathered, or -1. */
static size_t add_all(struct qv_bx_spmm *m, const struct qv_bl_rank *r, const int *place)
{
	size_t n = 0;

	for (unsigned k = 0; k < m->rows; k++) {
		m->start[k] = n;
		for (int from = 0; from < r->ranks; from++)
			if (place[from] >= 0)
				n = add_row(m, n, (unsigned)r->rank * m->rows + k, (unsigned)from,
					    (unsigned)place[from]);
	}
	m->start[m->rows] = n;
	return n;
}

static void *room(size_t n, size_t size)
{
	void *out = calloc(n, size);

	if (!out)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return out;
}

void qv_bx_spmm_open(struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	struct qv_bx_spmm *m = room(1, sizeof(*m));
	int *place = room((size_t)r->ranks, sizeof(*place)), n = 0;

	r->shape.spmm = m;
	m->matrix = c->matrix;
	m->rows = rows_of(c);
	m->all = m->rows * (unsigned)r->ranks;
	m->own = room((size_t)m->rows * QV_BX_COLUMNS, sizeof(*m->own));
	m->start = room(m->rows + 1, sizeof(*m->start));
	for (int from = 0; from < r->ranks; from++)
		place[from] = c->pattern == 't' || qv_bx_spmm_needs(c, r->rank, from) ? n++ : -1;
	m->nonzeros = room(add_all(m, r, place), sizeof(*m->nonzeros));
	add_all(m, r, place);
	free(place);
}

void qv_bx_spmm_free(struct qv_bx_spmm *spmm)
{
	if (!spmm)
		return;
	free(spmm->start);
	free(spmm->nonzeros);
	free(spmm->own);
	free(spmm);
}

void qv_bx_spmm_call(struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	struct qv_bx_spmm *m = r->shape.spmm;
	const int n = (int)m->rows * QV_BX_COLUMNS;

	if (c->pattern == 't')
		MPI_Allgather(r->in, n, MPI_DOUBLE, r->out, n, MPI_DOUBLE, r->shape.comm);
	else
		MPI_Neighbor_allgather(r->in, n, MPI_DOUBLE, r->out, n, MPI_DOUBLE, r->shape.comm);
	for (unsigned k = 0; k < m->rows; k++) {
		double *own = m->own + (size_t)k * QV_BX_COLUMNS;

		for (int j = 0; j < QV_BX_COLUMNS; j++)
			own[j] = 0;
		for (size_t i = m->start[k]; i < m->start[k + 1]; i++)
			for (int j = 0; j < QV_BX_COLUMNS; j++)
				own[j] += m->nonzeros[i].value *
					  r->out[m->nonzeros[i].from + (size_t)j];
	}
}

/* The serial product knows all of A and of B. */
static void serial(const struct qv_bx_spmm *m, unsigned row, double *out)
{
	for (int j = 0; j < QV_BX_COLUMNS; j++)
		out[j] = 0;
	for (unsigned at = 0; at < m->all; at++) {
		const int value = qv_bx_element(m->matrix, m->all, row, at);
		const size_t in_stripe = (size_t)(at % m->rows) * QV_BX_COLUMNS;

		for (int j = 0; value && j < QV_BX_COLUMNS; j++)
			out[j] += value * qv_bl_value((int)(at / m->rows), in_stripe + (size_t)j);
	}
}

bool qv_bx_spmm_is_right(const struct qv_bl_rank *r)
{
	const struct qv_bx_spmm *m = r->shape.spmm;

	for (unsigned k = 0; k < m->rows; k++) {
		double want[QV_BX_COLUMNS];
		const double *have = m->own + (size_t)k * QV_BX_COLUMNS;

		serial(m, (unsigned)r->rank * m->rows + k, want);
		for (int j = 0; j < QV_BX_COLUMNS; j++)
			if (have[j] < want[j] || have[j] > want[j])
				return false;
	}
	return true;
}
