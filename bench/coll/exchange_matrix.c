/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange_matrix.c - which elements of a matrix are there, by its kind. */
#include "exchange_matrix.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum qv_bx_matrix qv_bx_matrix_find(const char *name, size_t n)
{
	static const char *const names[QV_BX_MATRICES] = {"survey", "structure", "journals",
							  "genes"};
	int i = 0;

	while (i < QV_BX_MATRICES && (strlen(names[i]) != n || memcmp(names[i], name, n) != 0))
		i++;
	return (enum qv_bx_matrix)i;
}

double qv_bx_chance(unsigned from, unsigned to)
{
	uint32_t x = from * 0x9e3779b1u ^ (to + 0x7f4a7c15u) * 0x85ebca6bu;

	x = (x ^ x >> 15) * 0x2c1b3c6du;
	x = (x ^ x >> 12) * 0x297a2d39u;
	return (double)(x ^ x >> 15) / 4294967296.0;
}

/* Steps down and to the right from one point to another. Points stand row by row on a square. */
struct way {
	int down, right;
};

static struct way way_between(unsigned rows, unsigned from, unsigned to)
{
	const int side = (int)ceil(sqrt(rows)), a = (int)from, b = (int)to;

	return (struct way){b / side - a / side, b % side - a % side};
}

/* Triangles, and 0.6 of the diagonals that cross one: 6.56 links a point in the survey. */
static bool is_surveyed(unsigned rows, unsigned low, unsigned high)
{
	const struct way w = way_between(rows, low, high);

	if (w.down == 1 && w.right == -1)
		return qv_bx_chance(low, high) < 0.6;
	return w.down * w.down + w.right * w.right == 1 || (w.down == 1 && w.right == 1);
}

static bool is_stiff(unsigned rows, unsigned low, unsigned high)
{
	const struct way w = way_between(rows, low, high);

	return w.down * w.down + w.right * w.right <= 5;
}

/* A row has links by the inverse root of a draw of its own: a power law. Of all pairs 0.088. */
static bool is_expressed(unsigned low, unsigned high)
{
	const double pair = qv_bx_chance(low, high) / 0.025;

	return pair * pair * qv_bx_chance(low, low) * qv_bx_chance(high, high) < 1;
}

int qv_bx_element(enum qv_bx_matrix matrix, unsigned rows, unsigned row, unsigned column)
{
	const unsigned low = row < column ? row : column, high = row < column ? column : row;
	bool there = row == column;

	if (!there)
		switch (matrix) {
		case QV_BX_SURVEY: there = is_surveyed(rows, low, high); break;
		case QV_BX_STRUCTURE: there = is_stiff(rows, low, high); break;
		case QV_BX_JOURNALS: there = qv_bx_chance(low, high) < 0.783; break;
		default: there = is_expressed(low, high); break;
		}
	return there ? 1 + (int)(9 * qv_bx_chance(high, low)) : 0;
}
