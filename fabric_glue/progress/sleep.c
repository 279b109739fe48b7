/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleep.c - sleeping on a wait set: when a program may, for how long, and who wakes it.
 */
#include "wait_set.h"
#include "fabric_glue/data.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define CORE_MS  1    /* look at a core without descriptor this often while asleep */
#define QUIET_MS 1000 /* and so often after peers of whom nothing is known to be wanted */
#define SPINS    2000 /* polled waits: this often before the first nap */

void qv_fi_wait_set_wake_slow(struct qv_fi_wait_set *wait_set)
{
	if (wait_set->event_set)
		return;
	wait_set->event_set = true;
	eventfd_write(wait_set->event_fd, 1);
}

/* If who goes to sleep caused it, the others need not look: it asks the core again before it sleeps. */
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

/* In layered mode it still waits for peers while it closes. */
static bool is_open(const struct qv_fi_ep *ep)
{
	return ep->proto || ep->enabled;
}

/* Does this endpoint wait for peers, who may die? */
static bool ep_waits(const struct qv_fi_ep *ep)
{
	for (unsigned r = 0; r < QV_FI_RAILS; r++)
		if (ep->rail[r].xport.outstanding || ep->rail[r].flying)
			return true;
	return qv_fi_pass_waits(ep) || (is_open(ep) && ep->mode->waits(ep));
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
	struct fid *fids[] = {&qv_fi_rail_bell(rail)->fid};

	if (rail->unposted || rail->stalled)
		return false;
	return !wait_set->core_fd[rail->which] ||
	       !fi_trywait(rail->which == QV_FI_SECOND ? dom->second
						       : dom->fabric->core[rail->which],
			   fids, 1);
}

static bool ep_may_sleep(const struct qv_fi_wait_set *wait_set, const struct qv_fi_ep *ep)
{
	if (!is_open(ep))
		return true;
	for (unsigned r = 0; r < QV_FI_RAILS; r++)
		if (qv_fi_ep_has(ep, r) && !rail_may_sleep(wait_set, &ep->rail[r]))
			return false;
	/* Behind the rails: in peer mode a core that is asked acts. */
	return ep->mode->may_sleep(ep);
}

static bool has_news(struct qv_fi_wait_set *wait_set)
{
	const bool news = wait_set->news(wait_set);

	wait_set->told += news;
	return news;
}

/* 0: the caller may sleep; -FI_EBUSY: it may, as soon as those who are being woken are awake. */
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
	if (has_news(wait_set) || wait_set->regions || wait_set->blind)
		return -FI_EAGAIN;
	for (size_t i = 0; i < wait_set->neps; i++)
		if (!ep_may_sleep(wait_set, wait_set->eps[i]))
			return -FI_EAGAIN;
	/* In peer mode a core that is asked whether one may sleep completes what it finds. */
	if (has_news(wait_set))
		return -FI_EAGAIN;
	/* Another thread is being woken by the descriptor: it must stay readable until then. */
	if (wait_set->event_set && atomic_load(&wait_set->asleep))
		return -FI_EBUSY;
	unwake(wait_set);
	if (wait_set->timer_fd >= 0)
		arm_timer(wait_set);
	return 0;
}

unsigned qv_fi_wait_set_told(struct qv_fi_wait_set *wait_set)
{
	unsigned told;

	qv_fi_lock(wait_set->dom);
	told = wait_set->told;
	qv_fi_unlock(wait_set->dom);
	return told;
}

int qv_fi_wait_set_may_sleep(struct qv_fi_wait_set *wait_set)
{
	int rc;

	if (has_news(wait_set))
		return -FI_EAGAIN;
	for (size_t i = 0; i < wait_set->neps; i++)
		wait_set->eps[i]->arming = true;
	rc = look_and_arm(wait_set);
	for (size_t i = 0; i < wait_set->neps; i++) {
		struct qv_fi_ep *ep = wait_set->eps[i];

		ep->arming = false;
		if (ep->woken && rc && rc != -FI_EBUSY)
			qv_fi_ep_awake(ep);
		ep->woken = false;
	}
	return rc;
}

static void is_awake(void *wait_set)
{
	atomic_fetch_sub(&((struct qv_fi_wait_set *)wait_set)->asleep, 1);
}

/* The thread may be cancelled meanwhile. */
static void sleep_until_woken(struct qv_fi_wait_set *wait_set, int ms)
{
	struct epoll_event ev;

	pthread_cleanup_push(is_awake, wait_set);
	epoll_wait(wait_set->epoll_fd, &ev, 1, ms);
	pthread_cleanup_pop(1);
}

bool qv_fi_wait_set_sleep(struct qv_fi_wait_set *wait_set, int64_t ms, unsigned spins,
			  unsigned told)
{
	int rc = -FI_EAGAIN;

	if (wait_set->epoll_fd >= 0 && !wait_set->regions && !wait_set->blind) {
		qv_fi_lock(wait_set->dom);
		/* Else another thread was told what the caller has not seen. */
		if (wait_set->told == told)
			rc = qv_fi_wait_set_may_sleep(wait_set);
		if (rc == 0)
			atomic_fetch_add(&wait_set->asleep, 1);
		qv_fi_unlock(wait_set->dom);
		if (rc == 0)
			sleep_until_woken(wait_set, (int)ms);
		else if (atomic_load(&wait_set->asleep))
			sched_yield();
	} else if (spins < SPINS) {
		sched_yield();
	} else {
		usleep(50);
	}
	return rc == 0 || rc == -FI_EBUSY; /* all was moved on, and is armed */
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
	return rc == -FI_EBUSY ? -FI_EAGAIN : rc;
}

int qv_fi_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int rc = 0;

	(void)fabric;
	for (int i = 0; i < count && !rc; i++)
		rc = try_wait(fids[i]);
	return rc;
}
