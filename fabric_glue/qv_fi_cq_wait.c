/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_fi_cq_wait.c - sleeping on a completion queue. Where a core's CQ has a file descriptor, ours
 * is an epoll descriptor over the cores' CQs and an eventfd of our own; elsewhere waits are polled.
 */
#include "qv_fi_core.h"
#include "qv_fi_data.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define TIMER_NS      1000000 /* look at a core without descriptor this often while asleep */
#define WAIT_SLICE_MS 100     /* look after lost peers this often while asleep */
#define SPINS         2000    /* polled waits: this often before the first nap */

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
static int open_fds(struct qv_fi_cq *cq, bool all)
{
	struct epoll_event ev = {.events = EPOLLIN};

	cq->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	cq->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (cq->epoll_fd < 0 || cq->event_fd < 0 ||
	    epoll_ctl(cq->epoll_fd, EPOLL_CTL_ADD, cq->event_fd, &ev))
		return -FI_ENOMEM;
	if (all)
		return 0;
	cq->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (cq->timer_fd < 0 || epoll_ctl(cq->epoll_fd, EPOLL_CTL_ADD, cq->timer_fd, &ev))
		return -FI_ENOMEM;
	return 0;
}

/* Beside a main core with a descriptor, one without (shm) is looked at by a timer. Who leaves the
 * kind of waiting to us gets one that is polled then, which is faster. */
int qv_fi_cq_wait_open(struct qv_fi_cq *cq)
{
	bool all = true;

	switch (cq->wait_obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_YIELD: return 0;
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD: break;
	default: return -FI_ENOSYS;
	}
	for (unsigned c = 0; c < cq->dom->cores; c++)
		all &= cq->core_fd[c] = has_fd(cq->dom->core[c]);
	if (cq->core_fd[QV_FI_MAIN] && (all || cq->wait_obj == FI_WAIT_FD))
		return open_fds(cq, all);
	if (cq->wait_obj == FI_WAIT_UNSPEC)
		return 0;
	QV_FI_INFO(CQ, "FI_WAIT_FD refused: core %s has no wait descriptor\n",
		   cq->dom->fabric->cores->name[QV_FI_MAIN]);
	return -FI_ENOSYS;
}

void qv_fi_cq_wait_close(struct qv_fi_cq *cq)
{
	if (cq->epoll_fd >= 0)
		close(cq->epoll_fd);
	if (cq->event_fd >= 0)
		close(cq->event_fd);
	if (cq->timer_fd >= 0)
		close(cq->timer_fd);
}

/* The endpoint is enabled, its cores' CQs exist. */
static void each_fd(struct qv_fi_cq *cq, struct qv_fi_ep *ep, int op)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int fd;

	for (unsigned r = 0; cq->epoll_fd >= 0 && r < ep->rails; r++)
		if (cq->core_fd[r] && ep->rail[r].cq &&
		    !fi_control(&ep->rail[r].cq->fid, FI_GETWAIT, &fd))
			epoll_ctl(cq->epoll_fd, op, fd, &ev);
}

void qv_fi_cq_wait_add(struct qv_fi_cq *cq, struct qv_fi_ep *ep)
{
	each_fd(cq, ep, EPOLL_CTL_ADD);
}

void qv_fi_cq_wait_remove(struct qv_fi_cq *cq, struct qv_fi_ep *ep)
{
	each_fd(cq, ep, EPOLL_CTL_DEL);
}

/* Somebody may sleep on the descriptor while another thread's progress completes things. */
void qv_fi_cq_wake(struct qv_fi_cq *cq)
{
	if (cq->event_set)
		return;
	cq->event_set = true;
	eventfd_write(cq->event_fd, 1);
}

static void unwake(struct qv_fi_cq *cq)
{
	eventfd_t value;

	if (cq->event_set && !cq->signaled)
		eventfd_read(cq->event_fd, &value);
	cq->event_set = cq->signaled;
}

static void arm_timer(struct qv_fi_cq *cq)
{
	const struct itimerspec in = {.it_value.tv_nsec = TIMER_NS};

	if (cq->timer_fd >= 0)
		timerfd_settime(cq->timer_fd, 0, &in, NULL);
}

static bool rail_may_sleep(const struct qv_fi_cq *cq, const struct qv_fi_rail *rail)
{
	struct fid *fids[] = {&rail->cq->fid};

	if (rail->unposted || rail->stalled)
		return false;
	return !cq->core_fd[rail->which] ||
	       !fi_trywait(cq->dom->fabric->core[rail->which], fids, 1);
}

static bool ep_may_sleep(const struct qv_fi_cq *cq, const struct qv_fi_ep *ep)
{
	if (!ep->proto)
		return true;
	if (qv_proto_wants_progress(ep->proto))
		return false;
	for (unsigned r = 0; r < ep->rails; r++)
		if (!rail_may_sleep(cq, &ep->rail[r]))
			return false;
	return true;
}

/* May the caller sleep on the descriptor? Lock held. 0, or -FI_EAGAIN: there is something to do. */
static int may_sleep(struct qv_fi_cq *cq)
{
	if (!qv_fi_cq_empty(cq))
		return -FI_EAGAIN;
	for (size_t i = 0; i < cq->neps; i++) {
		cq->eps[i]->rail[QV_FI_MAIN].used = true; /* look at every core */
		qv_fi_ep_progress(cq->eps[i]);
	}
	if (!qv_fi_cq_empty(cq))
		return -FI_EAGAIN;
	for (size_t i = 0; i < cq->neps; i++)
		if (!ep_may_sleep(cq, cq->eps[i]))
			return -FI_EAGAIN;
	unwake(cq);
	arm_timer(cq);
	return 0;
}

int qv_fi_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	(void)fabric;
	for (int i = 0; i < count; i++) {
		struct qv_fi_cq *cq;
		int rc;

		if (fids[i]->fclass != FI_CLASS_CQ)
			return -FI_EINVAL;
		cq = container_of(fids[i], struct qv_fi_cq, fid.fid);
		if (cq->epoll_fd < 0)
			return -FI_EINVAL;
		qv_fi_lock(cq->dom);
		rc = may_sleep(cq);
		qv_fi_unlock(cq->dom);
		if (rc)
			return rc;
	}
	return 0;
}

int qv_fi_cq_control(struct fid *fid, int command, void *arg)
{
	struct qv_fi_cq *cq = container_of(fid, struct qv_fi_cq, fid.fid);

	switch (command) {
	case FI_GETWAIT:
		if (cq->epoll_fd < 0)
			return -FI_ENODATA;
		*(int *)arg = cq->epoll_fd;
		return 0;
	case FI_GETWAITOBJ:
		*(enum fi_wait_obj *)arg = cq->epoll_fd >= 0 ? FI_WAIT_FD : cq->wait_obj;
		return 0;
	default: return -FI_ENOSYS;
	}
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* One sleep of at most ms; spins counts the fruitless polls so far. */
static void doze(struct qv_fi_cq *cq, int64_t ms, unsigned spins)
{
	struct epoll_event ev;
	int rc;

	if (cq->epoll_fd >= 0) {
		qv_fi_lock(cq->dom);
		rc = may_sleep(cq);
		qv_fi_unlock(cq->dom);
		if (rc == 0)
			epoll_wait(cq->epoll_fd, &ev, 1,
				   (int)(ms < WAIT_SLICE_MS ? ms : WAIT_SLICE_MS));
	} else if (spins < SPINS) {
		sched_yield();
	} else {
		usleep(50);
	}
}

ssize_t qv_fi_cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
			   const void *cond, int timeout)
{
	struct qv_fi_cq *cq = container_of(fid, struct qv_fi_cq, fid);
	int64_t end = timeout < 0 ? INT64_MAX : now_ms() + timeout;
	ssize_t n;

	(void)cond; /* a hint */
	if (cq->wait_obj == FI_WAIT_NONE)
		return -FI_ENOSYS;
	for (unsigned spins = 0;; spins++) {
		int64_t left;

		n = qv_fi_cq_readfrom(fid, buf, count, src);
		if (n != -FI_EAGAIN)
			return n;
		if (cq->signaled) {
			cq->signaled = false;
			return -FI_ECANCELED;
		}
		left = end == INT64_MAX ? WAIT_SLICE_MS : end - now_ms();
		if (left <= 0)
			return -FI_EAGAIN;
		doze(cq, left, spins);
	}
}

ssize_t qv_fi_cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return qv_fi_cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

int qv_fi_cq_signal(struct fid_cq *fid)
{
	struct qv_fi_cq *cq = container_of(fid, struct qv_fi_cq, fid);

	qv_fi_lock(cq->dom);
	cq->signaled = true;
	if (cq->event_fd >= 0)
		qv_fi_cq_wake(cq);
	qv_fi_unlock(cq->dom);
	return 0;
}
