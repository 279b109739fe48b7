/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * col.h - the collective half of structures "col", "col-ll" and "col-pnp": one queue of messages
 * or receives of collective operations.
 *
 *   prof              shared by the operations that have no lists yet; all searches begin here
 *   op[i].level[0]    nq lists, chosen by source % nq; no new entries once there is level[1]
 *   op[i].level[1]    more lists than level[0] has
 *
 * Searches of an operation are counted: when their mean over a period says that more lists would
 * make them short, the operation gets a level with that many, as far as k * sqrt(sources) lists in
 * all allow. What they pass in prof counts only while the operation has no lists: later entries do
 * not go there, so more lists would not make that shorter.
 *
 * An operation's entries go to its last level, whatever is being measured: entries of one source
 * are older in prof than in level[0], and there than in level[1]. Sending the first calls of a new
 * kind to prof again, as the method was published, would let a later message of such a call
 * overtake an earlier one that waits in a level.
 */
#ifndef QV_COL_H
#define QV_COL_H

#include "list.h"

/* Operations told apart; others share. */
#define QV_COL_OPS 16
/* Levels of an operation. */
#define QV_COL_LEVELS 8
/* Searches after which an operation's mean is looked at. */
#define QV_COL_PERIOD 64

struct qv_col_level {
	uint32_t nq;
	struct qv_list *lists;
};

struct qv_col_op {
	uint32_t n_levels;
	uint32_t searches; /* in this period */
	uint64_t seen;     /* entries compared by them where more lists would help */
	struct qv_col_level level[QV_COL_LEVELS];
};

struct qv_col {
	struct qv_match *m;
	enum qv_side side;
	uint64_t op_mask; /* bits of the tag that tell operations apart */
	uint32_t sources; /* as told, or the highest seen + 1 */
	int learning;     /* nobody told */
	uint32_t n_lists; /* of all levels */
	uint32_t cap;     /* what n_lists may become, as last computed */
	struct qv_list *prof;
	struct qv_col_op op[QV_COL_OPS];
};

/* prof: a list that outlives the queue; others may use it too. */
void qv_col_init(struct qv_col *c, struct qv_match *m, enum qv_side side, struct qv_list *prof);
void qv_col_fini(struct qv_col *c);

/* QV_ENOMEM: nothing changed. The source is not QV_SRC_ANY. Entries leave by qv_list_remove. */
int qv_col_append(struct qv_col *c, uint64_t *e);

/* The oldest receive with a source that accepts (tag, src), or NULL. */
uint64_t *qv_col_find_recv(struct qv_col *c, uint64_t tag, uint32_t src, uint64_t *seen);

/* The oldest message of one operation that (tag, ignore, src) accepts, src not QV_SRC_ANY. */
uint64_t *qv_col_find_msg(struct qv_col *c, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *seen);

/* The same over all operations and any source, or `best`; prof is not looked at. */
uint64_t *qv_col_find_any(const struct qv_col *c, uint64_t tag, uint64_t ignore, uint32_t src,
			  uint64_t *best, uint64_t *seen);

/* All but those in prof. */
void qv_col_each(const struct qv_col *c, qv_each_fn *fn, void *ctx);

#endif /* QV_COL_H */
