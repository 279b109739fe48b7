/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * auto.h - structure "auto": each queue is a list while that is cheap, and hash indexes when
 * searching the list has cost as much as building them.
 *
 * LIST  A dense ring of entry pointers, oldest first. The head is tested first, then the rest is
 *       walked. Nothing else is maintained.
 * HASH  Every entry is in an index (index.h). Order between entries is by sequence number.
 *       Posted: a receive is in the index of its class (ignore mask, any source or not), and an
 *       arrival looks in each class that has entries. Receives of further classes go to the
 *       overflow list, a list of vector blocks.
 *       Unexpected: a message is in every index that is in use.
 *
 * What leads from one to the other is in policy.c. The answer is exact in both.
 */
#ifndef QV_AUTO_H
#define QV_AUTO_H

#include "index.h"

/* Classes of receives that have an index; indexes of unexpected messages. */
#define QV_N_CLASSES 8
#define QV_N_INDEXES 4
/* Bits of `active`: each index in use has the bit of its number. */
#define QV_INDEXES         0xffu
#define QV_ORDER_ACTIVE    0x100u      /* unexpected: the list in order */
#define QV_OVERFLOW_ACTIVE 0x80000000u /* posted: the overflow list */
#define QV_KEYED_ACTIVE    0x40000000u /* an index in use has the keyed hash */
#define QV_UNUSUAL         (QV_OVERFLOW_ACTIVE | QV_KEYED_ACTIVE)

enum qv_auto_mode { QV_AUTO_LIST, QV_AUTO_HASH };

/*
 * An entry's priv words in HASH, besides its links. A receive in the overflow list has QV_OVERFLOWN
 * in place of its link NEXT. The list in order has its links where the last index would have its
 * own: only one of them is in use.
 */
enum { QV_SEQ, QV_RECV_OVERFLOW = QV_RECV_LINKS + QV_LINKS };
enum { QV_MSG_LINKS = 2, QV_MSG_ORDER = QV_MSG_LINKS + (QV_N_INDEXES - 1) * QV_LINKS };
enum { QV_YOUNGER, QV_OLDER };
#define QV_OVERFLOWN 1u

/* How a call finds its entry: chosen in path.c, dispatched in fast.h, arrive.c, post.c, queue.c and
 * search.c. */
enum qv_path {
	QV_PATH_LIST,
	/* One index, not keyed, of one class whose receives name their sources. Its table is in
	 * `slots`. */
	QV_PATH_NAMED,
	/* Any other one index, not keyed; posted: perhaps merged, unexpected: perhaps with the list
	 * in order beside it. */
	QV_PATH_ONE,
	/* Posted: several indexes. Most receives are in in_use[0], whose table is in `slots`. */
	QV_PATH_DOMINANT,
	QV_PATH_MANY, /* whatever the indexes */
};

/* What the policy remembers of a queue. Only policy*.c change it, but for what says `counter`: the
 * slower paths of the data path count there. The fast ones do not touch it. */
struct qv_policy {
	/* policy.c: LIST or HASH. */
	uint64_t hash_since;     /* tail at the change to HASH */
	uint64_t quiet_since;    /* LIST: tail since which walking cost little */
	uint64_t trial_after;    /* appends in HASH before LIST is tried; doubles if that fails */
	uint32_t empties_needed; /* times empty before LIST is tried; doubles, too */
	uint32_t empties;        /* times that the queue became empty in HASH */
	uint32_t expected;       /* LIST: entries of the burst that is to come, or 0 */
	uint64_t empty_since;    /* tail when the queue became empty in HASH */
	uint16_t big;            /* the tables have QV_BIG slots: qv_queue_tables_changed */
	uint16_t cost_shift;     /* how often the cost limit of a short list has been doubled */
	uint32_t peak, peak_before; /* longest in this and the last window of memory upkeep */

	/* policy_posted.c. */
	uint32_t mismatches;        /* counter: entries of the merged index that did not fit; halved
				     * in a tick */
	uint32_t apart, apart_next; /* how often no merged index is tried, now and next time */
	uint64_t overflow_cost;     /* counter: entries compared in the overflow list */
	uint64_t overflow_limit;    /* times its price that a new choice of classes must be worth */

	/* policy_unexpected.c. */
	uint64_t wanted_ignore; /* the class that last searched without an index */
	uint32_t wanted_any;
	/* counter: messages that searches without an index have looked at since one was built */
	uint64_t scanned;
	uint32_t order_pays; /* an index was not worth its upkeep: walk the list in order instead */
	uint64_t order_used; /* counter: tail at its last use */
	uint32_t unserved; /* counter: receives since the last tick that no index served at once */
	uint32_t unserved_ticks; /* ticks in a row that these have been many for a short queue */
};

struct qv_queue {
	/* Hot: the first cache line is all that most calls need. */
	uint64_t **ring;
	/* tail - head entries are queued. LIST: ring positions. HASH: tail is the sequence number of
	 * the next entry, head is of no other use. */
	uint64_t head, tail;
	/* PATH_NAMED, PATH_DOMINANT: the index's table; the bits that its class compares, ignores. */
	uint64_t *slots;
	uint64_t keep, ignore;
	uint32_t ring_mask; /* entries of the ring - 1 */
	uint32_t cost;      /* LIST: what walking cost, halved in a tick: qv_queue_walked */
	uint32_t max;       /* longest so far */
	uint16_t path;
	uint16_t shift; /* as slots */

	/* Hot: the second cache line, for several indexes. */

	/* HASH: the index, if it is the only one, not keyed, with no list beside it; or NULL. While
	 * it is set, its `live` and `used` are not kept up to date. */
	struct qv_index *sole;
	/* Posted: the index that has receives of narrower classes, too; or NULL. */
	struct qv_index *merged;
	uint64_t rejected; /* entries compared that did not fit */
	uint64_t order[2]; /* unexpected: the ends of the list in order */
	uint32_t active;   /* HASH: what is in use */
	uint32_t n_in_use;
	uint32_t last; /* LIST: where the last walk ended */
	uint16_t mode, side;
	struct qv_index *in_use[QV_N_CLASSES]; /* those of `active` */
	uint8_t class_cache[QV_CLASS_CACHE];   /* posted: where receives of a class went last */

	uint64_t peeked; /* entries that fitted and stayed */
	uint64_t mode_changes;
	uint64_t slid;     /* times that tail went back, in LIST */
	uint64_t named;    /* entries removed by name: claimed, cancelled */
	uint32_t iterated; /* LIST: distance from the head that was last iterated to */

	struct qv_policy policy;
	struct qv_vlist overflow; /* posted */
	struct qv_index ix[QV_N_CLASSES];
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct qv_queue, sole) == 64, "one cache line");

struct qv_auto {
	struct qv_match base;
	uint64_t secret[2]; /* of the keyed hash */
	struct qv_queue posted, unexpected;
};

/* What a search in HASH found: entry e, and how it can be removed. */
struct qv_found {
	uint64_t *e;         /* NULL: nothing */
	struct qv_index *ix; /* the index by which it was found as a head, or NULL */
	uint64_t *link;      /* ix not NULL: the word that points to e */
};

QV_INLINE struct qv_auto *qv_auto_of(struct qv_match *m)
{
	return (struct qv_auto *)m;
}

QV_INLINE uint32_t qv_queue_len(const struct qv_queue *q)
{
	return (uint32_t)(q->tail - q->head);
}

QV_INLINE uint64_t *qv_queue_at(const struct qv_queue *q, uint32_t pos)
{
	return q->ring[(q->head + pos) & q->ring_mask];
}

/* 1 if a was appended before b; right across the wrap of the sequence numbers. */
QV_INLINE int qv_is_older(const uint64_t *a, const uint64_t *b)
{
	return (int64_t)(a[QV_SEQ] - b[QV_SEQ]) < 0;
}

/* policy.c: which mode a queue has. The chart is there. */

/* To HASH. Unexpected: begin with an index for receives (ignore, src). QV_ENOMEM: as before. */
int qv_queue_to_hash(struct qv_auto *a, struct qv_queue *q, uint64_t ignore, uint32_t src);
int qv_queue_to_list(struct qv_auto *a, struct qv_queue *q);
void qv_policy_init(struct qv_queue *q);
/* Upkeep before an append, each QV_TICK of them. QV_ENOMEM: no room for the entry. */
int qv_queue_tick(struct qv_auto *a, struct qv_queue *q);
/* The last entry has left in HASH. */
QV_COLD void qv_queue_emptied(struct qv_queue *q);
/* Tables have grown or shrunk: whether they are too big to be kept for an empty queue. */
void qv_queue_tables_changed(struct qv_queue *q);

/* policy_posted.c: which indexes posted receives have in HASH. */

void qv_posted_tick(struct qv_auto *a, struct qv_queue *q);
/* Whether a merged index may be tried now. Counts the times that it may not. */
int qv_posted_may_merge(struct qv_queue *q);
/* The merged index does not pay: an index for each class, and wait before the next merged one. */
void qv_posted_split(struct qv_auto *a, struct qv_queue *q);
void qv_posted_keep_apart(struct qv_queue *q);
/* Receives that did not fit in the merged index have cost what indexing anew would. */
QV_INLINE int qv_posted_must_split(const struct qv_queue *q)
{
	return q->policy.mismatches > QV_MISMATCHES_MAX + 3 * (uint64_t)qv_queue_len(q);
}

/* policy_unexpected.c: which indexes unexpected messages have in HASH. */

void qv_unexpected_tick(struct qv_auto *a, struct qv_queue *q);
/* No index serves class (ignore, src): whether it shall get one now. */
int qv_unexpected_wants_index(struct qv_queue *q, uint64_t ignore, uint32_t src);
/* The class of ix has been set, and its counters begin. */
void qv_unexpected_index_begins(const struct qv_queue *q, struct qv_index *ix);
/* The class gets an index: wider ones have not served it, and wait longer until they are believed
 * to. */
void qv_unexpected_did_not_serve(struct qv_queue *q, uint64_t ignore, uint32_t src);

/* The cost counter of LIST. */

/* A walk of so many steps has ended. */
QV_INLINE void qv_queue_walked(struct qv_queue *q, uint32_t steps)
{
	q->rejected += steps;
	q->cost += steps + (steps != q->last) * QV_COST_MISPREDICTED;
	q->last = steps;
}

/* Walking has cost as much as an index would. `any`: the limit is that of receives from any source. */
QV_INLINE int qv_queue_is_costly(const struct qv_queue *q, int any)
{
	uint64_t n = qv_queue_len(q);
	uint64_t limit = (any ? QV_COST_ANY : QV_COST_FIXED) + QV_COST_EACH * n;

	return q->cost > (n <= QV_FEW ? limit << q->policy.cost_shift : limit);
}

/* Entry e has left in HASH, and is out of all indexes. */
QV_INLINE void qv_queue_leave(struct qv_queue *q)
{
	if (QV_UNLIKELY(++q->head == q->tail))
		qv_queue_emptied(q);
}

/* path.c. */

/* Set what is in use, and so the path. */
void qv_queue_set_active(struct qv_queue *q, uint32_t active);
/* mode, sole, or a table has changed: choose the path. */
void qv_queue_set_path(struct qv_queue *q);
/* An insertion met too many keys in one bucket of ix: change its hash, once. */
QV_COLD void qv_queue_rekey(struct qv_auto *a, struct qv_queue *q, struct qv_index *ix);

/* ring.c: LIST. */

/* Room for n entries and half as many again; QV_ENOMEM: as before. Keeps the entries of LIST. */
int qv_ring_resize(struct qv_auto *a, struct qv_queue *q, uint32_t n);
void qv_ring_free(struct qv_auto *a, struct qv_queue *q);
/* Remove the entry at distance pos from the head. */
void qv_ring_remove(struct qv_queue *q, uint32_t pos);
/* The distance of entry e, which is there, from the head. */
uint32_t qv_ring_position(const struct qv_queue *q, const uint64_t *e);

/* collect.c: all entries of HASH. */

/* All entries, oldest first, or NULL (no memory); free with qv_queue_collect_done, at the same
 * length of the queue. */
uint64_t **qv_queue_collect(struct qv_auto *a, const struct qv_queue *q);
void qv_queue_collect_done(struct qv_auto *a, const struct qv_queue *q, uint64_t **v);
/* Call fn for each entry, in no order. */
void qv_queue_each(const struct qv_queue *q, void (*fn)(void *ctx, uint64_t *e), void *ctx);

/* Test hooks: change the modes now, where memory allows; never try LIST again. */
void qv_auto_force(struct qv_match *m, enum qv_auto_mode posted, enum qv_auto_mode unexpected);
void qv_auto_hold(struct qv_match *m);

#endif /* QV_AUTO_H */
