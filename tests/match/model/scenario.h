/* SPDX-License-Identifier: BSD-2-Clause */
/* scenario.h - kinds of random traffic: what is drawn, and how often. */
#ifndef QV_SCENARIO_H
#define QV_SCENARIO_H

#include <stddef.h>
#include <stdint.h>

#include <quiver/match.h>

/* Probabilities are in percent. */
struct qv_scenario {
	const char *name;
	uint32_t first_src, srcs, tags, contexts;
	uint64_t protocol; /* bits every receive ignores */
	/* Of the receives: wildcards, both wildcards at once, random ignore masks. */
	unsigned int anysrc, anytag, both, mask;
	unsigned int sticky;             /* of the receives */
	unsigned int cancel, take, peek; /* of the operations */
	unsigned int many;               /* of posts and arrivals: they come in batches */
	unsigned int depth;              /* queues are kept around this length */
	unsigned int no_memory;          /* of the allocations: they fail */
	int colliding; /* tags that meet in one bucket of the engine's weak hash */
	int wraps;     /* sequence numbers pass their end while entries are queued */
};

/* All of them; *n: how many. */
const struct qv_scenario *qv_scenarios(size_t *n);

/* A tag, a source, a receive of this kind; *random is the state of qv_random. */
uint64_t qv_scenario_tag(const struct qv_scenario *s, uint64_t *random);
uint32_t qv_scenario_src(const struct qv_scenario *s, uint64_t *random);
void qv_scenario_recv(const struct qv_scenario *s, uint64_t *random, struct qv_recv *r);

#endif /* QV_SCENARIO_H */
