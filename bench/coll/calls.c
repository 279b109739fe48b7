/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.c - the calls that are timed, and whether they do what they should. */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

static int doubles(const struct qv_bl_case *c)
{
	return (int)(c->bytes / (long)sizeof(double));
}

/* As many doubles per rank, of those with a block for each: a vector of about the length. */
static int per_rank(const struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	const int n = doubles(c) / r->ranks;

	return n ? n : 1;
}

static void start(struct qv_bl_rank *r, const struct qv_bl_case *c, MPI_Request *request)
{
	if (c->operation == QV_BL_IREDUCE)
		MPI_Ireduce(r->in, r->out, doubles(c), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD,
			    request);
	else
		MPI_Iallreduce(r->in, r->out, doubles(c), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
			       request);
}

/* Work. Where a call is under way it tests now and then, as programs do that want messages to move
 * meanwhile; what the tests take is no work. */
static void compute(double work, MPI_Request *request)
{
	double end = qv_bl_now() + work;
	int done = !request;

	while (qv_bl_now() < end) {
		const double next = qv_bl_now() + 20e-6;
		double begin;

		while (qv_bl_now() < next && qv_bl_now() < end)
			;
		begin = qv_bl_now();
		if (!done)
			MPI_Test(request, &done, MPI_STATUS_IGNORE);
		end += qv_bl_now() - begin;
	}
}

void qv_bl_call(struct qv_bl_rank *r, const struct qv_bl_case *c, double work)
{
	MPI_Request request;

	if (qv_bx_is(c)) {
		qv_bx_call(r, c);
		return;
	}
	switch (c->operation) {
	case QV_BL_REDUCE:
		MPI_Reduce(r->in, r->out, doubles(c), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		break;
	case QV_BL_ALLREDUCE:
		MPI_Allreduce(r->in, r->out, doubles(c), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		break;
	case QV_BL_REDUCE_SCATTER:
		MPI_Reduce_scatter_block(r->in, r->out, per_rank(r, c), MPI_DOUBLE, MPI_SUM,
					 MPI_COMM_WORLD);
		break;
	case QV_BL_BROADCAST: MPI_Bcast(r->out, doubles(c), MPI_DOUBLE, 0, MPI_COMM_WORLD); break;
	case QV_BL_ALLGATHER:
		MPI_Allgather(r->in, per_rank(r, c), MPI_DOUBLE, r->out, per_rank(r, c), MPI_DOUBLE,
			      MPI_COMM_WORLD);
		break;
	case QV_BL_ALLTOALL:
		MPI_Alltoall(r->in, per_rank(r, c), MPI_DOUBLE, r->out, per_rank(r, c), MPI_DOUBLE,
			     MPI_COMM_WORLD);
		break;
	case QV_BL_BARRIER: MPI_Barrier(MPI_COMM_WORLD); break;
	default:
		start(r, c, &request);
		compute(work, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		return;
	}
	compute(work, NULL);
}

static size_t vector(const struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	const size_t whole = (size_t)per_rank(r, c) * (size_t)r->ranks;

	return whole > (size_t)doubles(c) ? whole : (size_t)doubles(c);
}

double qv_bl_value(int rank, size_t i)
{
	return (double)((i * 7 + (size_t)rank * 3) % 1000);
}

static void fill(struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	for (size_t i = 0; i < r->n; i++) {
		r->in[i] = qv_bl_value(r->rank, i);
		r->out[i] = c->operation == QV_BL_BROADCAST && !r->rank ? r->in[i] : -1;
	}
}

void qv_bl_prepare(struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	size_t n;

	if (qv_bx_is(c)) {
		qv_bx_prepare(r, c);
		r->n = r->shape.in > r->shape.out ? r->shape.in : r->shape.out;
	} else {
		r->n = vector(r, c);
	}
	n = r->n;
	if (n > r->room) {
		free(r->in);
		free(r->out);
		free(r->expected);
		r->in = malloc(n * sizeof(double));
		r->out = malloc(n * sizeof(double));
		r->expected = malloc(n * sizeof(double));
		r->room = n;
		if (!r->in || !r->out || !r->expected)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	fill(r, c);
	if (c->operation != QV_BL_PAIR)
		qv_bl_call(r, c, 0);
	memcpy(r->expected, r->out, n * sizeof(double));
}

int qv_bl_check(struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	int good;

	fill(r, c);
	qv_bl_call(r, c, 0);
	good = !memcmp(r->expected, r->out, r->n * sizeof(double));
	if (c->operation == QV_BL_SPMM)
		good &= qv_bx_spmm_is_right(r);
	MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return good;
}

/* Rank 0 stays, the others go round: in ranks - 1 pairings everyone meets everyone. */
static int partner_of(int rank, int ranks, int pairing)
{
	const int seats = ranks + ranks % 2, around = seats - 1;
	int other;

	if (rank == seats - 1)
		other = pairing % around;
	else if (rank == pairing % around)
		other = seats - 1;
	else
		other = ((2 * pairing - rank) % around + around) % around;
	return other < ranks ? other : -1;
}

void qv_bl_pairs(struct qv_bl_rank *r, const struct qv_bl_case *c, int pairing, float *transfer,
		 float *combine)
{
	const int other = partner_of(r->rank, r->ranks, pairing), n = doubles(c);
	double begin, came = 0, done = 0, times[2] = {0, 0};

	for (int turn = 0; turn < 2; turn++) {
		MPI_Barrier(MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		begin = qv_bl_now();
		if (other >= 0 && (r->rank < other) == turn) {
			MPI_Send(r->in, n, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
		} else if (other >= 0) {
			MPI_Recv(r->out, n, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
				 MPI_STATUS_IGNORE);
			came = qv_bl_now();
			MPI_Reduce_local(r->in, r->out, n, MPI_DOUBLE, MPI_SUM);
			done = qv_bl_now();
			times[0] = came - begin;
			times[1] = done - came;
		}
	}
	MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	*transfer = (float)(times[0] * 1e6);
	*combine = (float)(times[1] * 1e6);
}
