/* SPDX-License-Identifier: BSD-2-Clause */
/* stats_bars.c - what FI_QUIVER_STATS=detail has counted, as histograms of text. */
#include "stats.h"

#include <inttypes.h>
#include <stdio.h>

enum { WIDTH = 40, PAIRS = 10 };

/* What a bin stands for. */
static const char *range(unsigned bin, char *room, size_t size)
{
	const uint64_t first = bin ? UINT64_C(1) << (bin - 1) : 0;

	if (bin == QV_DETAIL_BINS - 1)
		snprintf(room, size, "%" PRIu64 " or more", first);
	else if (bin < 2)
		snprintf(room, size, "%" PRIu64, first);
	else
		snprintf(room, size, "%" PRIu64 "-%" PRIu64, first, 2 * first - 1);
	return room;
}

static double share(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

/* The end of a line. A bar has something, if there is anything at all. */
static void end_bar(double part)
{
	size_t n = (size_t)(part * WIDTH + 0.5);

	if (part > 0)
		fputs("  #", stdout);
	for (size_t i = 1; i < n && i < WIDTH; i++)
		putchar('#');
	putchar('\n');
}

static uint64_t sum(const uint64_t *bins)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < QV_DETAIL_BINS; i++)
		all += bins[i];
	return all;
}

/* From the first bin that has something to the last. */
static bool bounds(const uint64_t *a, const uint64_t *b, unsigned *first, unsigned *end)
{
	*first = *end = 0;
	for (unsigned i = 0; i < QV_DETAIL_BINS; i++)
		if (a[i] || b[i]) {
			if (!*end)
				*first = i;
			*end = i + 1;
		}
	return *end;
}

static void print_searches(const char *title, const struct qv_detail_searches *s)
{
	uint64_t hits = sum(s->hits), misses = sum(s->misses);
	unsigned first, end;
	char room[64];

	if (!bounds(s->hits, s->misses, &first, &end))
		return;
	printf("\n%s: %" PRIu64 " found one after %.2f entries, %" PRIu64
	       " found none after %.2f\n",
	       title, hits, share(s->hits_inspected, hits), misses,
	       share(s->misses_inspected, misses));
	printf("%22s %12s %12s\n", "entries inspected", "found one", "found none");
	for (unsigned i = first; i < end; i++) {
		printf("%22s %12" PRIu64 " %12" PRIu64, range(i, room, sizeof room), s->hits[i],
		       s->misses[i]);
		end_bar(share(s->hits[i] + s->misses[i], hits + misses));
	}
}

static void print_depth(const char *title, const char *call, const struct qv_detail_queue *q)
{
	uint64_t calls = sum(q->depth), ns = sum(q->ticks);
	unsigned first, end;
	char room[64];

	if (!calls || !bounds(q->depth, q->ticks, &first, &end))
		return;
	printf("\n%s\n%22s %12s %12s\n", title, "entries", call, "of the time");
	for (unsigned i = first; i < end; i++) {
		printf("%22s %12" PRIu64 " %10.1f %%", range(i, room, sizeof room), q->depth[i],
		       100 * share(q->ticks[i], ns));
		end_bar(share(q->depth[i], calls));
	}
}

static void print_wildcards(const uint64_t *w)
{
	printf("\nReceives: %" PRIu64 " name source and tag, %" PRIu64 " take any source, %" PRIu64
	       " any tag or bits of it, %" PRIu64 " both.\n",
	       w[0], w[QV_DETAIL_ANY_SOURCE], w[QV_DETAIL_ANY_TAG],
	       w[QV_DETAIL_ANY_SOURCE | QV_DETAIL_ANY_TAG]);
}

static void print_pairs(const struct qv_stats_detail *d)
{
	char rank[32], address[32];

	if (!d->n)
		return;
	printf("\nMost messages came\n%12s %12s %12s %12s\n", "to rank", "from address", "messages",
	       "unexpected");
	for (size_t i = 0; i < d->n && i < PAIRS; i++) {
		const struct qv_stats_pair *p = &d->pairs[i];

		snprintf(rank, sizeof rank, "%d", p->rank);
		snprintf(address, sizeof address, "%" JSON_INTEGER_FORMAT, p->address);
		printf("%12s %12s %12" PRIu64 " %10.1f %%\n", p->rank < 0 ? "-" : rank,
		       p->address < 0 ? "-" : address, p->count.arrived,
		       100 * share(p->count.unexpected, p->count.arrived));
	}
}

void qv_stats_detail_print(const struct qv_stats_detail *d)
{
	print_wildcards(d->sum.wildcards);
	print_searches("Messages that arrived searched the receives", &d->sum.posted.searches);
	print_searches("Receives that were posted searched the unexpected messages",
		       &d->sum.unexpected.searches);
	print_searches("Probes searched the unexpected messages", &d->sum.probes);
	print_depth("Posted receives that a message found", "messages", &d->sum.posted);
	print_depth("Unexpected messages that a receive found", "receives", &d->sum.unexpected);
	print_pairs(d);
}
