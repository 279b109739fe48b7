/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_set.h - endpoints that move when somebody looks at them, and sleep until they have reason
 * to. Part of completion queues, counters, and domains with automatic progress.
 */
#ifndef QV_FI_WAIT_SET_H
#define QV_FI_WAIT_SET_H

#include "engine/base/compiler.h"
#include "fabric_glue/provider.h"

struct qv_fi_ep;

struct qv_fi_wait_set {
	struct qv_fi_domain *dom;
	struct qv_fi_ep **eps; /* each once */
	size_t neps;
	unsigned sets; /* poll sets that it is in */
	enum fi_wait_obj wait_obj;
	int epoll_fd, event_fd; /* -1: the cores cannot wake us, waits are polled */
	int timer_fd;           /* it wakes us to look after cores that cannot, and peers */
	int64_t timer_at;       /* ms: when it does */
	bool all_fds;           /* every core can wake us */
	bool core_fd[QV_FI_RAILS];
	/* Something may come that no descriptor tells of: bound regions, to which the peers of any
	 * endpoint of the domain may write; an endpoint that was enabled without descriptors. */
	unsigned regions;
	bool blind;
	bool event_set;          /* event_fd is readable */
	_Atomic bool signaled;   /* fi_cq_signal */
	_Atomic unsigned asleep; /* threads */
	unsigned told;           /* how often one of them has found news */
	/* Is there something to tell that was not there when it was asked last? Lock held. */
	bool (*news)(struct qv_fi_wait_set *wait_set);
};

/* FI_WAIT_FD where a core has no descriptor, or another kind: -FI_ENOSYS. */
int qv_fi_wait_set_open(struct qv_fi_wait_set *wait_set, struct qv_fi_domain *dom,
			enum fi_wait_obj wait_obj, bool (*news)(struct qv_fi_wait_set *wait_set));
void qv_fi_wait_set_close(struct qv_fi_wait_set *wait_set);
/* That of a completion queue or counter; NULL: another object. */
struct qv_fi_wait_set *qv_fi_wait_set_of(struct fid *fid);

/* An endpoint reports here; it is (no longer) enabled, its cores' queues exist. */
int qv_fi_wait_set_add(struct qv_fi_wait_set *wait_set, struct qv_fi_ep *ep);
void qv_fi_wait_set_enable(struct qv_fi_wait_set *wait_set, struct qv_fi_ep *ep);
void qv_fi_wait_set_remove(struct qv_fi_wait_set *wait_set, struct qv_fi_ep *ep);

/* May the caller sleep on the descriptor? Lock held. 0; -FI_EAGAIN: there is something to do; -FI_EBUSY: it may, as soon
 * as threads that are being woken are awake. */
int qv_fi_wait_set_may_sleep(struct qv_fi_wait_set *wait_set);
/* How often there was news: ask this before you look at what you wait for. No lock held. */
unsigned qv_fi_wait_set_told(struct qv_fi_wait_set *wait_set);
/* One sleep of at most ms, or none if there was news since `told`; spins counts the fruitless polls so far. No lock
 * held. True: it has moved the endpoints on and slept. To move them on again, other than by the next sleep, would
 * wake others who sleep on them. */
bool qv_fi_wait_set_sleep(struct qv_fi_wait_set *wait_set, int64_t ms, unsigned spins,
			  unsigned told);
/* FI_GETWAIT, FI_GETWAITOBJ. */
int qv_fi_wait_set_control(struct qv_fi_wait_set *wait_set, int command, void *arg);
void qv_fi_wait_set_wake_slow(struct qv_fi_wait_set *wait_set);
/* A core tells sleepers on this endpoint of nothing more, until one asks again. Lock held. */
void qv_fi_ep_awake(struct qv_fi_ep *ep);

/* Somebody may sleep on the descriptor while another thread's progress completes things. */
static inline void qv_fi_wait_set_wake(struct qv_fi_wait_set *wait_set)
{
	if (QV_UNLIKELY(wait_set->event_fd >= 0))
		qv_fi_wait_set_wake_slow(wait_set);
}

/* CLOCK_MONOTONIC in ms. */
int64_t qv_fi_now_ms(void);
/* The end of a wait of so many ms from now; a negative timeout never ends. */
static inline int64_t qv_fi_deadline(int timeout)
{
	return timeout < 0 ? INT64_MAX : qv_fi_now_ms() + timeout;
}
/* What is left of it, in slices short enough to look after lost peers. 0: it is over. */
int64_t qv_fi_left(int64_t deadline);

#endif /* QV_FI_WAIT_SET_H */
