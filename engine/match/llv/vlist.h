/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vlist.h - a linked list of vector blocks: entries in order of arrival, their keys side by side
 * so that one kernel call compares a block (kern.h).
 *
 *   block   live    bit i: entry i is queued, else a hole
 *           planes  [k0 k1 ... k63] [s0 s1 ... s63] ...   what is compared, one word of each
 *           entry   [e0 e1 e2 ...         e63]
 *
 * An entry keeps block and index in one of its own words, so removal and iteration search nothing;
 * a search does not touch the entries, not even the one that it finds. Entries are appended at the
 * end of the last block only: bit order is order of arrival. Blocks that removal has thinned out
 * are merged with a neighbour, an empty one is given back.
 *
 * What was stored a moment ago is compared in scalar: a vector load over a narrow store that is
 * still in flight waits for it (31 cycles against 13 on Zen 4). That concerns what was appended
 * since the last search. The oldest entry, the likely match, is tested before any vector is loaded.
 */
#ifndef QV_VLIST_H
#define QV_VLIST_H

#include "engine/match/side.h"
#include "engine/match/structure.h"

#define QV_VBLOCK_LEN QV_KERN_MAX

struct qv_vblock {
	struct qv_vblock *next, *prev;
	uint64_t live;
	uint32_t used;  /* entries 0 .. used-1 have been written */
	uint32_t count; /* bits set in live */
	uint64_t *entry[QV_VBLOCK_LEN];
	_Alignas(64) qv_plane planes[]; /* QV_PLANES_RECV or QV_PLANES_MSG of them */
};

/* Where an entry is. */
struct qv_vplace {
	struct qv_vblock *b;
	uint32_t i;
};

struct qv_vlist {
	struct qv_vblock *head, *tail;
	struct qv_vblock *spare; /* one empty block, against churn at a block's edge */
	struct qv_mem *mem;
	const struct qv_kern_ops *kern;
	enum qv_side side;
	uint32_t word;    /* which priv word of an entry is ours */
	uint32_t has_any; /* an entry names no source, or one has since the list was empty */
	uint32_t fresh;   /* entries appended since the last search */
	uint64_t count;   /* entries */
};

/* Set up an empty list; allocates nothing. */
void qv_vlist_init(struct qv_vlist *v, struct qv_match *m, enum qv_side side, uint32_t word);

/* Forget all entries and give all memory back. */
void qv_vlist_clear(struct qv_vlist *v);

/* Append entry e. QV_ENOMEM: nothing changed. */
int qv_vlist_append(struct qv_vlist *v, uint64_t *e);

/* Remove entry e, which is in v. */
void qv_vlist_remove(struct qv_vlist *v, const uint64_t *e);

/* The same by its place, without looking at it. */
void qv_vlist_remove_at(struct qv_vlist *v, struct qv_vplace at);

/* Oldest receive that accepts (tag, src), or NULL; *inspected grows by the entries compared. *at:
 * where the one found is, until the list changes. */
uint64_t *qv_vlist_find_recv_at(struct qv_vlist *v, uint64_t tag, uint32_t src, uint64_t *inspected,
				struct qv_vplace *at);
uint64_t *qv_vlist_find_recv(struct qv_vlist *v, uint64_t tag, uint32_t src, uint64_t *inspected);

/* Oldest message that (tag, ignore, src) accepts, or NULL. */
uint64_t *qv_vlist_find_msg_at(struct qv_vlist *v, uint64_t tag, uint64_t ignore, uint32_t src,
			       uint64_t *inspected, struct qv_vplace *at);
uint64_t *qv_vlist_find_msg(struct qv_vlist *v, uint64_t tag, uint64_t ignore, uint32_t src,
			    uint64_t *inspected);

/* The entry after e in order, the first if e is NULL; NULL at the end. */
uint64_t *qv_vlist_next(const struct qv_vlist *v, const uint64_t *e);

#endif /* QV_VLIST_H */
