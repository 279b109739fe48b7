/* SPDX-License-Identifier: BSD-2-Clause */
/* stats_detail.c - FI_QUIVER_STATS=detail: what engine/match/detail.h counts, as JSON. */
#include "stats.h"

#include <inttypes.h>

#include "engine/match/detail.h"

#define BUSIEST 64u /* sources with a line of their own */

void qv_fi_detail_begin(struct qv_fi_ep *ep)
{
	struct qv_match_settings set = {.hints = 0};

	qv_fi_assertions_apply(ep, &set);
	for (unsigned which = 0; which < 2; which++) {
		struct qv_match *engine = ep->mode->engine(ep, which ? QV_REQ_TAGGED : 0);

		if (!engine)
			continue;
		ep->detail[which] = qv_match_detail_begin(engine, set.protocol_bits);
		if (!ep->detail[which])
			qv_fi_warn("the counters of an endpoint lack their detail: no memory");
	}
}

void qv_fi_detail_end(struct qv_fi_ep *ep)
{
	for (unsigned which = 0; which < 2; which++) {
		qv_match_detail_end(ep->detail[which]);
		ep->detail[which] = NULL;
	}
}

/* Histograms end with the last bin that has something. */

static void put_bins(FILE *out, const char *name, const uint64_t *bins, double scale)
{
	unsigned n = QV_DETAIL_BINS;

	while (n && !bins[n - 1])
		n--;
	fprintf(out, "\"%s\": [", name);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%" PRIu64, i ? ", " : "",
			scale > 0 ? (uint64_t)(scale * (double)bins[i]) : bins[i]);
	putc(']', out);
}

static void put_searches(FILE *out, const struct qv_detail_searches *s)
{
	put_bins(out, "hits", s->hits, 0);
	fputs(", ", out);
	put_bins(out, "misses", s->misses, 0);
	fprintf(out, ", \"hits_inspected\": %" PRIu64 ", \"misses_inspected\": %" PRIu64,
		s->hits_inspected, s->misses_inspected);
}

static void put_queue(FILE *out, const char *name, const struct qv_detail_queue *q, double tick_ns)
{
	fprintf(out, ",\n       \"%s\": {", name);
	put_searches(out, &q->searches);
	fputs(",\n        ", out);
	put_bins(out, "depth", q->depth, 0);
	fputs(", ", out);
	put_bins(out, "depth_ns", q->ticks, tick_ns);
	putc('}', out);
}

/* Sources. */

struct busiest {
	uint32_t src[BUSIEST];
	unsigned n;
};

/* In order of messages. */
static void find_busiest(const struct qv_detail *d, struct busiest *b)
{
	b->n = 0;
	for (uint32_t src = 0; src < d->nsources; src++) {
		unsigned at = b->n;

		if (!d->sources[src].arrived)
			continue;
		while (at && d->sources[b->src[at - 1]].arrived < d->sources[src].arrived)
			at--;
		if (at == BUSIEST)
			continue;
		if (b->n < BUSIEST)
			b->n++;
		for (unsigned i = b->n - 1; i > at; i--)
			b->src[i] = b->src[i - 1];
		b->src[at] = src;
	}
}

static void put_source(FILE *out, const struct qv_detail_source *s)
{
	fprintf(out, "\"arrived\": %" PRIu64 ", \"unexpected\": %" PRIu64 "}", s->arrived,
		s->unexpected);
}

static void put_sources(FILE *out, const struct qv_fi_ep *ep, const struct qv_detail *d)
{
	struct qv_detail_source others = d->others;
	struct busiest b;

	find_busiest(d, &b);
	for (uint32_t src = 0; src < d->nsources; src++) {
		others.arrived += d->sources[src].arrived;
		others.unexpected += d->sources[src].unexpected;
	}
	fputs(",\n       \"sources\": [", out);
	for (unsigned i = 0; i < b.n; i++) {
		const struct qv_detail_source *s = &d->sources[b.src[i]];
		fi_addr_t address = ep->mode->source(ep, b.src[i]);

		others.arrived -= s->arrived;
		others.unexpected -= s->unexpected;
		fprintf(out, "%s{\"address\": %lld, ", i ? ",\n        " : "",
			address == FI_ADDR_NOTAVAIL ? -1 : (long long)address);
		put_source(out, s);
	}
	fputs("],\n       \"other_sources\": {", out);
	put_source(out, &others);
}

void qv_fi_detail_json(FILE *out, const struct qv_fi_ep *ep, unsigned which)
{
	struct qv_match_detail *counted = ep->detail[which ? 1 : 0];
	const struct qv_detail *d;

	if (!counted)
		return;
	d = qv_match_detail_read(counted);
	fprintf(out,
		",\n      \"detail\": {\"wildcards\": {\"none\": %" PRIu64 ", \"source\": %" PRIu64
		", \"tag\": %" PRIu64 ", \"both\": %" PRIu64 "}",
		d->wildcards[0], d->wildcards[QV_DETAIL_ANY_SOURCE],
		d->wildcards[QV_DETAIL_ANY_TAG],
		d->wildcards[QV_DETAIL_ANY_SOURCE | QV_DETAIL_ANY_TAG]);
	put_queue(out, "posted_queue", &d->posted, d->tick_ns);
	put_queue(out, "unexpected_queue", &d->unexpected, d->tick_ns);
	fputs(",\n       \"probes\": {", out);
	put_searches(out, &d->probes);
	fprintf(out, "}, \"others_inspected\": %" PRIu64, d->others_inspected);
	put_sources(out, ep, d);
	putc('}', out);
}
