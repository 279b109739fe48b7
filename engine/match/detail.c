/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * detail.c - an observer that counts. What a call has inspected is the difference of the engine's own
 * counter before and after it.
 */
#include "detail.h"

#include <stdbool.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/machine.h"
#include "observer.h"

#define FIRST_SOURCES 64u

struct qv_match_detail {
	struct qv_match_observer observer; /* first */
	struct qv_match *engine;
	uint64_t protocol_bits;
	struct qv_match_stats last; /* behind the call before */
	uint64_t ticks;             /* at that time */
	uint64_t first_ticks, first_ns;
	struct qv_detail c;
};

static unsigned bin_of(uint64_t n)
{
	unsigned bin = n ? 64 - (unsigned)__builtin_clzll(n) : 0;

	return bin < QV_DETAIL_BINS ? bin : QV_DETAIL_BINS - 1;
}

/* Until now the queues were as they were behind the call before. */
static void pass_time(struct qv_match_detail *d)
{
	uint64_t now = qv_ticks(), passed = now - d->ticks;

	d->c.posted.ticks[bin_of(d->last.posted_now)] += passed;
	d->c.unexpected.ticks[bin_of(d->last.unexpected_now)] += passed;
	d->ticks = now;
}

/* A call is over. Returns how many entries it has inspected. */
static uint64_t pass_call(struct qv_match_detail *d)
{
	uint64_t before = d->last.inspected;

	pass_time(d);
	qv_match_get_stats(d->engine, &d->last);
	return d->last.inspected - before;
}

/* One that searches nothing; indexes are looked at all the same. */
static void pass_other(struct qv_match_detail *d)
{
	d->c.others_inspected += pass_call(d);
}

static void count_search(struct qv_detail_searches *s, uint64_t inspected, bool hit)
{
	(hit ? s->hits : s->misses)[bin_of(inspected)]++;
	*(hit ? &s->hits_inspected : &s->misses_inspected) += inspected;
}

/* `depth`: what the call has found there. */
static void count_queue(struct qv_match_detail *d, struct qv_detail_queue *q, uint64_t depth,
			bool hit)
{
	q->depth[bin_of(depth)]++;
	count_search(&q->searches, pass_call(d), hit);
}

/* Sources. */

static bool make_room(struct qv_detail *c, uint32_t src)
{
	uint32_t n = c->nsources ? c->nsources : FIRST_SOURCES;
	struct qv_detail_source *more;

	if (src >= QV_DETAIL_SOURCES)
		return false;
	while (n <= src)
		n *= 2;
	more = realloc(c->sources, n * sizeof *more);
	if (!more)
		return false;
	for (uint32_t i = c->nsources; i < n; i++)
		more[i] = (struct qv_detail_source){0};
	c->sources = more;
	c->nsources = n;
	return true;
}

static struct qv_detail_source *source(struct qv_match_detail *d, uint32_t src)
{
	struct qv_detail *c = &d->c;

	return src < c->nsources || make_room(c, src) ? &c->sources[src] : &c->others;
}

/* Calls. */

static void posted(struct qv_match_observer *o, const struct qv_recv *recv,
		   const struct qv_msg *msg)
{
	struct qv_match_detail *d = (struct qv_match_detail *)o;
	unsigned open = recv->src == QV_SRC_ANY ? QV_DETAIL_ANY_SOURCE : 0;

	if (recv->ignore & ~d->protocol_bits)
		open |= QV_DETAIL_ANY_TAG;
	if (!msg && recv->src != QV_SRC_ANY)
		source(d, recv->src)->posted++;
	d->c.wildcards[open]++;
	count_queue(d, &d->c.unexpected, d->last.unexpected_now, msg);
}

/* A message that is not matched is counted when it is queued: if it cannot be, it comes again. */
static void arrived(struct qv_match_observer *o, uint64_t tag, uint32_t src,
		    const struct qv_recv *recv)
{
	struct qv_match_detail *d = (struct qv_match_detail *)o;

	(void)tag;
	if (recv)
		source(d, src)->arrived++;
	count_queue(d, &d->c.posted, d->last.posted_now, recv);
}

static void queued(struct qv_match_observer *o, const struct qv_msg *msg)
{
	struct qv_match_detail *d = (struct qv_match_detail *)o;
	struct qv_detail_source *from = source(d, msg->src);

	from->arrived++;
	from->unexpected++;
	pass_other(d);
}

static void peeked(struct qv_match_observer *o, uint64_t tag, uint64_t ignore, uint32_t src,
		   const struct qv_msg *msg)
{
	struct qv_match_detail *d = (struct qv_match_detail *)o;

	(void)tag, (void)ignore, (void)src;
	count_search(&d->c.probes, pass_call(d), msg);
}

static void taken(struct qv_match_observer *o, const struct qv_msg *msg)
{
	(void)msg;
	pass_other((struct qv_match_detail *)o);
}

static void cancelled(struct qv_match_observer *o, const struct qv_recv *recv)
{
	(void)recv;
	pass_other((struct qv_match_detail *)o);
}

/* Begin, read, end. */

struct qv_match_detail *qv_match_detail_begin(struct qv_match *engine, uint64_t protocol_bits)
{
	struct qv_match_detail *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->observer = (struct qv_match_observer){.posted = posted,
						 .arrived = arrived,
						 .queued = queued,
						 .peeked = peeked,
						 .taken = taken,
						 .cancelled = cancelled};
	d->engine = engine;
	d->protocol_bits = protocol_bits;
	d->ticks = d->first_ticks = qv_ticks();
	d->first_ns = qv_clock_ns();
	qv_match_get_stats(engine, &d->last);
	qv_match_observe(engine, &d->observer);
	return d;
}

const struct qv_detail *qv_match_detail_read(struct qv_match_detail *d)
{
	uint64_t ns = qv_clock_ns() - d->first_ns, ticks;

	pass_time(d);
	ticks = d->ticks - d->first_ticks;
	d->c.tick_ns = ticks ? (double)ns / (double)ticks : 0;
	return &d->c;
}

void qv_match_detail_end(struct qv_match_detail *d)
{
	if (!d)
		return;
	qv_match_unobserve(d->engine, &d->observer);
	free(d->c.sources);
	free(d);
}
