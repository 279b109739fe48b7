/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h - vranks of a whole group in one process, which talk, answer and move as they like,
 * over a network that is late.
 */
#ifndef QV_VRANK_GROUP_H
#define QV_VRANK_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/exchange/vrank/vrank.h"

#include "tests/exchange/packet_net.h"

#define VRANK_RANKS  16
#define VRANK_VRANKS 40

/* What a vrank knows: it lives where the vrank is, and nowhere while that is under way. */
struct being {
	uint32_t alive;
	uint32_t sent[VRANK_VRANKS], got[VRANK_VRANKS];
	uint32_t passed[VRANK_VRANKS], received[VRANK_VRANKS]; /* the same by ring and tree */
	uint32_t load;                                         /* bytes that it takes along, too */
};

struct member {
	struct qv_vranks *v;
	struct being beings[VRANK_VRANKS];
};

extern struct member qv_vrank_members[VRANK_RANKS];
extern struct qv_vranks_spec qv_vrank_group;
extern uint64_t qv_vrank_now;
extern bool qv_vrank_lively;      /* vranks answer and move when they get an item */
extern uint32_t qv_vrank_longest; /* item, bytes */

static inline uint32_t draw(uint32_t n)
{
	return (uint32_t)qv_packet_draw(n);
}

/* life.c: what a vrank does. */

/* QV_OK or QV_EAGAIN. */
int qv_vrank_talk(struct member *m, uint32_t from, uint32_t to);
/* To some others at once. */
int qv_vrank_talk_to_many(struct member *m, uint32_t from);
/* As in struct qv_vranks_calls. */
void qv_vrank_hear(void *port, const struct qv_vrank_item *item);
int qv_vrank_go(void *port, uint32_t vrank, struct qv_vrank_state *state);
int qv_vrank_settle(void *port, uint32_t vrank, const void *state, size_t bytes);

/* group.c */

void qv_vrank_open_group(const struct qv_vranks_spec *spec);
void qv_vrank_close_group(void);
/* Time goes on, and some messages come. */
void qv_vrank_turn(void);
/* Vranks talk, and move if they may. */
void qv_vrank_all_act(unsigned int times, bool moves);
/* Ranks come late, and those that are through go on at once, if they may. */
void qv_vrank_fence_all(bool go_on);
struct qv_vranks_stats qv_vrank_sum(void);
/* All items have come, once. Behind a fence at which nobody went on. */
void qv_vrank_check(void);

#endif /* QV_VRANK_GROUP_H */
