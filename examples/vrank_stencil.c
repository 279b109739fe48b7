/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vrank_stencil.c - heat along a ring, cut into many more blocks than there are ranks: each block
 * is a vrank, which goes on as soon as both neighbours have told it their edges. All blocks begin
 * on two of four ranks; some steps later they move so that every rank has as many, while others
 * compute on, and behind a fence nothing takes a detour any more. All ranks are in this process,
 * over a network that is a list; the result is compared with a loop over the ring in one piece.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/vrank.h>

#define RANKS  4
#define BLOCKS 32
#define CELLS  16 /* of a block */
#define STEPS  60
#define MOVES  20 /* the step after which blocks move */
#define PAUSE  40 /* the step after which all wait for a fence */

/* What a block takes along when it moves. */
struct block {
	unsigned int step, until; /* steps done; goes on until this many */
	unsigned int edges[2];    /* how many edges have come from left and right */
	long edge[2][2];          /* by side; neighbours may be a step ahead */
	long cells[CELLS];
};

struct rank {
	unsigned int number;
	struct qv_vranks *vranks;
	struct block *blocks[BLOCKS]; /* those that are here */
	int failed;
};

struct message {
	struct message *next;
	unsigned int from, to;
	uint32_t id;
	size_t bytes;
	char data[];
};

static struct rank ranks[RANKS];
static struct message *first, **last = &first;
static long want[BLOCKS * CELLS];

/* Whole numbers, so that both ways give the same. */
static long next_value(long left, long here, long right)
{
	return (left + 2 * here + right) / 4;
}

/* A block. */

static void tell_neighbours(struct rank *r, unsigned int number)
{
	const struct block *b = r->blocks[number];

	for (unsigned int side = 0; side < 2; side++) {
		const struct qv_vrank_item item = {.to = (number + (side ? 1 : BLOCKS - 1)) %
							 BLOCKS,
						   .from = number,
						   .entry = 1 - side, /* the receiver's side */
						   .data = &b->cells[side ? CELLS - 1 : 0],
						   .bytes = sizeof(long)};

		if (qv_vranks_insert(r->vranks, &item, 0))
			r->failed = 1;
	}
}

static void compute(struct block *b)
{
	long old[CELLS + 2];

	old[0] = b->edge[0][b->step % 2];
	memcpy(old + 1, b->cells, sizeof(b->cells));
	old[CELLS + 1] = b->edge[1][b->step % 2];
	for (unsigned int i = 0; i < CELLS; i++)
		b->cells[i] = next_value(old[i], old[i + 1], old[i + 2]);
	b->step++;
}

/* What can be done now; a block is told its own step by nobody but its neighbours. */
static void go_on(struct rank *r, unsigned int number)
{
	struct block *b = r->blocks[number];

	while (b->step < b->until && b->edges[0] > b->step && b->edges[1] > b->step) {
		compute(b);
		if (b->step < b->until)
			tell_neighbours(r, number);
		if (b->step == MOVES && qv_vranks_move(r->vranks, number, number % RANKS, 0))
			r->failed = 1;
	}
}

static void come(void *port, const struct qv_vrank_item *item)
{
	struct rank *r = port;
	struct block *b = r->blocks[item->to];

	memcpy(&b->edge[item->entry][b->edges[item->entry]++ % 2], item->data, sizeof(long));
	go_on(r, item->to);
}

static int leave(void *port, uint32_t vrank, struct qv_vrank_state *state)
{
	struct rank *r = port;
	const int rc = qv_vrank_add(state, r->blocks[vrank], sizeof(struct block));

	free(r->blocks[vrank]);
	r->blocks[vrank] = NULL;
	return rc;
}

static int arrive(void *port, uint32_t vrank, const void *state, size_t bytes)
{
	struct rank *r = port;

	r->blocks[vrank] = malloc(bytes);
	if (!r->blocks[vrank])
		return QV_ENOMEM;
	memcpy(r->blocks[vrank], state, bytes);
	return QV_OK;
}

/* The network. */

static int send(void *port, uint32_t id, uint32_t peer, const void *buf, size_t bytes)
{
	struct message *m = malloc(sizeof(*m) + bytes);

	if (!m)
		return QV_ENOMEM;
	*m = (struct message){NULL, ((struct rank *)port)->number, peer, id, bytes};
	memcpy(m->data, buf, bytes);
	*last = m;
	last = &m->next;
	return QV_OK;
}

static int deliver_all(void)
{
	int rc = QV_OK;

	while (first) {
		struct message *m = first;

		first = m->next;
		if (!first)
			last = &first;
		qv_vranks_done(ranks[m->from].vranks, m->id, QV_OK);
		if (!rc)
			rc = qv_vranks_deliver(ranks[m->to].vranks, m->from, m->data, m->bytes, 0);
		free(m);
	}
	return rc;
}

/* A fence, which is also the end of all that was sent before. */
static int fence(void)
{
	unsigned int over = 0;
	int rc = QV_OK;

	for (unsigned int done = 0; over != (1u << RANKS) - 1 && !rc; over |= done) {
		for (unsigned int r = 0; r < RANKS; r++)
			if (!(over >> r & 1) && qv_vranks_fence(ranks[r].vranks, 0) == QV_OK)
				done |= 1u << r;
		rc = deliver_all();
	}
	return rc;
}

/* Until every block has done its steps. */
static int run(unsigned int until)
{
	int rc = QV_OK;

	for (unsigned int r = 0; r < RANKS; r++)
		for (unsigned int i = 0; i < BLOCKS; i++)
			if (ranks[r].blocks[i]) {
				ranks[r].blocks[i]->until = until;
				tell_neighbours(&ranks[r], i);
			}
	for (int busy = 1; busy && !rc; rc = deliver_all()) {
		busy = 0;
		for (unsigned int r = 0; r < RANKS; r++)
			busy |= qv_vranks_flush(ranks[r].vranks) == QV_EAGAIN;
	}
	return rc ? rc : fence();
}

/* The whole. */

static int open_ranks(void)
{
	static const struct qv_vranks_calls calls = {send, come, leave, arrive};
	uint32_t homes[BLOCKS];
	struct qv_vranks_spec spec = {
		.stream = {.way = QV_WAY_MESH2, .ranks = RANKS}, .vranks = BLOCKS, .homes = homes};
	int rc = QV_OK;

	for (unsigned int i = 0; i < BLOCKS; i++)
		homes[i] = i % 2;
	for (unsigned int r = 0; r < RANKS && !rc; r++) {
		ranks[r].number = spec.stream.rank = r;
		rc = qv_vranks_create(&spec, &calls, &ranks[r], &ranks[r].vranks);
	}
	for (unsigned int i = 0; i < BLOCKS && !rc; i++) {
		struct block *b = calloc(1, sizeof(*b));

		if (!b)
			return QV_ENOMEM;
		memcpy(b->cells, &want[i * CELLS], sizeof(b->cells));
		ranks[homes[i]].blocks[i] = b;
	}
	return rc;
}

static void serial(void)
{
	static long old[BLOCKS * CELLS];
	const unsigned int n = BLOCKS * CELLS;

	for (unsigned int step = 0; step < STEPS; step++) {
		memcpy(old, want, sizeof(old));
		for (unsigned int i = 0; i < n; i++)
			want[i] = next_value(old[(i + n - 1) % n], old[i], old[(i + 1) % n]);
	}
}

/* Every block where it should be, with so many steps done and at the end the right cells; how many
 * items took a detour. */
static int check(unsigned int step, unsigned long long *detours)
{
	int wrong = 0;

	*detours = 0;
	for (unsigned int r = 0; r < RANKS; r++) {
		struct qv_vranks_stats s;

		qv_vranks_stats(ranks[r].vranks, &s);
		*detours += s.forwarded;
		wrong |= ranks[r].failed;
	}
	for (unsigned int i = 0; i < BLOCKS; i++) {
		const struct block *b = ranks[i % RANKS].blocks[i];

		wrong |= !b || b->step != step || qv_vranks_home(ranks[0].vranks, i) != i % RANKS;
		wrong |= b && step == STEPS &&
			 memcmp(b->cells, &want[i * CELLS], sizeof(b->cells)) != 0;
	}
	return wrong;
}

int main(void)
{
	unsigned long long before = 0, after = 0;
	int rc, wrong;

	for (unsigned int i = 0; i < BLOCKS * CELLS; i++)
		want[i] = (long)(i * i % 977) * 1000;
	rc = open_ranks();
	serial();
	if (!rc)
		rc = run(PAUSE);
	wrong = rc || check(PAUSE, &before);
	if (!rc)
		rc = run(STEPS);
	wrong = wrong || rc || check(STEPS, &after);
	printf("%d blocks on %d ranks, %d steps: %s; %llu items took a detour while blocks had "
	       "moved, %llu behind the fence\n",
	       BLOCKS, RANKS, STEPS, wrong ? "WRONG" : "as in one piece", before, after - before);
	for (unsigned int r = 0; r < RANKS; r++) {
		for (unsigned int i = 0; i < BLOCKS; i++)
			free(ranks[r].blocks[i]);
		qv_vranks_free(ranks[r].vranks);
	}
	return wrong || !before || after != before;
}
