/* SPDX-License-Identifier: BSD-2-Clause */
/* sim_port.c - schedules and exchanges over MPI messages under SMPI, and bursts. */
#include "sim_port.h"

#include <simgrid/actor.h>
#include <stdio.h>
#include <stdlib.h>

#include <quiver/predict.h>

#define BURST 128

void sim_fail(const char *what)
{
	fprintf(stderr, "FAILED: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

void sim_port_open(struct sim_port *port, double gamma)
{
	*port = (struct sim_port){.gamma = gamma};
	MPI_Comm_rank(MPI_COMM_WORLD, &port->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &port->ranks);
}

void sim_port_close(struct sim_port *port)
{
	free(port->requests);
	free(port->ids);
}

static void sleep_until(double when)
{
	const double left = when - MPI_Wtime();

	if (left > 0)
		sg_actor_sleep_for(left);
}

/* A copy that could begin then, but for others. */
static void copy(struct sim_port *port, double from, double bytes)
{
	if (port->copied < from)
		port->copied = from;
	port->copied += bytes * port->gamma;
}

static MPI_Request *under_way(struct sim_port *port, uint32_t id)
{
	if (port->n == port->room) {
		port->room = port->room * 2 + 64;
		port->requests = realloc(port->requests, (size_t)port->room * sizeof(MPI_Request));
		port->ids = realloc(port->ids, (size_t)port->room * sizeof(uint32_t));
		if (!port->requests || !port->ids)
			sim_fail("no memory");
	}
	port->ids[port->n] = id;
	return &port->requests[port->n++];
}

static int send(void *context, uint32_t id, uint32_t peer, uint32_t tag, const void *buf,
		size_t bytes)
{
	struct sim_port *port = context;
	size_t n;

	if (port->schedule) { /* what leaves from scratch was put together there */
		const struct qv_step *step = &qv_schedule_steps(port->schedule, &n)[id];

		if (step->kind == QV_STEP_SEND &&
		    step->first >= qv_schedule_blocks(port->schedule)) {
			copy(port, port->ready, (double)bytes);
			sleep_until(port->copied);
		}
	}
	return MPI_Isend(buf, (int)bytes, MPI_BYTE, (int)peer, (int)tag, MPI_COMM_WORLD,
			 under_way(port, id));
}

static int receive(void *context, uint32_t id, uint32_t peer, uint32_t tag, void *buf, size_t bytes)
{
	struct sim_port *port = context;

	return MPI_Irecv(buf, (int)bytes, MPI_BYTE, (int)peer, (int)tag, MPI_COMM_WORLD,
			 under_way(port, id));
}

static const struct qv_port schedule_calls = {send, receive};
const struct qv_exchange_port sim_exchange_calls = {send, receive};

/* One that is over; how long it was. */
static uint32_t wait_one(struct sim_port *port, int *bytes)
{
	MPI_Status status;
	uint32_t id;
	int at;

	MPI_Waitany(port->n, port->requests, &at, &status);
	if (at == MPI_UNDEFINED)
		sim_fail("nothing is under way");
	MPI_Get_count(&status, MPI_BYTE, bytes);
	id = port->ids[at];
	port->requests[at] = port->requests[--port->n];
	port->ids[at] = port->ids[port->n];
	port->ready = MPI_Wtime();
	if (port->behind)
		copy(port, port->ready, (double)port->behind[id] * (double)port->block);
	return id;
}

/* All together: ranks leave a barrier one after the other. Virtual time costs nothing. */
static double begin(void)
{
	double when, mine;

	MPI_Barrier(MPI_COMM_WORLD);
	mine = MPI_Wtime() + 1;
	MPI_Allreduce(&mine, &when, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (when < MPI_Wtime())
		sim_fail("too late for the beginning");
	sleep_until(when);
	return when;
}

/* Clocks of all ranks are one. */
static double end(double begun)
{
	const double mine = MPI_Wtime();
	double last;

	MPI_Allreduce(&mine, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return last - begun;
}

/* What is put where it belongs after it has come, by the step that it comes with. */
static void look_behind(struct sim_port *port)
{
	size_t n;
	const struct qv_step *steps = qv_schedule_steps(port->schedule, &n);

	port->behind = calloc(n + 1, sizeof(*port->behind));
	if (!port->behind)
		sim_fail("no memory");
	for (size_t i = 0; i < n; i++) {
		uint32_t first = (uint32_t)i;

		if (steps[i].kind != QV_STEP_MOVE ||
		    steps[i].first >= qv_schedule_blocks(port->schedule))
			continue;
		while (steps[first].kind == QV_STEP_MOVE && steps[first].after != QV_STEP_NONE)
			first = steps[first].after;
		port->behind[first] += steps[i].blocks;
	}
}

double sim_schedule(struct sim_port *port, const struct qv_schedule *schedule, size_t count,
		    size_t block, const char *in, char *work)
{
	char *temp = malloc(qv_schedule_scratch(schedule) * block + 1);
	const struct qv_run_data data = {
		.item = 1, .count = count, .in = in, .work = work, .temp = temp};
	struct qv_run *run;
	double begun;
	int rc, bytes;

	port->schedule = schedule;
	port->block = block;
	look_behind(port);
	if (!temp || qv_run_create(schedule, &schedule_calls, port, &run))
		sim_fail("no memory");
	if (qv_run_start(run, &data))
		sim_fail("a run was refused");
	begun = port->ready = begin();
	while ((rc = qv_run_progress(run)) == QV_EAGAIN)
		qv_run_done(run, wait_one(port, &bytes), QV_OK);
	if (rc)
		sim_fail("a run has failed");
	sleep_until(port->copied);
	begun = end(begun);
	qv_run_free(run);
	free(port->behind);
	free(temp);
	port->schedule = NULL;
	port->behind = NULL;
	return begun;
}

double sim_exchange(struct sim_port *port, struct qv_exchange *exchange,
		    const struct qv_exchange_item *items, size_t n)
{
	struct qv_exchange_stats stats;
	uint64_t before = 0;
	const double begun = port->ready = begin();
	int rc = qv_exchange_start(exchange, items, n), bytes;

	while (!rc || rc == QV_EAGAIN) {
		qv_exchange_stats(exchange, &stats);
		copy(port, port->ready, (double)(stats.copied - before));
		sleep_until(port->copied);
		before = stats.copied;
		rc = qv_exchange_progress(exchange);
		if (rc != QV_EAGAIN)
			break;
		if (port->n) {
			const uint32_t id = wait_one(port, &bytes);

			qv_exchange_done(exchange, id, (size_t)bytes, QV_OK);
		}
	}
	if (rc)
		sim_fail("an exchange has failed");
	return end(begun);
}

/* Whoever sends to p - r receives from p + r: patterns are the same at all ranks. */
static int mirror(const struct sim_port *port, uint32_t peer)
{
	return (2 * port->rank - (int)peer + port->ranks) % port->ranks;
}

double sim_straight(struct sim_port *port, const struct qv_exchange_item *items, size_t n,
		    char *room)
{
	const double begun = begin();
	int bytes;

	for (size_t i = 0; i < n; i++)
		receive(port, 0, (uint32_t)mirror(port, items[i].peer), 0,
			room + i * items[i].bytes, items[i].bytes);
	for (size_t i = 0; i < n; i++)
		send(port, 0, items[i].peer, 0, items[i].data, items[i].bytes);
	while (port->n)
		wait_one(port, &bytes);
	return end(begun);
}

double sim_pairwise(struct sim_port *port, const struct qv_exchange_item *items, size_t n,
		    char *room)
{
	const size_t longest = n ? items[0].bytes : 0;
	const struct qv_exchange_item **to = calloc((size_t)port->ranks, sizeof(*to));
	double begun;
	int bytes;

	for (size_t i = 0; to && i < n; i++)
		to[items[i].peer] = &items[i];
	begun = begin();
	for (int i = 1; to && i < port->ranks; i++) {
		const int peer = (port->rank + i) % port->ranks;

		receive(port, 0, (uint32_t)mirror(port, (uint32_t)peer), 0, room, longest);
		send(port, 0, (uint32_t)peer, 0, to[peer] ? to[peer]->data : room,
		     to[peer] ? to[peer]->bytes : 0);
		while (port->n)
			wait_one(port, &bytes);
	}
	free(to);
	return end(begun);
}

/* What the network is like. */

/* Of each message, if both send so many at once. */
static double burst(void *buf, int bytes, int other)
{
	MPI_Request requests[2 * BURST];
	const double begun = MPI_Wtime();

	for (int i = 0; i < BURST; i++)
		MPI_Irecv(buf, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[i]);
	for (int i = 0; i < BURST; i++)
		MPI_Isend(buf, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[BURST + i]);
	MPI_Waitall(2 * BURST, requests, MPI_STATUSES_IGNORE);
	return (MPI_Wtime() - begun) / BURST;
}

struct qv_network sim_calibrate(const struct sim_port *port)
{
	struct qv_network network = {.gamma = port->gamma};
	struct qv_sample samples[32];
	void *buf = calloc(1, 1 << 19);
	size_t n = 0;

	for (int bytes = 8; bytes <= 1 << 18; bytes = bytes % 3 ? bytes * 3 / 2 : bytes / 3 * 4) {
		samples[n].bytes = bytes;
		if (!port->rank || port->rank == port->ranks - 1)
			samples[n].seconds = burst(buf, bytes, port->ranks - 1 - port->rank);
		n++;
	}
	if (!port->rank && qv_network_fit_bursts(samples, n, 1 + QV_NETWORK_LONGER, &network))
		sim_fail("the figures of the network do not fit");
	MPI_Bcast(&network, (int)sizeof(network), MPI_BYTE, 0, MPI_COMM_WORLD);
	free(buf);
	return network;
}
