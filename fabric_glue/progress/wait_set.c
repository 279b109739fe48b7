/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_set.c - what a sleeper sleeps on. Where a core's CQ has a file descriptor, ours is an epoll
 * descriptor over the cores' CQs, an eventfd of our own and a timer; elsewhere waits are polled.
 */
#include "wait_set.h"
#include "fabric_glue/cores/core.h"
#include "fabric_glue/data.h"
#include "engine/base/clock.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SLICE_MS 100 /* look after lost peers this often while asleep */

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
static int open_fds(struct qv_fi_wait_set *wait_set)
{
	struct epoll_event ev = {.events = EPOLLIN};

	wait_set->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	wait_set->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (wait_set->epoll_fd < 0 || wait_set->event_fd < 0 ||
	    epoll_ctl(wait_set->epoll_fd, EPOLL_CTL_ADD, wait_set->event_fd, &ev))
		return -FI_ENOMEM;
	wait_set->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (wait_set->timer_fd < 0 ||
	    epoll_ctl(wait_set->epoll_fd, EPOLL_CTL_ADD, wait_set->timer_fd, &ev))
		return -FI_ENOMEM;
	return 0;
}

/* Beside a main core with a descriptor, one without (shm) is looked at by a timer. Who leaves the
 * kind of waiting to us gets one that is polled then, which is faster. */
int qv_fi_wait_set_open(struct qv_fi_wait_set *wait_set, struct qv_fi_domain *dom,
			enum fi_wait_obj wait_obj, bool (*news)(struct qv_fi_wait_set *wait_set))
{
	wait_set->dom = dom;
	wait_set->all_fds = true;
	wait_set->news = news;
	wait_set->wait_obj = wait_obj;
	wait_set->epoll_fd = wait_set->event_fd = wait_set->timer_fd = -1;
	switch (wait_obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_YIELD: return 0;
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD: break;
	default: return -FI_ENOSYS;
	}
	for (unsigned c = 0; c < QV_FI_RAILS; c++)
		if (dom->core[c])
			wait_set->all_fds &= wait_set->core_fd[c] = has_fd(dom->core[c]);
	if (wait_set->core_fd[QV_FI_MAIN] && (wait_set->all_fds || wait_obj == FI_WAIT_FD))
		return open_fds(wait_set);
	if (wait_obj == FI_WAIT_UNSPEC)
		return 0;
	QV_FI_INFO(CQ, "FI_WAIT_FD refused: core %s has no wait descriptor\n",
		   dom->fabric->cores->name[QV_FI_MAIN]);
	return -FI_ENOSYS;
}

void qv_fi_wait_set_close(struct qv_fi_wait_set *wait_set)
{
	if (wait_set->epoll_fd >= 0)
		close(wait_set->epoll_fd);
	if (wait_set->event_fd >= 0)
		close(wait_set->event_fd);
	if (wait_set->timer_fd >= 0)
		close(wait_set->timer_fd);
	free(wait_set->eps);
}

int qv_fi_wait_set_control(struct qv_fi_wait_set *wait_set, int command, void *arg)
{
	switch (command) {
	case FI_GETWAIT:
		if (wait_set->epoll_fd < 0)
			return -FI_ENODATA;
		*(int *)arg = wait_set->epoll_fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg =
			wait_set->epoll_fd >= 0 ? FI_WAIT_FD : wait_set->wait_obj;
		return 0;
	default: return -FI_ENOSYS;
	}
}

/* Endpoints. */

int qv_fi_wait_set_add(struct qv_fi_wait_set *wait_set, struct qv_fi_ep *ep)
{
	struct qv_fi_ep **eps;

	for (size_t i = 0; i < wait_set->neps; i++)
		if (wait_set->eps[i] == ep)
			return 0;
	eps = realloc(wait_set->eps, (wait_set->neps + 1) * sizeof *eps);
	if (!eps)
		return -FI_ENOMEM;
	wait_set->eps = eps;
	wait_set->eps[wait_set->neps++] = ep;
	return 0;
}

/* False: one of the descriptors is missing, that of an endpoint that nobody was to sleep on. */
static bool each_fd(struct qv_fi_wait_set *wait_set, struct qv_fi_ep *ep, int op)
{
	struct epoll_event ev = {.events = EPOLLIN};
	bool all = true;
	int fd;

	for (unsigned r = 0; wait_set->epoll_fd >= 0 && r < QV_FI_RAILS; r++) {
		if (!wait_set->core_fd[r] || !ep->rail[r].cq)
			continue;
		if (fi_control(&qv_fi_rail_bell(&ep->rail[r])->fid, FI_GETWAIT, &fd))
			all = false;
		else
			epoll_ctl(wait_set->epoll_fd, op, fd, &ev);
	}
	return all;
}

void qv_fi_wait_set_enable(struct qv_fi_wait_set *wait_set, struct qv_fi_ep *ep)
{
	wait_set->blind |= !each_fd(wait_set, ep, EPOLL_CTL_ADD);
}

void qv_fi_wait_set_remove(struct qv_fi_wait_set *wait_set, struct qv_fi_ep *ep)
{
	for (size_t i = 0; i < wait_set->neps; i++)
		if (wait_set->eps[i] == ep) {
			wait_set->eps[i] = wait_set->eps[--wait_set->neps];
			each_fd(wait_set, ep, EPOLL_CTL_DEL);
			return;
		}
}
