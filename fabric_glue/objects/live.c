/* SPDX-License-Identifier: BSD-2-Clause */
/* live.c - the list of endpoints: who joins, who leaves, who is next. */
#include "live.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LAST_S 1 /* who has the lock when libfabric ends is waited for so long */

void qv_fi_live_lock(void)
{
	pthread_mutex_lock(&qv_fi_live()->lock);
}

void qv_fi_live_unlock(void)
{
	pthread_mutex_unlock(&qv_fi_live()->lock);
}

bool qv_fi_lock_last(pthread_mutex_t *lock)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LAST_S;
	return pthread_mutex_timedlock(lock, &until) == 0;
}

bool qv_fi_lock_at_end(pthread_mutex_t *lock, bool last)
{
	return last ? qv_fi_lock_last(lock) : pthread_mutex_lock(lock) == 0;
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

void qv_fi_live_join(struct qv_fi_ep *ep)
{
	struct qv_fi_live *live = qv_fi_live();

	describe(ep);
	ep->pid = getpid();
	qv_fi_live_lock();
	ep->live.number = live->number++;
	ep->live.next = live->table.first;
	__atomic_store_n(&live->table.first, &ep->live, __ATOMIC_RELEASE);
	qv_fi_live_unlock();
}

void qv_fi_live_leave(struct qv_fi_ep *ep)
{
	struct qv_live **at = &qv_fi_live()->table.first;

	qv_fi_live_lock();
	while (*at && *at != &ep->live)
		at = &(*at)->next;
	if (*at) {
		__atomic_store_n(at, ep->live.next, __ATOMIC_RELEASE);
		qv_fi_totals_keep(ep);
	}
	qv_fi_live_unlock();
}

struct qv_fi_ep *qv_fi_live_next(const struct qv_fi_ep *ep)
{
	struct qv_live *next = ep ? ep->live.next : qv_fi_live()->table.first;

	return next ? container_of(next, struct qv_fi_ep, live) : NULL;
}

struct qv_fi_kept {
	struct qv_fi_kept *next;
	void *memory;
};

void qv_fi_live_keep(void *memory)
{
	struct qv_fi_kept *kept = malloc(sizeof *kept);

	if (!kept)
		return; /* it stays all the same */
	qv_fi_live_lock();
	kept->memory = memory;
	kept->next = qv_fi_live()->kept;
	qv_fi_live()->kept = kept;
	qv_fi_live_unlock();
}
