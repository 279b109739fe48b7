/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait_set.c - sleeping until an endpoint has something to do. Where a core's CQ has a file
 * descriptor, ours is an epoll descriptor over the cores' CQs and an eventfd of our own; elsewhere
 * waits are polled.
 */
#include "wait_set.h"
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

#define CORE_MS       1    /* look at a core without descriptor this often while asleep */
#define QUIET_MS      1000 /* and so often after peers of whom nothing is known to be wanted */
#define WAIT_SLICE_MS 100  /* look after lost peers this often while asleep */
#define SPINS         2000 /* polled waits: this often before the first nap */

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

static struct fid_cq *bell_of(const struct qv_fi_rail *rail)
{
	return rail->bell ? rail->bell : rail->cq;
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
		if (fi_control(&bell_of(&ep->rail[r])->fid, FI_GETWAIT, &fd))
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

void qv_fi_wait_set_progress(struct qv_fi_wait_set *wait_set)
{
	if (wait_set->regions)
		qv_fi_beside_own(wait_set->dom);
	for (size_t i = 0; i < wait_set->neps; i++)
		qv_fi_ep_progress(wait_set->eps[i]);
}

/* Sleeping. */

void qv_fi_wait_set_wake_slow(struct qv_fi_wait_set *wait_set)
{
	if (wait_set->event_set)
		return;
	wait_set->event_set = true;
	eventfd_write(wait_set->event_fd, 1);
}

/* If this is by who goes to sleep, too, they hear as before when it does. */
void qv_fi_ep_awake(struct qv_fi_ep *ep)
{
	if (ep->arming)
		ep->woken = true;
	else
		qv_fi_ep_wake(ep);
}

static void unwake(struct qv_fi_wait_set *wait_set)
{
	const bool keep = atomic_load(&wait_set->signaled);
	eventfd_t value;

	if (wait_set->event_set && !keep)
		eventfd_read(wait_set->event_fd, &value);
	wait_set->event_set = keep;
}

/* Does this endpoint wait for peers, who may die? */
static bool ep_waits(const struct qv_fi_ep *ep)
{
	for (unsigned r = 0; r < QV_FI_RAILS; r++)
		if (ep->rail[r].xport.outstanding || ep->rail[r].flying)
			return true;
	return ep->proto && !qv_proto_is_settled(ep->proto);
}

/* May something come that its descriptors do not tell of? What a core does for one endpoint of a
 * domain may complete what another one has begun, and no bell tells of that. */
static bool ep_is_deaf(const struct qv_fi_ep *ep)
{
	for (unsigned r = 0; r < QV_FI_RAILS; r++)
		if (ep->rail[r].bell)
			return !qv_fi_beside_alone(ep);
	return false;
}

/* How long may the program sleep? What another thread sends meanwhile, and what a broken connection
 * has lost, is not known here: so never for ever. */
static int64_t longest_sleep(const struct qv_fi_wait_set *wait_set)
{
	int64_t ms = wait_set->all_fds ? QUIET_MS : CORE_MS;

	for (size_t i = 0; i < wait_set->neps && ms > CORE_MS; i++)
		if (ep_is_deaf(wait_set->eps[i]))
			ms = CORE_MS;
		else if (ep_waits(wait_set->eps[i]))
			ms = QV_FI_TICK_MS;
	return ms;
}

/* Unless it wakes us early enough already. */
static void arm_timer(struct qv_fi_wait_set *wait_set)
{
	const int64_t now = qv_fi_now_ms(), ms = longest_sleep(wait_set);
	const struct itimerspec in = {.it_value = {ms / 1000, ms % 1000 * 1000000}};

	if (wait_set->timer_at > now && wait_set->timer_at <= now + ms)
		return;
	timerfd_settime(wait_set->timer_fd, 0, &in, NULL);
	wait_set->timer_at = now + ms;
}

static bool rail_may_sleep(const struct qv_fi_wait_set *wait_set, const struct qv_fi_rail *rail)
{
	const struct qv_fi_domain *dom = wait_set->dom;
	struct fid *fids[] = {&bell_of(rail)->fid};

	if (rail->unposted || rail->stalled)
		return false;
	return !wait_set->core_fd[rail->which] ||
	       !fi_trywait(rail->which == QV_FI_SECOND ? dom->second
						       : dom->fabric->core[rail->which],
			   fids, 1);
}

static bool ep_may_sleep(const struct qv_fi_wait_set *wait_set, const struct qv_fi_ep *ep)
{
	if (!ep->proto)
		return !ep->enabled; /* peer mode: the core has nothing to wait for */
	if (qv_proto_wants_progress(ep->proto))
		return false;
	for (unsigned r = 0; r < QV_FI_RAILS; r++)
		if (qv_fi_ep_has(ep, r) && !rail_may_sleep(wait_set, &ep->rail[r]))
			return false;
	return true;
}

static int look_and_arm(struct qv_fi_wait_set *wait_set)
{
	for (size_t i = 0; i < wait_set->neps; i++) {
		wait_set->eps[i]->rail[QV_FI_MAIN].used = true; /* look at every core, */
		wait_set->eps[i]->rail[QV_FI_SECOND].used = true;
		for (unsigned r = 0; r < QV_FI_RAILS; r++)
			wait_set->eps[i]->rail[r].found = 0; /* at once */
		qv_fi_ep_progress(wait_set->eps[i]);
		if (qv_fi_params.stats.signal && qv_fi_stats_asked())
			wait_set->eps[i]->ticked = 0; /* who sleeps is here again when? */
		qv_fi_ep_tick(wait_set->eps[i]);
	}
	if (wait_set->regions)
		qv_fi_beside_own(wait_set->dom);
	if (wait_set->news(wait_set) || wait_set->regions || wait_set->blind)
		return -FI_EAGAIN;
	for (size_t i = 0; i < wait_set->neps; i++)
		if (!ep_may_sleep(wait_set, wait_set->eps[i]))
			return -FI_EAGAIN;
	unwake(wait_set);
	if (wait_set->timer_fd >= 0)
		arm_timer(wait_set);
	return 0;
}

int qv_fi_wait_set_may_sleep(struct qv_fi_wait_set *wait_set)
{
	int rc;

	if (wait_set->news(wait_set))
		return -FI_EAGAIN;
	for (size_t i = 0; i < wait_set->neps; i++)
		wait_set->eps[i]->arming = true;
	rc = look_and_arm(wait_set);
	for (size_t i = 0; i < wait_set->neps; i++) {
		struct qv_fi_ep *ep = wait_set->eps[i];

		ep->arming = false;
		if (ep->woken && rc)
			qv_fi_ep_awake(ep);
		ep->woken = false;
	}
	return rc;
}

bool qv_fi_wait_set_sleep(struct qv_fi_wait_set *wait_set, int64_t ms, unsigned spins)
{
	struct epoll_event ev;
	int rc = -FI_EAGAIN;

	if (wait_set->epoll_fd >= 0 && !wait_set->regions && !wait_set->blind) {
		qv_fi_lock(wait_set->dom);
		rc = qv_fi_wait_set_may_sleep(wait_set);
		qv_fi_unlock(wait_set->dom);
		if (rc == 0)
			epoll_wait(wait_set->epoll_fd, &ev, 1, (int)ms);
	} else if (spins < SPINS) {
		sched_yield();
	} else {
		usleep(50);
	}
	return rc == 0;
}

static int try_wait(struct fid *fid)
{
	struct qv_fi_wait_set *wait_set = qv_fi_wait_set_of(fid);
	int rc;

	if (fid->fclass == FI_CLASS_EQ)
		return qv_fi_eq_may_sleep(fid);
	if (!wait_set || wait_set->epoll_fd < 0)
		return -FI_EINVAL;
	qv_fi_lock(wait_set->dom);
	rc = qv_fi_wait_set_may_sleep(wait_set);
	qv_fi_unlock(wait_set->dom);
	return rc;
}

int qv_fi_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int rc = 0;

	(void)fabric;
	for (int i = 0; i < count && !rc; i++)
		rc = try_wait(fids[i]);
	return rc;
}
