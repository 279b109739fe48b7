/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.c - sleeping until something completes: file descriptors, sread, signal. */
#include "tests/fabric/harness/ft.h"

#include <poll.h>
#include <pthread.h>
#include <time.h>

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Wait on the descriptor until op is done; returns how often it slept. */
static size_t sleep_until(struct ft_ep *ep, int fd, struct ft_op *op)
{
	struct fid *fids[1] = {&ep->rx_cq->fid};
	size_t sleeps = 0;

	while (!op->done) {
		FT_HERE();
		if (ft_poll_cq(ep, ep->rx_cq))
			continue;
		int ret = fi_trywait(ep->fabric, fids, 1);

		if (ret == -FI_EAGAIN)
			continue;
		OK(ret);
		struct pollfd p = {.fd = fd, .events = POLLIN};

		FT_HERE();
		if (poll(&p, 1, ft_ms(5000)) <= 0)
			ft_fail("slept %.0f s through a message", 5 * ft.patience);
		sleeps++;
	}
	ft_wait(op);
	return sleeps;
}

/* Rank 1 sends every now and then, rank 0 sleeps in between: on the processor it spends little. An
 * emulated one takes longer for what lies between two pauses. */
static void wait_fd(void)
{
	enum { N = 10, PAUSE = 40, LONG_PAUSE = 400 };
	const int pause = ft.patience > 1 ? LONG_PAUSE : PAUSE;
	static const size_t lens[] = {8, 3000, 300000};
	char *buf = ft_buf(300000);
	struct ft_ep ep;
	size_t sleeps = 0;
	double start, cpu;
	int fd = -1;

	ft_open(&ep, &(struct ft_conf){.wait = FI_WAIT_FD});
	OK(fi_control(&ep.rx_cq->fid, FI_GETWAIT, &fd));
	CHECK(fd >= 0);
	start = ft_now();
	cpu = cpu_seconds();
	for (size_t i = 0; i < N; i++) {
		struct ft_op op;

		if (ft.rank == 1) {
			ft_msleep(pause);
			ft_fill(buf, lens[i % 3], i);
			ft_tsend(&ep, 0, i, buf, lens[i % 3], &op);
			sleep_until(&ep, fd, &op);
			continue;
		}
		ft_guard(buf, 300000);
		ft_trecv(&ep, 1, i, 0, buf, 300000, &op);
		sleeps += sleep_until(&ep, fd, &op);
		CHECK_EQ(op.len, lens[i % 3]);
		ft_verify(buf, op.len, i, 300000);
	}
	cpu = cpu_seconds() - cpu;
	start = ft_now() - start;
	if (ft.rank == 0)
		printf("  %s: %.0f ms of processor in %.0f ms, %zu sleeps\n", ft.name, cpu * 1e3,
		       start * 1e3, sleeps);
	CHECK(ft.rank || sleeps >= N / 2);
	CHECK(start < N * (pause * 1e-3 + 0.3) * ft.patience);
	CHECK(cpu < start * 0.6);
	free(buf);
	ft_close(&ep);
}

static void read_blocking(struct ft_ep *ep, struct ft_op *op, int timeout_ms)
{
	struct fi_cq_tagged_entry entry;

	while (!op->done) {
		FT_HERE();
		ssize_t n = fi_cq_sread(ep->rx_cq, &entry, 1, NULL, timeout_ms);

		if (n == 1)
			ft_record(ep, &entry, FI_ADDR_NOTAVAIL);
		else if (n == -FI_EAVAIL)
			ft_take_error(ep, ep->rx_cq);
		else if (n != -FI_EAGAIN && n != -FI_EINTR)
			ft_fail("fi_cq_sread: %zd (%s)", n, fi_strerror((int)-n));
	}
}

static void sread(void)
{
	static const int timeouts[] = {0, 20, 100};
	struct fi_cq_tagged_entry entry;
	struct ft_ep ep;
	struct ft_op op;
	uint64_t word = 0;

	ft_open(&ep, &(struct ft_conf){.wait = FI_WAIT_UNSPEC});
	for (size_t i = 0; i < 3; i++) {
		double start = ft_now(), took;
		ssize_t n = fi_cq_sread(ep.rx_cq, &entry, 1, NULL, timeouts[i]);

		took = (ft_now() - start) * 1e3;
		CHECK_EQ(n, -FI_EAGAIN);
		if (took < timeouts[i] - 2 || took > timeouts[i] + 150)
			ft_fail("time-out %d ms took %.1f ms", timeouts[i], took);
	}
	ft_barrier();
	for (int i = 0; i < 5; i++) {
		if (ft.rank == 1) {
			ft_msleep(30);
			ft_tsend(&ep, 0, 1, &word, 8, &op);
			read_blocking(&ep, &op, 1000);
		} else {
			double start = ft_now();

			ft_trecv(&ep, 1, 1, 0, &word, 8, &op);
			/* in steps: must not wait one out */
			read_blocking(&ep, &op, ft_ms(5000));
			CHECK(ft_now() - start < 2 * ft.patience);
		}
	}
	ft_close(&ep);
}

static void *signaller(void *arg)
{
	struct ft_ep *ep = arg;

	ft_msleep(50);
	return fi_cq_signal(ep->rx_cq) ? arg : NULL;
}

static void cq_signal(void)
{
	struct fi_cq_tagged_entry entry;
	struct ft_ep ep;
	pthread_t thread;
	void *bad = NULL;
	ssize_t n;

	ft_open(&ep, &(struct ft_conf){.wait = FI_WAIT_UNSPEC, .threading = FI_THREAD_SAFE});
	CHECK(pthread_create(&thread, NULL, signaller, &ep) == 0);
	/* The end of that time would be -FI_EAGAIN. */
	n = fi_cq_sread(ep.rx_cq, &entry, 1, NULL, 12000);
	CHECK(n == -FI_ECANCELED);
	pthread_join(thread, &bad);
	CHECK(!bad);
	ft_close(&ep);
}

enum { ROUNDS = 6, BURST = 1000 }; /* more than core node holds of a peer */

/* Asleep on the descriptor until all answers have come. */
static void *asker(void *arg)
{
	struct ft_ep *ep = arg;
	struct fid *fids[1] = {&ep->rx_cq->fid};
	struct pollfd p = {.events = POLLIN};
	struct fi_cq_tagged_entry entry;

	OK(fi_control(&ep->rx_cq->fid, FI_GETWAIT, &p.fd));
	for (int answers = 0; answers < ROUNDS;) {
		ssize_t n = fi_cq_read(ep->rx_cq, &entry, 1);

		FT_HERE();
		CHECK(n == 1 || n == -FI_EAGAIN);
		if (n == 1)
			answers++;
		else if (!fi_trywait(ep->fabric, fids, 1))
			poll(&p, 1, -1);
	}
	return NULL;
}

/* The receiver was awake just now, so that it has nothing to say for a while; then it sleeps, too. */
static void answer_bursts(struct ft_ep *ep)
{
	uint64_t word;
	struct ft_op op;
	int fd;

	OK(fi_control(&ep->rx_cq->fid, FI_GETWAIT, &fd));
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		ft_progress_for(0.15);
		ft.sh->word[0] = round;
		ft_msleep(30);
		for (uint64_t i = 0; i < BURST; i++) {
			ft_trecv(ep, 0, 1, 0, &word, 8, &op);
			sleep_until(ep, fd, &op);
			CHECK_EQ(word, i);
		}
		ft_tsend(ep, 0, 2, &word, 8, &op);
		ft_wait(&op);
	}
}

/* In peer mode the core says when it has no room yet; the next call moves it on. */
static void inject_word(struct ft_ep *ep, uint64_t word)
{
	ssize_t ret;

	do
		ret = fi_tinject(ep->ep, &word, 8, ep->peer[1], 1);
	while (ret == -FI_EAGAIN && ft.peer);
	OK(ret);
}

/* One thread sends what has no completion, and looks at nothing; the other one slept before. */
static void wait_other_sends(void)
{
	uint64_t answer[ROUNDS];
	struct ft_op back[ROUNDS];
	pthread_t thread;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.wait = FI_WAIT_FD, .threading = FI_THREAD_SAFE});
	if (ft.rank == 0) {
		for (int i = 0; i < ROUNDS; i++)
			ft_trecv(&ep, 1, 2, 0, &answer[i], 8, &back[i]);
		CHECK(!pthread_create(&thread, NULL, asker, &ep));
		for (uint64_t round = 1; round <= ROUNDS; round++) {
			while (ft.sh->word[0] < round)
				ft_msleep(1);
			for (uint64_t i = 0; i < BURST; i++)
				inject_word(&ep, i);
		}
		pthread_join(thread, NULL);
	} else {
		answer_bursts(&ep);
	}
	ft_close(&ep);
}

/* Who sleeps on two queues of an endpoint sleeps when there is nothing to do. */
static void wait_two(void)
{
	struct ft_ep ep;
	struct pollfd p[2] = {{.events = POLLIN}, {.events = POLLIN}};
	bool slept = false;

	ft_open(&ep, &(struct ft_conf){.wait = FI_WAIT_FD, .split_cq = true});
	struct fid *fids[2] = {&ep.tx_cq->fid, &ep.rx_cq->fid};

	for (int i = 0; i < 2; i++)
		OK(fi_control(fids[i], FI_GETWAIT, &p[i].fd));
	for (int i = 0; i < 20 && !slept; i++) {
		ft_progress();
		slept = !fi_trywait(ep.fabric, fids, 2) && !poll(p, 2, 100);
	}
	CHECK(slept);
	ft_close(&ep);
}

static void *sleeper(void *arg)
{
	struct fi_cq_tagged_entry entry;

	return fi_cq_sread(arg, &entry, 1, NULL, 500) == -FI_EAGAIN ? arg : NULL;
}

/* Two who sleep, in two threads or beside that of automatic progress, leave each other in peace. */
static void sread_two(void)
{
	for (int automatic = 0; automatic < 2; automatic++) {
		struct ft_ep ep;
		pthread_t thread;
		void *good;
		double cpu;

		ft_open(&ep, &(struct ft_conf){.wait = FI_WAIT_UNSPEC,
					       .split_cq = true,
					       .threading = FI_THREAD_SAFE,
					       .progress = automatic ? FI_PROGRESS_AUTO
								     : FI_PROGRESS_MANUAL});
		cpu = cpu_seconds();
		if (!automatic)
			CHECK(!pthread_create(&thread, NULL, sleeper, ep.tx_cq));
		CHECK(sleeper(ep.rx_cq));
		if (!automatic)
			CHECK(!pthread_join(thread, &good) && good);
		cpu = cpu_seconds() - cpu;
		printf("  %s: %.0f ms of processor in 500 ms\n", ft.name, cpu * 1e3);
		CHECK(cpu < 0.1);
		ft_close(&ep);
	}
}

const struct ft_case ft_cases_wait[] = {
	{"wait_fd", 2, 20, wait_fd},
	{"sread", 2, 20, sread},
	{"cq_signal", 1, 30, cq_signal},
	{"wait_other_sends", 2, 20, wait_other_sends},
	{"wait_two", 1, 30, wait_two},
	{"sread_two", 1, 30, sread_two},
	{0},
};
