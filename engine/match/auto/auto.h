/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * auto.h - structure "auto": each queue is a list while that is cheap, and hash indexes when
 * searching the list has cost as much as building them.
 *
 * LIST  A dense ring of entry pointers, oldest first. The head is tested first, then the rest is
 *       walked; removal shifts the shorter side. Nothing else is maintained: traffic that comes in
 *       the order of the queue touches one pointer and one entry.
 * HASH  Every entry is in an index (index.h), order between entries is by sequence number.
 *       Posted: a receive is in the index of its class (ignore mask, any source or not), an
 *       arrival looks in each class that has entries; MPIs use two to five classes, and the
 *       protocol bits that all of them ignore are part of the masks. Receives of classes beyond
 *       QV_N_CLASSES go to a list of vector blocks, the log.
 *       Unexpected: a message is in every active index. Indexes come to be when receives of their
 *       class search, and go when none has for long. Searches too rare or too varied for an index
 *       use a log of all messages.
 *
 * When the form changes is a matter of cost only; the order is exact in both.
 */
#ifndef QV_AUTO_H
#define QV_AUTO_H

#include "index.h"

/* Classes of receives that have an index. */
#define QV_N_CLASSES 8
/* Indexes of unexpected messages. */
#define QV_N_VIEWS 4
/* Bits of `active`: each index in use has the bit of its number; the log; an index is strong. */
#define QV_INDEXES       0xffu
#define QV_ORDER_ACTIVE  0x100u /* unexpected: the list in order, for short queues */
#define QV_LOG_ACTIVE    0x80000000u
#define QV_STRONG_ACTIVE 0x40000000u
#define QV_UNUSUAL       (QV_LOG_ACTIVE | QV_STRONG_ACTIVE)
/* Places of the guess which index a receive goes to. */
#define QV_HOMES 16
/* Something is looked at every so many appended entries. */
#define QV_TICK 64

enum qv_auto_mode { QV_AUTO_LIST, QV_AUTO_HASH };

/*
 * An entry's priv words in HASH, besides its links. In LIST they are not used. A receive that is in
 * the log and in no index has QV_IN_LOG in place of its link NEXT.
 */
enum { QV_SEQ, QV_RECV_LOG = QV_RECV_LINKS + QV_LINKS };
enum { QV_MSG_LOG = 1, QV_MSG_LINKS };
/* The list in order has its links where the last index would have its own: only one of them is. */
#define QV_MSG_ORDER (QV_MSG_LINKS + (QV_N_VIEWS - 1) * QV_LINKS)
enum { QV_YOUNGER, QV_OLDER };
#define QV_IN_LOG 1u

/* How the short ways of the data path find an entry. */
enum qv_way {
	QV_WAY_LIST, /* LIST */
	/* HASH, `only` is set, its class compares sources, and its links are the first ones */
	QV_WAY_ONLY,
	/* HASH, one index, not strong, no log. Posted: it may have receives of other classes, or
	 * from any source. Unexpected: the list in order may be there, too */
	QV_WAY_WIDE,
	/* HASH, posted: several indexes, none of them wide or strong, no log; most receives are in
	 * the first in_use, which is copied as `only` would be */
	QV_WAY_MAIN,
	QV_WAY_PAIR,  /* HASH, posted: two indexes, none of them wide or strong, no log */
	QV_WAY_HEADS, /* the same, or more of them, and often several have what is in the way */
	QV_WAY_MANY,  /* HASH otherwise */
	/* HASH, posted: `only` is set, and is not wide. Most receives wait behind others with their
	 * key, and so the next message is guessed to take what followed the last */
	QV_WAY_STREAM,
};

struct qv_line {
	/* One cache line: what most calls need. */
	uint64_t **ring;
	/*
	 * tail - head entries are queued. LIST: ring positions. HASH: tail is the sequence number
	 * of the next entry, head is of no other use.
	 */
	uint64_t head, tail;
	/* QV_WAY_ONLY, _MAIN: the index's table, and the bits that its class
	 * compares and ignores. */
	uint64_t *slots;
	uint64_t keep, ignore;
	uint32_t ring_mask; /* entries of the ring - 1 */
	uint32_t debt;      /* LIST: cost of walking, in steps, halved per tick */
	uint32_t max;       /* longest so far */
	uint16_t way;
	uint16_t shift; /* as slots */

	/*
	 * HASH: the index that has all entries, not strong, no log beside it; NULL if there is
	 * none. While it is set, `active` has its bit even if the queue is empty, and its `live`
	 * and `used` are not kept up to date.
	 */
	struct qv_index *only;
	enum qv_auto_mode mode;
	enum qv_side side;
	uint32_t tolerance; /* how often the limit of the debt has been doubled for a short queue */
	uint32_t last;      /* LIST: where the last walk ended: a change is a misprediction */
	uint32_t iterated;  /* LIST: distance from the head that was last iterated to */
	uint32_t active;    /* HASH: indexes in use and the log */
	uint64_t rejected;  /* entries compared that did not fit */
	uint64_t peeked;    /* and those that did without being matched */
	uint64_t flips;     /* changes of mode */
	uint64_t slid;      /* times that tail went back, in LIST */
	uint64_t named;     /* entries removed by name: taken, cancelled */

	/* When to try LIST again. */
	uint64_t hash_since; /* tail at the change to HASH */
	uint64_t calm_since; /* LIST: tail since which walking was no burden */
	/* Tail when the queue was last empty in HASH, or its oldest entry at the change to that. */
	uint64_t empty_since;
	uint32_t expected; /* LIST: so many entries are searched in no order if they come, or 0 */
	uint64_t patience; /* appends in HASH before LIST is tried; doubles when that fails */
	uint32_t empties;  /* times that the queue became empty in HASH */
	uint32_t empties_max; /* how many of them are waited for; doubles too */

	/* Longest in this and the last window, for giving memory back. */
	uint32_t peak, peak_before;

	/* Unexpected: the class that last searched without an index, and the cost of that. */
	uint64_t wanted_ignore;
	uint32_t wanted_any;
	/* Unexpected, if QV_ORDER_ACTIVE: the ends of the list in order; tail at its last use. */
	uint64_t order[2];
	uint64_t order_used;
	uint32_t order_pays; /* an index of a class was not worth its upkeep: walk instead */
	uint32_t far; /* unexpected: searches since the last tick that no index answered at once */
	uint32_t far_ticks; /* ticks in a row that these have been many for a short queue */
	uint64_t walked;    /* the same times the messages, decaying with the ticks */
	uint64_t log_used;  /* tail at the last search in the log */
	uint64_t log_debt;  /* posted: cost of the log. unexpected: of scans without a log */
	uint64_t log_limit; /* posted: how many times its price a new choice must be worth */

	/*
	 * Posted: an index that has receives of narrower classes, too; NULL if there is none. It
	 * takes all that it can. What was met there and did not fit since the last tick, or so.
	 */
	struct qv_index *wide;
	/* Where receives of a class went last, by qv_home_of: a guess. */
	uint8_t home[QV_HOMES];
	struct qv_index *in_use[QV_N_CLASSES]; /* those of `active` */
	uint32_t n_in_use;
	uint32_t strayed;
	/* Arrivals since the last tick for which several indexes had something in the key's bucket;
	 * whether they have been many. */
	uint32_t contested, dense;
	uint32_t apart, apart_next; /* how often classes get their own indexes before the next */
	/*
	 * QV_WAY_STREAM: the head of the list that the last arrival took from, NULL if it took the
	 * last of it, and the word that points to that head. What else changes an index forgets it.
	 */
	uint64_t *guess, *guess_link;
	uint32_t strays;  /* arrivals since the last tick that were guessed wrong */
	uint32_t streams; /* ticks, less others, at which a receive was posted behind its like */
	uint32_t unguessed, unguessed_next; /* ticks before the next try, and the same after it */

	uint8_t credit[QV_N_CLASSES]; /* posted: how firmly an empty class holds its index */
	struct qv_vlist log;
	struct qv_index ix[QV_N_CLASSES];
};

struct qv_auto {
	struct qv_match base;
	uint64_t secret[2]; /* of the keyed hash */
	struct qv_line posted __attribute__((aligned(64)));
	struct qv_line unexpected __attribute__((aligned(64)));
};

/* What a search in HASH found: entry e, and how it can be removed. */
struct qv_found {
	uint64_t *e;         /* NULL: nothing */
	struct qv_index *ix; /* the index by which it was found, or NULL */
	uint64_t *link;      /* ix not NULL: the word that points to e */
};

QV_INLINE struct qv_auto *qv_auto_of(struct qv_match *m)
{
	return (struct qv_auto *)m;
}

QV_INLINE uint32_t qv_line_len(const struct qv_line *q)
{
	return (uint32_t)(q->tail - q->head);
}

QV_INLINE uint64_t *qv_line_at(const struct qv_line *q, uint32_t pos)
{
	return q->ring[(q->head + pos) & q->ring_mask];
}

/* The last entry, e, has left in HASH. */
void qv_line_emptied(struct qv_line *q, const uint64_t *e);

/* Entry e has left in HASH, and is out of all indexes. */
QV_INLINE void qv_line_leave(struct qv_line *q, const uint64_t *e)
{
	if (qv_unlikely(++q->head == q->tail))
		qv_line_emptied(q, e);
}

/* 1 if a was appended before b; right across the wrap of the sequence numbers. */
QV_INLINE int qv_is_older(const uint64_t *a, const uint64_t *b)
{
	return (int64_t)(a[QV_SEQ] - b[QV_SEQ]) < 0;
}

/* A longer walk than this costs what indexing does, so the queue is indexed at once. */
#define QV_WALK_MAX 48

/* What walking so far has cost. A change of the position is a misprediction. */
QV_INLINE void qv_line_walked(struct qv_line *q, uint32_t steps)
{
	q->rejected += steps;
	q->debt += steps + (steps != q->last) * 8;
	q->last = steps;
}

/* Up to this length the debt that is tolerated depends on what indexes have been found to cost. */
#define QV_TOLERANT_LEN 16

/* Walking has cost as much as an index would. */
QV_INLINE int qv_line_in_debt(const struct qv_line *q)
{
	uint64_t n = qv_line_len(q), limit = 256 + 3 * n;

	return q->debt > (n <= QV_TOLERANT_LEN ? limit << q->tolerance : limit);
}

/* post.c, arrive.c: the calls of the data path, beyond their short ways. */
QV_APART int qv_auto_post_search(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg);
QV_APART int qv_auto_post_append(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg);
QV_APART int qv_auto_post_classes(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg);
/* The same, way ONLY, into the bucket that begins at *slot, which is not empty. */
QV_APART int qv_auto_post_beside(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
				 uint64_t *slot);
QV_APART struct qv_recv *qv_auto_arrive_search(struct qv_auto *a, uint64_t tag, uint32_t src);
/* The same, way ONLY, and more than one entry in the key's bucket, which begins at *slot. */
QV_APART int qv_auto_post_in_bucket(struct qv_auto *a, struct qv_recv *recv, struct qv_msg **msg,
				    uint64_t *slot);
QV_APART struct qv_recv *qv_auto_arrive_in_bucket(struct qv_auto *a, uint64_t tag, uint32_t src,
						  uint64_t *slot);
QV_APART int qv_auto_deliver_in_bucket(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv,
				       uint64_t *slot);
/* The same where the short ways end; NULL: a miss, counted. */
QV_APART struct qv_recv *qv_auto_arrive_other(struct qv_auto *a, uint64_t tag, uint32_t src);
QV_APART int qv_auto_queue_append(struct qv_auto *a, struct qv_msg *msg);
QV_APART int qv_auto_deliver_search(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv);
QV_APART int qv_auto_deliver_append(struct qv_auto *a, struct qv_msg *msg, struct qv_recv **recv);
/* The last entry of a queue in HASH has been matched. They return what the call returns. */
QV_COLD int qv_auto_post_last(struct qv_auto *a, struct qv_msg *const *msg);
QV_COLD struct qv_recv *qv_auto_arrive_last(struct qv_auto *a, struct qv_recv *r);
QV_COLD int qv_auto_deliver_last(struct qv_auto *a, struct qv_recv *const *recv);
struct qv_msg *qv_auto_peek(struct qv_match *m, uint64_t tag, uint64_t ignore, uint32_t src);
void qv_auto_prefetch(const struct qv_match *m, uint64_t tag, uint32_t src, int step);

/* Test hook: change the modes now, where memory allows. */
void qv_auto_force(struct qv_match *m, enum qv_auto_mode posted, enum qv_auto_mode unexpected);

/* ring.c: LIST. */

/* Room for n entries and half as many again; QV_ENOMEM: as before. Keeps the entries of LIST. */
int qv_ring_resize(struct qv_auto *a, struct qv_line *q, uint32_t n);
void qv_ring_free(struct qv_auto *a, struct qv_line *q);
/* Remove the entry at distance pos from the head. */
void qv_ring_remove(struct qv_line *q, uint32_t pos);
/* The same, mostly of one near the head. */
QV_INLINE void qv_ring_take(struct qv_line *q, uint32_t pos)
{
	uint64_t at = q->head + pos;

	if (qv_unlikely(pos > 4)) {
		qv_ring_remove(q, pos);
		return;
	}
	for (; at != q->head; at--)
		q->ring[at & q->ring_mask] = q->ring[(at - 1) & q->ring_mask];
	q->head++;
}

/* The distance of entry e, which is there, from the head. */
uint32_t qv_ring_position(const struct qv_line *q, const uint64_t *e);

/* way.c. */

/* Set which indexes and log are active, and `only` and `way` with it. */
void qv_line_set_active(struct qv_line *q, uint32_t active);
/* mode, only or the table of only has changed. */
void qv_line_set_way(struct qv_line *q);
/* Once a tick: e has been posted, and is in q->only. Is a stream of messages to be expected? */
void qv_line_sample_stream(struct qv_line *q, const uint64_t *e);

/* mode.c: changes of form. */

/* To HASH, unexpected: beginning with an index for receives (ignore, src). QV_ENOMEM: as before. */
int qv_line_to_hash(struct qv_auto *a, struct qv_line *q, uint64_t ignore, uint32_t src);
int qv_line_to_list(struct qv_auto *a, struct qv_line *q);
/* Upkeep before an append, each QV_TICK of them. QV_ENOMEM: no room for the entry. */
int qv_line_tick(struct qv_auto *a, struct qv_line *q);
/* Upkeep of an index in use for n entries. Without memory buckets get longer; the next tick tries
 * again. */
void qv_line_fit_index(struct qv_auto *a, struct qv_line *q, struct qv_index *ix, uint32_t n);
/* An insertion met too many keys in one bucket of ix: change its hash, once. */
void qv_line_harden(struct qv_auto *a, struct qv_line *q, struct qv_index *ix);

/* collect.c: all entries of HASH. */

/* All entries, oldest first, or NULL (no memory); free with qv_line_collect_done, at the same
 * length of the queue. */
uint64_t **qv_line_collect(struct qv_auto *a, const struct qv_line *q);
void qv_line_collect_done(struct qv_auto *a, const struct qv_line *q, uint64_t **v);
/* Call fn for each entry, in no order. */
void qv_line_each(const struct qv_line *q, void (*fn)(void *ctx, uint64_t *e), void *ctx);

#endif /* QV_AUTO_H */
