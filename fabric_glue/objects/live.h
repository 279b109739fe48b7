/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.h - the endpoints of this process, from enabled to closed: one list for all who look at them.
 * beside.c moves on those that nobody else moves, totals.c adds up what they have done, stats.c and
 * trace.c let them have their say when the process ends, and `quiver top` reads the list from another
 * process (engine/match/live.h).
 *
 * The list has one lock.
 * - It is taken with a domain's lock held or without. So who holds it waits for no domain: he may
 *   qv_fi_enter one. Nor does he move an endpoint on, for its tick takes the lock.
 * - An endpoint joins and leaves with its domain's lock held. So who has the domain may let go of the list
 *   and go on with the endpoint, and with the next one. Who has not holds the list as long as he looks.
 * - A process that was forked has the list, but not the endpoints: their pid tells.
 */
#ifndef QV_FI_LIVE_H
#define QV_FI_LIVE_H

#include "fabric_glue/data.h"

struct qv_fi_live {
	pthread_mutex_t lock;
	uint64_t number; /* of the next endpoint */
	struct qv_live_table table;
	struct qv_fi_kept *kept;
};

/* fabric_glue/objects/process.c: that of this process. */
struct qv_fi_live *qv_fi_live(void);

/* Enabled; closed, if it was enabled or not. The domain's lock is held, the list's is not. */
void qv_fi_live_join(struct qv_fi_ep *ep);
void qv_fi_live_leave(struct qv_fi_ep *ep);

void qv_fi_live_lock(void);
void qv_fi_live_unlock(void);
/* libfabric ends: another thread may have the lock, or be gone with it in a process that was forked. False: it
 * cannot be had. */
bool qv_fi_lock_last(pthread_mutex_t *lock);

/* Memory that stays for the life of the process: other endpoints of it may read it. The list's lock is not
 * held. */
void qv_fi_live_keep(void *memory);

/* The next one, the newest first; NULL: there is none. NULL asks for the first. Lock held. */
struct qv_fi_ep *qv_fi_live_next(const struct qv_fi_ep *ep);

/* From fabric_glue/objects/totals.c: what the endpoint has done stays in the sums, as it leaves. Both locks are
 * held. */
void qv_fi_totals_keep(struct qv_fi_ep *ep);

#endif /* QV_FI_LIVE_H */
