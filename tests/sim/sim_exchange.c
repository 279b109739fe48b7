/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim_exchange.c GAMMA WHAT BYTES... - alltoall, alltoallv of few partners and allgather with
 * neighbours under SimGrid's SMPI, each by all that there is, beside what the model says of it and
 * what is selected by it. GAMMA: seconds of a copied byte. WHAT:
 *     alltoall                 blocks of so many bytes
 *     alltoallv:N              with the N nearest ranks
 *     moore:DIMS:R             neighbours up to R away in a grid around its edges
 *     random:THOUSANDTHS       a random graph of this density
 * Prints the network as it was measured, and for each length and way a line
 *     row WHAT BYTES WAY SECONDS MODEL 0|1        1: it is what was selected
 */
#include "sim_port.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quiver/choose.h>
#include <quiver/select.h>

#include "tests/exchange/graph_case.h"

#define PER_NODE 32
#define MARGIN   1.0 /* virtual time has no noise */

static struct sim_port port;
static struct qv_network network;
static const char *what;

static void print(size_t bytes, const char *way, double seconds, double model, int selected)
{
	if (!port.rank)
		printf("row %s %zu %s %.9f %.9f %d\n", what, bytes, way, seconds, model, selected);
}

static char *room_of(size_t bytes)
{
	char *room = calloc(bytes + 1, 1);

	if (!room)
		sim_fail("no memory");
	return room;
}

/* Alltoall. */

static enum qv_algorithm selected(struct qv_select *select, size_t bytes)
{
	const struct qv_select_call call = {.coll = QV_COLL_ALLTOALL,
					    .ranks = (uint32_t)port.ranks,
					    .rank = (uint32_t)port.rank,
					    .bytes = bytes * (size_t)port.ranks};
	const struct qv_plan *plan;
	enum qv_algorithm algorithm;

	if (qv_select_get(select, &call, &plan))
		sim_fail("nothing was selected");
	algorithm = plan->algorithm;
	qv_select_put(select, plan);
	return algorithm;
}

static void alltoall(const struct qv_schedule *schedule, enum qv_algorithm algorithm, size_t bytes,
		     int chosen)
{
	const size_t whole = bytes * (size_t)port.ranks;
	char *in = room_of(whole), *work = room_of(whole);
	double seconds;

	for (int r = 0; r < port.ranks; r++)
		memset(in + bytes * (size_t)r, port.rank * 7 + r, bytes);
	seconds = sim_schedule(&port, schedule, whole, bytes, in, work);
	for (int r = 0; r < port.ranks; r++)
		for (size_t i = 0; i < bytes; i++)
			if (work[bytes * (size_t)r + i] != (char)(r * 7 + port.rank))
				sim_fail("a block is wrong");
	print(bytes, qv_algorithm_name(algorithm), seconds,
	      qv_model_seconds(&network, QV_COLL_ALLTOALL, algorithm, (uint32_t)port.ranks,
			       (double)whole, 1),
	      chosen);
	free(in);
	free(work);
}

static void all_alltoall(int n, char **bytes)
{
	struct qv_select *select;

	if (qv_select_open(NULL, NULL, 0, &select) || qv_select_bursts(select, &network))
		sim_fail("no selection");
	for (int a = 0; a < QV_N_ALGORITHMS; a++) {
		const struct qv_schedule_spec spec = {.coll = QV_COLL_ALLTOALL,
						      .algorithm = (enum qv_algorithm)a,
						      .ranks = (uint32_t)port.ranks};
		struct qv_schedule *schedule;

		if (!qv_schedule_exists(spec.coll, spec.algorithm, 0))
			continue;
		if (qv_schedule_build(&spec, (uint32_t)port.rank, &schedule))
			sim_fail("no schedule");
		for (int i = 0; i < n; i++) {
			const size_t m = (size_t)atol(bytes[i]);

			alltoall(schedule, spec.algorithm, m,
				 selected(select, m) == spec.algorithm);
		}
		qv_schedule_free(schedule);
	}
	qv_select_close(select);
}

/* Alltoallv. */

struct partners {
	struct qv_exchange_item items[512];
	size_t n, bytes;
	char *out, *in;
	struct qv_way_choice choice;
	struct qv_traffic traffic;
};

/* The nearest ranks on both sides. */
static void make_partners(struct partners *p, int partners, size_t bytes)
{
	const int P = port.ranks;

	*p = (struct partners){.n = (size_t)partners, .bytes = bytes};
	p->out = room_of(bytes);
	p->in = room_of(bytes * (size_t)partners);
	memset(p->out, port.rank + 1, bytes);
	for (int i = 0; i < partners; i++) {
		const int far = i / 2 + 1;

		p->items[i] = (struct qv_exchange_item){
			(uint32_t)((port.rank + (i % 2 ? P - far : far)) % P), p->out, bytes};
	}
	p->traffic = (struct qv_traffic){(uint32_t)P, partners, (double)bytes};
	if (qv_choose_way(&network, &p->traffic, MARGIN, &p->choice))
		sim_fail("no choice");
}

static void check_exchange(const struct partners *p, const struct qv_exchange *exchange)
{
	size_t n;
	const struct qv_exchange_item *item = qv_exchange_result(exchange, &n);

	if (n != p->n)
		sim_fail("messages are lost");
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < item[i].bytes; j++)
			if (item[i].bytes != p->bytes ||
			    ((const char *)item[i].data)[j] != (char)(item[i].peer + 1))
				sim_fail("a message is wrong");
}

static void by_way(const struct partners *p, enum qv_way way, uint32_t radix)
{
	const struct qv_exchange_spec spec = {.way = way,
					      .ranks = (uint32_t)port.ranks,
					      .rank = (uint32_t)port.rank,
					      .radix = radix};
	struct qv_exchange *exchange;
	char name[32];
	double seconds;

	if (qv_exchange_create(&spec, &sim_exchange_calls, &port, &exchange))
		sim_fail("no exchange");
	seconds = sim_exchange(&port, exchange, p->items, p->n);
	check_exchange(p, exchange);
	qv_exchange_free(exchange);
	snprintf(name, sizeof(name), radix > 2 ? "%s-%u" : "%s", qv_way_name(way), radix);
	print(p->bytes, name, seconds, qv_way_seconds(&network, way, radix, &p->traffic),
	      !p->choice.straight && p->choice.way == way && p->choice.radix == radix);
}

static void all_alltoallv(int partners, int n, char **bytes)
{
	static const uint32_t radices[] = {2, 3, 4, 6, 8, 12, 16, 32};

	if (partners < 1 || partners > 512 || partners >= port.ranks)
		sim_fail("so many partners there are not");
	for (int i = 0; i < n; i++) {
		struct partners p;
		struct qv_traffic pairwise;
		double seconds;

		make_partners(&p, partners, (size_t)atol(bytes[i]));
		seconds = sim_straight(&port, p.items, p.n, p.in);
		print(p.bytes, "straight", seconds, qv_straight_seconds(&network, &p.traffic),
		      p.choice.straight);
		seconds = sim_pairwise(&port, p.items, p.n, p.in);
		pairwise = (struct qv_traffic){(uint32_t)port.ranks, port.ranks - 1 - partners, 0};
		print(p.bytes, "pairwise", seconds,
		      qv_straight_seconds(&network, &p.traffic) +
			      qv_straight_seconds(&network, &pairwise),
		      0);
		for (size_t k = 0; k < sizeof(radices) / sizeof(radices[0]); k++)
			if (radices[k] <= p.traffic.ranks)
				by_way(&p, QV_WAY_CRYSTAL, radices[k]);
		by_way(&p, QV_WAY_MESH2, 0);
		by_way(&p, QV_WAY_MESH3, 0);
		by_way(&p, QV_WAY_HYPERCUBE, 0);
		free(p.out);
		free(p.in);
	}
}

/* Neighbours. */

static struct qv_graph_case graph;

/* All ranks are in one address space: one of them plans. */
static struct qv_neighbor_plan *plan_of(uint32_t k, int cumulative, int choose, double bytes)
{
	struct qv_neighbor_spec spec = {
		.graph = graph.graph, .node = graph.node, .k = k, .cumulative = cumulative};
	struct qv_neighbor_plan *plan = NULL;

	if (!port.rank && (choose ? qv_choose_neighbor(&network, &spec, QV_COLL_ALLGATHER, bytes,
						       MARGIN, &plan, NULL)
				  : qv_neighbor_plan(&spec, &plan)))
		sim_fail("no plan");
	MPI_Bcast(&plan, (int)sizeof(plan), MPI_BYTE, 0, MPI_COMM_WORLD);
	return plan;
}

static void free_plan(struct qv_neighbor_plan *plan)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (!port.rank)
		qv_neighbor_free(plan);
}

static double gather(const struct qv_neighbor_plan *plan, size_t bytes)
{
	const uint32_t me = (uint32_t)port.rank, n = graph.graph.in_n[me];
	char *in = room_of(bytes), *work = room_of(bytes * n);
	struct qv_schedule *schedule;
	double seconds;

	memset(in, port.rank + 1, bytes);
	if (qv_neighbor_schedule(plan, QV_COLL_ALLGATHER, me, &schedule))
		sim_fail("no schedule");
	seconds = sim_schedule(&port, schedule, bytes, bytes, in, work);
	for (uint32_t r = 0; r < n; r++)
		for (size_t i = 0; i < bytes; i++)
			if (work[bytes * r + i] != (char)(graph.graph.in[me][r] + 1))
				sim_fail("a block is wrong");
	qv_schedule_free(schedule);
	free(in);
	free(work);
	return seconds;
}

static void all_neighbors(uint32_t most, int n, char **bytes)
{
	for (uint32_t k = 1; k <= most; k++)
		for (int cumulative = 0; cumulative <= (k > 1); cumulative++) {
			struct qv_neighbor_plan *plan = plan_of(k, cumulative, 0, 0);
			char name[32];

			snprintf(name, sizeof(name), k > 1 ? "friends%u%s" : "naive", k,
				 cumulative ? "-cumulative" : "");
			for (int i = 0; i < n; i++) {
				const size_t m = (size_t)atol(bytes[i]);
				double model;

				if (qv_neighbor_seconds(&network, plan, QV_COLL_ALLGATHER,
							(double)m, &model))
					sim_fail("no memory");
				print(m, name, gather(plan, m), model, 0);
			}
			free_plan(plan);
		}
	for (int i = 0; i < n; i++) {
		struct qv_neighbor_plan *plan = plan_of(most, 1, 1, atof(bytes[i]));
		double model = 0;

		qv_neighbor_seconds(&network, plan, QV_COLL_ALLGATHER, atof(bytes[i]), &model);
		print((size_t)atol(bytes[i]), "selected", gather(plan, (size_t)atol(bytes[i])),
		      model, 1);
		free_plan(plan);
	}
}

/* All. */

static void run(int n, char **bytes)
{
	uint32_t a = 0, b = 0, side = 1;

	if (!strcmp(what, "alltoall")) {
		all_alltoall(n, bytes);
	} else if (sscanf(what, "alltoallv:%u", &a) == 1) {
		all_alltoallv((int)a, n, bytes);
	} else if (sscanf(what, "moore:%u:%u", &a, &b) == 2 && a) {
		while (lround(pow(side, a)) < port.ranks)
			side++;
		if (lround(pow(side, a)) != port.ranks)
			sim_fail("there is no such grid");
		qv_graph_moore(&graph, a, side, b, 1, 0, PER_NODE);
		all_neighbors(4, n, bytes);
	} else if (sscanf(what, "random:%u", &a) == 1) {
		qv_graph_random(&graph, (uint32_t)port.ranks, a, 0, PER_NODE, 1);
		all_neighbors(4, n, bytes);
	} else {
		sim_fail("what is that?");
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	if (argc < 4)
		sim_fail("usage: sim_exchange GAMMA WHAT BYTES...");
	sim_port_open(&port, atof(argv[1]));
	what = argv[2];
	network = sim_calibrate(&port);
	if (!port.rank)
		printf("network %g %g %g %g %g %g %g %g %g\n", network.alpha, network.beta,
		       network.gamma, network.longer[0].from, network.longer[0].alpha,
		       network.longer[0].beta, network.longer[1].from, network.longer[1].alpha,
		       network.longer[1].beta);
	run(argc - 3, argv + 3);
	sim_port_close(&port);
	MPI_Finalize();
	return 0;
}
