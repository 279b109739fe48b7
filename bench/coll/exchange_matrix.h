/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange_matrix.h - sparse matrices that are made by rule: symmetric, the same in every process. */
#ifndef BENCH_COLL_EXCHANGE_MATRIX_H
#define BENCH_COLL_EXCHANGE_MATRIX_H

#include <stddef.h>

/* Each is like one of the SuiteSparse collection, whose rows and nonzeros are given. */
enum qv_bx_matrix {
	QV_BX_SURVEY, /* ash292 (292, 2208): points of a land survey, each linked to those around */
	QV_BX_STRUCTURE, /* dwt_193 (193, 3493): finite elements, whose nodes see two steps far */
	QV_BX_JOURNALS,  /* journals (124, 12068): nearly all pairs share readers */
	QV_BX_GENES,     /* human_gene2 (14340, 18068388): a few are linked to nearly all */
	QV_BX_MATRICES,
};

#define QV_BX_ROWS 2048 /* at most: the products of dense ones take long */

/* The matrix with this name of n characters, or QV_BX_MATRICES. */
enum qv_bx_matrix qv_bx_matrix_find(const char *name, size_t n);

/* An element of the matrix with so many rows: 1 to 9, or 0. */
int qv_bx_element(enum qv_bx_matrix matrix, unsigned rows, unsigned row, unsigned column);

/* From 0 to below 1: the same for the same pair everywhere, and of no order. */
double qv_bx_chance(unsigned from, unsigned to);

#endif /* BENCH_COLL_EXCHANGE_MATRIX_H */
