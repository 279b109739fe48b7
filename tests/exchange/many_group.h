/* SPDX-License-Identifier: BSD-2-Clause */
/* many_group.h - streams of a whole group in one process, with items for one rank and for many: all
 * that comes is judged. */
#ifndef QV_MANY_GROUP_H
#define QV_MANY_GROUP_H

#include "stream_net.h"

#define QV_MANY_RANKS 64

struct qv_many_group {
	struct qv_stream_spec spec;
	size_t longest;  /* of items */
	uint16_t number; /* of the next item: says what it is */
	bool lively;     /* who gets an item sends others */
	uint32_t shapes; /* of enum qv_section, that qv_many_insert_any draws from; 0: the first */
};

extern struct qv_many_group qv_many;

/* Streams of 1 to 33 ranks, by all ways, with and without envelopes, whatever else by chance. */
void qv_many_each(void (*make)(struct qv_stream_spec spec));
void qv_many_open(const struct qv_stream_spec *spec, size_t longest);
/* The next item, to one or to many; ranks are in ascending order. To one by the stream's way: as such,
 * too. */
void qv_many_insert(uint32_t from, const uint32_t *to, size_t n, enum qv_section by);
/* The same to ranks by chance. */
void qv_many_insert_any(uint32_t from);
/* Until all has come, and compare. */
void qv_many_finish(void);

#endif /* QV_MANY_GROUP_H */
