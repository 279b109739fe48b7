// SPDX-License-Identifier: BSD-2-Clause
/* types.c - derived datatypes: what is sent from gaps lands in gaps, and the gaps stay. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

enum { COLUMNS = 7 };

static int cell(int row, int column)
{
	return row * 1000 + column;
}

/* A column of a row-major matrix to a column, to a contiguous buffer, and back. */
static void column_of(int rows)
{
	int *m = suite_alloc((size_t)rows * COLUMNS * sizeof(int));
	int *flat = suite_alloc((size_t)rows * sizeof(int));
	MPI_Datatype column;
	MPI_Status st;

	MPI_Type_vector(rows, 1, COLUMNS, MPI_INT, &column);
	MPI_Type_commit(&column);
	if (suite.rank == 1) {
		for (int i = 0; i < rows * COLUMNS; i++)
			m[i] = cell(i / COLUMNS, i % COLUMNS);
		MPI_Send(m + 2, 1, column, 0, 1, suite.comm);
		MPI_Send(m + 3, 1, column, 0, 2, suite.comm);
		MPI_Recv(m + 4, 1, column, 0, 3, suite.comm, &st);
		for (int i = 0; i < rows * COLUMNS; i++)
			CHECK(m[i] == (i % COLUMNS == 4 ? cell(i / COLUMNS, 3)
							: cell(i / COLUMNS, i % COLUMNS)),
			      "matrix cell %d is wrong", i);
	} else if (suite.rank == 0) {
		memset(m, 0xFF, (size_t)rows * COLUMNS * sizeof(int));
		MPI_Recv(m + 5, 1, column, MPI_ANY_SOURCE, 1, suite.comm, &st);
		suite_envelope(&st, 1, 1, rows * (int)sizeof(int));
		for (int i = 0; i < rows * COLUMNS; i++)
			CHECK(m[i] == (i % COLUMNS == 5 ? cell(i / COLUMNS, 2) : -1),
			      "matrix cell %d is wrong", i);
		MPI_Recv(flat, rows, MPI_INT, 1, 2, suite.comm, &st);
		for (int i = 0; i < rows; i++)
			CHECK(flat[i] == cell(i, 3), "element %d is wrong", i);
		MPI_Send(flat, rows, MPI_INT, 1, 3, suite.comm);
	}
	MPI_Type_free(&column);
	free(m);
	free(flat);
}

static void vector(void)
{
	static const int rows[] = {1, 10, 1000, 5000, 200000};

	for (int i = 0; i < 5; i++)
		column_of(rows[i]);
}

struct particle {
	char kind;
	double x[3];
	int id;
};

/* Structs with padding, unexpected and posted; what is between the members is not sent. */
static void structs(void)
{
	enum { N = 5000 };
	const int lengths[] = {1, 3, 1};
	const MPI_Aint offsets[] = {offsetof(struct particle, kind), offsetof(struct particle, x),
				    offsetof(struct particle, id)};
	const MPI_Datatype members[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
	struct particle *p = suite_alloc(N * sizeof(*p));
	MPI_Datatype bare, type;
	MPI_Status st;
	int count;

	MPI_Type_create_struct(3, lengths, offsets, members, &bare);
	MPI_Type_create_resized(bare, 0, sizeof(*p), &type);
	MPI_Type_commit(&type);
	for (int n = 1; n <= N; n *= n < 1000 ? 10 : 5) {
		if (suite.rank == 1) {
			for (int i = 0; i < n; i++)
				p[i] = (struct particle){(char)i, {i, i * 0.5, -i}, n + i};
			MPI_Send(p, n, type, 0, 4, suite.comm);
		} else if (suite.rank == 0) {
			memset(p, 0x77, N * sizeof(*p));
			MPI_Recv(p, N, type, 1, 4, suite.comm, &st);
			MPI_Get_count(&st, type, &count);
			CHECK(count == n, "%d elements of %d", count, n);
			for (int i = 0; i < n; i++)
				CHECK(p[i].kind == (char)i && p[i].x[0] == i &&
					      p[i].x[1] == i * 0.5 && p[i].x[2] == -i &&
					      p[i].id == n + i,
				      "element %d is wrong", i);
			CHECK(n == N || p[n].id == 0x77777777, "written behind the message");
		}
	}
	MPI_Type_free(&type);
	MPI_Type_free(&bare);
	free(p);
}

/* Blocks of different lengths, in falling order of address. */
static void indexed(void)
{
	enum { BLOCKS = 50, SPAN = BLOCKS * 20 };
	int lengths[BLOCKS], offsets[BLOCKS], *buf = suite_alloc(SPAN * sizeof(int)), at = 0;
	int *flat = suite_alloc(SPAN * sizeof(int));
	MPI_Datatype type;
	MPI_Status st;

	for (int i = 0; i < BLOCKS; i++) {
		lengths[i] = 1 + i % 9;
		offsets[i] = (BLOCKS - 1 - i) * 20;
	}
	MPI_Type_indexed(BLOCKS, lengths, offsets, MPI_INT, &type);
	MPI_Type_commit(&type);
	if (suite.rank == 1) {
		for (int i = 0; i < SPAN; i++)
			buf[i] = i;
		MPI_Send(buf, 1, type, 0, 5, suite.comm);
	} else if (suite.rank == 0) {
		MPI_Recv(flat, SPAN, MPI_INT, 1, 5, suite.comm, &st);
		for (int i = 0; i < BLOCKS; i++)
			for (int j = 0; j < lengths[i]; j++, at++)
				CHECK(flat[at] == offsets[i] + j, "element %d is wrong", at);
		suite_envelope(&st, 1, 5, at * (int)sizeof(int));
	}
	MPI_Type_free(&type);
	free(buf);
	free(flat);
}

const struct suite_case type_cases[] = {
	{"types.vector", 2, 0, vector},
	{"types.structs", 2, 0, structs},
	{"types.indexed", 2, 0, indexed},
	{NULL, 0, 0, NULL},
};
