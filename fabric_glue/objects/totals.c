/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * totals.c - what all endpoints of the process have done, those that are closed included, for whoever
 * finds qv_fi_process_stats, see fi_ext.h.
 *
 * The counters of an endpoint belong to whoever has its domain. A reader who can have the domain reads
 * them there; any other takes the copy that the endpoint's last tick has left. Ticks leave none before
 * somebody has asked for the first time.
 */
#include "live.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <quiver/fi_ext.h>

#define TRIES    100 /* for a domain that another thread is in */
#define FIRST_MS 500 /* for copies that are not there yet, after the first question */
#define NAP_US   1000

/* Of those that are closed. The list's lock is held, for all of these and for copies. */
static struct qv_fi_stats ended;
static pid_t ended_pid; /* whose they are */
static uint64_t asked; /* ms, for the first time; 0: nobody has. A tick reads it without the lock */

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
	sum->collectives_by_arrival += s->collectives_by_arrival;
	sum->combine_units += open ? s->combine_units : 0;
	sum->packets += s->packets;
	sum->copied += s->copied;
	sum->pieces += s->pieces;
	sum->retaken += s->retaken;
	sum->unexpected_bytes += open ? s->unexpected_bytes : 0;
	most(&sum->unexpected_bytes_max, s->unexpected_bytes_max);
	add_queues(&sum->tagged, &s->tagged, open);
	add_queues(&sum->untagged, &s->untagged, open);
}

/* A child that was forked begins anew. */
static void forget_others(void)
{
	if (ended_pid != getpid())
		memset(&ended, 0, sizeof ended);
	ended_pid = getpid();
}

void qv_fi_totals_keep(struct qv_fi_ep *ep)
{
	if (ep->pid != getpid())
		return;
	forget_others();
	ep->mode->count(ep, &ep->counted);
	add(&ended, &ep->counted, false);
}

static void copy(struct qv_fi_ep *ep)
{
	ep->mode->count(ep, &ep->counted);
	ep->copied = true;
}

void qv_fi_totals_tick(struct qv_fi_ep *ep)
{
	if (!__atomic_load_n(&asked, __ATOMIC_RELAXED))
		return;
	qv_fi_live_lock();
	copy(ep);
	qv_fi_live_unlock();
}

/* What a sum lacks of endpoints whose domain could not be had. */
struct lacks {
	bool busy; /* another thread is in the domain, and will leave it */
	bool copy; /* there is none yet */
};

/* How many there are. */
static int sum_all(struct qv_fi_stats *sum, struct lacks *lacks)
{
	struct qv_fi_ep *ep = NULL;
	int n = 0;

	*lacks = (struct lacks){false, false};
	qv_fi_live_lock();
	forget_others();
	*sum = ended;
	while ((ep = qv_fi_live_next(ep))) {
		if (ep->pid != getpid())
			continue;
		n++;
		if (qv_fi_enter(ep->dom)) {
			copy(ep);
			pthread_mutex_unlock(&ep->dom->lock);
		} else {
			lacks->busy |= ep->dom->threadsafe;
			lacks->copy |= !ep->copied;
		}
		add(sum, &ep->counted, true);
	}
	qv_fi_live_unlock();
	return n;
}

/* When it was for the first time, ms. */
static uint64_t ask(void)
{
	qv_fi_live_lock();
	if (!asked)
		__atomic_store_n(&asked, (uint64_t)qv_fi_now_ms(), __ATOMIC_RELAXED);
	qv_fi_live_unlock();
	return asked;
}

__attribute__((visibility("default"))) qv_fi_process_stats_fn qv_fi_process_stats;

int qv_fi_process_stats(struct qv_fi_stats *stats, size_t size)
{
	const uint64_t until = ask() + FIRST_MS;
	struct qv_fi_stats sum;
	struct lacks lacks;
	int n = sum_all(&sum, &lacks);

	for (int tries = 1; lacks.busy && tries < TRIES; tries++) {
		sched_yield();
		n = sum_all(&sum, &lacks);
	}
	while (lacks.copy && (uint64_t)qv_fi_now_ms() < until) {
		usleep(NAP_US);
		n = sum_all(&sum, &lacks);
	}
	memset(stats, 0, size);
	memcpy(stats, &sum, size < sizeof sum ? size : sizeof sum);
	return n;
}
