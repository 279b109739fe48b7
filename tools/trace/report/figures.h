/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * figures.h - what a report says of traces. They are read twice: first for when they begin and end,
 * and which sources and tags are frequent; then for all that depends on these. What is kept grows with
 * lanes, processes and entries that wait at the same time, not with events.
 */
#ifndef QV_REPORT_FIGURES_H
#define QV_REPORT_FIGURES_H

#include "engine/trace/trace.h"

#include "line.h"
#include "top.h"

enum { QV_FIGURES_COLUMNS = 512, QV_FIGURES_BINS = 33 };

/* Both queues of a lane: the posted one, which arrivals search, and the unexpected one, which posts
 * and probes search. */
enum qv_figures_side { QV_FIGURES_POSTED, QV_FIGURES_UNEXPECTED, QV_FIGURES_SIDES };

enum qv_figures_wild {
	QV_FIGURES_EXACT,
	QV_FIGURES_ANY_SOURCE,
	QV_FIGURES_ANY_TAG,
	QV_FIGURES_ANY_BOTH,
	QV_FIGURES_WILDS
};

/* What a plain list does: it compares entries, oldest first, up to the one that fits, or all. */
struct qv_figures_search {
	uint64_t searches, found;
	uint64_t steps_found, steps_missed; /* entries compared */
	uint64_t depth_most;
};

struct qv_figures_process {
	struct qv_trace_process info;
	uint64_t events, messages, steps, searches;
	uint64_t first_ns, last_ns;
	uint64_t depth_most[QV_FIGURES_SIDES];
};

struct qv_figures_lane {
	uint32_t process; /* of those of all files */
	uint32_t endpoint;
	enum qv_trace_queue queue;
	char structure[QV_TRACE_NAME];
	uint64_t protocol_bits;
	uint64_t events, messages, first_ns, last_ns;
	uint64_t waiting_at_end[QV_FIGURES_SIDES];
	struct qv_figures_search search[QV_FIGURES_SIDES];
	/* While it is read. */
	struct qv_line line[QV_FIGURES_SIDES];
	uint32_t column;
	bool known, arriving; /* arriving: a message came last, and had no receive */
};

struct qv_figures_file {
	const char *path;
	char why[256]; /* what cannot be read from some place on; "": nothing */
	uint64_t events, lost;
	bool whole; /* its writer has ended it */
};

struct qv_figures {
	struct qv_figures_file *files;
	size_t files_n;
	struct qv_figures_process *processes;
	uint32_t processes_n;
	struct qv_figures_lane *lanes; /* some may be without `known` */
	uint32_t lanes_n;

	uint64_t events, first_ns, last_ns; /* last < first: there is no event */
	uint64_t width_ns;                  /* of a column */
	uint32_t columns;                   /* in use */
	uint64_t posted, posted_matched, arrived, arrived_matched, queued, refused;
	uint64_t probed, probed_found, taken, cancelled;
	uint64_t unseen; /* entries that were named but had not been seen to begin to wait */
	uint64_t receives[QV_FIGURES_WILDS], probes[QV_FIGURES_WILDS];
	struct qv_figures_search search[QV_FIGURES_SIDES]; /* sums of lanes; the deepest */
	/* Searches by the depth of the queue and by entries compared: 0, 1, 2-3, 4-7 ... */
	uint64_t by_depth[QV_FIGURES_SIDES][QV_FIGURES_BINS];
	uint64_t by_steps[QV_FIGURES_SIDES][QV_FIGURES_BINS];
	/* The deepest queue of a lane at a time in the column. */
	uint32_t depth[QV_FIGURES_SIDES][QV_FIGURES_COLUMNS];
	/* Messages by source and tag; the last row and column: the rest. */
	struct qv_top sources, tags;
	uint64_t cell[QV_TOP_MOST + 1][QV_TOP_MOST + 1]; /* [tag][source] */
};

/*
 * Read the files. 0: *f is to be freed; a file that breaks off has `why`. -1: why[size] has one line: a
 * file that cannot be opened, or no memory; *f is empty.
 */
int qv_figures_read(struct qv_figures *f, const char *const *paths, size_t n, char *why,
		    size_t size);
void qv_figures_free(struct qv_figures *f);

/* 0, 1, 2-3, 4-7 ... */
unsigned qv_figures_bin(uint64_t value);

static inline uint64_t qv_figures_steps(const struct qv_figures_search *s)
{
	return s->steps_found + s->steps_missed;
}

/* Entries compared by one search; 0 where there is none. */
static inline double qv_figures_mean(const struct qv_figures_search *s)
{
	return s->searches ? (double)qv_figures_steps(s) / (double)s->searches : 0;
}

#endif /* QV_REPORT_FIGURES_H */
