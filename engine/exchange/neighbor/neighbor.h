/* SPDX-License-Identifier: BSD-2-Clause */
/* neighbor.h - parts of the neighbourhood collectives. Inside of engine/exchange only. */
#ifndef QV_NEIGHBOR_H
#define QV_NEIGHBOR_H

#include <quiver/neighbor.h>

/* plan.c: what a plan is made of. */

/* A block from one rank to another. */
struct qv_edge_hop {
	uint32_t phase, from, to, src, dst;
};

/* Hops of phases with the same bits above the 16th do not wait for each other. */
#define QV_MOST_ROUNDS 0x7fff
#define QV_ALONE_PHASE 0xffff     /* of a rank's own block, which goes straight */
#define QV_LAST_PHASE  UINT32_MAX /* of what a rank has in the end */

/* Only blocks that were handed over make a round wait for the one before. */
static inline uint32_t qv_neighbor_phase(uint32_t round, int cumulative)
{
	return cumulative ? round << 16 : round;
}

/* A list of neighbours in ascending order, and where each stood. */
struct qv_edge {
	uint32_t rank, place;
};

/* Of all ranks, or of one. */
struct qv_neighbor_plan {
	uint32_t ranks;
	uint32_t first, own;    /* it is the plan of ranks first to first + own - 1 */
	size_t *out_at, *in_at; /* by rank of these: its first edge; and of one more */
	struct qv_edge *out, *in;
	struct qv_edge_hop *hops; /* those that begin or end at these */
	size_t n, room;
	size_t *touch_at, *touch; /* by rank of these: the hops that begin or end there */
	struct qv_neighbor_stats stats;
};

/* Add one; QV_ENOMEM. */
int qv_neighbor_hop(struct qv_neighbor_plan *plan, const struct qv_edge_hop *hop);
/* All hops are there; node by rank, or NULL. QV_ENOMEM. */
int qv_neighbor_close(struct qv_neighbor_plan *plan, const uint32_t *node);
/* A caller's spec as this build has it. QV_EINVAL: it has fields that are not known here. */
int qv_neighbor_read(struct qv_neighbor_spec *to, const struct qv_neighbor_spec *spec);

/* A group has more neighbours than that in common. */
static inline uint32_t qv_neighbor_least(uint32_t k, int within_node)
{
	return within_node ? k : k * (k - 1);
}

/* What a group has in common, in order, is cut into a part for each member; the first parts may be
 * longer by one. All zero but for the first two: at the beginning. */
struct qv_cut {
	uint32_t weight, k, part, n; /* n: of this part */
};

/* The part of the next one. */
static inline uint32_t qv_cut_next(struct qv_cut *cut)
{
	if (cut->n == cut->weight / cut->k + (cut->part < cut->weight % cut->k)) {
		cut->part++;
		cut->n = 0;
	}
	cut->n++;
	return cut->part;
}

/* friends.c: who could be friends. */

/* Ranks that could form a common-neighbour group. */
struct qv_friends {
	uint32_t weight;                 /* neighbours in common */
	uint32_t ranks[QV_MOST_FRIENDS]; /* ascending; the first k */
};

struct qv_friends_list {
	struct qv_friends *at;
	size_t n, room;
};

struct qv_crowd {
	uint32_t ranks, k;
	uint32_t least;       /* as of qv_neighbor_least */
	const uint32_t *node; /* NULL: any may be friends */
	size_t words;
	uint64_t *active; /* by rank: a bit for each neighbour that may be taken over */
};

static inline uint64_t *qv_active(const struct qv_crowd *c, uint32_t rank)
{
	return c->active + rank * c->words;
}

/* All groups that there can be, each once; QV_ENOMEM. */
int qv_friends_find(const struct qv_crowd *c, struct qv_friends_list *list);
/* Those of one rank. */
int qv_friends_of(const struct qv_crowd *c, uint32_t rank, struct qv_friends_list *list);
/* Take the first, and of those that have no rank in common with what is taken the next, and so on;
 * taken ones come to the front, *n of them. QV_ENOMEM. */
int qv_friends_match(const struct qv_crowd *c, struct qv_friends_list *list, size_t *n);
/* -1: a is taken before b. */
int qv_friends_order(const struct qv_friends *a, const struct qv_friends *b, uint32_t k);
int qv_friends_better(const void *a, const void *b);

/* matching.c: which of them are, found by messages. */

enum qv_match_word {
	QV_MATCH_REQUEST = 0, /* I want this group */
	QV_MATCH_DROP = 1,    /* I have a group: do not count on me */
};

struct qv_matching; /* of one rank */

/*
 * One rank's part in finding groups, a matching after Hoepman: the heaviest first, of equal ones
 * that of the lower ranks, so that nobody waits in a circle. All ranks come to the groups that
 * taking the first possible one again and again would find.
 *   rank         whose
 *   k            ranks in a group, 2 to QV_MOST_FRIENDS
 *   possible, n  n groups, in any order, each with rank; all their members know of them. Copied.
 *   send         called from qv_matching_start and qv_matching_hear, for each word to be sent to
 *                another rank; group is to be copied during the call. Words from one rank to
 *                another must arrive in order.
 *   context      given to send
 *   matching     out: to be given to qv_matching_free
 * QV_EINVAL: a group without the rank, not in order, or k is out of range; QV_ENOMEM.
 */
int qv_matching_create(uint32_t rank, uint32_t k, const struct qv_friends *possible, size_t n,
		       void (*send)(void *context, uint32_t to, enum qv_match_word word,
				    const struct qv_friends *group),
		       void *context, struct qv_matching **matching);
/* Begin: send the first words. Does nothing if a word that came first has begun it. */
void qv_matching_start(struct qv_matching *matching);
/* A word has come, at any time after qv_matching_create; one that comes after the end is ignored. */
void qv_matching_hear(struct qv_matching *matching, uint32_t from, enum qv_match_word word,
		      const struct qv_friends *group);
/* The group of this rank. QV_ENOENT: there is none for it; QV_EAGAIN: not known yet. */
int qv_matching_result(const struct qv_matching *matching, struct qv_friends *group);
/* At any time. NULL is allowed. */
void qv_matching_free(struct qv_matching *matching);

/* From graph.c. */

/* Sorted lists, of a graph that is right; of one rank of it. */
int qv_neighbor_graph(struct qv_neighbor_plan *plan, const struct qv_graph *graph);
int qv_neighbor_lists(struct qv_neighbor_plan *plan, const struct qv_planner_spec *spec);
/* The place of a rank in the list of another, which is given by its place in the plan; SIZE_MAX: it is
 * not there. */
size_t qv_neighbor_edge(const size_t *at, const struct qv_edge *edges, uint32_t rank,
			uint32_t other);

#endif /* QV_NEIGHBOR_H */
