/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stays.c - a program with counters that are known, which stays until it is told to end: cli.detail
 * looks at it from outside.
 */
#include "tests/fabric/harness/stats.h"

#include <signal.h>
#include <unistd.h>

enum { EARLY = 5, LATE = 3, LONGEST = 15 /* s */ };

static volatile sig_atomic_t signals;

static void on_usr2(int number)
{
	(void)number;
	signals++;
}

/* Messages to itself that come before their receives, which are posted for the youngest first. */
static void come_early(struct ft_ep *ep)
{
	struct ft_op tx[EARLY], rx;
	uint64_t in, out = 1;

	for (uint64_t i = 0; i < EARLY; i++)
		ft_tsend(ep, ft.rank, 10 + i, &out, 8, &tx[i]);
	ft_wait_all(tx, EARLY);
	while (ft_stats(ep).tagged.unexpected < EARLY)
		ft_progress();
	for (uint64_t i = EARLY; i-- > 0;) {
		ft_trecv(ep, ft.rank, 10 + i, 0, &in, 8, &rx);
		ft_wait(&rx);
	}
}

/* Receives that are posted before; the messages are for the youngest first. */
static void come_late(struct ft_ep *ep)
{
	struct ft_op rx[LATE], tx;
	uint64_t in[LATE], out = 1;

	for (uint64_t i = 0; i < LATE; i++)
		ft_trecv(ep, i == 0 ? FT_ANY : ft.rank, 20 + i, 0, &in[i], 8, &rx[i]);
	for (uint64_t i = LATE; i-- > 0;) {
		ft_tsend(ep, ft.rank, 20 + i, &out, 8, &tx);
		ft_wait(&tx);
		ft_wait(&rx[i]);
	}
}

static void stays(void)
{
	const char *until = getenv("QV_TEST_UNTIL");
	const bool sleeps = getenv("QV_TEST_SLEEPS");
	struct fi_cq_tagged_entry none;
	struct ft_op waiting[2];
	uint64_t in[2];
	struct ft_ep ep;
	double end;

	if (!ft.quiver)
		ft_skip("an extension of quiver");
	CHECK(signal(SIGUSR2, on_usr2) != SIG_ERR);
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV,
				       .wait = sleeps ? FI_WAIT_UNSPEC : FI_WAIT_NONE});
	come_early(&ep);
	come_late(&ep);
	ft_trecv(&ep, ft.rank, 100, 7, &in[0], 8, &waiting[0]);
	ft_trecv(&ep, FT_ANY, 200, 7, &in[1], 8, &waiting[1]);
	kill(getpid(), SIGUSR2);
	CHECK_EQ(signals, 1);
	end = ft_now() + LONGEST;
	while (until && access(until, F_OK) && ft_now() < end) {
		ft_progress();
		if (sleeps)
			fi_cq_sread(ep.rx_cq, &none, 1, NULL, 1000 * LONGEST);
		else
			ft_msleep(1);
	}
	CHECK(!until || access(until, F_OK) == 0);
	for (int i = 0; i < 2; i++) {
		OK(fi_cancel(&ep.ep->fid, &waiting[i]));
		ft_wait_err(&waiting[i], FI_ECANCELED);
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_stays[] = {
	{"stats_stays", 1, 20, stays},
	{0},
};
