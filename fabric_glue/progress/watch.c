/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * watch.c - sleeping until an endpoint has something to do. Where a core's CQ has a file
 * descriptor, ours is an epoll descriptor over the cores' CQs and an eventfd of our own; elsewhere
 * waits are polled.
 */
#include "watch.h"
#include "fabric_glue/cores/core.h"
#include "fabric_glue/data.h"
#include "engine/base/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define TIMER_NS      1000000 /* look at a core without descriptor this often while asleep */
#define WAIT_SLICE_MS 100     /* look after lost peers this often while asleep */
#define SPINS         2000    /* polled waits: this often before the first nap */

int64_t qv_fi_now_ms(void)
{
	return (int64_t)(qv_clock_ns() / 1000000);
}

int64_t qv_fi_left(int64_t deadline)
{
	int64_t left = deadline == INT64_MAX ? WAIT_SLICE_MS : deadline - qv_fi_now_ms();

	return left < 0 ? 0 : left < WAIT_SLICE_MS ? left : WAIT_SLICE_MS;
}

/* Descriptors. */

/* Can a CQ of this core wake a sleeper through a file descriptor? */
static bool has_fd(struct fid_domain *core)
{
	QV_FI_ROOMY(fi_cq_attr, attr);
	struct fid_cq *probe;

	attr.a.format = FI_CQ_FORMAT_DATA;
	attr.a.wait_obj = FI_WAIT_FD;
	if (fi_cq_open(core, &attr.a, &probe, NULL))
		return false;
	fi_close(&probe->fid);
	return true;
}

/* The descriptor to sleep on; 0 or -FI_ENOMEM, then the caller closes. */
static int open_fds(struct qv_fi_watch *watch)
{
	struct epoll_event ev = {.events = EPOLLIN};

	watch->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	watch->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (watch->epoll_fd < 0 || watch->event_fd < 0 ||
	    epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->event_fd, &ev))
		return -FI_ENOMEM;
	watch->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (watch->timer_fd < 0 || epoll_ctl(watch->epoll_fd, EPOLL_CTL_ADD, watch->timer_fd, &ev))
		return -FI_ENOMEM;
	return 0;
}

/* Beside a main core with a descriptor, one without (shm) is looked at by a timer. Who leaves the
 * kind of waiting to us gets one that is polled then, which is faster. */
int qv_fi_watch_open(struct qv_fi_watch *watch, struct qv_fi_domain *dom, enum fi_wait_obj wait_obj,
		     bool (*news)(struct qv_fi_watch *watch))
{
	watch->dom = dom;
	watch->all_fds = true;
	watch->news = news;
	watch->wait_obj = wait_obj;
	watch->epoll_fd = watch->event_fd = watch->timer_fd = -1;
	switch (wait_obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_YIELD: return 0;
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD: break;
	default: return -FI_ENOSYS;
	}
	for (unsigned c = 0; c < dom->cores; c++)
		watch->all_fds &= watch->core_fd[c] = has_fd(dom->core[c]);
	if (watch->core_fd[QV_FI_MAIN] && (watch->all_fds || wait_obj == FI_WAIT_FD))
		return open_fds(watch);
	if (wait_obj == FI_WAIT_UNSPEC)
		return 0;
	QV_FI_INFO(CQ, "FI_WAIT_FD refused: core %s has no wait descriptor\n",
		   dom->fabric->cores->name[QV_FI_MAIN]);
	return -FI_ENOSYS;
}

void qv_fi_watch_close(struct qv_fi_watch *watch)
{
	if (watch->epoll_fd >= 0)
		close(watch->epoll_fd);
	if (watch->event_fd >= 0)
		close(watch->event_fd);
	if (watch->timer_fd >= 0)
		close(watch->timer_fd);
	free(watch->eps);
}

int qv_fi_watch_control(struct qv_fi_watch *watch, int command, void *arg)
{
	switch (command) {
	case FI_GETWAIT:
		if (watch->epoll_fd < 0)
			return -FI_ENODATA;
		*(int *)arg = watch->epoll_fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = watch->epoll_fd >= 0 ? FI_WAIT_FD : watch->wait_obj;
		return 0;
	default: return -FI_ENOSYS;
	}
}

/* Endpoints. */

int qv_fi_watch_add(struct qv_fi_watch *watch, struct qv_fi_ep *ep)
{
	struct qv_fi_ep **eps;

	for (size_t i = 0; i < watch->neps; i++)
		if (watch->eps[i] == ep)
			return 0;
	eps = realloc(watch->eps, (watch->neps + 1) * sizeof *eps);
	if (!eps)
		return -FI_ENOMEM;
	watch->eps = eps;
	watch->eps[watch->neps++] = ep;
	return 0;
}

static void each_fd(struct qv_fi_watch *watch, struct qv_fi_ep *ep, int op)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fd;

	for (unsigned r = 0; watch->epoll_fd >= 0 && r < ep->rails; r++)
		if (watch->core_fd[r] && ep->rail[r].cq &&
		    !fi_control(&ep->rail[r].cq->fid, FI_GETWAIT, &fd))
			epoll_ctl(watch->epoll_fd, op, fd, &ev);
}

void qv_fi_watch_enable(struct qv_fi_watch *watch, struct qv_fi_ep *ep)
{
	each_fd(watch, ep, EPOLL_CTL_ADD);
}

void qv_fi_watch_remove(struct qv_fi_watch *watch, struct qv_fi_ep *ep)
{
	for (size_t i = 0; i < watch->neps; i++)
		if (watch->eps[i] == ep) {
			watch->eps[i] = watch->eps[--watch->neps];
			each_fd(watch, ep, EPOLL_CTL_DEL);
			return;
		}
}

void qv_fi_watch_progress(struct qv_fi_watch *watch)
{
	for (size_t i = 0; i < watch->neps; i++)
		qv_fi_ep_progress(watch->eps[i]);
}

/* Sleeping. */

void qv_fi_watch_wake_slow(struct qv_fi_watch *watch)
{
	if (watch->event_set)
		return;
	watch->event_set = true;
	eventfd_write(watch->event_fd, 1);
}

static void unwake(struct qv_fi_watch *watch)
{
	const bool keep = atomic_load(&watch->signaled);
	eventfd_t value;

	if (watch->event_set && !keep)
		eventfd_read(watch->event_fd, &value);
	watch->event_set = keep;
}

/* Does this endpoint wait for peers, who may die? */
static bool ep_waits(const struct qv_fi_ep *ep)
{
	for (unsigned r = 0; r < ep->rails; r++)
		if (ep->rail[r].xport.outstanding || ep->rail[r].flying)
			return true;
	return false;
}

static void arm_timer(struct qv_fi_watch *watch)
{
	struct itimerspec in = {.it_value.tv_nsec = watch->all_fds ? 0 : TIMER_NS};

	for (size_t i = 0; i < watch->neps && !in.it_value.tv_nsec; i++)
		if (ep_waits(watch->eps[i]))
			in.it_value.tv_nsec = QV_FI_TICK_MS * 1000000;
	if (in.it_value.tv_nsec || watch->timed)
		timerfd_settime(watch->timer_fd, 0, &in, NULL);
	watch->timed = in.it_value.tv_nsec;
}

static bool rail_may_sleep(const struct qv_fi_watch *watch, const struct qv_fi_rail *rail)
{
	struct fid *fids[] = {&rail->cq->fid};

	if (rail->unposted || rail->stalled)
		return false;
	return !watch->core_fd[rail->which] ||
	       !fi_trywait(watch->dom->fabric->core[rail->which], fids, 1);
}

static bool ep_may_sleep(const struct qv_fi_watch *watch, const struct qv_fi_ep *ep)
{
	if (!ep->proto)
		return !ep->enabled; /* peer mode: the core has nothing to wait for */
	if (qv_proto_wants_progress(ep->proto))
		return false;
	for (unsigned r = 0; r < ep->rails; r++)
		if (!rail_may_sleep(watch, &ep->rail[r]))
			return false;
	return true;
}

int qv_fi_watch_may_sleep(struct qv_fi_watch *watch)
{
	if (watch->news(watch))
		return -FI_EAGAIN;
	for (size_t i = 0; i < watch->neps; i++) {
		watch->eps[i]->rail[QV_FI_MAIN].used = true; /* look at every core, */
		for (unsigned r = 0; r < watch->eps[i]->rails; r++)
			watch->eps[i]->rail[r].found = 0; /* at once */
		qv_fi_ep_progress(watch->eps[i]);
		qv_fi_ep_tick(watch->eps[i]);
	}
	if (watch->news(watch))
		return -FI_EAGAIN;
	for (size_t i = 0; i < watch->neps; i++)
		if (!ep_may_sleep(watch, watch->eps[i]))
			return -FI_EAGAIN;
	unwake(watch);
	if (watch->timer_fd >= 0)
		arm_timer(watch);
	return 0;
}

void qv_fi_watch_doze(struct qv_fi_watch *watch, int64_t ms, unsigned spins)
{
	struct epoll_event ev;
	int rc;

	if (watch->epoll_fd >= 0) {
		qv_fi_lock(watch->dom);
		rc = qv_fi_watch_may_sleep(watch);
		qv_fi_unlock(watch->dom);
		if (rc == 0)
			epoll_wait(watch->epoll_fd, &ev, 1, (int)ms);
	} else if (spins < SPINS) {
		sched_yield();
	} else {
		usleep(50);
	}
}

/* fi_trywait: on completion queues and counters. */
int qv_fi_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	(void)fabric;
	for (int i = 0; i < count; i++) {
		struct qv_fi_watch *watch;
		int rc;

		if (fids[i]->fclass == FI_CLASS_CQ)
			watch = &container_of(fids[i], struct qv_fi_cq, fid.fid)->watch;
		else if (fids[i]->fclass == FI_CLASS_CNTR)
			watch = &container_of(fids[i], struct qv_fi_cntr, fid.fid)->watch;
		else
			return -FI_EINVAL;
		if (watch->epoll_fd < 0)
			return -FI_EINVAL;
		qv_fi_lock(watch->dom);
		rc = qv_fi_watch_may_sleep(watch);
		qv_fi_unlock(watch->dom);
		if (rc)
			return rc;
	}
	return 0;
}
