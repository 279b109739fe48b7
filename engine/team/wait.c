/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait.c - who waits looks again and again, lets its owner go on now and then, and leaves the
 * processor to others when they need it. Now and then it asks whether the others live.
 */
#include "internal.h"

#include <sched.h>

#include "engine/base/clock.h"
#include "engine/base/machine.h"

#define LOOKS    128u         /* between two turns of the owner */
#define PATIENT  64u          /* so many of these before the processor is left to others */
#define CHECK_NS 100000000ull /* between two questions whether the others live */
#define TURNS    16u          /* and one look at the clock for so many of those after that */

/* Has the member done all of this call? Then its end is no loss. Nobody is further ahead than there
 * is room. */
static bool has_done(const struct qv_team *t, uint32_t rank)
{
	const uint64_t done = atomic_load_explicit(&t->seats[rank].done, memory_order_acquire);

	return t->running && done + 1 >= t->base + t->pieces &&
	       done < t->base + t->got + QV_TEAM_SLOTS;
}

int qv_team_check(struct qv_team *t)
{
	int rc;

	for (uint32_t i = 0; i < t->ranks; i++) {
		const struct qv_team_seat *seat = &t->seats[i];
		const struct qv_proc proc = seat->proc;

		if (i == t->rank || has_done(t, i) ||
		    (!atomic_load_explicit(&seat->failed, memory_order_acquire) &&
		     qv_proc_alive(&t->self, &proc)))
			continue;
		rc = qv_team_step(t); /* what it has given before its end is there */
		if (rc != QV_EAGAIN)
			return rc;
		if (has_done(t, i))
			continue;
		t->error = QV_EPEER;
		t->running = false;
		atomic_store_explicit(&t->seats[t->rank].failed, 1, memory_order_release);
		return QV_EPEER;
	}
	return QV_OK;
}

/* A few looks. */
static int look(struct qv_team *t, unsigned looks)
{
	int rc = QV_EAGAIN;

	while (looks-- && rc == QV_EAGAIN) {
		qv_pause();
		rc = qv_team_step(t);
	}
	return rc;
}

QV_NOINLINE static int wait_long(struct qv_team *t)
{
	const bool oversubscribed = t->spec.oversubscribed;
	uint64_t next = 0, now;
	int rc;

	for (unsigned turn = 1;; turn++) {
		/* Who leaves the processor may be away for milliseconds. */
		const bool leave = oversubscribed || turn > PATIENT;

		rc = look(t, oversubscribed ? 2 : LOOKS);
		if (rc != QV_EAGAIN)
			return rc;
		if (t->spec.progress && (!oversubscribed || turn % 8 == 0))
			t->spec.progress(t->spec.owner);
		if (leave)
			sched_yield();
		if (!leave || turn % TURNS)
			continue;
		now = qv_clock_ns();
		if (next && now >= next && (rc = qv_team_check(t)))
			return rc;
		if (now >= next)
			next = now + CHECK_NS;
	}
}

int qv_team_wait(struct qv_team *t)
{
	const int rc = qv_team_step(t);

	return QV_LIKELY(rc != QV_EAGAIN) ? rc : wait_long(t);
}
