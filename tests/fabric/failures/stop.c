/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stop.c - a process is stopped for longer than a dead one is waited for, and goes on: it was
 * never dead, so nothing is lost and nobody is told of an error.
 */
#include "tests/fabric/coll/coll.h"
#include "tests/fabric/harness/stream.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STOP = 0, STOPPED_MS = 7000 }; /* word; time */

/* A child of rank 1 stops it when somebody says so. It is made before there are any sockets. */
static pid_t stopper(void)
{
	pid_t parent = getpid(), pid;

	if (ft.rank != 1)
		return 0;
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!ft.sh->word[STOP])
		ft_msleep(1);
	kill(parent, SIGSTOP);
	ft_msleep(STOPPED_MS);
	kill(parent, SIGCONT);
	_exit(0);
}

static void join(pid_t pid)
{
	int status = 0;

	if (pid)
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void step(struct ft_stream *s, void *arg)
{
	(void)arg;
	if (ft.rank == 0 && s->sent + s->received >= s->n / 2)
		ft.sh->word[STOP] = 1;
}

static void stopped(size_t n, size_t len, bool delivery)
{
	pid_t pid = stopper();
	struct ft_ep ep;
	double start = ft_now();
	struct ft_stream s = {.ep = &ep,
			      .other = !ft.rank,
			      .n = n,
			      .len = len,
			      .window = n < 64 ? n : 64,
			      .sends = true,
			      .receives = true,
			      .delivery = delivery,
			      .step = step};

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV,
				       .tx_flags = delivery ? FI_DELIVERY_COMPLETE : 0});
	CHECK(ft_stream(&s));
	CHECK(ft_now() - start > STOPPED_MS * 1e-3);
	ft_stream_works(&ep, !ft.rank);
	ft_close(&ep);
	join(pid);
}

static void small(void)
{
	stopped(4000, 3000, false);
}

static void delivered(void)
{
	stopped(4000, 8, true);
}

static void large(void)
{
	stopped(16, 4u << 20, false);
}

static void group(void)
{
	pid_t pid = stopper();
	double start = ft_now();
	struct fid_mc *mc;
	struct ft_ep ep;
	struct ft_op op;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, 7);
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t in = i, out = 0;

		if (i == 1000 && ft.rank == 0)
			ft.sh->word[STOP] = 1;
		if (i == 1100) /* time for the signal to strike, in or between calls */
			ft_progress_for(0.05);
		OK(fi_allreduce(ep.ep, &in, 1, NULL, &out, NULL, fi_mc_addr(mc), FI_UINT64, FI_SUM,
				0, ft_fresh(&op)));
		ft_wait(&op);
		CHECK_EQ(out, 3 * i);
	}
	CHECK(ft_now() - start > STOPPED_MS * 1e-3);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
	join(pid);
}

const struct ft_case ft_cases_stop[] = {
	{"stop_small", 2, 60, small},
	{"stop_delivered", 2, 60, delivered},
	{"stop_large", 2, 60, large},
	{"stop_group", 3, 60, group},
	{0},
};
