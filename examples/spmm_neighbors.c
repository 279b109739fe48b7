/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spmm_neighbors.c - C = A * B, A sparse, rows of all in stripes: each rank needs the rows of B
 * that its columns of A name, and gets them by an allgather with the neighbours of a graph. All
 * ranks are in this process; the schedules would run as well over a network (qv_run_create). The
 * result is compared with a product in one piece, and messages are counted with and without
 * friends.
 */
#include <stdio.h>
#include <stdlib.h>

#include <quiver/neighbor.h>

#define RANKS    48
#define PER_NODE 8
#define STRIPE   32 /* rows of a rank */
#define ROWS     (RANKS * STRIPE)
#define PER_ROW  12 /* nonzeros: a band, and some far away, as in a mesh with a few long bonds */
#define COLUMNS  8  /* of B */

static unsigned int column[ROWS][PER_ROW];
static double value[ROWS][PER_ROW], B[ROWS][COLUMNS], C[ROWS][COLUMNS], want[ROWS][COLUMNS];
static unsigned int state = 12345;

static unsigned int draw(unsigned int n)
{
	state = state * 1664525 + 1013904223;
	return (unsigned int)((unsigned long long)(state >> 8) * n >> 24);
}

/* Whole numbers, so that every order of sums gives the same. */
static void make_matrices(void)
{
	for (unsigned int r = 0; r < ROWS; r++) {
		for (unsigned int i = 0; i < PER_ROW; i++) {
			const unsigned int far = i + 4 >= PER_ROW;

			column[r][i] = far ? (r + draw(14 * STRIPE) + ROWS - 7 * STRIPE) % ROWS
					   : (r + 9 * i + ROWS - 45) % ROWS;
			value[r][i] = 1 + draw(9);
		}
		for (unsigned int c = 0; c < COLUMNS; c++)
			B[r][c] = draw(100);
	}
}

/* One row of the product; rows of B are where row_of says. */
static void multiply(unsigned int r, const double *(*row_of)(void *context, unsigned int row),
		     void *context, double *result)
{
	for (unsigned int c = 0; c < COLUMNS; c++)
		result[c] = 0;
	for (unsigned int i = 0; i < PER_ROW; i++)
		for (unsigned int c = 0; c < COLUMNS; c++)
			result[c] += value[r][i] * row_of(context, column[r][i])[c];
}

static const double *whole_row(void *context, unsigned int row)
{
	(void)context;
	return B[row];
}

/* Who needs what. */

static uint32_t in_n[RANKS], out_n[RANKS], in[RANKS][RANKS], out[RANKS][RANKS], node[RANKS];
static const uint32_t *in_lists[RANKS], *out_lists[RANKS];
static uint32_t place[RANKS][RANKS]; /* of another rank's stripe in what a rank has gathered */

static void make_graph(void)
{
	static unsigned char needs[RANKS][RANKS];

	for (unsigned int r = 0; r < ROWS; r++)
		for (unsigned int i = 0; i < PER_ROW; i++)
			needs[r / STRIPE][column[r][i] / STRIPE] = 1;
	for (unsigned int me = 0; me < RANKS; me++) {
		for (unsigned int other = 0; other < RANKS; other++) {
			if (needs[me][other]) {
				place[me][other] = in_n[me];
				in[me][in_n[me]++] = other;
			}
			if (needs[other][me])
				out[me][out_n[me]++] = other;
		}
		in_lists[me] = in[me];
		out_lists[me] = out[me];
		node[me] = me / PER_NODE;
	}
}

/* The product, all ranks in turn. */

struct gathered {
	unsigned int rank;
	const double *rows;
};

static const double *gathered_row(void *context, unsigned int row)
{
	const struct gathered *g = context;

	return g->rows + (place[g->rank][row / STRIPE] * STRIPE + row % STRIPE) * COLUMNS;
}

static int gather(struct qv_schedule **all, double **work)
{
	const struct qv_local_run run = {.item = sizeof(double), .count = STRIPE * COLUMNS};
	const void *from[RANKS];
	void *to[RANKS];

	for (unsigned int me = 0; me < RANKS; me++) {
		from[me] = B[(size_t)me * STRIPE];
		to[me] = work[me];
	}
	return qv_schedule_run_local(&run, all, RANKS, from, to);
}

static int product(const struct qv_neighbor_plan *plan)
{
	struct qv_schedule *all[RANKS] = {0};
	double *work[RANKS] = {0};
	int rc = QV_OK;

	for (unsigned int me = 0; me < RANKS && !rc; me++) {
		work[me] = malloc(sizeof(double) * in_n[me] * STRIPE * COLUMNS);
		rc = work[me] ? qv_neighbor_schedule(plan, QV_COLL_ALLGATHER, me, &all[me])
			      : QV_ENOMEM;
	}
	if (!rc)
		rc = gather(all, work);
	for (unsigned int r = 0; r < ROWS && !rc; r++) {
		struct gathered g = {r / STRIPE, work[r / STRIPE]};

		multiply(r, gathered_row, &g, C[r]);
	}
	for (unsigned int me = 0; me < RANKS; me++) {
		qv_schedule_free(all[me]);
		free(work[me]);
	}
	return rc;
}

static int wrong(void)
{
	for (unsigned int r = 0; r < ROWS; r++)
		for (unsigned int c = 0; c < COLUMNS; c++)
			if (C[r][c] < want[r][c] || C[r][c] > want[r][c])
				return 1;
	return 0;
}

static int with_friends(uint32_t k, int cumulative)
{
	const struct qv_neighbor_spec spec = {
		.graph = {RANKS, out_n, in_n, out_lists, in_lists},
		.node = node,
		.k = k,
		.cumulative = cumulative,
	};
	struct qv_neighbor_stats stats;
	struct qv_neighbor_plan *plan;
	int rc = qv_neighbor_plan(&spec, &plan);

	if (!rc) {
		qv_neighbor_stats(plan, &stats);
		rc = product(plan);
		qv_neighbor_free(plan);
	}
	if (rc) {
		fprintf(stderr, "k = %u: %s\n", k, qv_strerror(rc));
		return 1;
	}
	printf("%-10s k %u: %5llu messages, %5llu of them between nodes, %s\n",
	       k < 2        ? "direct"
	       : cumulative ? "cumulative"
			    : "friends",
	       k, (unsigned long long)stats.messages, (unsigned long long)stats.far,
	       wrong() ? "WRONG" : "right");
	return wrong();
}

int main(void)
{
	int bad;

	make_matrices();
	make_graph();
	for (unsigned int r = 0; r < ROWS; r++)
		multiply(r, whole_row, NULL, want[r]);
	bad = with_friends(0, 0);
	for (uint32_t k = 2; k <= 4; k++)
		bad |= with_friends(k, 0);
	bad |= with_friends(2, 1);
	return bad;
}
