/* SPDX-License-Identifier: BSD-2-Clause */
/* vranks.c - vranks that talk, answer and move between processes as they like: all items come, once
 * and in order, what a vrank knows moves with it, and behind a fence everyone is at home. */
#include "am.h"

#include <string.h>

#define VRANKS 40

/* What a vrank knows. */
struct being {
	uint32_t sent[VRANKS], got[VRANKS];
	uint32_t passed[VRANKS], received[VRANKS]; /* the same by ring and tree */
	uint32_t moves;
};

struct world {
	struct qv_am_vranks *vranks;
	struct being *beings[VRANKS]; /* those that are here */
	int lively;
};

/* Returns QV_EAGAIN, which only the main program may be told, or QV_OK. */
static int talk(struct world *w, uint32_t from, uint32_t to)
{
	struct being *b = w->beings[from];
	const uint32_t data[2] = {b->sent[to], from * 1000 + to};
	const struct qv_vrank_item item = {to, from, 7, data, sizeof(data)};
	int rc;

	b->sent[to]++; /* it may come, and the vrank may leave, within the call */
	rc = qv_am_vranks_insert(w->vranks, &item);
	if (rc)
		b->sent[to]--;
	check(!rc || rc == QV_EAGAIN);
	return rc;
}

/* To some others at once. */
static int talk_to_many(struct world *w, uint32_t from)
{
	const enum qv_section by = (enum qv_section)draw(QV_N_SECTIONS);
	struct being *b = w->beings[from];
	uint32_t to[5], data[2 + 2 * 5] = {UINT32_MAX, 0}, n = 0;
	uint32_t *const sent = by ? b->passed : b->sent;
	struct qv_vrank_item item = {.from = from, .entry = by ? 8 : 7, .data = data};
	int rc;

	for (uint32_t v = draw(8); v < VRANKS && n < 5; v += 1 + draw(12)) {
		data[2 + 2 * n] = v;
		data[3 + 2 * n] = sent[v]++;
		to[n++] = v;
	}
	data[1] = n;
	item.bytes = 8 + 8 * n;
	rc = qv_am_vranks_multicast(w->vranks, &item, by, to, n);
	for (uint32_t i = 0; i < n && rc; i++)
		sent[to[i]]--;
	check(!rc || rc == QV_EAGAIN);
	return rc;
}

static void come(void *user, const struct qv_vrank_item *item)
{
	struct world *w = user;
	struct being *b = w->beings[item->to];
	uint32_t data[12], number;

	check(b && item->bytes <= sizeof(data));
	check(qv_am_vranks_progress(w->vranks) == QV_EINVAL);
	check(qv_am_vranks_fence(w->vranks) == QV_EINVAL);
	check(qv_am_vranks_free(w->vranks) == QV_EINVAL);
	memcpy(data, item->data, item->bytes);
	number = data[0];
	if (number == UINT32_MAX) {
		for (uint32_t i = 0; i < data[1]; i++)
			if (data[2 + 2 * i] == item->to)
				number = data[3 + 2 * i];
	} else {
		check(item->entry == 7 && data[1] == item->from * 1000 + item->to);
	}
	check(number == (item->entry == 7 ? b->got : b->received)[item->from]++);
	if (w->lively && !draw(3))
		check(!talk(w, item->to, draw(VRANKS)));
	if (w->lively && !draw(20))
		check(qv_am_vranks_move(w->vranks, item->to, draw((uint32_t)ranks)) != QV_EINVAL);
}

static int leave(void *user, uint32_t vrank, struct qv_vrank_state *state)
{
	struct world *w = user;
	const int rc = qv_vrank_add(state, w->beings[vrank], sizeof(struct being));

	free(w->beings[vrank]);
	w->beings[vrank] = NULL;
	return rc;
}

static int arrive(void *user, uint32_t vrank, const void *state, size_t bytes)
{
	struct world *w = user;

	check(!w->beings[vrank] && bytes == sizeof(struct being));
	w->beings[vrank] = malloc(bytes);
	check(w->beings[vrank]);
	memcpy(w->beings[vrank], state, bytes);
	w->beings[vrank]->moves++;
	return QV_OK;
}

/* [from][to], all ranks; items by the stream's way, by ring and tree. */
struct table {
	uint32_t sent[2][VRANKS][VRANKS], got[2][VRANKS][VRANKS];
};

static void count(struct table *t, uint32_t v, const struct being *b)
{
	for (uint32_t o = 0; o < VRANKS; o++) {
		t->sent[0][v][o] = b->sent[o];
		t->sent[1][v][o] = b->passed[o];
		t->got[0][o][v] = b->got[o];
		t->got[1][o][v] = b->received[o];
	}
}

/* Behind a fence: everyone is somewhere, at home, and has all that others have sent. */
static void compare(struct world *w)
{
	static struct table t;
	uint32_t here[VRANKS];

	memset(&t, 0, sizeof(t));
	for (uint32_t v = 0; v < VRANKS; v++) {
		here[v] = w->beings[v] != NULL;
		check((qv_vranks_home(qv_am_vranks_of(w->vranks), v) == (uint32_t)rank) == here[v]);
		if (here[v])
			count(&t, v, w->beings[v]);
	}
	MPI_Allreduce(MPI_IN_PLACE, &t, sizeof(t) / 4, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, here, VRANKS, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
	check(!memcmp(t.sent, t.got, sizeof(t.sent)));
	for (uint32_t v = 0; v < VRANKS; v++)
		check(here[v] == 1);
}

/* Talk for a while; vranks move meanwhile. */
static void live(struct world *w)
{
	const struct qv_vranks *v = qv_am_vranks_of(w->vranks);

	w->lively = 1;
	for (int i = 0; i < 2000; i++) {
		const uint32_t from = draw(VRANKS);
		int rc = QV_OK;

		if (qv_vranks_here(v, from))
			rc = draw(10) ? talk(w, from, draw(VRANKS)) : talk_to_many(w, from);
		if (rc || !draw(10))
			rc = qv_am_vranks_progress(w->vranks);
		check(!rc || rc == QV_EAGAIN);
	}
	w->lively = 0;
}

static const struct qv_vranks_calls calls = {.item = come, .leave = leave, .arrive = arrive};

void vranks(void)
{
	struct world w = {0};
	struct qv_vranks_spec spec = {.size = sizeof(spec), .vranks = VRANKS};
	uint64_t moved;

	spec.stream.way = QV_WAY_MESH2;
	spec.stream.window = 4;
	spec.stream.items = 8;
	spec.stream.limit = 1 << 14;
	for (int round = 0; round < 4; round++) {
		struct qv_vranks_stats stats;

		check(!qv_am_vranks_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, &calls, &w,
					   &w.vranks));
		for (uint32_t v = 0; v < VRANKS; v++)
			if (qv_vranks_here(qv_am_vranks_of(w.vranks), v))
				check(w.beings[v] = calloc(1, sizeof(struct being)));
		for (int fence = 0; fence < 3; fence++) {
			live(&w);
			check(!qv_am_vranks_fence(w.vranks));
			compare(&w);
		}
		qv_vranks_stats(qv_am_vranks_of(w.vranks), &stats);
		moved = stats.moved;
		MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
		check(!stats.refused && (ranks == 1 || moved > 5));
		check(!qv_am_vranks_free(w.vranks));
		for (uint32_t v = 0; v < VRANKS; v++) {
			free(w.beings[v]);
			w.beings[v] = NULL;
		}
		spec.stream.window = 1;
	}
}

/* What makes no sense. */

static int make(struct world *w, const struct qv_vranks_spec *spec,
		const struct qv_vranks_calls *functions)
{
	const int rc =
		qv_am_vranks_create(MPI_Comm_c2f(MPI_COMM_WORLD), spec, functions, w, &w->vranks);

	if (!rc)
		check(!qv_am_vranks_free(w->vranks));
	return rc;
}

void vranks_refused(void)
{
	static const struct qv_vranks_calls none = {.item = come};
	uint32_t homes[VRANKS] = {0};
	struct qv_vranks_spec good = {.vranks = VRANKS, .homes = homes}, spec = good;
	struct world w = {0};

	good.stream.way = QV_WAY_DIRECT;
	check(!make(&w, &good, &calls));
	check(make(&w, &good, rank ? &calls : &none) == QV_EINVAL);
	spec = good;
	spec.vranks = ranks > 1 ? VRANKS + (uint32_t)rank : UINT32_MAX;
	spec.homes = NULL;
	check(make(&w, &spec, &calls) == QV_EINVAL);
	if (ranks == 1)
		return;
	homes[7] = (uint32_t)(rank == ranks - 1);
	check(make(&w, &good, &calls) == QV_EINVAL);
	homes[7] = 0;
	spec = good;
	spec.state = 1000 + (size_t)(rank == ranks - 1);
	check(make(&w, &spec, &calls) == QV_EINVAL);
	spec = good;
	spec.stream.wait_ns = 5 + (uint64_t)(rank == ranks - 1);
	check(make(&w, &spec, &calls) == QV_EINVAL);
	spec = good;
	spec.stream.window = 5 + (uint32_t)(rank == ranks - 1);
	check(make(&w, &spec, &calls) == QV_EINVAL);
	check(!qv_am_vranks_free(NULL));
}

/* Where others are told by way of a rank that a fence is over, it goes on until they know, though it knows
 * first: rank 0 takes its time between two messages. */

static int is_slow;

/* The library's calls come here first. */
int MPI_Isend(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
	      MPI_Request *request)
{
	const int rc = PMPI_Isend(buf, count, type, to, tag, comm, request);

	for (double until = MPI_Wtime() + 0.002; is_slow && MPI_Wtime() < until;)
		;
	return rc;
}

void homes_by_others(void)
{
	struct qv_vranks_spec spec = {.stream = {.way = QV_WAY_MESH2, .items = 1},
				      .vranks = VRANKS};
	struct world w = {0};

	check(!qv_am_vranks_create(MPI_Comm_c2f(MPI_COMM_WORLD), &spec, &calls, &w, &w.vranks));
	is_slow = !rank;
	for (int i = 0; i < 10; i++) {
		check(!qv_am_vranks_fence(w.vranks));
		MPI_Barrier(MPI_COMM_WORLD);
	}
	is_slow = 0;
	check(!qv_am_vranks_free(w.vranks));
}
