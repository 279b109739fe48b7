/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_vlist.h - a linked list of vector blocks: entries in order of arrival, their keys side by side
 * so that one kernel call compares a block.
 *
 *   block   tags    [t0 t1 t2 ...         t63]   bit i of `live`: entry i is queued, else a hole
 *           ignores [i0 i1 i2 ...         i63]   (receives only)
 *           srcs    [s0 s1 ... s63]              entries used..63 have never been written
 *           entry   [e0 e1 e2 ...         e63]
 *
 * An entry keeps block and index in one of its own words, so removal and iteration search nothing.
 * Entries are appended at the end of the last block only: bit order is order of arrival. Blocks
 * that removal has thinned out are merged with a neighbour, an empty one is given back.
 *
 * What was stored a moment ago is compared in scalar: a vector load over a narrow store that is
 * still in flight waits for it (31 cycles against 13 on Zen 4), and the oldest entry, the likely
 * match, is tested before any vector is loaded.
 */
#ifndef QV_VLIST_H
#define QV_VLIST_H

#include "match/qv_match_ops.h"

#define QV_VBLOCK_LEN QV_KERN_MAX

struct qv_vblock {
	struct qv_vblock *next, *prev;
	uint64_t live;
	uint32_t used;  /* entries 0 .. used-1 have been written */
	uint32_t count; /* bits set in live */
	uint64_t *entry[QV_VBLOCK_LEN];
	uint64_t tags[QV_VBLOCK_LEN];
	uint32_t srcs[QV_VBLOCK_LEN];
	uint64_t ignores[];
};

enum qv_side { QV_POSTED, QV_UNEXPECTED };

struct qv_vlist {
	struct qv_vblock *head, *tail;
	struct qv_vblock *spare; /* one empty block, against churn at a block's edge */
	struct qv_mem *mem;
	const struct qv_kern_ops *kern;
	enum qv_side side;
	uint32_t word;  /* which priv word of an entry is ours */
	uint64_t count; /* entries */
};

/* Set up an empty list; allocates nothing. */
void qv_vlist_init(struct qv_vlist *v, struct qv_match *m, enum qv_side side, uint32_t word);

/* Forget all entries and give all memory back. */
void qv_vlist_clear(struct qv_vlist *v);

/* Append entry e. QV_ENOMEM: nothing changed. */
int qv_vlist_append(struct qv_vlist *v, uint64_t *e);

/* Remove entry e, which is in v. */
void qv_vlist_remove(struct qv_vlist *v, const uint64_t *e);

/* Oldest receive that accepts (tag, src), or NULL; *inspected grows by the entries compared. */
uint64_t *qv_vlist_find_recv(const struct qv_vlist *v, uint64_t tag, uint32_t src,
			     uint64_t *inspected);

/* Oldest message that (tag, ignore, src) accepts, or NULL. */
uint64_t *qv_vlist_find_msg(const struct qv_vlist *v, uint64_t tag, uint64_t ignore, uint32_t src,
			    uint64_t *inspected);

/* The entry after e in order, the first if e is NULL; NULL at the end. */
uint64_t *qv_vlist_next(const struct qv_vlist *v, const uint64_t *e);

#endif /* QV_VLIST_H */
