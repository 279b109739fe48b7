/* SPDX-License-Identifier: BSD-2-Clause */
/* graph_case.c - graphs of neighbours, from whether there is an edge from one
 * rank to another. */
#include <stdlib.h>

#include "graph_case.h"

struct rule {
	uint32_t dims, side, r;
	int periodic, self;
	uint32_t thousandths;
	uint64_t state;
};

static int near(const struct rule *rule, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < rule->dims; i++, a /= rule->side, b /= rule->side) {
		const uint32_t x = a % rule->side, y = b % rule->side;
		uint32_t d = x > y ? x - y : y - x;

		if (rule->periodic && rule->side - d < d)
			d = rule->side - d;
		if (d > rule->r)
			return 0;
	}
	return 1;
}

static int drawn(struct rule *rule)
{
	rule->state ^= rule->state << 13;
	rule->state ^= rule->state >> 7;
	rule->state ^= rule->state << 17;
	return (rule->state >> 20) % 1000 < rule->thousandths;
}

static void make(struct qv_graph_case *c, uint32_t n, struct rule *rule, uint32_t per_node)
{
	unsigned char *edge = calloc(n, n);
	uint32_t *counts = calloc(n, 2 * sizeof(*counts)), *next;
	size_t edges = 0;

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++) {
			const int is = rule->dims ? near(rule, a, b) : drawn(rule);

			edge[(size_t)a * n + b] = a == b ? rule->self && is : is;
			edges += edge[(size_t)a * n + b];
		}
	c->memory = calloc(2 * edges + 1, sizeof(*c->memory));
	c->lists = calloc(n, 2 * sizeof(uint32_t *));
	c->node = calloc(n, sizeof(*c->node));
	next = c->memory;
	for (uint32_t a = 0; a < n; a++) {
		c->node[a] = a / per_node;
		c->lists[a] = next;
		/* In another order than by rank. */
		for (uint32_t i = 0; i < n; i++) {
			const uint32_t b = n - 1 - i;

			if (edge[(size_t)a * n + b])
				c->lists[a][counts[a]++] = b;
		}
		next += counts[a];
		c->lists[n + a] = next;
		for (uint32_t i = 0; i < n; i++) {
			const uint32_t b = (a + i) % n;

			if (edge[(size_t)b * n + a])
				c->lists[n + a][counts[n + a]++] = b;
		}
		next += counts[n + a];
	}
	free(edge);
	c->graph = (struct qv_graph){.ranks = n,
				     .out_n = counts,
				     .in_n = counts + n,
				     .out = (const uint32_t *const *)c->lists,
				     .in = (const uint32_t *const *)c->lists + n};
}

void qv_graph_moore(struct qv_graph_case *c, uint32_t dims, uint32_t side, uint32_t r, int periodic,
		    int self, uint32_t per_node)
{
	struct rule rule = {.dims = dims, .side = side, .r = r, .periodic = periodic, .self = self};
	uint32_t n = 1;

	for (uint32_t i = 0; i < dims; i++)
		n *= side;
	make(c, n, &rule, per_node);
}

void qv_graph_random(struct qv_graph_case *c, uint32_t ranks, uint32_t thousandths, int self,
		     uint32_t per_node, uint64_t seed)
{
	struct rule rule = {.self = self,
			    .thousandths = thousandths,
			    .state = seed * 2654435761u + 88172645463325252u};

	make(c, ranks, &rule, per_node);
}

void qv_graph_close(struct qv_graph_case *c)
{
	free(c->memory);
	free(c->lists);
	free(c->node);
	free((void *)(uintptr_t)c->graph.out_n);
}
