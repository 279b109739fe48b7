/* SPDX-License-Identifier: BSD-2-Clause */
/* kill_unknown.c - death before the first word, and while nobody looks. */
#include "kill.h"

#include <poll.h>

/* Neither has heard of the other: the victim dies without one look at its endpoint, before or after
 * the survivor sends to it. */
static void kill_unknown(bool late)
{
	size_t len = 1u << 20;
	char *buf = ft_buf(len);
	struct ft_ep ep;
	struct ft_op op;
	double since;

	if (!late)
		ft_peer_limit(NULL, 0, "it takes nothing for who has not looked yet");
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	if (ft.rank == VICTIM) {
		while (!ft.sh->word[READY])
			ft_msleep(1);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		if (late) {
			ft.sh->word[READY] = 1;
			ft_mourn(&ep);
		}
		since = ft_now();
		if (ft_send_one(&ep, buf, len, 5, &op)) {
			ft.sh->word[READY] = 1;
			CHECK(ft_outlive(&ep, &op, since) != 0);
		}
		ft_survived(&ep, buf, len);
	}
	ft_close(&ep);
	free(buf);
}

static void kill_stranger(void)
{
	kill_unknown(false);
}

static void kill_late_stranger(void)
{
	ft_peer_limit("verbs", 0, "nothing is known of who dies before the first message to it");
	kill_unknown(true);
}

/* Asleep in the queue until there is something to tell. */
static void sleep_sread(struct ft_ep *ep, struct ft_op *op)
{
	struct fi_cq_tagged_entry entry;

	while (!op->done) {
		FT_HERE();
		ssize_t n = fi_cq_sread(ep->rx_cq, &entry, 1, NULL, -1);

		if (n == 1)
			ft_record(ep, &entry, FI_ADDR_NOTAVAIL);
		else if (n == -FI_EAVAIL)
			ft_take_error(ep, ep->rx_cq);
		else
			ft_fail("fi_cq_sread: %zd", n);
	}
}

/* Asleep on its descriptor. */
static void sleep_fd(struct ft_ep *ep, struct ft_op *op)
{
	struct fid *fids[1] = {&ep->rx_cq->fid};
	struct pollfd p = {.events = POLLIN};

	CHECK(fi_control(&ep->rx_cq->fid, FI_GETWAIT, &p.fd) == 0);
	while (!op->done) {
		FT_HERE();
		if (ft_poll_cq(ep, ep->rx_cq) == 0 && fi_trywait(ep->fabric, fids, 1) == 0)
			poll(&p, 1, -1);
	}
}

/* Nothing but the death itself could wake the survivor. */
static void kill_sleeper(enum fi_wait_obj wait, void (*sleeps)(struct ft_ep *, struct ft_op *))
{
	size_t len = 4u << 20; /* more than any core sends eagerly */
	char *buf = ft_buf(len);
	struct ft_ep ep;
	struct ft_op op;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV, .wait = wait});
	ft_handshake(&ep);
	if (ft.rank == VICTIM) {
		ft_await_word(READY, 1);
		ft_progress_for(0.3); /* the survivor sleeps */
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		ft_tsend(&ep, VICTIM, 5, buf, len, &op);
		ft.sh->word[READY] = 1;
		sleeps(&ep, &op);
		CHECK(ft.sh->word[DEATH]);
		CHECK(ft_outlive(&ep, &op, 0) != 0);
		if (ft_now() - (double)ft.sh->word[DEATH] * 1e-3 > FT_TOLD)
			ft_fail("no completion within %.1f s of the death", FT_TOLD);
		ft_survived(&ep, buf, len);
	}
	ft_close(&ep);
	free(buf);
}

/* Short messages wait for room at the victim: no request of theirs is under way when it dies. */
static void kill_asleep_starved(void)
{
	enum { N = 60000 }; /* takes more than the 16 MiB of FI_QUIVER_MEMORY */
	struct ft_op *ops = calloc(N, sizeof *ops);
	char *buf = ft_buf(8);
	struct ft_ep ep;

	CHECK(ops);
	ft_peer_limit(NULL, 0, "it has no budget for what waits, and takes all");
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV, .wait = FI_WAIT_FD});
	ft_handshake(&ep);
	if (ft.rank == VICTIM) {
		ft_await_word(READY, 1);
		ft_progress_for(1); /* the survivor sleeps */
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		for (size_t i = 0; i < N; i++)
			ft_tsend(&ep, VICTIM, 5, buf, 8, &ops[i]);
		ft.sh->word[READY] = 1;
		sleep_fd(&ep, &ops[N - 1]);
		CHECK(ft.sh->word[DEATH]);
		CHECK(ops[N - 1].err);
		if (ft_now() - (double)ft.sh->word[DEATH] * 1e-3 > FT_TOLD)
			ft_fail("no completion within %.1f s of the death", FT_TOLD);
		ft_survived(&ep, buf, 8);
	}
	ft_close(&ep);
	free(buf);
	free(ops);
}

static void kill_asleep(void)
{
	kill_sleeper(FI_WAIT_UNSPEC, sleep_sread);
}

static void kill_asleep_fd(void)
{
	kill_sleeper(FI_WAIT_FD, sleep_fd);
}

/* Who writes to the memory of a dead process hears of it, whether the core takes the call or has no way
 * to go for ever. A first write may still go well: it has left this host. */
static void kill_write(void)
{
	char *buf = ft_buf(8);
	struct ft_ep ep;
	struct ft_op op;
	ssize_t err = 0;
	double since;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV | FI_RMA});
	ft_handshake(&ep);
	if (ft.rank == VICTIM) {
		ft_await_word(READY, 1);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		ft.sh->word[READY] = 1;
		ft_mourn(&ep);
		for (since = ft_now(); !err; ft_play(&ep)) {
			FT_HERE();
			err = fi_write(ep.ep, buf, 8, NULL, ep.peer[VICTIM], 0, 7, ft_fresh(&op));
			if (!err)
				err = ft_outlive(&ep, &op, since);
			else if (err == -FI_EAGAIN)
				err = 0;
			if (!err && ft_now() - since > FT_TOLD)
				ft_fail("no answer within %.1f s", FT_TOLD);
		}
		ft_survived(&ep, buf, 8);
	}
	ft_close(&ep);
	free(buf);
}

/* False: the core takes no more while the victim does not look. */
static bool read_one(struct ft_window *w, size_t at, size_t len, struct ft_op *op)
{
	const double end = ft_now() + 1;
	ssize_t rc;

	do {
		ft_progress();
		rc = fi_read(w->ep.ep, w->buf + at, len, NULL, w->ep.peer[VICTIM],
			     w->addrs[VICTIM] + at, w->keys[VICTIM], ft_fresh(op));
	} while (rc == -FI_EAGAIN && ft_now() < end);
	CHECK(!rc || rc == -FI_EAGAIN);
	return !rc;
}

/* Who reads the memory of a process that does not look, and then dies, hears of each read: that it went
 * well, where the core needs nobody's help, or that it did not. */
static void kill_read(void)
{
	enum { N = 8, LEN = FT_WINDOW / N };
	struct ft_op ops[N];
	struct ft_window w;
	size_t n = 0;

	ft_open_window(&w, (struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_barrier();
	ft.sh->word[READY] = ft.sh->word[DEATH] = 0; /* keys were there */
	ft_barrier();
	ft_handshake(&w.ep);
	if (ft.rank == VICTIM) {
		while (!ft.sh->word[READY])
			ft_msleep(1);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&w.ep);
	} else {
		while (n < N && read_one(&w, n * LEN, LEN, &ops[n]))
			n++;
		ft.sh->word[READY] = 1;
		for (size_t i = 0; i < n; i++)
			ft_outlive(&w.ep, &ops[i], 0);
		ft_mourn(&w.ep);
		ft_survived(&w.ep, w.buf, FT_WINDOW);
	}
	ft_close_window(&w);
}

const struct ft_case ft_cases_kill_unknown[] = {
	{"kill_stranger", 3, 30, kill_stranger},
	{"kill_late_stranger", 3, 30, kill_late_stranger},
	{"kill_asleep", 3, 30, kill_asleep},
	{"kill_asleep_fd", 3, 30, kill_asleep_fd},
	{"kill_asleep_starved", 3, 30, kill_asleep_starved},
	{"kill_write", 3, 30, kill_write},
	{"kill_read", 3, 30, kill_read},
	{0},
};
