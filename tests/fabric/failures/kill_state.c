/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kill_state.c - death in the other states of the protocol: in a stream of eager messages, out
 * of credit, in segments, while the survivor closes.
 */
#include "kill.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <signal.h>
#include <sys/time.h>

enum { COUNT = 2000, LEN = 3000 };

bool ft_send_one(struct ft_ep *ep, char *buf, size_t len, uint64_t tag, struct ft_op *op)
{
	ssize_t ret;

	FT_HERE();
	while ((ret = fi_tsend(ep->ep, buf, len, NULL, ep->peer[VICTIM], tag, ft_fresh(op))) ==
	       -FI_EAGAIN)
		ft_play(ep);
	if (ret == 0)
		return true;
	CHECK(ft.sh->word[DEATH]);
	return false;
}

/* How many of these ended in an error; all must end. */
static size_t failed(struct ft_ep *ep, struct ft_op *op, size_t n)
{
	size_t errors = 0;

	for (size_t i = 0; i < n; i++) {
		FT_HERE();
		while (!op[i].done) {
			ft_play(ep);
			if (ft.sh->word[DEATH] &&
			    ft_now() - (double)ft.sh->word[DEATH] * 1e-3 > FT_TOLD)
				ft_fail("send %zu of %zu: no completion within %.1f s", i, n,
					FT_TOLD);
		}
		errors += op[i].err != 0;
	}
	return errors;
}

/* Eager messages go both ways when one end is gone. */
static void kill_eager(void)
{
	static struct ft_op tx[COUNT], rx[COUNT];
	char *buf = ft_buf(1u << 20), *in = ft_buf(LEN);
	struct ft_ep ep;
	size_t sent = 0, got;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_handshake(&ep);
	ft_fill(buf, LEN, (uint64_t)ft.rank);
	if (ft.rank == VICTIM) {
		for (size_t i = 0; i < 200; i++) {
			ft_tsend(&ep, SURVIVOR, 6, buf, LEN, &tx[0]);
			ft_trecv(&ep, SURVIVOR, 5, 0, in, LEN, &rx[0]);
			ft_wait(&rx[0]);
			ft_wait(&tx[0]);
		}
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		for (size_t i = 0; i < COUNT; i++)
			ft_trecv(&ep, VICTIM, 6, 0, in, LEN, &rx[i]);
		while (sent < COUNT && ft_send_one(&ep, buf, LEN, 5, &tx[sent]))
			sent++;
		ft_mourn(&ep);
		failed(&ep, tx, sent);
		for (size_t i = 0; i < COUNT; i++) /* those that nobody sent any more are mine */
			if (!rx[i].done)
				fi_cancel(&ep.ep->fid, &rx[i]); /* or its end is in the queue */
		got = COUNT - failed(&ep, rx, COUNT);
		printf("  %s: %zu sent, %zu received\n", ft.name, sent, got);
		CHECK(sent >= 200 && got <= 200);
		for (size_t i = 0; i < COUNT; i++)
			CHECK_EQ(rx[i].err == 0, i < got);
		if (got)
			ft_verify(in, LEN, VICTIM, LEN);
		ft_survived(&ep, buf, 1u << 20);
	}
	ft_close(&ep);
	free(buf);
	free(in);
}

/* The victim receives nothing: it is out of credit, and messages wait for it in every way. */
static void kill_credit(void)
{
	static struct ft_op tx[COUNT];
	size_t errors, len = 1u << 20;
	char *buf = ft_buf(len);
	struct ft_ep ep;

	if (ft.peer)
		ft_skip("the core has no credit");
	setenv("FI_QUIVER_MEMORY", "200000", 1); /* of each receiver: 66 messages */
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_handshake(&ep);
	if (ft.rank == VICTIM) {
		ft_await_word(READY, 1);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		for (size_t i = 0; i < COUNT; i++)
			CHECK(ft_send_one(&ep, buf, LEN, i, &tx[i]));
		ft_wait(&tx[0]);
		ft.sh->word[READY] = 1;
		errors = failed(&ep, tx, COUNT);
		printf("  %s: %zu of %d sends failed\n", ft.name, errors, COUNT);
		CHECK(errors >= COUNT - 100 && errors < COUNT);
		ft_survived(&ep, buf, len);
	}
	ft_close(&ep);
	free(buf);
}

/* The victim does not look: what it is sent fills all that there is on the way, and waits. */
static void kill_full(void)
{
	static struct ft_op tx[COUNT];
	char *buf = ft_buf(LEN);
	struct ft_ep ep;

	ft_peer_limit("shm", 0, "what is full of messages to one who died stays so");
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_handshake(&ep);
	if (ft.rank == VICTIM) {
		while (!ft.sh->word[READY])
			ft_msleep(1);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		for (size_t i = 0; i < COUNT; i++)
			CHECK(ft_send_one(&ep, buf, i % 2 ? LEN : 8, i, &tx[i]));
		ft.sh->word[READY] = 1;
		printf("  %s: %zu of %d sends failed\n", ft.name, failed(&ep, tx, COUNT), COUNT);
		ft_survived(&ep, buf, LEN);
	}
	ft_close(&ep);
	free(buf);
}

/* The survivor closes with all kinds of sends to the dead under way. */
static void kill_closing(void)
{
	static struct ft_op tx[64];
	size_t len = 1u << 20;
	char *buf = ft_buf(len);
	struct ft_ep ep;
	double start;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_handshake(&ep);
	if (ft.rank == VICTIM) {
		ft_await_word(READY, 1);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		for (size_t i = 0; i < 64; i++)
			CHECK(ft_send_one(&ep, buf, i % 2 ? LEN : len, i, &tx[i]));
		ft.sh->word[READY] = 1;
		while (!ft.sh->word[DEATH])
			ft_msleep(1);
		ft_survived(&ep, buf, len);
	}
	ft_barrier();
	start = ft_now();
	ft_close_part(&ep);
	if (ft_now() - start > FT_TOLD)
		ft_fail("the endpoint took %.1f s to close", ft_now() - start);
	free(buf);
}

/* The victim knows the survivor's address on the network only and the survivor that one's in shared
 * memory, so that nobody can read from the other: payload comes in segments. */
static void open_asymmetric(struct ft_ep *ep)
{
	char name[FT_MAX_NAME];

	ft_open_domain(ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	ft_open_ep(ep);
	ft_barrier();
	for (int i = 0; i < ft.n; i++) {
		memcpy(name, ft.sh->rank[i].name[0], sizeof(name));
		if (ft.rank == VICTIM && i == SURVIVOR)
			ft_network_only(name);
		CHECK_EQ(fi_av_insert(ep->av, name, 1, &ep->peer[i], 0, NULL), 1);
	}
	ft_barrier();
}

/* Is a call of libfabric's own under way? shm of 1.17 copies under a lock in shared memory, and who
 * dies with it stops its peers: "Known costs" in docs/design.md. */
static bool is_in_libfabric(void)
{
	void *frame[48];
	int n = backtrace(frame, 48);
	Dl_info at;

	for (int i = 0; i < n; i++)
		if (dladdr(frame[i], &at) && at.dli_fname && strstr(at.dli_fname, "/libfabric.so"))
			return true;
	return false;
}

static void set_alarm(long us)
{
	const struct itimerval soon = {.it_value.tv_usec = us};

	CHECK(!setitimer(ITIMER_REAL, &soon, NULL));
}

static void on_alarm(int signal)
{
	(void)signal;
	if (is_in_libfabric())
		set_alarm(50);
	else
		ft_die();
}

/* One call may go on as long as there is more to be done: a whole message long, if need be. */
static _Noreturn void die_within_a_call(void)
{
	CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
	set_alarm(1000); /* 48 MiB take longer */
	for (;;)
		ft_progress();
}

static void pair_kill_segments(void)
{
	enum { LONG = 96 << 20 };
	char *buf = ft_buf(LONG);
	struct ft_ep ep;
	struct ft_op in, out;

	if (!ft_pair())
		ft_skip("of quiver over two cores");
	open_asymmetric(&ep);
	ft_handshake(&ep);
	if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		int other = ft.rank == VICTIM ? SURVIVOR : VICTIM;

		ft_fill(buf, LONG / 2, (uint64_t)ft.rank);
		ft_trecv(&ep, other, 5, 0, buf + LONG / 2, LONG / 2 - FT_GUARD, &in);
		ft_tsend(&ep, other, 5, buf, LONG / 2 - FT_GUARD, &out);
		if (ft.rank == VICTIM) {
			ft_await_word(READY, 1);
			die_within_a_call();
		}
		ft.sh->word[READY] = 1;
		CHECK(ft_outlive(&ep, &in, 0) != 0 && ft_outlive(&ep, &out, 0) != 0);
		ft_survived(&ep, buf, LONG / 2);
	}
	ft_close(&ep);
	free(buf);
}

const struct ft_case ft_cases_kill_state[] = {
	{"kill_eager", 3, 30, kill_eager},
	{"kill_credit", 3, 30, kill_credit},
	{"kill_full", 3, 30, kill_full},
	{"kill_closing", 3, 30, kill_closing},
	{"pair_kill_segments", 3, 30, pair_kill_segments},
	{0},
};
