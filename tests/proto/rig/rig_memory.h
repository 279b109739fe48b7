/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig_memory.h - memory of a node that others may update: words of 8 bytes, under one key, from 0 on.
 * One kind of update: each operand is added.
 */
#ifndef QV_RIG_MEMORY_H
#define QV_RIG_MEMORY_H

#include "rig.h"

#define RIG_WORDS 1000u
#define RIG_KEY   7u
#define RIG_ADD   1u

struct rig_memory {
	uint64_t words[RIG_WORDS];
	unsigned updates; /* requests that were done */
	unsigned told;    /* operations that were told */
	unsigned written; /* the same, as those of their key */
};
/* Of all nodes of all rigs, by the number of the node. */
extern struct rig_memory rig_memory[QV_LOOP_MAX];

/* Empty, and open to others. */
void rig_memory_open(struct rig *rig, unsigned at);

#endif /* QV_RIG_MEMORY_H */
