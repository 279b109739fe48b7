/* SPDX-License-Identifier: BSD-2-Clause */
/* planner_net.c - see planner_net.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "planner_net.h"

struct letter {
	struct letter *next; /* to the same rank */
	uint32_t from;
	size_t n;
	uint32_t words[];
};

struct end {
	struct planner_net *net;
	uint32_t rank;
	struct qv_planner_spec spec;
	struct qv_planner *planner;
	struct letter *first, **last; /* for it */
	uint32_t waiting;             /* its place among those for whom there is something */
	int begun;
};

struct planner_net {
	uint32_t ranks, waiting_n;
	uint32_t *waiting; /* ranks */
	struct end *ends;
	uint64_t state, words;
	int rc; /* of the last call */
};

uint32_t planner_net_at_work = PLANNER_NET_NOBODY;

static uint32_t draw(struct planner_net *net, uint32_t n)
{
	uint64_t x = net->state;

	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	net->state = x;
	return (uint32_t)((x >> 20) % n);
}

static void carry(void *context, uint32_t to, const uint32_t *words, size_t n)
{
	const struct end *from = context;
	struct planner_net *net = from->net;
	struct letter *l;
	struct end *end;

	planner_net_at_work = PLANNER_NET_NOBODY;
	assert_true(to < net->ranks && to != from->rank);
	l = malloc(sizeof(*l) + n * sizeof(*words));
	end = &net->ends[to];
	l->next = NULL;
	l->from = from->rank;
	l->n = n;
	memcpy(l->words, words, n * sizeof(*words));
	if (!end->first) {
		end->waiting = net->waiting_n;
		net->waiting[net->waiting_n++] = to;
		end->last = &end->first;
	}
	*end->last = l;
	end->last = &l->next;
	net->words += n;
	planner_net_at_work = from->rank;
}

struct qv_planner_spec planner_net_spec(const struct qv_graph_case *c, uint32_t rank, uint32_t k,
					int aware, int cumulative)
{
	return (struct qv_planner_spec){
		.size = sizeof(struct qv_planner_spec),
		.ranks = c->graph.ranks,
		.rank = rank,
		.out_n = c->graph.out_n[rank],
		.in_n = c->graph.in_n[rank],
		.out = c->graph.out[rank],
		.in = c->graph.in[rank],
		.node = aware ? c->node[rank] : QV_ANY_NODE,
		.k = k,
		.cumulative = cumulative,
	};
}

struct planner_net *planner_net_create(const struct qv_graph_case *c, uint32_t k, int aware,
				       int cumulative, uint64_t seed)
{
	struct planner_net *net = calloc(1, sizeof(*net));

	net->ranks = c->graph.ranks;
	net->state = seed * 2 + 88172645463325253u;
	net->ends = calloc(net->ranks, sizeof(*net->ends));
	net->waiting = calloc(net->ranks, sizeof(*net->waiting));
	for (uint32_t r = 0; r < net->ranks; r++) {
		net->ends[r] = (struct end){.net = net, .rank = r};
		net->ends[r].spec = planner_net_spec(c, r, k, aware, cumulative);
	}
	return net;
}

static int create(struct end *end)
{
	planner_net_at_work = end->rank;
	end->net->rc = qv_planner_create(&end->spec, carry, end, &end->planner);
	planner_net_at_work = PLANNER_NET_NOBODY;
	return end->net->rc;
}

static void start(struct end *end)
{
	if (end->begun)
		return;
	end->begun = 1;
	planner_net_at_work = end->rank;
	end->net->rc = qv_planner_start(end->planner);
	planner_net_at_work = PLANNER_NET_NOBODY;
}

/* Any rank's first message, or now and then a later one of another sender. */
static void deliver(struct planner_net *net)
{
	struct end *end = &net->ends[net->waiting[draw(net, net->waiting_n)]];
	struct letter **at = &end->first, *l;

	start(end);
	if (net->rc)
		return;
	for (uint32_t skip = draw(net, 4); skip && (*at)->next; skip--) {
		const struct letter *after = (*at)->next, *before = end->first;

		while (before != after && before->from != after->from)
			before = before->next;
		if (before != after)
			break; /* that one comes first */
		at = &(*at)->next;
	}
	l = *at;
	*at = l->next;
	if (!*at)
		end->last = at;
	if (!end->first) {
		const uint32_t other = net->waiting[--net->waiting_n];

		net->waiting[end->waiting] = other;
		net->ends[other].waiting = end->waiting;
	}
	planner_net_at_work = end->rank;
	net->rc = qv_planner_hear(end->planner, l->from, l->words, l->n);
	planner_net_at_work = PLANNER_NET_NOBODY;
	free(l);
}

int planner_net_try(struct planner_net *net)
{
	for (uint32_t r = 0; r < net->ranks; r++)
		if (create(&net->ends[r]))
			return net->rc;
	for (uint32_t r = 0; r < net->ranks && !net->rc; r++)
		if (draw(net, 2))
			start(&net->ends[r]);
	for (uint32_t r = 0; r < net->ranks && !net->rc; r++) {
		while (net->waiting_n && !net->rc)
			deliver(net);
		if (!net->rc)
			start(&net->ends[r]); /* nobody has had a message for it */
	}
	while (net->waiting_n && !net->rc)
		deliver(net);
	return net->rc;
}

struct planner_net *planner_net_run(const struct qv_graph_case *c, uint32_t k, int aware,
				    int cumulative, uint64_t seed)
{
	struct planner_net *net = planner_net_create(c, k, aware, cumulative, seed);

	assert_int_equal(planner_net_try(net), QV_OK);
	return net;
}

struct qv_neighbor_plan *planner_net_plan(struct planner_net *net, uint32_t rank)
{
	struct qv_neighbor_plan *plan = NULL;
	int rc;

	planner_net_at_work = rank;
	rc = qv_planner_result(net->ends[rank].planner, &plan);
	planner_net_at_work = PLANNER_NET_NOBODY;
	assert_int_equal(rc, QV_OK);
	return plan;
}

uint64_t planner_net_words(const struct planner_net *net)
{
	return net->words;
}

void planner_net_close(struct planner_net *net)
{
	for (uint32_t r = 0; r < net->ranks; r++) {
		for (struct letter *l = net->ends[r].first, *next; l; l = next) {
			next = l->next;
			free(l);
		}
		planner_net_at_work = r;
		qv_planner_free(net->ends[r].planner);
		planner_net_at_work = PLANNER_NET_NOBODY;
	}
	free(net->ends);
	free(net->waiting);
	free(net);
}
