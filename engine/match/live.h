/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.h - how another process finds the engines of this one: a table in its memory, which a program of
 * the same version reads with process_vm_readv(2). The owner does nothing for it but keep the list.
 *
 * The table is found by its magic, in the writable memory of the library that has it; `self` tells it
 * from other places with the same bytes.
 */
#ifndef QV_MATCH_LIVE_H
#define QV_MATCH_LIVE_H

#include <quiver/match.h>

#define QV_LIVE_MAGIC   "quiver live 0001" /* 16 bytes, without its end */
#define QV_LIVE_ENGINES 2

/* An endpoint. */
struct qv_live {
	struct qv_live *next;
	uint64_t number; /* counted from 0, no two of a process are alike */
	char core[32];
	char structure[32];
	uint64_t bytes;                                 /* of each engine */
	const struct qv_match *engine[QV_LIVE_ENGINES]; /* untagged, tagged; NULL: none */
};

struct qv_live_table {
	char magic[16];
	struct qv_live_table *self;
	char version[16];
	uint64_t size; /* of struct qv_live */
	struct qv_live *first;
};

/* Bytes that belong to an engine of this structure; 0: there is no such structure. */
size_t qv_match_bytes(const char *structure);

/* As qv_match_get_stats, from a copy of such an engine, aligned to a cache line. */
void qv_match_get_copied_stats(const char *structure, const void *copy,
			       struct qv_match_stats *stats);

#endif /* QV_MATCH_LIVE_H */
