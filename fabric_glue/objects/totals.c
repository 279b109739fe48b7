/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * totals.c - what all endpoints of the process have done, those that are closed included, for whoever
 * finds qv_fi_process_stats, see fi_ext.h.
 *
 * The counters of an endpoint belong to whoever has its domain. A reader who can have the domain reads
 * them there; any other takes the copy that the endpoint's last tick has left.
 */
#include "live.h"

#include <sched.h>
#include <string.h>

#include <quiver/fi_ext.h>

#define TRIES 100 /* for a domain that another thread is in */

/* Of those that are closed. The list's lock is held, for this and for the copies of the open ones. */
static struct qv_fi_stats ended;

static void most(uint64_t *max, uint64_t value)
{
	if (value > *max)
		*max = value;
}

static void add_queues(struct qv_match_stats *sum, const struct qv_match_stats *m, bool open)
{
	sum->posted += m->posted;
	sum->arrived += m->arrived;
	sum->matched += m->matched;
	sum->unexpected += m->unexpected;
	sum->inspected += m->inspected;
	sum->mode_flips += m->mode_flips;
	sum->posted_now += open ? m->posted_now : 0;
	sum->unexpected_now += open ? m->unexpected_now : 0;
	most(&sum->posted_max, m->posted_max);
	most(&sum->unexpected_max, m->unexpected_max);
}

static void add(struct qv_fi_stats *sum, const struct qv_fi_stats *s, bool open)
{
	sum->eager += s->eager;
	sum->rendezvous += s->rendezvous;
	sum->over_budget += s->over_budget;
	sum->queued += s->queued;
	sum->refused += s->refused;
	sum->collectives += s->collectives;
	sum->collectives_memory += s->collectives_memory;
	sum->packets += s->packets;
	sum->copied += s->copied;
	sum->pieces += s->pieces;
	sum->retaken += s->retaken;
	sum->unexpected_bytes += open ? s->unexpected_bytes : 0;
	most(&sum->unexpected_bytes_max, s->unexpected_bytes_max);
	add_queues(&sum->tagged, &s->tagged, open);
	add_queues(&sum->untagged, &s->untagged, open);
}

void qv_fi_totals_keep(struct qv_fi_ep *ep)
{
	ep->mode->count(ep, &ep->counted);
	add(&ended, &ep->counted, false);
}

void qv_fi_totals_tick(struct qv_fi_ep *ep)
{
	qv_fi_live_lock();
	ep->mode->count(ep, &ep->counted);
	qv_fi_live_unlock();
}

/* How many there are. *busy: another thread is in one of the domains, and will leave it. */
static int sum_all(struct qv_fi_stats *sum, bool *busy)
{
	struct qv_fi_ep *ep = NULL;
	int n = 0;

	*busy = false;
	qv_fi_live_lock();
	*sum = ended;
	for (; (ep = qv_fi_live_next(ep)); n++) {
		if (qv_fi_enter(ep->dom)) {
			ep->mode->count(ep, &ep->counted);
			pthread_mutex_unlock(&ep->dom->lock);
		} else {
			*busy |= ep->dom->threadsafe;
		}
		add(sum, &ep->counted, true);
	}
	qv_fi_live_unlock();
	return n;
}

__attribute__((visibility("default"))) qv_fi_process_stats_fn qv_fi_process_stats;

int qv_fi_process_stats(struct qv_fi_stats *stats, size_t size)
{
	struct qv_fi_stats sum;
	bool busy;
	int n = sum_all(&sum, &busy);

	for (int tries = 1; busy && tries < TRIES; tries++) {
		sched_yield();
		n = sum_all(&sum, &busy);
	}
	memset(stats, 0, size);
	memcpy(stats, &sum, size < sizeof sum ? size : sizeof sum);
	return n;
}
