/* SPDX-License-Identifier: BSD-2-Clause */
/* partners.h - how much each source adds to a queue, and which sources add so much that they are
 * partners: they get a list of their own. */
#ifndef QV_PARTNERS_H
#define QV_PARTNERS_H

#include <quiver/types.h>

#include "engine/base/mem.h"
#include "options.h"
#include "side.h"

struct qv_source_count {
	uint32_t src;
	uint64_t count;
};

struct qv_profile {
	/* By queue, QV_POSTED and QV_UNEXPECTED: n sources, ascending, each once, the same in both. */
	struct qv_source_count *v[2];
	uint32_t n;
	uint32_t room;
	/* After QV_EINVAL, for who has to say what is wrong with the file: the line that is no
	 * form of a line, from 1; else 0, and the source that is named twice; else QV_SRC_ANY: it
	 * cannot be read or names no source. */
	uint32_t bad_line, bad_source;
};

/*
 * Read a file. QV_EINVAL: path is NULL, it cannot be read, or it breaks the format of match.h;
 * QV_ENOMEM. Free with qv_profile_free and the same mem.
 */
int qv_profile_read(struct qv_profile *p, struct qv_mem *mem, const char *path);
void qv_profile_free(struct qv_profile *p, struct qv_mem *mem);

/* Order by source; by count, equal counts by source. */
void qv_counts_by_source(struct qv_source_count *v, uint32_t n);
void qv_counts_by_count(struct qv_source_count *v, uint32_t n);

/*
 * The edge: a source that sends more than this is a partner. v is by count, ascending; population:
 * how many sources there are, those beyond n having sent nothing. m's options say which statistic
 * it is, and whether only the sources in v count.
 */
double qv_counts_edge(const struct qv_source_count *v, uint32_t n, uint32_t population,
		      const struct qv_options *options);

#endif /* QV_PARTNERS_H */
