/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * totals.c - the endpoints of the process, from enabled to closed: for `quiver top` in another process; and
 * what all have done, those that are closed included, for whoever finds qv_fi_process_stats, see fi_ext.h.
 *
 * The counters of an endpoint belong to whoever has its domain. A reader who can have the domain reads
 * them there; any other takes the copy that the endpoint's last tick has left.
 */
#include "fabric_glue/data.h"

#include <sched.h>
#include <string.h>

#include <quiver/fi_ext.h>

#define TRIES 100 /* for a domain that another thread is in */

/* As live.h says. */
static struct qv_live_table table = {
	.magic = QV_LIVE_MAGIC,
	.self = &table,
	.version = QUIVER_VERSION,
	.size = sizeof(struct qv_live),
};

/* The lock is taken with a domain's lock held or without; who holds it waits for none. */
static struct {
	pthread_mutex_t lock;     /* of the table, too */
	uint64_t number;          /* of the next endpoint */
	struct qv_fi_stats ended; /* of those that are closed */
} totals = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

/* What does not change. */
static void describe(struct qv_fi_ep *ep)
{
	struct qv_live *l = &ep->live;
	const char *structure;

	l->engine[0] = ep->mode->engine(ep, 0);
	l->engine[1] = ep->mode->engine(ep, QV_REQ_TAGGED);
	structure = qv_match_structure(l->engine[1]);
	l->bytes = qv_match_bytes(structure);
	strncpy(l->structure, structure, sizeof l->structure - 1);
	strncpy(l->core, qv_fi_ep_cores(ep), sizeof l->core - 1);
}

void qv_fi_totals_join(struct qv_fi_ep *ep)
{
	describe(ep);
	pthread_mutex_lock(&totals.lock);
	ep->live.number = totals.number++;
	ep->live.next = table.first;
	__atomic_store_n(&table.first, &ep->live, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&totals.lock);
}

void qv_fi_totals_leave(struct qv_fi_ep *ep)
{
	struct qv_live **at = &table.first;

	pthread_mutex_lock(&totals.lock);
	while (*at && *at != &ep->live)
		at = &(*at)->next;
	if (*at) {
		__atomic_store_n(at, ep->live.next, __ATOMIC_RELEASE);
		ep->mode->count(ep, &ep->counted);
		add(&totals.ended, &ep->counted, false);
	}
	pthread_mutex_unlock(&totals.lock);
}

void qv_fi_totals_tick(struct qv_fi_ep *ep)
{
	pthread_mutex_lock(&totals.lock);
	ep->mode->count(ep, &ep->counted);
	pthread_mutex_unlock(&totals.lock);
}

/* How many there are. *busy: another thread is in one of the domains, and will leave it. */
static int sum_all(struct qv_fi_stats *sum, bool *busy)
{
	int n = 0;

	*busy = false;
	pthread_mutex_lock(&totals.lock);
	*sum = totals.ended;
	for (struct qv_live *l = table.first; l; l = l->next, n++) {
		struct qv_fi_ep *ep = container_of(l, struct qv_fi_ep, live);

		if (qv_fi_enter(ep->dom)) {
			ep->mode->count(ep, &ep->counted);
			pthread_mutex_unlock(&ep->dom->lock);
		} else {
			*busy |= ep->dom->threadsafe;
		}
		add(sum, &ep->counted, true);
	}
	pthread_mutex_unlock(&totals.lock);
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
