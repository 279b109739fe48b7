/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.c - what an endpoint did: for the program that asks (fi_open_ops), and on stderr, in a file or
 * in a profile when the endpoint closes, or the process ends without having closed it.
 */
#include "fabric_glue/calls.h"
#include "live.h"
#include "stats.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <quiver/fi_exchange.h>
#include <quiver/fi_stream.h>
#include <quiver/fi_ext.h>

/* For the program. */

static int enabled(struct fid *fid, struct qv_fi_ep **ep)
{
	if (!fid || fid->fclass != FI_CLASS_EP ||
	    container_of(fid, struct fid_ep, fid)->ops != &qv_fi_ep_ops)
		return -FI_EINVAL;
	*ep = container_of(fid, struct qv_fi_ep, fid.fid);
	return (*ep)->enabled ? 0 : -FI_EOPBADSTATE;
}

static int get(struct fid *fid, struct qv_fi_stats *stats, size_t size)
{
	struct qv_fi_stats now;
	struct qv_fi_ep *ep;
	int rc = enabled(fid, &ep);

	if (rc)
		return rc;
	qv_fi_lock(ep->dom);
	ep->mode->collect(ep, &now);
	qv_fi_unlock(ep->dom);
	memset(stats, 0, size);
	memcpy(stats, &now, size < sizeof now ? size : sizeof now);
	return 0;
}

static int received(struct fid *fid, uint64_t addr, uint64_t *count)
{
	struct qv_fi_ep *ep;
	int rc = enabled(fid, &ep);

	if (rc)
		return rc;
	if (!ep->mode->received)
		return -FI_ENOSYS;
	qv_fi_lock(ep->dom);
	if (!qv_fi_av_entry(ep->av, addr))
		rc = -FI_EINVAL;
	else
		*count = ep->mode->received(ep, addr);
	qv_fi_unlock(ep->dom);
	return rc;
}

static struct qv_fi_stats_ops stats_ops = {
	.size = sizeof(struct qv_fi_stats_ops),
	.get = get,
	.received = received,
};

int qv_fi_ep_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid;
	(void)context;
	if (flags)
		return -FI_EBADFLAGS;
	if (name && !strcmp(name, QV_FI_OPS_STATS))
		*ops = &stats_ops;
	else if (name && !strcmp(name, QV_FI_OPS_EXCHANGE))
		*ops = &qv_fi_exchange_ops;
	else if (name && !strcmp(name, QV_FI_OPS_STREAM))
		*ops = &qv_fi_stream_ops;
	else
		return -FI_ENOSYS;
	return 0;
}

/* For the user. */

#define ULL(x) ((unsigned long long)(x))

static void print_queues(const char *kind, const struct qv_match_stats *m)
{
	if (m->posted == 0 && m->arrived == 0)
		return;
	qv_fi_print(
		"quiver: [%d]   %s: %llu receives posted, %llu messages, %llu matched, %llu "
		"unexpected, %llu entries inspected, posted queue at most %llu, unexpected at most "
		"%llu, %llu mode changes\n",
		(int)getpid(), kind, ULL(m->posted), ULL(m->arrived), ULL(m->matched),
		ULL(m->unexpected), ULL(m->inspected), ULL(m->posted_max), ULL(m->unexpected_max),
		ULL(m->mode_flips));
}

static void print(const struct qv_fi_ep *ep)
{
	struct qv_fi_stats s;

	ep->mode->collect(ep, &s);
	qv_fi_print("quiver: [%d] endpoint over %s, matching %s/%s: %llu eager and %llu rendezvous "
		    "sends, %llu over budget, %llu queued, %llu peers, at most %llu bytes of "
		    "unexpected payload, %llu packets refused\n",
		    (int)getpid(), s.core, s.structure, s.isa, ULL(s.eager), ULL(s.rendezvous),
		    ULL(s.over_budget), ULL(s.queued), ULL(s.peers), ULL(s.unexpected_bytes_max),
		    ULL(s.refused));
	if (s.packets || s.copied)
		qv_fi_print("quiver: [%d]   %llu packets to the network, %llu bytes of payload "
			    "copied\n",
			    (int)getpid(), ULL(s.packets), ULL(s.copied));
	if (s.node_mapped)
		qv_fi_print(
			"quiver: [%d]   node: %llu bytes of shared memory mapped, %llu touched\n",
			(int)getpid(), ULL(s.node_mapped), ULL(s.node_touched));
	if (s.pieces)
		qv_fi_print("quiver: [%d]   %llu packets over the second rail, %llu messages taken "
			    "back from it\n",
			    (int)getpid(), ULL(s.pieces), ULL(s.retaken));
	if (s.collectives)
		qv_fi_print("quiver: [%d]   %llu collectives, %llu of them through memory of the "
			    "node, %llu by expected arrivals\n",
			    (int)getpid(), ULL(s.collectives), ULL(s.collectives_memory),
			    ULL(s.collectives_by_arrival));
	print_queues("tagged", &s.tagged);
	print_queues("untagged", &s.untagged);
	if (ep->offload)
		qv_fi_offload_print();
}

/* Behind it, qv_fi_stats_file_write. False: it was the last time, and a lock could not be had. */
static bool report(const struct qv_fi_ep *ep, bool last)
{
	if (qv_fi_params.stats.lines)
		print(ep);
	if (qv_fi_params.stats.out)
		return qv_fi_stats_file_end(ep, last);
	if (qv_fi_params.stats.profile)
		return qv_fi_profile_add(ep, qv_fi_params.stats.profile, last);
	return true;
}

static bool write_file(bool last)
{
	return !qv_fi_params.stats.out || qv_fi_stats_file_write(last);
}

void qv_fi_stats_begin(struct qv_fi_ep *ep)
{
	const struct qv_fi_stats_params *p = &qv_fi_params.stats;

	if (!p->lines && !p->out && !p->profile)
		return;
	if (p->detail || p->profile)
		qv_fi_detail_begin(ep);
	qv_fi_live_lock();
	ep->reports = true;
	qv_fi_stats_signal_begin(p->signal);
	qv_fi_live_unlock();
}

void qv_fi_stats_end(struct qv_fi_ep *ep)
{
	bool reports;

	qv_fi_live_lock();
	reports = ep->reports && ep->pid == getpid();
	ep->reports = false;
	qv_fi_live_unlock();
	if (reports) {
		report(ep, false);
		write_file(false);
	}
	qv_fi_detail_end(ep);
}

/* Is it time for a writing? */
static bool due(uint64_t now)
{
	static uint64_t last; /* ms, 0: there was no call yet */
	const unsigned interval = qv_fi_params.stats.interval;
	bool asked = qv_fi_stats_signal_came();

	if (!last)
		last = now;
	asked |= interval && now - last >= interval;
	if (asked)
		last = now;
	return asked;
}

/*
 * Ten times a second for each endpoint that is polled, its lock held. The one that finds that it is
 * time writes for all; the others are as they were when they were here last.
 */
void qv_fi_stats_tick(const struct qv_fi_ep *ep, uint64_t now)
{
	bool write = false, others = false;

	qv_fi_live_lock();
	if (ep->reports && ep->pid == getpid()) {
		write = due(now);
		others = qv_fi_live_next(NULL) != ep || qv_fi_live_next(ep);
	}
	qv_fi_live_unlock();
	if (write || others)
		qv_fi_stats_file_note(ep);
	if (write)
		qv_fi_stats_file_write(false);
}

/*
 * libfabric ends. A child that was forked meanwhile has the list, but did not do these things. A signal
 * handler that calls exit() may have come in the midst of a writing of this thread: no lock that this one
 * holds is waited for twice.
 */
void qv_fi_stats_exit(void)
{
	struct qv_fi_ep *ep = NULL;
	bool some = false, stuck = false;

	if (!qv_fi_lock_last(&qv_fi_live()->lock))
		return;
	while ((ep = qv_fi_live_next(ep))) {
		if (ep->reports && ep->pid == getpid()) {
			stuck = stuck || !report(ep, true);
			some = true;
		}
		ep->reports = false;
	}
	if (stuck || (some && !write_file(true)))
		qv_fi_warn("the last counters are not written: a writing has not ended");
	qv_fi_stats_signal_end();
	qv_fi_live_unlock();
}
