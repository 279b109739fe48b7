/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * death.c - death on another host in each state of a transfer, by SIGKILL and by power-off: the
 * cable is dead first, so that no end of a connection and no reset ever arrive. Who has something
 * to do with the dead is told within five seconds.
 *
 * Rank 0 survives, rank 1 dies, rank 2 plays ping-pong with rank 0 all the time (kill.h).
 */
#include "tests/fabric/coll/coll.h"
#include "tests/fabric/harness/stats.h"
#include "kill.h"

enum { SENDS = 32, LONG = 4 << 20, ROOM = 3000 };

enum end { KILLED, POWER_OFF };

/* The victim looks at nothing any more, then it is gone. */
static void die(enum end how)
{
	while (!ft.sh->word[READY])
		ft_msleep(1);
	ft_msleep(50);
	if (how == POWER_OFF)
		ft_cable(false);
	ft_die();
}

static void begin(struct ft_ep *ep, enum end how, uint64_t caps)
{
	if (how == POWER_OFF && !ft_apart())
		ft_skip("a cable to pull needs two hosts (tests/fabric/harness/hosts.py apart)");
	ft_open(ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV | caps, .eq = caps != 0});
	ft_handshake(ep);
}

/* Ranks 1 and 2 of all but the groups. */
static bool others(struct ft_ep *ep, enum end how)
{
	if (ft.rank == VICTIM)
		die(how);
	if (ft.rank == BYSTANDER)
		ft_bystander(ep);
	return ft.rank != SURVIVOR;
}

static void end(struct ft_ep *ep, char *buf)
{
	ft_close(ep);
	free(buf);
}

/* A send waits for its receive; it has failed so many seconds after the end. */
static void at_send_within(enum end how, double seconds)
{
	char *buf = ft_buf(LONG);
	struct ft_ep ep;
	struct ft_op op;

	begin(&ep, how, 0);
	if (!others(&ep, how)) {
		ft_tsend(&ep, VICTIM, 5, buf, LONG, &op);
		ft_play(&ep);
		ft.sh->word[READY] = 1;
		CHECK(ft_outlive(&ep, &op, 0) != 0);
		CHECK(ft_now() - (double)ft.sh->word[DEATH] * 1e-3 < seconds);
		ft_survived(&ep, buf, LONG);
	}
	end(&ep, buf);
}

static void at_send(enum end how)
{
	at_send_within(how, 5.5);
}

/* False: it is refused, because the victim is known to be dead. */
static bool send_to_deliver(struct ft_ep *ep, char *buf, size_t len, struct ft_op *op)
{
	struct iovec iov = {buf, len};
	const struct fi_msg_tagged msg = {.msg_iov = &iov,
					  .iov_count = 1,
					  .addr = ep->peer[VICTIM],
					  .tag = 5,
					  .context = ft_fresh(op)};
	ssize_t ret;

	FT_HERE();
	while ((ret = fi_tsendmsg(ep->ep, &msg, FI_DELIVERY_COMPLETE | FI_COMPLETION)) ==
	       -FI_EAGAIN)
		ft_progress();
	CHECK(!ret || (ft.peer && ret == -FI_ECONNABORTED && ft.sh->word[DEATH]));
	return !ret;
}

/* Short messages were sent and maybe arrived; their sender wants to know. */
static void at_answer(enum end how)
{
	static struct ft_op op[SENDS];
	char *buf = ft_buf(ROOM);
	size_t sent = 0;
	struct ft_ep ep;

	ft_peer_limit("rxm", 0, "FI_DELIVERY_COMPLETE comes before a receive has the message");
	begin(&ep, how, 0);
	if (!others(&ep, how)) {
		ft.sh->word[READY] = 1;
		while (sent < SENDS && send_to_deliver(&ep, buf, sent % 2 ? ROOM : 8, &op[sent]))
			sent++;
		CHECK(sent);
		for (size_t i = 0; i < sent; i++)
			CHECK(op[i].done ? op[i].err : ft_outlive(&ep, &op[i], 0));
		ft_survived(&ep, buf, ROOM);
	}
	end(&ep, buf);
}

/* A message was announced and taken; its bytes do not come. */
static void at_data(enum end how)
{
	static struct ft_op op;
	char *buf = ft_buf(LONG);
	struct ft_ep ep;

	ft_peer_limit("rxm", 0,
		      "it reads a message over a connection that it has closed, and crashes");
	begin(&ep, how, 0);
	if (ft.rank == VICTIM) {
		ft_tsend(&ep, SURVIVOR, 5, buf, LONG, &op);
		while (!ft.sh->word[READY])
			ft_progress();
	}
	if (ft.rank == SURVIVOR) {
		while (ft_peek(&ep, true, VICTIM, 5, 0, 0, &op) == FI_ENOMSG)
			ft_play(&ep);
		ft.sh->word[READY] = 1;
		ft_mourn(&ep);
	}
	if (!others(&ep, how)) {
		ft_trecv(&ep, VICTIM, 5, 0, buf, LONG, &op);
		CHECK(ft_outlive(&ep, &op, ft_now()) != 0);
		ft_survived(&ep, buf, LONG);
	}
	end(&ep, buf);
}

/* Nothing is under way; what is sent a second later fails. */
static void at_idle(enum end how)
{
	char *buf = ft_buf(LONG);
	struct ft_ep ep;
	struct ft_op op;
	double since;

	begin(&ep, how, 0);
	if (!others(&ep, how)) {
		ft.sh->word[READY] = 1;
		ft_mourn(&ep);
		for (since = ft_now(); ft_now() - since < 1;)
			ft_play(&ep);
		since = ft_now();
		if (ft_send_one(&ep, buf, LONG, 5, &op))
			CHECK(ft_outlive(&ep, &op, since) != 0);
		ft_survived(&ep, buf, 8);
	}
	end(&ep, buf);
}

/* The others are in a collective that needs the dead. */
static void at_group(enum end how)
{
	uint64_t in = 1, out = 0;
	struct fid_mc *mc;
	struct ft_ep ep;
	struct ft_op op;

	begin(&ep, how, FI_COLLECTIVE);
	mc = ft_join(&ep, 7);
	ft_barrier();
	if (ft.rank == VICTIM)
		die(how);
	OK(fi_allreduce(ep.ep, &in, 1, NULL, &out, NULL, fi_mc_addr(mc), FI_UINT64, FI_SUM, 0,
			ft_fresh(&op)));
	ft_progress_for(0.05);
	ft.sh->word[READY] = 1;
	FT_HERE();
	while (!op.done) {
		ft_progress();
		if (ft.sh->word[DEATH] && ft_now() - (double)ft.sh->word[DEATH] * 1e-3 > FT_TOLD)
			ft_fail("the collective does not end within %.1f s of the death", FT_TOLD);
	}
	printf("  %s: rank %d, %s after %.2f s\n", ft.name, ft.rank, fi_strerror(op.err),
	       ft_now() - (double)ft.sh->word[DEATH] * 1e-3);
	CHECK(op.err);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* The survivor has no name for the dead, has received its message and wants nothing more of it: what
 * it has kept of it is free after half a minute. */
static void death_unnamed(void)
{
	char *buf = ft_buf(8);
	struct ft_ep ep;
	struct ft_op op;
	uint64_t before;
	double since;

	ft_peer_limit(NULL, 0, "it keeps its peers, and does not say how many");
	ft_open(&ep, &(struct ft_conf){.caps = 0});
	if (ft.rank == SURVIVOR) {
		OK(fi_av_remove(ep.av, &ep.peer[VICTIM], 1, 0));
		ep.peer[VICTIM] = FI_ADDR_UNSPEC;
	}
	ft_barrier();
	if (ft.rank == VICTIM) {
		ft_tsend(&ep, SURVIVOR, 5, buf, 8, &op);
		while (!op.done || !ft.sh->word[READY])
			ft_progress();
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		ft_trecv(&ep, FT_ANY, 5, 0, buf, 8, &op);
		while (!op.done)
			ft_play(&ep);
		before = ft_stats(&ep).peers;
		ft.sh->word[READY] = 1;
		for (since = ft_now(); ft_stats(&ep).peers == before; ft_play(&ep))
			if (ft_now() - since > 120)
				ft_fail("%llu peers two minutes after the death",
					(unsigned long long)before);
		printf("  %s: freed after %.1f s\n", ft.name, ft_now() - since);
		CHECK_EQ(ft_stats(&ep).peers, before - 1);
		CHECK(!ft_apart() ||
		      ft_now() - since > 25); /* who lives may be silent for as long */
		ft_dismiss(&ep);
	}
	end(&ep, buf);
}

#define CASES(state)                    \
	static void death_##state(void) \
	{                               \
		at_##state(KILLED);     \
	}                               \
	static void power_##state(void) \
	{                               \
		at_##state(POWER_OFF);  \
	}
CASES(send)
CASES(answer)
CASES(data)
CASES(idle)
CASES(group)

/* As soon as the user says. */
static void power_soon(void)
{
	setenv("FI_QUIVER_KEEPALIVE", "2", 1);
	at_send_within(POWER_OFF, 3);
}

const struct ft_case ft_cases_death[] = {
	{"death_send", 3, 40, death_send},
	{"death_answer", 3, 40, death_answer},
	{"death_data", 3, 40, death_data},
	{"death_idle", 3, 40, death_idle},
	{"death_group", 3, 40, death_group},
	{"power_send", 3, 40, power_send},
	{"power_answer", 3, 40, power_answer},
	{"power_data", 3, 40, power_data},
	{"power_idle", 3, 40, power_idle},
	{"power_group", 3, 40, power_group},
	{"power_soon", 3, 40, power_soon},
	{"death_unnamed", 3, 150, death_unnamed},
	{0},
};
