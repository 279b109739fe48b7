/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beside.c - the endpoints of this process. One that closes waits for answers of its peers,
 * and a peer may be another endpoint of the same thread, which nobody else moves on.
 *
 * A domain with a lock is entered if that is free. One without (FI_THREAD_DOMAIN) is entered by the
 * thread that has called it last, and by no other: whoever calls it next from another thread finds
 * that it is not the owner, and waits for the lock before it becomes that.
 */
#include "live.h"
#include "fabric_glue/node/node.h"

#include <unistd.h>

bool qv_fi_beside_alone(const struct qv_fi_ep *ep)
{
	const struct qv_fi_ep *other = NULL;

	qv_fi_live_lock();
	do
		other = qv_fi_live_next(other);
	while (other && (other == ep || other->dom != ep->dom || !other->proto));
	qv_fi_live_unlock();
	return !other;
}

void qv_fi_lock_slow(struct qv_fi_domain *dom)
{
	pthread_mutex_lock(&dom->lock);
	if (dom->threadsafe)
		return;
	__atomic_store_n(&dom->owner, qv_thread(), __ATOMIC_RELAXED);
	pthread_mutex_unlock(&dom->lock);
}

/* The owner is asked with the lock: until then another thread may become it. */
bool qv_fi_enter(struct qv_fi_domain *dom)
{
	if (pthread_mutex_trylock(&dom->lock) != 0)
		return false;
	if (dom->threadsafe || qv_fi_owner(dom) == qv_thread())
		return true;
	pthread_mutex_unlock(&dom->lock);
	return false;
}

/* Progress. */

/* In peer mode it is the core's. A process that was forked has not the endpoints. */
static bool takes_part(const struct qv_fi_ep *ep)
{
	return ep->proto && ep->pid == getpid();
}

/* The next one of a domain, whose lock is held; NULL asks for the first. */
static struct qv_fi_ep *next_own(const struct qv_fi_domain *dom, struct qv_fi_ep *ep)
{
	qv_fi_live_lock();
	do
		ep = qv_fi_live_next(ep);
	while (ep && (ep->dom != dom || !takes_part(ep)));
	qv_fi_live_unlock();
	return ep;
}

void qv_fi_beside_own(const struct qv_fi_domain *dom)
{
	struct qv_fi_ep *ep = NULL;

	while ((ep = next_own(dom, ep)))
		qv_fi_ep_progress(ep);
}

/* For each endpoint of other domains, as far as these can be entered. The list is held again before the domain is
 * let go: until then the endpoint stays. */
static void for_others(const struct qv_fi_domain *dom, const struct qv_fi_ep *closing,
		       void (*call)(struct qv_fi_ep *ep, const struct qv_fi_ep *closing))
{
	struct qv_fi_ep *ep = NULL;

	qv_fi_live_lock();
	while ((ep = qv_fi_live_next(ep))) {
		if (ep->dom == dom || !takes_part(ep) || !qv_fi_enter(ep->dom))
			continue;
		qv_fi_live_unlock();
		call(ep, closing);
		qv_fi_live_lock();
		pthread_mutex_unlock(&ep->dom->lock);
	}
	qv_fi_live_unlock();
}

/* What the closing endpoint has sent is taken in first: nothing is answered later. */
static void tell_gone(struct qv_fi_ep *ep, const struct qv_fi_ep *closing)
{
	for (unsigned i = 0; i < QV_NODE_POLLS; i++)
		qv_fi_ep_progress(ep);
	qv_proto_gone(ep->proto, closing->proto);
}

void qv_fi_beside_gone(const struct qv_fi_ep *closing)
{
	struct qv_fi_ep *ep = NULL;

	while ((ep = next_own(closing->dom, ep)))
		if (ep != closing)
			tell_gone(ep, closing);
	for_others(closing->dom, closing, tell_gone);
}

static void move_on(struct qv_fi_ep *ep, const struct qv_fi_ep *closing)
{
	(void)closing;
	qv_fi_ep_progress(ep);
}

void qv_fi_beside_others(const struct qv_fi_domain *dom)
{
	for_others(dom, NULL, move_on);
}
