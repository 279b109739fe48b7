/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * auto.c - FI_PROGRESS_AUTO: a thread per domain that moves its endpoints while the
 * application is elsewhere. There is none unless it was asked for.
 */
#include "fabric_glue/data.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define SLEEP_MS  1   /* at most: what a core has to do may not show in its descriptor */
#define NAP_US    50  /* where there is no descriptor */
#define IDLE_US   500 /* and nothing has gone on for IDLE_NAPS */
#define IDLE_NAPS 200

static bool no_news(struct qv_fi_wait_set *wait_set)
{
	(void)wait_set;
	return false;
}

/* Anything that came or went since the last look? */
static uint64_t traffic(const struct qv_fi_wait_set *wait_set)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < wait_set->neps; i++)
		for (unsigned r = 0; r < QV_FI_RAILS; r++)
			sum += wait_set->eps[i]->rail[r].seen;
	return sum;
}

static void *run(void *arg)
{
	struct qv_fi_domain *dom = arg;
	struct qv_fi_wait_set *wait_set = dom->wait_set;
	uint64_t seen = 0, before;
	struct epoll_event ev;
	unsigned naps = 0;

	while (!__atomic_load_n(&dom->stop, __ATOMIC_ACQUIRE)) {
		int rc;

		pthread_mutex_lock(&dom->lock);
		rc = qv_fi_wait_set_may_sleep(wait_set);
		before = seen;
		seen = traffic(wait_set);
		pthread_mutex_unlock(&dom->lock);
		naps = seen != before ? 0 : naps + 1;
		if (wait_set->epoll_fd < 0)
			usleep(naps > IDLE_NAPS ? IDLE_US : NAP_US);
		else if (!rc)
			epoll_wait(wait_set->epoll_fd, &ev, 1, SLEEP_MS);
	}
	return NULL;
}

/* Signals are the application's: its threads get them. */
static int start_thread(struct qv_fi_domain *dom)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&dom->thread, NULL, run, dom);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -rc;
}

int qv_fi_auto_start(struct qv_fi_domain *dom)
{
	int rc;

	if (!dom->automatic)
		return 0;
	dom->wait_set = calloc(1, sizeof *dom->wait_set);
	if (!dom->wait_set)
		return -FI_ENOMEM;
	rc = qv_fi_wait_set_open(dom->wait_set, dom, FI_WAIT_UNSPEC, no_news);
	if (!rc)
		rc = start_thread(dom);
	if (rc) {
		qv_fi_wait_set_close(dom->wait_set);
		free(dom->wait_set);
	}
	return rc;
}

void qv_fi_auto_stop(struct qv_fi_domain *dom)
{
	if (!dom->automatic)
		return;
	__atomic_store_n(&dom->stop, true, __ATOMIC_RELEASE);
	pthread_join(dom->thread, NULL);
	qv_fi_wait_set_close(dom->wait_set);
	free(dom->wait_set);
	dom->automatic = false;
}
