/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * planner.h - one rank's planner, and what it says:
 *
 *   HELLO    node                                        to neighbours, at first
 *   LIST     rank ...                                    back: who else sends to this one
 *   WORD     round, word, weight, ranks of a group       to the crowd: see matching.c
 *   DONE     round, leaves, neighbours, neighbour ...,   to the crowd, once a round; the pairs, of a
 *            then pairs of neighbour and source ...      neighbour and a source, to friends only
 *   DELIVER  phase, source ...                           to neighbours, at the end
 *
 * Each is numbers of 32 bits, the first of which is the kind. Nothing else is sent, so each rank knows
 * when it has heard all. planner.c says how a plan comes about.
 */
#ifndef QV_PLANNER_H
#define QV_PLANNER_H

#include <stdbool.h>

#include "neighbor.h"

/* crowd.c: this rank, and all with which it has enough neighbours in common. */

struct qv_planner_crowd {
	struct qv_crowd bits; /* by place in names; a bit for each place in this rank's list */
	uint32_t *names;      /* ascending */
	bool *gone;           /* by place: it can be in no group with this rank any more */
	uint32_t me;          /* the place of this rank */
};

/* Who sends to a neighbour, which is given by its place in this rank's list. */
struct qv_planner_peer {
	uint32_t rank, edge;
};

/* Make it of what all neighbours have said: n of them, which are sorted. QV_ENOMEM. */
int qv_planner_crowd_open(struct qv_planner_crowd *c, const struct qv_neighbor_plan *plan,
			  uint32_t k, uint32_t least, struct qv_planner_peer *peers, size_t n);
void qv_planner_crowd_close(struct qv_planner_crowd *c);
/* The place of a rank; UINT32_MAX: it is not in there. */
uint32_t qv_planner_crowd_find(const struct qv_planner_crowd *c, uint32_t rank);
/* Who has too little in common with this rank by now is gone; how many are left. */
uint32_t qv_planner_crowd_left(struct qv_planner_crowd *c);
/* A member will not take over this neighbour any more. */
void qv_planner_crowd_clear(struct qv_planner_crowd *c, uint32_t member, uint32_t edge);
bool qv_planner_crowd_has(const struct qv_planner_crowd *c, uint32_t member, uint32_t edge);
/* All groups that this rank could be in now, by names; QV_ENOMEM. */
int qv_planner_crowd_groups(const struct qv_planner_crowd *c, struct qv_friends_list *list);
/* Whether all of a group have this neighbour in common. */
bool qv_planner_crowd_share(const struct qv_planner_crowd *c, const struct qv_friends *group,
			    uint32_t edge);

/* The planner. */

enum qv_planner_kind {
	QV_PLANNER_HELLO,
	QV_PLANNER_LIST,
	QV_PLANNER_WORD,
	QV_PLANNER_DONE,
	QV_PLANNER_DELIVER,
};

enum qv_planner_stage {
	QV_PLANNER_NEW,
	QV_PLANNER_LISTENING, /* who are the others that send to the neighbours? */
	QV_PLANNER_MATCHING,  /* a group is being found */
	QV_PLANNER_ENDING,    /* the crowd has still to end the round */
	QV_PLANNER_LEFT,      /* blocks have still to be announced to this rank */
};

/* The sources of the blocks that this rank has for a neighbour. */
struct qv_planner_held {
	uint32_t *from;
	size_t n, room;
};

/* A message that came before it is of use. */
struct qv_planner_early {
	struct qv_planner_early *next;
	uint32_t from;
	size_t n;
	uint32_t words[];
};

struct qv_planner {
	struct qv_planner_spec spec; /* its lists are those of the plan */
	struct qv_neighbor_plan *plan;
	struct qv_planner_held *held; /* by edge out, of which there are so many: */
	uint32_t edges;
	uint32_t *nodes; /* by edge in: on which node its source is */
	void (*send)(void *context, uint32_t to, const uint32_t *words, size_t n);
	void *context;
	enum qv_planner_stage stage;
	uint32_t round;
	bool leaves;                               /* after this round */
	uint32_t hellos, lists, dones, deliveries; /* that have still to come */
	struct qv_planner_peer *peers;             /* what the lists say */
	size_t peers_n, peers_room;
	struct qv_planner_crowd crowd;
	struct qv_friends_list groups; /* that are possible in this round */
	struct qv_matching *matching;
	struct qv_planner_early *early;
	uint32_t *out; /* the message that is being made */
	size_t out_n, out_room;
	int error; /* 0: none yet */
};

/* say.c: messages, and the plan that grows. What fails sets error. */

void qv_planner_begin(struct qv_planner *p, enum qv_planner_kind kind);
void qv_planner_add(struct qv_planner *p, uint32_t word);
void qv_planner_say(struct qv_planner *p, uint32_t to);
void qv_planner_hop(struct qv_planner *p, uint32_t phase, uint32_t from, uint32_t to, uint32_t src,
		    uint32_t dst);
/* A block from there is with this rank now. */
void qv_planner_hold(struct qv_planner *p, uint32_t edge, uint32_t from);

/* round.c: a round, from its beginning to what is told at its end. */

/* Or the last one is over, and the rank leaves. */
void qv_planner_round_begin(struct qv_planner *p);
/* Whether the rank's matching is over; then this ends its part of the round. */
bool qv_planner_round_end(struct qv_planner *p);
/* All that it has is announced to its neighbours. */
void qv_planner_leave(struct qv_planner *p);

/* hear.c: messages that have come. */

/* One that is of use now. QV_EINVAL: no planner sends it; QV_ENOMEM. */
int qv_planner_take(struct qv_planner *p, uint32_t from, const uint32_t *words, size_t n);
/* Whether the rank is a neighbour, and its place in the list. */
bool qv_planner_sends_to(const struct qv_planner *p, uint32_t rank, uint32_t *edge);
bool qv_planner_hears_from(const struct qv_planner *p, uint32_t rank, uint32_t *edge);

/* The number of edges in. */
static inline uint32_t qv_planner_in_n(const struct qv_planner *p)
{
	return (uint32_t)p->plan->in_at[1];
}

#endif /* QV_PLANNER_H */
