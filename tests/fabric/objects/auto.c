/* SPDX-License-Identifier: BSD-2-Clause */
/* auto.c - what happens without being polled: progress by a thread, counters and poll sets that
 * one sleeps on. */
#include "tests/fabric/harness/ft.h"

#include <poll.h>
#include <pthread.h>

/* FI_PROGRESS_AUTO. */

enum { WORD_DONE = 20, WORD_GO };

static void await_idle(int i, uint64_t value)
{
	double end = ft_now() + 10 * ft.patience;

	FT_HERE();
	while (ft.sh->word[i] < value) {
		ft_msleep(1); /* no call of libfabric's */
		if (ft_now() > end)
			ft_fail("no progress while the peer was away");
	}
}

/* The rank with automatic progress posts, and then calls nothing: the other one gets through. */
static void away(struct ft_ep *ep, bool send, size_t len, uint64_t round, int gone)
{
	char *buf = ft_buf(len);
	struct ft_op op;

	if (ft.rank == gone) {
		if (send)
			ft_fill(buf, len, round);
		if (send)
			ft_tsend(ep, !gone, round, buf, len, &op);
		else
			ft_trecv(ep, !gone, round, 0, buf, len, &op);
		ft.sh->word[WORD_GO] = round;
		await_idle(WORD_DONE, round);
		ft_wait(&op);
	} else {
		ft_await_word(WORD_GO, round);
		if (!send)
			ft_fill(buf, len, round);
		if (send)
			ft_trecv(ep, gone, round, 0, buf, len, &op);
		else
			POST(fi_tsendmsg(
				ep->ep,
				&(struct fi_msg_tagged){.msg_iov = &(struct iovec){buf, len},
							.iov_count = 1,
							.addr = ep->peer[gone],
							.tag = round,
							.context = ft_fresh(&op)},
				FI_DELIVERY_COMPLETE | FI_COMPLETION));
		ft_wait(&op);
		ft.sh->word[WORD_DONE] = round;
	}
	if (send != (ft.rank == gone))
		ft_verify(buf, len, round, len);
	free(buf);
	ft_barrier();
}

static void progress(void)
{
	static const size_t lens[] = {8, 5000, 2000000};
	struct ft_ep ep;
	uint64_t round = 0;

	ft_open(&ep, &(struct ft_conf){.progress = ft.rank == 0 ? FI_PROGRESS_AUTO : 0});
	if (ft.rank == 0)
		CHECK_EQ(ep.info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	for (size_t i = 0; i < 3; i++) {
		away(&ep, false, lens[i], ++round, 0);
		away(&ep, true, lens[i], ++round, 0);
	}
	ft_close(&ep);
}

/* Several endpoints of one domain, opened and closed while its thread runs and they are in use. */
static void churn(void)
{
	struct ft_ep first, next;

	ft_open(&first, &(struct ft_conf){.progress = FI_PROGRESS_AUTO});
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t out = i, in = 0;
		struct ft_op op[2];

		ft_open(&next, &(struct ft_conf){.progress = FI_PROGRESS_AUTO, .beside = &first});
		ft_trecv(&next, !ft.rank, i, 0, &in, 8, &op[0]);
		ft_tsend(&next, !ft.rank, i, &out, 8, &op[1]);
		ft_wait_all(op, 2);
		CHECK_EQ(in, i);
		ft_close(&next);
	}
	ft_close(&first);
}

/* Counters to sleep on. */

static struct fid_cntr *open_cntr(struct ft_ep *ep, enum fi_wait_obj wait, int *ret)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = wait};
	struct fid_cntr *cntr = NULL;

	*ret = fi_cntr_open(ep->domain, &attr, &cntr, ep);
	return cntr;
}

static void *add_later(void *arg)
{
	ft_msleep(100);
	fi_cntr_add(arg, 5);
	return NULL;
}

static void cntr_fd(void)
{
	struct ft_ep ep;
	struct fid_cntr *cntr;
	struct fid *fids[1];
	struct pollfd p = {.events = POLLIN};
	struct ft_op op;
	pthread_t thread;
	uint64_t word = 1;
	int ret;

	ft_open_domain(&ep, &(struct ft_conf){.threading = FI_THREAD_SAFE});
	cntr = open_cntr(&ep, FI_WAIT_MUTEX_COND, &ret);
	CHECK_EQ(ret, -FI_ENOSYS);
	cntr = open_cntr(&ep, FI_WAIT_FD, &ret);
	if (ret == -FI_ENOSYS && !strcmp(ft_core(), "shm") && !ft_pair())
		ft_skip("%s has no descriptor to wait on", ft_core());
	OK(ret);
	ep.recv_wait = cntr;
	ft_open_ep(&ep);
	ft_exchange(&ep);
	OK(fi_control(&cntr->fid, FI_GETWAIT, &p.fd));
	fids[0] = &cntr->fid;
	/* a message moves it */
	if (ft.rank == 1) {
		ft_msleep(100);
		ft_tsend(&ep, 0, 1, &word, 8, &op);
		ft_wait(&op);
	} else {
		ft_trecv(&ep, 1, 1, 0, &word, 8, &op);
		for (double end = ft_now() + 10; fi_cntr_read(cntr) < 1;) {
			FT_HERE();
			CHECK(ft_now() < end);
			ret = fi_trywait(ep.fabric, fids, 1);
			if (ret == -FI_EAGAIN)
				continue;
			OK(ret);
			CHECK(poll(&p, 1, ft_ms(5000)) > 0);
		}
		ft_wait(&op);
	}
	ft_barrier();
	/* and so does another thread, and fi_cntr_wait sleeps on it as well */
	if (ft.rank == 0) {
		CHECK(!pthread_create(&thread, NULL, add_later, cntr));
		OK(fi_cntr_wait(cntr, 6, ft_ms(5000)));
		pthread_join(thread, NULL);
		CHECK_EQ(fi_cntr_read(cntr), 6);
		CHECK_EQ(fi_cntr_wait(cntr, 7, 50), -FI_ETIMEDOUT);
	}
	ft_close(&ep);
}

/* Poll sets. */

static void poll_set(void)
{
	struct ft_ep ep;
	struct fid_poll *set;
	struct fid_cntr *cntr;
	void *news[4];
	uint64_t word = 1;
	struct ft_op op;
	int ret, n;

	ft_open_domain(&ep, &(struct ft_conf){0});
	cntr = open_cntr(&ep, FI_WAIT_NONE, &ret);
	OK(ret);
	ep.recv_wait = cntr;
	ft_open_ep(&ep);
	ft_exchange(&ep);
	OK(fi_poll_open(ep.domain, &(struct fi_poll_attr){0}, &set));
	OK(fi_poll_add(set, &ep.rx_cq->fid, 0));
	OK(fi_poll_add(set, &cntr->fid, 0));
	CHECK_EQ(fi_poll_add(set, &ep.av->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_poll(set, news, 4), 0);
	ft_barrier_idle();
	if (ft.rank == 1) {
		ft_tsend(&ep, 0, 1, &word, 8, &op);
		ft_wait(&op);
	} else {
		bool queue = false, count = false;

		ft_trecv(&ep, 1, 1, 0, &word, 8, &op);
		FT_HERE();
		while (!queue || !count) { /* the only calls: they make the progress */
			n = fi_poll(set, news, 4);
			CHECK(n >= 0 && n <= 2);
			for (int i = 0; i < n; i++) {
				queue |= news[i] == ep.rx_cq->fid.context;
				count |= news[i] == cntr->fid.context;
			}
		}
		CHECK_EQ(fi_poll(set, news, 4),
			 1); /* the queue is still full, the count was told */
		CHECK(news[0] == ep.rx_cq->fid.context);
		ft_wait(&op);
		CHECK_EQ(fi_poll(set, news, 4), 0);
	}
	ft_barrier();
	OK(fi_poll_del(set, &cntr->fid, 0));
	CHECK_EQ(fi_poll_del(set, &cntr->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_close(&ep.domain->fid), -FI_EBUSY);
	OK(fi_close(&set->fid));
	ft_close(&ep);
}

/* What is in a poll set cannot be closed; a set may change while another thread asks it. */
static void *ask(void *arg)
{
	struct fid_poll *set = ((void **)arg)[0];
	_Atomic int *stop = ((void **)arg)[1];
	void *news[4];

	while (!atomic_load(stop)) {
		if (fi_poll(set, news, 4) < 0)
			return arg;
	}
	return NULL;
}

static void poll_set_members(void)
{
	enum { MEMBERS = 40, ROUNDS = 500 };
	static _Atomic int stop;
	struct fid_cntr *cntr[MEMBERS];
	struct fid_poll *set, *other;
	struct fid_cq *queue;
	void *news[4], *args[2], *bad;
	struct ft_ep ep;
	pthread_t thread;
	int ret;

	ft_open(&ep, &(struct ft_conf){.threading = FI_THREAD_SAFE});
	OK(fi_cq_open(ep.domain, &(struct fi_cq_attr){0}, &queue, NULL));
	for (int i = 0; i < MEMBERS; i++) {
		cntr[i] = open_cntr(&ep, FI_WAIT_NONE, &ret);
		OK(ret);
	}
	OK(fi_poll_open(ep.domain, &(struct fi_poll_attr){0}, &set));
	OK(fi_poll_open(ep.domain, &(struct fi_poll_attr){0}, &other));
	OK(fi_poll_add(set, &queue->fid, 0));
	OK(fi_poll_add(set, &queue->fid, 0)); /* it is there: nothing changes */
	OK(fi_poll_add(other, &queue->fid, 0));
	OK(fi_poll_add(set, &cntr[0]->fid, 0));
	CHECK_EQ(fi_close(&queue->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&cntr[0]->fid), -FI_EBUSY);
	CHECK_EQ(fi_poll(set, news, 4), 0);
	OK(fi_poll_del(set, &queue->fid, 0));
	CHECK_EQ(fi_poll_del(set, &queue->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_close(&queue->fid), -FI_EBUSY); /* the other set has it */
	OK(fi_close(&other->fid));
	OK(fi_close(&queue->fid));
	args[0] = set;
	args[1] = &stop;
	CHECK(pthread_create(&thread, NULL, ask, args) == 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 1; i < MEMBERS; i++)
			OK(fi_poll_add(set, &cntr[i]->fid, 0));
		for (int i = 1; i < MEMBERS; i++)
			OK(fi_poll_del(set, &cntr[i]->fid, 0));
	}
	atomic_store(&stop, 1);
	pthread_join(thread, &bad);
	CHECK(!bad);
	OK(fi_close(&set->fid));
	for (int i = 0; i < MEMBERS; i++)
		OK(fi_close(&cntr[i]->fid));
	ft_close(&ep);
}

const struct ft_case ft_cases_auto[] = {
	{"auto_progress", 2, 40, progress},
	{"auto_churn", 2, 40, churn},
	{"counter_fd", 2, 20, cntr_fd},
	{"poll_set", 2, 20, poll_set},
	{"poll_set_members", 1, 20, poll_set_members},
	{0},
};
