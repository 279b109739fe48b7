/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_calls.c - tiny items, one after the other, to the next rank or to all in turn: each
 * a message of the MPI, or in buckets by a stream over messages of the MPI.
 */
#include "worker.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/stream.h>

#define AT_ONCE 64 /* messages of the MPI under way */
#define LIMIT   65536

struct flow {
	const struct qv_bl_rank *r;
	const struct qv_bl_case *c;
	struct qv_stream *stream;
	MPI_Request sends[AT_ONCE], receive;
	char *incoming, item[QV_BX_ITEM];
	long expected, came;
	uint64_t sum; /* of the first bytes of what came */
};

/* Items that this rank sends, and so many come. */
static long items_of(const struct qv_bl_rank *r, const struct qv_bl_case *c)
{
	return c->pattern == 'e' ? (long)c->reach * (r->ranks - 1) : QV_BX_ITEMS;
}

static int peer_of(const struct qv_bl_rank *r, const struct qv_bl_case *c, int rank, long i)
{
	return (rank + 1 + (c->pattern == 'e' ? (int)(i % (r->ranks - 1)) : 0)) % r->ranks;
}

static void count(struct flow *f, const void *data)
{
	uint64_t value;

	memcpy(&value, data, sizeof(value));
	f->sum += value;
	f->came++;
}

/* The i-th item of a rank says who it is. */
static const void *item(struct flow *f, long i)
{
	const uint64_t value = (uint64_t)f->r->rank * 1000003u + (uint64_t)i * 7919u;

	memcpy(f->item, &value, sizeof(value));
	return f->item;
}

static bool is_right(const struct flow *f)
{
	uint64_t sum = 0;

	for (int from = 0; from < f->r->ranks; from++)
		for (long i = 0; i < f->expected && from != f->r->rank; i++)
			if (peer_of(f->r, f->c, from, i) == f->r->rank)
				sum += (uint64_t)from * 1000003u + (uint64_t)i * 7919u;
	return f->came == f->expected && f->sum == sum;
}

/* Each a message. */

static void by_messages(struct flow *f)
{
	static char out[AT_ONCE][QV_BX_ITEM], in[AT_ONCE][QV_BX_ITEM];
	MPI_Request requests[2 * AT_ONCE];
	const int bytes = (int)f->c->bytes;

	for (long i = 0; i < f->expected;) {
		int n = 0;

		for (; n < AT_ONCE && i + n < f->expected; n++) {
			memcpy(out[n], item(f, i + n), sizeof(uint64_t));
			MPI_Irecv(in[n], bytes, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
				  &requests[n]);
		}
		for (int k = 0; k < n; k++)
			MPI_Isend(out[k], bytes, MPI_BYTE, peer_of(f->r, f->c, f->r->rank, i + k),
				  1, MPI_COMM_WORLD, &requests[n + k]);
		MPI_Waitall(2 * n, requests, MPI_STATUSES_IGNORE);
		for (int k = 0; k < n; k++)
			count(f, in[k]);
		i += n;
	}
}

/* By a stream. */

static int port_send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	struct flow *f = port;

	if (id >= AT_ONCE)
		return QV_EAGAIN;
	MPI_Isend(buf, (int)bytes, MPI_BYTE, (int)peer, 2, MPI_COMM_WORLD, &f->sends[id]);
	return QV_OK;
}

static void port_item(void *port, uint32_t from, const void *data, size_t bytes)
{
	count(port, data);
}

static uint64_t clock_ns(void)
{
	return (uint64_t)(1e9 * qv_bl_now());
}

static void await(struct flow *f)
{
	MPI_Irecv(f->incoming, LIMIT, MPI_BYTE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &f->receive);
}

/* What has come, and what has left. */
static void poll_all(struct flow *f)
{
	int done, n, which[AT_ONCE];
	MPI_Status status;

	for (MPI_Test(&f->receive, &done, &status); done; MPI_Test(&f->receive, &done, &status)) {
		MPI_Get_count(&status, MPI_BYTE, &n);
		if (qv_stream_deliver(f->stream, (uint32_t)status.MPI_SOURCE, f->incoming,
				      (size_t)n, clock_ns()))
			MPI_Abort(MPI_COMM_WORLD, 1);
		await(f);
	}
	MPI_Testsome(AT_ONCE, f->sends, &n, which, MPI_STATUSES_IGNORE);
	for (int i = 0; n != MPI_UNDEFINED && i < n; i++)
		qv_stream_done(f->stream, (uint32_t)which[i], QV_OK);
}

static void by_stream(struct flow *f)
{
	MPI_Request barrier;
	int over = 0;

	uint64_t now = clock_ns();

	for (long i = 0; i < f->expected; i++) {
		const void *data = item(f, i);
		const uint32_t to = (uint32_t)peer_of(f->r, f->c, f->r->rank, i);

		while (qv_stream_insert(f->stream, to, data, (size_t)f->c->bytes, now) == QV_EAGAIN)
			poll_all(f);
		if (i % 32 == 0) {
			now = clock_ns();
			poll_all(f);
		}
	}
	while (qv_stream_flush(f->stream) == QV_EAGAIN || f->came < f->expected)
		poll_all(f);
	MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
	while (!over) { /* others may send through here */
		qv_stream_flush(f->stream);
		poll_all(f);
		MPI_Test(&barrier, &over, MPI_STATUS_IGNORE);
	}
}

static int open_stream(struct flow *f, const char *impl)
{
	static const struct qv_stream_calls calls = {.send = port_send, .item = port_item};
	struct qv_stream_spec spec = {.ranks = (uint32_t)f->r->ranks,
				      .rank = (uint32_t)f->r->rank,
				      .limit = LIMIT,
				      .window = AT_ONCE / 2};

	spec.way = QV_N_WAYS;
	for (int i = 0; i < QV_N_WAYS; i++)
		if (!strcmp(impl, qv_way_name((enum qv_way)i)))
			spec.way = (enum qv_way)i;
	spec.items = f->c->pattern == 'e' ? 500 : (uint32_t)f->c->reach;
	for (int i = 0; i < AT_ONCE; i++)
		f->sends[i] = MPI_REQUEST_NULL;
	f->incoming = malloc(LIMIT);
	return f->incoming ? qv_stream_create(&spec, &calls, f, &f->stream) : QV_ENOMEM;
}

static void close_stream(struct flow *f)
{
	if (f->stream) {
		MPI_Cancel(&f->receive);
		MPI_Wait(&f->receive, MPI_STATUS_IGNORE);
	}
	qv_stream_free(f->stream);
	free(f->incoming);
}

/* A sample. */

const char *qv_bx_stream(struct qv_bl_rank *r, const struct qv_bl_case *c, const char *impl,
			 float *us)
{
	struct flow f = {.r = r, .c = c, .expected = items_of(r, c)};
	const bool plain = !strcmp(impl, "mpi");
	double begin, time;
	int good;

	if (!plain && open_stream(&f, impl)) {
		close_stream(&f);
		return "no-such-algorithm";
	}
	if (!plain)
		await(&f);
	MPI_Barrier(MPI_COMM_WORLD);
	begin = qv_bl_now();
	if (plain)
		by_messages(&f);
	else
		by_stream(&f);
	time = 1e6 * (qv_bl_now() - begin) / (double)f.expected;
	good = is_right(&f);
	close_stream(&f);
	MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	*us = (float)time;
	return good ? "checked" : "wrong";
}
