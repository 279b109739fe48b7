/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * am_stencil.c - heat along a ring over MPI, with one block a rank and with many: each block is a
 * vrank (quiver/am.h), which goes on as soon as both neighbours have told it their edges. While one
 * block of a rank waits, others compute. Half way, every block moves to the next rank, while others
 * compute on. The cells are compared with a loop over the ring in one piece.
 *
 *   mpicc am_stencil.c -lquiver-am-ompi -lquiver     (libquiver-am-mpich with MPICH)
 *   mpirun -np 4 ./a.out [blocks of a rank, 8] [turns, 5]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/am.h>

#define CELLS 960 /* of a rank, whatever its blocks */
#define STEPS 100
#define MOST  64 /* blocks of a rank */
#define BEGIN 2  /* beside the two sides of which an edge comes */

/* What a block takes along when it moves. */
struct block {
	uint32_t step, edges[2]; /* steps done; how many edges have come from left and right */
	long edge[2][2];         /* by side; neighbours may be a step ahead */
	long cells[];
};

struct ring {
	int rank, ranks;
	uint32_t blocks, n; /* of all ranks; cells of one */
	size_t bytes;       /* of a block */
	struct qv_am_vranks *vranks;
	struct block **here; /* by number */
	int failed;
};

/* Whole numbers, so that all ways give the same. */
static long next_value(long left, long here, long right)
{
	return (left + 2 * here + right) / 4;
}

static long first_value(uint32_t cell)
{
	return (long)(cell * cell % 977) * 1000;
}

/* A block. */

static void tell_neighbours(struct ring *r, uint32_t number)
{
	const struct block *b = r->here[number];

	for (uint32_t side = 0; side < 2; side++) {
		const struct qv_vrank_item item = {.to = (number + (side ? 1 : r->blocks - 1)) %
							 r->blocks,
						   .from = number,
						   .entry = 1 - side, /* the receiver's side */
						   .data = &b->cells[side ? r->n - 1 : 0],
						   .bytes = sizeof(long)};

		r->failed |= qv_am_vranks_insert(r->vranks, &item) != QV_OK;
	}
}

static void compute(const struct ring *r, struct block *b)
{
	long left = b->edge[0][b->step % 2];
	const long last = b->edge[1][b->step % 2];

	for (uint32_t i = 0; i < r->n; i++) {
		const long here = b->cells[i];

		b->cells[i] = next_value(left, here, i + 1 < r->n ? b->cells[i + 1] : last);
		left = here;
	}
	b->step++;
}

/* What can be done now. */
static void go_on(struct ring *r, uint32_t number)
{
	struct block *b = r->here[number];

	while (b->step < STEPS && b->edges[0] > b->step && b->edges[1] > b->step) {
		compute(r, b);
		if (b->step < STEPS)
			tell_neighbours(r, number);
		if (b->step == STEPS / 2)
			r->failed |=
				qv_am_vranks_move(r->vranks, number,
						  (uint32_t)((r->rank + 1) % r->ranks)) != QV_OK;
	}
}

/* All that a block sends it sends from within this function: items for others on this rank then come
 * behind it, so nobody's second edge overtakes the first. */
static void come(void *user, const struct qv_vrank_item *item)
{
	struct ring *r = user;
	struct block *b = r->here[item->to];

	if (item->entry != BEGIN)
		memcpy(&b->edge[item->entry][b->edges[item->entry]++ % 2], item->data,
		       sizeof(long));
	go_on(r, item->to);
}

static int leave(void *user, uint32_t vrank, struct qv_vrank_state *state)
{
	struct ring *r = user;
	const int rc = qv_vrank_add(state, r->here[vrank], r->bytes);

	free(r->here[vrank]);
	r->here[vrank] = NULL;
	return rc;
}

static int arrive(void *user, uint32_t vrank, const void *state, size_t bytes)
{
	struct ring *r = user;

	r->here[vrank] = malloc(bytes);
	if (!r->here[vrank])
		return QV_ENOMEM;
	memcpy(r->here[vrank], state, bytes);
	return QV_OK;
}

/* The whole. */

/* Blocks of this rank; all are made before the first says anything. */
static int make_blocks(struct ring *r)
{
	const uint32_t all = r->blocks * r->n;

	for (uint32_t v = 0; v < r->blocks; v++) {
		struct block *b;

		if (!qv_vranks_here(qv_am_vranks_of(r->vranks), v))
			continue;
		r->here[v] = b = calloc(1, r->bytes);
		if (!b)
			return QV_ENOMEM;
		for (uint32_t i = 0; i < r->n; i++)
			b->cells[i] = first_value(v * r->n + i);
		b->edge[0][0] = first_value((v * r->n + all - 1) % all);
		b->edge[1][0] = first_value((v + 1) * r->n % all);
		b->edges[0] = b->edges[1] = 1; /* of the first step */
	}
	return QV_OK;
}

static int open_ring(struct ring *r, uint32_t blocks)
{
	static const struct qv_vranks_calls calls = {
		.item = come, .leave = leave, .arrive = arrive};
	struct qv_vranks_spec spec = {.stream = {.way = QV_WAY_DIRECT, .wait_ns = 1}};

	spec.vranks = r->blocks = blocks * (uint32_t)r->ranks;
	r->n = CELLS / blocks;
	r->bytes = sizeof(struct block) + r->n * sizeof(long);
	r->here = calloc(r->blocks, sizeof(struct block *));
	return r->here ? qv_am_vranks_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, &calls, r,
					     &r->vranks)
		       : QV_ENOMEM;
}

/* Every block on the rank behind its first one, with the right cells. */
static int is_right(const struct ring *r, uint32_t blocks, const long *want)
{
	int right = !r->failed;

	for (uint32_t v = 0; v < r->blocks; v++) {
		const struct block *b = r->here[v];

		right &= !b == ((int)(v / blocks + 1) % r->ranks != r->rank);
		right &= !b || !memcmp(b->cells, want + v * r->n, r->n * sizeof(long));
	}
	MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return right;
}

/* Each block of this rank tells itself to begin, which comes at once. */
static void begin(struct ring *r)
{
	const uint32_t blocks = r->blocks / (uint32_t)r->ranks;

	for (uint32_t v = blocks * (uint32_t)r->rank; v / blocks == (uint32_t)r->rank; v++) {
		const struct qv_vrank_item item = {.to = v, .from = v, .entry = BEGIN};

		r->failed |= qv_am_vranks_insert(r->vranks, &item) != QV_OK;
	}
}

/* The time of the slowest rank; -1: the cells are wrong. */
static double turn(uint32_t blocks, const long *want)
{
	struct ring r = {0};
	double time;
	int rc, right;

	MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &r.ranks);
	if (open_ring(&r, blocks) || make_blocks(&r))
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	time = MPI_Wtime();
	begin(&r);
	rc = qv_am_vranks_fence(r.vranks); /* when nobody has anything to tell any more */
	time = MPI_Wtime() - time;
	if (rc)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	right = is_right(&r, blocks, want);
	qv_am_vranks_free(r.vranks);
	for (uint32_t v = 0; v < r.blocks; v++)
		free(r.here[v]);
	free(r.here);
	return right ? time : -1;
}

static long *in_one_piece(uint32_t n)
{
	long *cells = malloc(2 * n * sizeof(*cells)), *old = cells + n;

	for (uint32_t i = 0; cells && i < n; i++)
		cells[i] = first_value(i);
	for (int step = 0; cells && step < STEPS; step++) {
		memcpy(old, cells, n * sizeof(*cells));
		for (uint32_t i = 0; i < n; i++)
			cells[i] = next_value(old[(i + n - 1) % n], old[i], old[(i + 1) % n]);
	}
	return cells;
}

static int by_time(const void *a, const void *b)
{
	return *(const double *)a > *(const double *)b ? 1 : -1;
}

int main(int argc, char **argv)
{
	const int many = argc > 1 ? atoi(argv[1]) : 8, turns = argc > 2 ? atoi(argv[2]) : 5;
	double times[2][101];
	int rank, ranks, wrong = 0;
	long *want;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (many < 1 || many > MOST || CELLS % many || turns < 1 || turns > 101) {
		if (!rank)
			fprintf(stderr,
				"usage: am_stencil [blocks of a rank, a divisor of %d, at "
				"most %d] [turns, 1 to 101]\n",
				CELLS, MOST);
		MPI_Finalize();
		return 2;
	}
	want = in_one_piece((uint32_t)(CELLS * ranks));
	for (int i = 0; want && i < turns; i++)
		for (int k = 0; k < 2; k++) {
			times[k][i] = turn(k ? (uint32_t)many : 1, want);
			wrong |= times[k][i] < 0;
		}
	for (int k = 0; k < 2 && !rank && want && !wrong; k++) {
		qsort(times[k], (size_t)turns, sizeof(double), by_time);
		printf("%2d blocks a rank: %7.1f us a step (median of %d turns)\n", k ? many : 1,
		       1e6 * times[k][turns / 2] / STEPS, turns);
	}
	if (!rank)
		printf("%s\n", !want || wrong ? "WRONG" : "all as in one piece");
	free(want);
	MPI_Finalize();
	return !want || wrong;
}
