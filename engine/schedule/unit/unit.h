/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unit.h - a rank in a tree of combine units. Inside of engine/schedule/unit only.
 *
 * The vector is cut into packets. Each is a reduction of the rank's unit, which combines operands
 * as they come. A place in the unit is granted to a link, by a credit, before its operand is sent;
 * the first ones are free at the beginning. So no link holds what the unit cannot take.
 */
#ifndef QV_SCHEDULE_UNIT_H
#define QV_SCHEDULE_UNIT_H

#include "engine/schedule/schedule.h"

#include <quiver/unit.h>

#define QV_UNIT_LINKS   63 /* of a unit of 64 ports: one leads to the rank itself */
#define QV_UNIT_AT_ONCE 4  /* packets that a unit combines at a time */

/* tree.c. */
struct qv_unit_place {
	uint32_t root;              /* gets the result, or has what is multicast */
	uint32_t out;               /* the neighbour toward it; QV_STEP_NONE: it is this rank */
	uint32_t n;                 /* other neighbours */
	uint32_t in[QV_UNIT_LINKS]; /* these */
};

/* Messages of a run that can be under way, with so many links in: an operand and a credit of each,
 * the packets that leave, and a credit for one of them. */
static inline uint32_t qv_unit_slots(uint32_t links)
{
	return 2 * links + QV_UNIT_AT_ONCE + 1;
}

enum qv_unit_state {
	QV_UNIT_FREE,
	QV_UNIT_UNDER_WAY,
	QV_UNIT_HERE,  /* an operand, not taken yet */
	QV_UNIT_READY, /* a packet that leaves, not sent yet */
};

/* To a neighbour whose operands come here. */
struct qv_unit_link {
	uint32_t peer;
	uint32_t taken;       /* operands that the unit has */
	uint32_t granted;     /* operands that it has a place for */
	uint32_t credit_sent; /* number of an operand */
	unsigned char operand, credit;
	char *packet;
};

struct qv_unit_run {
	const struct qv_schedule *s;
	struct qv_port calls;
	void *port;
	struct qv_run_data data;
	struct qv_unit *unit;
	size_t each;         /* elements of a packet */
	uint32_t packets;    /* of the vector */
	uint32_t given;      /* by this rank to its unit */
	uint32_t left, over; /* of those that left: sent, and not needed any more, in order */
	uint32_t allowed;    /* to be sent out */
	uint32_t credit_got; /* the number of the next one */
	struct qv_unit_out outs[QV_UNIT_AT_ONCE]; /* by number modulo QV_UNIT_AT_ONCE */
	unsigned char out[QV_UNIT_AT_ONCE], credit;
	int failed;
	uint32_t to; /* the neighbour toward the root; QV_STEP_NONE: this is the root */
	uint32_t n;
	char *packets_in; /* of all links */
	struct qv_unit_link links[QV_UNIT_LINKS];
};

/* The unit's ports are the links in; behind these the rank itself, and the link out. */
static inline unsigned int qv_unit_own_port(const struct qv_unit_run *u)
{
	return u->n;
}

static inline unsigned int qv_unit_out_port(const struct qv_unit_run *u)
{
	return u->to == QV_STEP_NONE ? u->n : u->n + 1;
}

extern const struct qv_live qv_unit_live; /* open.c */

/* open.c: the unit and the memory of a run that has begun. Where there is none nothing is opened. */
int qv_unit_run_open(struct qv_unit_run *u);

/* run.c: as of struct qv_live. */
int qv_unit_run_progress(void *live);
void qv_unit_run_done(void *live, uint32_t slot, int status);

#endif /* QV_SCHEDULE_UNIT_H */
