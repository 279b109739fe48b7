/* SPDX-License-Identifier: BSD-2-Clause */
/* stream.c - streams: all items come, once, in order and whole; what makes no sense is refused. */
#include "am.h"

#include <string.h>

#define MOST 64 /* ranks */
#define FEW  4  /* of them, at once */

struct flow {
	struct qv_am_stream *stream, *other;
	uint32_t sent[MOST], got[MOST];        /* to and from each rank */
	uint32_t passed[MOST], received[MOST]; /* the same by ring and tree */
	uint64_t hops;                         /* of balls, that came */
	size_t longest;
};

/* The i-th item of a pair: i, and bytes that follow from it. */

static size_t length_of(uint32_t from, uint32_t to, uint32_t i, size_t longest)
{
	return 4 + (from * 7 + to * 13 + i * 31) % (longest - 3);
}

static void come_to_many(struct flow *f, uint32_t from, const void *item, size_t bytes)
{
	uint32_t data[2 + 2 * FEW], i = 2, *got;

	check(bytes <= sizeof(data));
	memcpy(data, item, bytes);
	got = data[1] ? f->received : f->got;
	while (4 * i < bytes && data[i] != (uint32_t)rank)
		i += 2;
	check(4 * i < bytes && data[i + 1] == got[from]);
	got[from]++;
}

static void come(void *user, uint32_t from, const void *data, size_t bytes)
{
	struct flow *f = user;
	char expected[512];

	check(from < (uint32_t)ranks);
	if (bytes >= 4 && !memcmp(data, (char[4]){-1, -1, -1, -1}, 4)) {
		come_to_many(f, from, data, bytes);
		return;
	}
	check(bytes == length_of(from, (uint32_t)rank, f->got[from], f->longest));
	memset(expected, (int)(from + 3 * f->got[from]), bytes);
	memcpy(expected, &f->got[from], 4);
	check(!memcmp(data, expected, bytes));
	f->got[from]++;
}

static void send_one(struct flow *f, uint32_t to)
{
	const size_t bytes = length_of((uint32_t)rank, to, f->sent[to], f->longest);
	char data[512];

	memset(data, (int)((uint32_t)rank + 3 * f->sent[to]), bytes);
	memcpy(data, &f->sent[to], 4);
	f->sent[to]++; /* one to oneself comes within the call */
	check(!(draw(50) ? qv_am_stream_insert : qv_am_stream_insert_urgent)(f->stream, to, data,
									     bytes));
}

/* To some at once: how, whom, and which item it is for each, is said in it. */
static void send_many(struct flow *f)
{
	const enum qv_section by = (enum qv_section)draw(QV_N_SECTIONS);
	uint32_t to[FEW], data[2 + 2 * FEW] = {UINT32_MAX, by}, n = 0;
	uint32_t *sent = by ? f->passed : f->sent;

	for (uint32_t r = draw((uint32_t)ranks); r < (uint32_t)ranks && n < FEW; r += 1 + draw(3)) {
		data[2 + 2 * n] = r;
		data[3 + 2 * n] = sent[r]++;
		to[n++] = r;
	}
	check(!qv_am_stream_multicast(f->stream, by, to, n, data, 8 + 8 * n));
}

/* All that others have inserted before the fence is here. */
static void compare(const struct flow *f)
{
	uint32_t others[MOST];

	MPI_Alltoall(f->sent, 1, MPI_UINT32_T, others, 1, MPI_UINT32_T, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		check(f->got[r] == others[r]);
	MPI_Alltoall(f->passed, 1, MPI_UINT32_T, others, 1, MPI_UINT32_T, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		check(f->received[r] == others[r]);
}

void streams(void)
{
	for (int round = 0; round < 8; round++) {
		struct flow f = {.longest = 4 + draw_alike(round % 2 ? 20 : 400)};
		struct qv_stream_spec spec = {.size = sizeof(spec)};
		int rc;

		spec.way = (enum qv_way[]){QV_WAY_DIRECT, QV_WAY_MESH2, QV_WAY_MESH3,
					   QV_WAY_HYPERCUBE}[round % 4];
		spec.items = draw_alike(3) ? draw_alike(60) : 1;
		spec.limit = draw_alike(2) ? f.longest + 64 : 0;
		spec.window = draw_alike(4);
		spec.wait_ns = draw_alike(2) ? UINT64_MAX : draw_alike(20000);
		check(!qv_am_stream_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, come, &f,
					   &f.stream));
		for (int fence = 0; fence < 3; fence++) {
			for (uint32_t n = draw(1500); n; n--) {
				if (draw(5))
					send_one(&f, draw((uint32_t)ranks));
				else
					send_many(&f);
				if (!draw(100)) {
					rc = qv_am_stream_progress(f.stream);
					check(rc == QV_OK || rc == QV_EAGAIN);
				}
			}
			check(!qv_am_stream_fence(f.stream));
			compare(&f);
			MPI_Barrier(MPI_COMM_WORLD); /* so that nobody is behind it yet */
		}
		check(!qv_am_stream_free(f.stream));
	}
}

/* Balls fly on for as many hops as they say: each function inserts another item. */

static void fly(void *user, uint32_t from, const void *data, size_t bytes)
{
	struct flow *f = user;
	uint32_t left;

	check(bytes == sizeof(left));
	memcpy(&left, data, sizeof(left));
	f->hops++;
	check(qv_am_stream_progress(f->stream) == QV_EINVAL);
	check(qv_am_stream_fence(f->stream) == QV_EINVAL);
	check(qv_am_stream_free(f->stream) == QV_EINVAL);
	if (f->other) {
		check(qv_am_stream_progress(f->other) == QV_EINVAL);
		check(qv_am_stream_insert(f->other, from, data, bytes) == QV_EINVAL);
		check(qv_am_stream_multicast(f->other, QV_SECTION_RING, &from, 1, data, bytes) ==
		      QV_EINVAL);
	}
	if (left--)
		check(!qv_am_stream_insert(f->stream, draw((uint32_t)ranks), &left, sizeof(left)));
}

void answers(void)
{
	const struct qv_stream_spec spec = {.way = QV_WAY_MESH2, .items = 3, .window = 1};
	const uint32_t hops = 200, balls = 50;
	struct flow f = {0};
	struct qv_stream_stats stats;
	uint64_t all;

	check(!qv_am_stream_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, fly, &f, &f.stream));
	check(!qv_am_stream_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, fly, &f, &f.other));
	for (uint32_t i = 0; i < balls; i++)
		check(!qv_am_stream_insert(f.stream, i % (uint32_t)ranks, &hops, sizeof(hops)));
	check(!qv_am_stream_fence(f.stream));
	MPI_Allreduce(&f.hops, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	check(all == (uint64_t)ranks * balls * (hops + 1));
	qv_stream_stats(qv_am_stream_of(f.stream), &stats);
	check(stats.delivered == f.hops);
	check(!qv_am_stream_free(f.other));
	check(!qv_am_stream_free(f.stream));
	check(!qv_am_stream_free(NULL));
}

/*
 * Rank 1 comes to the fence when it has inserted an item and got one, while a ball still flies between
 * ranks 0 and 2, who told their sums before: the first sums agree by chance.
 */

#define HOPS 20000

static void rally(void *user, uint32_t from, const void *data, size_t bytes)
{
	struct flow *f = user;
	uint32_t left;

	memcpy(&left, data, sizeof(left));
	f->hops++;
	if (rank == 0 && from == 1)
		check(!qv_am_stream_insert_urgent(f->stream, 1, &left, sizeof(left)));
	if (rank != 1 && left--)
		check(!qv_am_stream_insert_urgent(f->stream, rank ? 0 : 2, &left, sizeof(left)));
}

void by_chance(void)
{
	const struct qv_stream_spec spec = {.way = QV_WAY_DIRECT};
	const uint32_t hops = HOPS;
	struct flow f = {0};
	double until;

	if (ranks < 3)
		return;
	check(!qv_am_stream_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, rally, &f, &f.stream));
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1) {
		for (until = MPI_Wtime() + 0.3; MPI_Wtime() < until;)
			;
		check(!qv_am_stream_insert_urgent(f.stream, 0, &hops, sizeof(hops)));
		while (!f.hops)
			check(qv_am_stream_progress(f.stream) != QV_EINVAL);
	}
	check(!qv_am_stream_fence(f.stream));
	MPI_Allreduce(MPI_IN_PLACE, &f.hops, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
	check(f.hops == HOPS + 2);
	check(!qv_am_stream_free(f.stream));
}

/* Two streams on one communicator, which the program frees before. */
void two_at_a_time(void)
{
	const struct qv_stream_spec spec = {.way = QV_WAY_MESH2, .items = 5};
	struct flow f[2] = {{.longest = 20}, {.longest = 30}};
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int i = 0; i < 2; i++)
		check(!qv_am_stream_create(MPI_Comm_c2f(comm), &spec, come, &f[i], &f[i].stream));
	MPI_Comm_free(&comm);
	for (int i = 0; i < 2000; i++)
		send_one(&f[draw(2)], draw((uint32_t)ranks));
	check(!qv_am_stream_free(f[1].stream));
	compare(&f[1]);
	check(!qv_am_stream_fence(f[0].stream));
	compare(&f[0]);
	check(!qv_am_stream_free(f[0].stream));
}

/* An item waits for wait_ns from when it was inserted, however long the rank has computed before. */
void waits(void)
{
	const struct qv_stream_spec spec = {.way = QV_WAY_DIRECT, .wait_ns = 300000000};
	struct flow f = {.longest = 20};
	struct qv_stream_stats stats;
	double until;

	check(!qv_am_stream_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, come, &f, &f.stream));
	for (until = MPI_Wtime() + 0.4; MPI_Wtime() < until;)
		;
	until = MPI_Wtime() + 0.2;
	if (ranks > 1)
		check(!qv_am_stream_insert(f.stream, (uint32_t)!rank,
					   (char[4]){0}, /* as send_one, of length_of 0 */
					   length_of((uint32_t)rank, !rank, 0, 4)));
	f.sent[!rank] += ranks > 1;
	f.longest = 4;
	qv_am_stream_progress(f.stream);
	qv_stream_stats(qv_am_stream_of(f.stream), &stats);
	check(!stats.late || MPI_Wtime() > until); /* a machine may stand still */
	check(!qv_am_stream_free(f.stream));
	compare(&f);
}

/* What makes no sense. */

static int make(MPI_Comm comm, const struct qv_stream_spec *spec, int has_function)
{
	struct qv_am_stream *s = NULL;
	const int rc =
		qv_am_stream_create(MPI_Comm_c2f(comm), spec, has_function ? come : NULL, NULL, &s);

	check(!rc == !!s);
	check(!qv_am_stream_free(s));
	return rc;
}

static void refused_items(void)
{
	const struct qv_stream_spec spec = {.way = QV_WAY_DIRECT};
	struct flow f = {.longest = 20};
	static const char big[8192];

	check(!qv_am_stream_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, come, &f, &f.stream));
	check(qv_am_stream_insert(f.stream, (uint32_t)ranks, big, 1) == QV_EINVAL);
	check(qv_am_stream_insert(f.stream, 0, NULL, 1) == QV_EINVAL);
	check(qv_am_stream_insert(f.stream, 0, big,
				  qv_stream_longest(qv_am_stream_of(f.stream)) + 1) == QV_EMSGSIZE);
	check(qv_am_stream_multicast(f.stream, QV_SECTION_WAY, (uint32_t[]){0, 0}, 2, big, 1) ==
	      QV_EINVAL);
	check(qv_am_stream_multicast(f.stream, QV_N_SECTIONS, (uint32_t[]){0}, 1, big, 1) ==
	      QV_EINVAL);
	send_one(&f, 0); /* and nothing has changed */
	check(!qv_am_stream_fence(f.stream));
	compare(&f);
	check(!qv_am_stream_free(f.stream));
}

/* A later version's structure: right if what this one does not know is 0, on all ranks. */
static void refused_sizes(void)
{
	struct {
		struct qv_stream_spec spec;
		uint64_t later;
	} spec = {.spec = {.size = sizeof(spec), .way = QV_WAY_DIRECT}};

	check(!make(MPI_COMM_WORLD, &spec.spec, 1));
	spec.later = rank == ranks - 1;
	check(make(MPI_COMM_WORLD, &spec.spec, 1) == QV_EINVAL);
	spec.spec.size = rank ? sizeof(spec) - 8 : 3;
	check(make(MPI_COMM_WORLD, &spec.spec, 1) == QV_EINVAL);
}

void refused(void)
{
	struct qv_stream_spec spec = {.way = QV_WAY_DIRECT, .items = 10};
	MPI_Comm half, both;

	check(make(MPI_COMM_NULL, &spec, 1) == QV_EINVAL);
	check(make(MPI_COMM_WORLD, &spec, ranks > 1 ? rank : 0) == QV_EINVAL);
	check(!make(MPI_COMM_WORLD, &spec, 1));
	spec.items = ranks > 1 ? 10 + (uint32_t)(rank == ranks - 1) : 65537;
	check(make(MPI_COMM_WORLD, &spec, 1) == QV_EINVAL);
	spec.items = 10;
	spec.limit = rank ? 8192 : 1;
	check(make(MPI_COMM_WORLD, &spec, 1) == QV_EINVAL);
	spec.limit = 0;
	refused_items();
	refused_sizes();
	if (ranks < 2)
		return;
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
	check(make(both, &spec, 1) == QV_EINVAL);
	check(!make(half, &spec, 1));
	MPI_Comm_free(&both);
	MPI_Comm_free(&half);
}
