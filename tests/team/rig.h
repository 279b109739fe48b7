/* SPDX-License-Identifier: BSD-2-Clause */
/* rig.h - members of a team as processes, and what they say in calls: answers can be told without
 * asking the others. */
#ifndef QV_TEAM_RIG_H
#define QV_TEAM_RIG_H

#include "engine/team/internal.h"
#include "tests/node/rig/kin.h"

#define RIG_MOST 16u

struct rig_member {
	struct qv_team *team;
	uint32_t rank, ranks;
	int fd;                   /* words with who has started it */
	unsigned long long turns; /* of the owner */
};

/* Processes, each of which runs body with a team. Then rig_end, or what the test has for them. */
struct rig {
	struct kin kin[RIG_MOST];
	uint32_t ranks;
};
void rig_start(struct rig *r, uint32_t ranks, void (*body)(struct rig_member *, const void *),
	       const void *arg);
void rig_end(struct rig *r);

/* A call that all members can tell by its number. */
struct rig_call {
	enum qv_team_kind kind;
	uint32_t root, number;
	size_t count;
	bool ordered;  /* the operation does not commute */
	bool in_place; /* this member */
};
/* Make it, judge the answer. What qv_team_wait says. */
int rig_run(struct rig_member *m, const struct rig_call *call);

#endif /* QV_TEAM_RIG_H */
