/* SPDX-License-Identifier: BSD-2-Clause */
/* habit.c - a member that is late by habit, of a group whose schedules `auto` chooses. */
#include "tests/fabric/harness/stats.h"
#include "coll.h"

#define BATCH 50 /* calls, between which nobody speaks of anything else */
#define N     8

/* One member comes so late to each call; sums are right. */
static void batch(struct ft_ep *ep, struct fid_mc *mc, int late_ms)
{
	uint64_t in[N], out[N];
	struct ft_op op;

	for (uint64_t k = 0; k < BATCH; k++) {
		for (uint64_t i = 0; i < N; i++)
			in[i] = k + 1000 * i + (uint64_t)ft.rank;
		if (late_ms && ft.rank == ft.n - 1)
			ft_msleep(late_ms);
		POST(fi_allreduce(ep->ep, in, N, NULL, out, NULL, fi_mc_addr(mc), FI_UINT64, FI_SUM,
				  0, ft_fresh(&op)));
		ft_wait(&op);
		for (uint64_t i = 0; i < N; i++)
			CHECK_EQ(out[i], (uint64_t)ft.n * (k + 1000 * i) +
						 (uint64_t)(ft.n * (ft.n - 1) / 2));
	}
}

/* So many of the calls until now were built from expected arrivals, on each member. */
static uint64_t by_arrival(struct ft_ep *ep)
{
	const uint64_t mine = ft_stats(ep).collectives_by_arrival;

	ft.sh->word[ft.rank] = mine;
	ft_barrier();
	for (int r = 0; r < ft.n; r++)
		CHECK_EQ(ft.sh->word[r], mine);
	ft_barrier();
	return mine;
}

/* One broadcast; it is right. */
static void broadcast(struct ft_ep *ep, struct fid_mc *mc)
{
	uint64_t word = ft.rank ? 0 : 17;
	struct ft_op op;

	POST(fi_broadcast(ep->ep, &word, 1, NULL, fi_mc_addr(mc), ep->peer[0], FI_UINT64, 0,
			  ft_fresh(&op)));
	ft_wait(&op);
	CHECK_EQ(word, 17);
}

/* The setting says `auto`. Once a member is late by what a call takes, calls are built for that, and when it
 * is no more, none are: each time the same calls on all members. A broadcast uses what these have told. Any
 * gain counts, since the model may take calls for shorter than they are on a busy machine. */
static void habit(void)
{
	struct ft_conf conf = {.caps = FI_COLLECTIVE, .eq = true};
	uint64_t before = 0, now = 0;
	struct fid_mc *mc = NULL;
	struct ft_ep ep;

	if (ft.rank == 1 && strcmp(ft_local_core(), "shm")) /* may sleep: no memory of the node */
		conf.wait = FI_WAIT_FD;
	setenv("FI_QUIVER_COLL", "allreduce=auto:faithful,broadcast=clairvoyant:faithful", 1);
	ft_open(&ep, &conf);
	/* Calls may take long on a busy machine, and after an exchange that did the next one is up to 1024 calls away:
	 * then a new group tries its luck. */
	for (int turn = 0; !now && turn < 20; turn++) {
		if (mc)
			OK(fi_close(&mc->fid));
		mc = ft_join(&ep, (1u << ft.n) - 1);
		for (int i = 0; !now && i < 4; i++) {
			batch(&ep, mc, 1 + turn / 4);
			now = by_arrival(&ep);
		}
	}
	CHECK(now);
	broadcast(&ep, mc);
	CHECK_EQ(by_arrival(&ep), now + 1);
	now++;
	for (int i = 0; now > before && i < 200; i++) {
		before = now;
		batch(&ep, mc, 0);
		now = by_arrival(&ep);
	}
	CHECK_EQ(now, before);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

const struct ft_case ft_cases_coll_habit[] = {
	{"coll_habit", 4, 60, habit},
	{NULL, 0, 0, NULL},
};
