/* SPDX-License-Identifier: BSD-2-Clause */
/* cntr.c - counters: sends, receives, errors, waiting on them alone. */
#include "tests/fabric/harness/ft.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

/* Count n of each form; only the counters are read while they move. */
static void counts(void)
{
	enum { N = 50 };
	static const size_t lens[] = {8, 3000, 200000};
	static struct ft_op op[3][N];
	struct ft_ep ep;
	char *buf = calloc(1, (size_t)N * 200000);
	uint64_t total = 0;

	CHECK(buf);
	ft_open(&ep, &(struct ft_conf){.cntrs = true});
	CHECK_EQ(fi_cntr_read(ep.send_cntr), 0);
	CHECK_EQ(fi_cntr_read(ep.recv_cntr), 0);
	for (size_t l = 0; l < 3; l++) {
		for (size_t i = 0; i < N; i++) {
			struct ft_msg m = {.tagged = i % 2,
					   .addr = ep.peer[!ft.rank],
					   .buf = buf + i * lens[l],
					   .len = lens[l]};

			if (ft.rank == 0)
				POST(ft_recv_as(&ep, FT_RECV, &m, &op[l][i]));
			else
				POST(ft_send_as(&ep, l ? FT_SEND : FT_INJECT, &m, &op[l][i]));
		}
		total += N;
		FT_HERE();
		OK(fi_cntr_wait(ft.rank ? ep.send_cntr : ep.recv_cntr, total, ft_ms(10000)));
		CHECK_EQ(fi_cntr_read(ft.rank ? ep.send_cntr : ep.recv_cntr), total);
		CHECK_EQ(fi_cntr_read(ft.rank ? ep.recv_cntr : ep.send_cntr), 0);
		CHECK_EQ(fi_cntr_readerr(ep.recv_cntr), 0);
	}
	for (size_t l = 0; l < 3; l++) { /* the queue has them all too; injects leave no entry */
		for (size_t i = 0; i < N; i++) {
			if (l || ft.rank == 0)
				ft_wait(&op[l][i]);
		}
	}
	free(buf);
	ft_close(&ep);
}

/* What has come before the wait begins, and nobody has looked at, ends it. */
static void error_ends_wait(struct ft_ep *ep)
{
	uint64_t value = fi_cntr_read(ep->recv_cntr), buf[2] = {0};
	struct ft_op op;

	if (ft.rank == 0)
		ft_trecv(ep, 1, 4, 0, buf, 8, &op);
	ft_barrier();
	if (ft.rank == 1)
		POST(fi_tinject(ep->ep, buf, 16, ep->peer[0], 4));
	ft_barrier_idle();
	if (ft.rank == 0) {
		ft_msleep(50);
		CHECK_EQ(fi_cntr_wait(ep->recv_cntr, value + 1, ft_ms(2000)), -FI_EAVAIL);
		ft_wait_err(&op, FI_ETRUNC);
	}
}

static void errors(void)
{
	struct ft_ep ep;
	struct ft_op op[3];
	uint64_t buf[3] = {0};

	ft_open(&ep, &(struct ft_conf){.cntrs = true});
	if (ft.rank == 0) {
		ft_trecv(&ep, 1, 1, 0, &buf[0], 4, &op[0]);
		ft_trecv(&ep, 1, 2, 0, &buf[1], 8, &op[1]);
		ft_trecv(&ep, 1, 3, 0, &buf[2], 8, &op[2]);
	}
	ft_barrier();
	if (ft.rank == 1) {
		POST(fi_tinject(ep.ep, buf, 8, ep.peer[0], 1));
		POST(fi_tinject(ep.ep, buf, 8, ep.peer[0], 2));
	} else {
		FT_HERE();
		while (fi_cntr_readerr(ep.recv_cntr) < 1 || fi_cntr_read(ep.recv_cntr) < 1)
			ft_progress();
		ft_wait_err(&op[0], FI_ETRUNC);
		ft_wait(&op[1]);
		OK(fi_cancel(&ep.ep->fid, &op[2]));
		ft_wait_err(&op[2], FI_ECANCELED);
		CHECK_EQ(fi_cntr_read(ep.recv_cntr), 1);
	}
	error_ends_wait(&ep);
	ft_close(&ep);
}

/* Time-outs, and the values that the application itself may set. What was seen by waiting is still to be
 * told by fi_poll. */
static void waiting(void)
{
	struct fid_poll *set;
	struct ft_ep ep;
	double start;
	void *news;

	ft_open(&ep, &(struct ft_conf){.cntrs = true});
	OK(fi_poll_open(ep.domain, &(struct fi_poll_attr){0}, &set));
	OK(fi_poll_add(set, &ep.recv_cntr->fid, 0));
	start = ft_now();
	CHECK_EQ(fi_cntr_wait(ep.recv_cntr, 1, 100), -FI_ETIMEDOUT);
	CHECK(ft_now() - start > 0.09 && ft_now() - start < 0.5);
	OK(fi_cntr_set(ep.recv_cntr, 40));
	OK(fi_cntr_add(ep.recv_cntr, 2));
	FT_HERE();
	while (fi_cntr_read(ep.recv_cntr) != 42)
		ft_progress();
	OK(fi_cntr_wait(ep.recv_cntr, 42, 1000));
	OK(fi_cntr_adderr(ep.recv_cntr, 3));
	FT_HERE();
	while (fi_cntr_readerr(ep.recv_cntr) != 3)
		ft_progress();
	OK(fi_cntr_seterr(ep.recv_cntr, 0));
	FT_HERE();
	while (fi_cntr_readerr(ep.recv_cntr) != 0)
		ft_progress();
	ft_barrier();
	if (ft.rank == 1) { /* wakes the waiting peer */
		uint64_t word = 1;
		struct ft_op op;

		ft_msleep(50);
		ft_tsend(&ep, 0, 1, &word, 8, &op);
		ft_wait(&op);
	} else {
		uint64_t word = 0;
		struct ft_op op;

		ft_trecv(&ep, 1, 1, 0, &word, 8, &op);
		FT_HERE();
		OK(fi_cntr_wait(ep.recv_cntr, 43, ft_ms(5000)));
		ft_wait(&op);
		CHECK_EQ(word, 1);
		CHECK_EQ(fi_cntr_wait(ep.recv_cntr, 44, 50), -FI_ETIMEDOUT);
		CHECK_EQ(fi_poll(set, &news, 1), 1);
		CHECK_EQ(fi_poll(set, &news, 1), 0);
	}
	OK(fi_close(&set->fid));
	ft_close(&ep);
}

/* A counter that the program sets back, and that a message brings to where fi_poll saw it last. */
static void set_back(void)
{
	uint64_t word = 1;
	struct fid_poll *set;
	struct ft_op op[2];
	struct ft_ep ep;
	void *news;

	ft_open(&ep, &(struct ft_conf){.cntrs = true});
	OK(fi_poll_open(ep.domain, &(struct fi_poll_attr){0}, &set));
	OK(fi_poll_add(set, &ep.recv_cntr->fid, 0));
	for (int i = 0; i < 2; i++) {
		if (ft.rank == 1) {
			ft_barrier();
			ft_tsend(&ep, 0, 1, &word, 8, &op[i]);
			ft_wait(&op[i]);
			ft_barrier();
			continue;
		}
		ft_trecv(&ep, 1, 1, 0, &word, 8, &op[i]);
		OK(fi_cntr_set(ep.recv_cntr, 7));
		CHECK_EQ(fi_poll(set, &news, 1), 0); /* its own doing is no news to it */
		OK(fi_cntr_set(ep.recv_cntr, 0));
		ft_barrier();
		ft_barrier(); /* the message is on its way, or here */
		FT_HERE();
		while (fi_poll(set, &news, 1) == 0)
			ft_progress();
		CHECK_EQ(fi_cntr_read(ep.recv_cntr), 1);
		ft_wait(&op[i]);
	}
	OK(fi_close(&set->fid));
	ft_close(&ep);
}

struct sleeper {
	struct fid_cntr *cntr;
	uint64_t threshold;
	double woken;
	int rc;
};

static void *sleep_on(void *arg)
{
	struct sleeper *s = arg;

	s->rc = fi_cntr_wait(s->cntr, s->threshold, ft_ms(10000));
	s->woken = ft_now();
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Threads sleep on a counter that another thread writes, or a message moves. Whom the new value does
 * not suffice does not take the news from whom it does: of ten sleeps nine do not end late. */
static void several_asleep(struct ft_ep *ep, unsigned sleepers, bool message)
{
	enum { TRIES = 41 };
	double late[TRIES];

	for (unsigned i = 0; i < TRIES; i++) {
		const uint64_t value = fi_cntr_read(ep->recv_cntr);
		struct sleeper s[3];
		pthread_t thread[3];
		uint64_t word = 0;
		struct ft_op op;
		double start;

		if (message)
			ft_trecv(ep, 0, 1, 0, &word, 8, &op);
		for (unsigned j = 0; j < sleepers; j++) {
			s[j] = (struct sleeper){ep->recv_cntr, value + (j ? 2 : 1), 0, 0};
			CHECK(!pthread_create(&thread[j], NULL, sleep_on, &s[j]));
		}
		ft_msleep(5);
		start = ft_now();
		if (message)
			POST(fi_tinject(ep->ep, &word, 8, ep->peer[0], 1));
		else
			OK(fi_cntr_add(ep->recv_cntr, 1));
		CHECK(!pthread_join(thread[0], NULL));
		OK(s[0].rc);
		late[i] = s[0].woken - start;
		OK(fi_cntr_add(ep->recv_cntr, 1));
		for (unsigned j = 1; j < sleepers; j++) {
			CHECK(!pthread_join(thread[j], NULL));
			OK(s[j].rc);
		}
		if (message)
			ft_wait(&op);
	}
	qsort(late, TRIES, sizeof *late, by_size);
	printf("  %s: %u asleep, woken by %s after %.2f ms, of ten nine before %.2f\n", ft.name,
	       sleepers, message ? "a message" : "a thread", late[TRIES / 2] * 1e3,
	       late[TRIES * 9 / 10] * 1e3);
	CHECK(late[TRIES * 9 / 10] < 0.05);
}

static void sleepers(void)
{
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.cntrs = true, .threading = FI_THREAD_SAFE});
	for (unsigned n = 1; n <= 3; n++) {
		several_asleep(&ep, n, false);
		several_asleep(&ep, n, true);
	}
	ft_close(&ep);
}

/* On one processor, threads that wait for what does not come leave it alone. */
static void idle(void)
{
	struct ft_ep ep;
	cpu_set_t one, all;

	if (!strcmp(ft_core(), "shm") && !ft_pair())
		ft_skip("%s has no descriptor to wait on", ft_core());
	ft_open(&ep, &(struct ft_conf){.cntrs = true, .threading = FI_THREAD_SAFE});
	CHECK(!sched_getaffinity(0, sizeof all, &all));
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(!sched_setaffinity(0, sizeof one, &one));
	for (unsigned n = 1; n <= 4; n++) {
		const uint64_t value = fi_cntr_read(ep.recv_cntr);
		struct timespec before, now;
		struct sleeper s[4];
		pthread_t thread[4];
		double used;

		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
		for (unsigned i = 0; i < n; i++) {
			s[i] = (struct sleeper){ep.recv_cntr, value + 1, 0, 0};
			CHECK(!pthread_create(&thread[i], NULL, sleep_on, &s[i]));
		}
		ft_msleep(500);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
		OK(fi_cntr_add(ep.recv_cntr, 1));
		for (unsigned i = 0; i < n; i++) {
			CHECK(!pthread_join(thread[i], NULL));
			OK(s[i].rc);
		}
		used = (double)(now.tv_sec - before.tv_sec) +
		       (double)(now.tv_nsec - before.tv_nsec) * 1e-9;
		printf("  %s: %u asleep use %.1f %% of a processor\n", ft.name, n, used * 200);
		CHECK(used < 0.25);
	}
	CHECK(!sched_setaffinity(0, sizeof all, &all));
	ft_close(&ep);
}

const struct ft_case ft_cases_cntr[] = {
	{"counters", 2, 20, counts},
	{"counter_errors", 2, 20, errors},
	{"counter_wait", 2, 20, waiting},
	{"counter_set_back", 2, 20, set_back},
	{"counter_sleepers", 1, 60, sleepers},
	{"counter_idle", 1, 20, idle},
	{0},
};
