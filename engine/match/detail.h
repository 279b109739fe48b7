/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * detail.h - counters of an engine that cost something: how far its searches go, how long its queues are
 * and for how long, which receives are wildcards, and who sends. An observer counts them, so that an
 * engine without one runs as ever.
 */
#ifndef QV_MATCH_DETAIL_H
#define QV_MATCH_DETAIL_H

#include <quiver/match.h>

/* By powers of two: bin 0 has what is 0, bin b what is from 2^(b-1) to 2^b - 1, the last all that is
 * more. */
#define QV_DETAIL_BINS 32

/* Calls by how many entries they have inspected, and these entries together. A hit has found one. */
struct qv_detail_searches {
	uint64_t hits[QV_DETAIL_BINS], misses[QV_DETAIL_BINS];
	uint64_t hits_inspected, misses_inspected;
};

struct qv_detail_queue {
	struct qv_detail_searches searches;
	uint64_t depth[QV_DETAIL_BINS]; /* searches by how many entries there were */
	uint64_t ticks[QV_DETAIL_BINS]; /* qv_ticks that the queue had so many */
};

struct qv_detail_source {
	uint64_t arrived, unexpected; /* messages, and those of them that were queued */
	uint64_t posted;              /* receives from this source that were queued */
};

/* Receives by what they leave open: the two together are an index. */
#define QV_DETAIL_ANY_SOURCE 1u
#define QV_DETAIL_ANY_TAG    2u

/* Sources up to this number have a counter each. */
#define QV_DETAIL_SOURCES 65536u

struct qv_detail {
	uint64_t wildcards[4];
	struct qv_detail_queue posted;     /* searched by messages that arrive */
	struct qv_detail_queue unexpected; /* searched by receives that are posted */
	struct qv_detail_searches probes;  /* of the unexpected messages, by qv_match_peek */
	uint64_t others_inspected;         /* by calls that do not search: to keep indexes */
	/* By number; those that have none, or for which there is no memory, are `others`. */
	struct qv_detail_source *sources, others;
	uint32_t nsources;
	double tick_ns; /* how long a tick is */
};

struct qv_match_detail;

/*
 * Count from now on.
 *   engine         stays until qv_match_detail_end
 *   protocol_bits  as in struct qv_match_settings: a receive that ignores only these leaves no tag
 *                  open
 * NULL: no memory.
 */
struct qv_match_detail *qv_match_detail_begin(struct qv_match *engine, uint64_t protocol_bits);

/* The counters, brought up to the present. They change with each call on the engine. */
const struct qv_detail *qv_match_detail_read(struct qv_match_detail *d);

/* The engine runs as before. NULL is allowed. */
void qv_match_detail_end(struct qv_match_detail *d);

#endif /* QV_MATCH_DETAIL_H */
