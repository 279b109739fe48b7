/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * beside.c - the endpoints of this process. One that closes waits for answers of its peers,
 * and a peer may be another endpoint of the same thread, which nobody else moves on.
 *
 * A domain with a lock is entered if that is free. One without (FI_THREAD_DOMAIN) is entered by the
 * thread that has called it last, and by no other: whoever calls it next from another thread finds
 * that it is not the owner, and waits for the lock before it becomes that.
 */
#include "fabric_glue/data.h"

#include <unistd.h>

/* Enabled endpoints. Taken with a domain's lock held or without; who holds it waits for none. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct qv_fi_ep *list;

void qv_fi_beside_join(struct qv_fi_ep *ep)
{
	ep->pid = getpid();
	pthread_mutex_lock(&list_lock);
	ep->beside = list;
	list = ep;
	pthread_mutex_unlock(&list_lock);
}

void qv_fi_beside_leave(struct qv_fi_ep *ep)
{
	struct qv_fi_ep **at = &list;

	pthread_mutex_lock(&list_lock);
	while (*at && *at != ep)
		at = &(*at)->beside;
	if (*at)
		*at = ep->beside;
	pthread_mutex_unlock(&list_lock);
}

bool qv_fi_beside_alone(const struct qv_fi_ep *ep)
{
	bool alone = true;

	pthread_mutex_lock(&list_lock);
	for (const struct qv_fi_ep *other = list; other && alone; other = other->beside)
		alone = other == ep || other->dom != ep->dom;
	pthread_mutex_unlock(&list_lock);
	return alone;
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

/* A process that was forked has the list, but not the endpoints. */
void qv_fi_beside_own(const struct qv_fi_domain *dom)
{
	const pid_t pid = getpid();

	pthread_mutex_lock(&list_lock);
	for (struct qv_fi_ep *ep = list; ep; ep = ep->beside)
		if (ep->dom == dom && ep->pid == pid)
			qv_fi_ep_progress(ep);
	pthread_mutex_unlock(&list_lock);
}

/* What the closing endpoint has sent is taken in first: nothing is answered later. */
void qv_fi_beside_gone(const struct qv_fi_ep *closing)
{
	const pid_t pid = getpid();

	pthread_mutex_lock(&list_lock);
	for (struct qv_fi_ep *ep = list; ep; ep = ep->beside) {
		if (ep->dom != closing->dom || ep->pid != pid || ep == closing || !ep->proto)
			continue;
		qv_fi_ep_progress(ep);
		qv_proto_gone(ep->proto, closing->proto);
	}
	pthread_mutex_unlock(&list_lock);
}

void qv_fi_beside_others(const struct qv_fi_domain *dom)
{
	const pid_t pid = getpid();

	pthread_mutex_lock(&list_lock);
	for (struct qv_fi_ep *ep = list; ep; ep = ep->beside) {
		if (ep->dom == dom || ep->pid != pid || !qv_fi_enter(ep->dom))
			continue;
		qv_fi_ep_progress(ep);
		pthread_mutex_unlock(&ep->dom->lock);
	}
	pthread_mutex_unlock(&list_lock);
}
