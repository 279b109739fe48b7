/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kill.c - a peer dies by SIGKILL in mid-message: who has a transfer with it gets an error
 * within five seconds, and everybody else's traffic goes on meanwhile and after.
 *
 * Rank 0 survives, rank 1 dies, rank 2 plays ping-pong with rank 0 all the time.
 */
#include "kill.h"

#include <signal.h>

#define PLAY UINT64_C(1000)
#define STOP UINT64_C(2000)

void ft_die(void)
{
	ft.sh->rank[VICTIM].may_die = true;
	ft.sh->members = 2; /* nobody is at a barrier now */
	ft.sh->word[DEATH] = (uint64_t)(ft_now() * 1e3);
	raise(SIGKILL);
}

static void play(struct ft_ep *ep, uint64_t tag)
{
	uint64_t out = ft_scaled(1) + tag, in = 0;
	struct ft_op rx, tx;

	ft_trecv(ep, BYSTANDER, tag, 0, &in, 8, &rx);
	ft_tsend(ep, BYSTANDER, tag, &out, 8, &tx);
	ft_wait(&tx);
	ft_wait(&rx);
	CHECK_EQ(in, out);
}

void ft_play(struct ft_ep *ep)
{
	play(ep, PLAY);
}

void ft_bystander(struct ft_ep *ep)
{
	uint64_t word;
	struct ft_op rx, tx;

	do {
		ft_trecv(ep, SURVIVOR, 0, ~0ull, &word, 8, &rx);
		ft_wait(&rx);
		ft_tsend(ep, SURVIVOR, rx.tag, &word, 8, &tx);
		ft_wait(&tx);
	} while (rx.tag != STOP);
}

void ft_handshake(struct ft_ep *ep)
{
	uint64_t word = 0;
	struct ft_op op;

	if (ft.rank == SURVIVOR) {
		ft_tsend(ep, VICTIM, 1, &word, 8, &op);
		ft_wait(&op);
		ft_trecv(ep, VICTIM, 1, 0, &word, 8, &op);
		ft_wait(&op);
	} else if (ft.rank == VICTIM) {
		ft_trecv(ep, SURVIVOR, 1, 0, &word, 8, &op);
		ft_wait(&op);
		ft_tsend(ep, SURVIVOR, 1, &word, 8, &op);
		ft_wait(&op);
	}
}

int ft_outlive(struct ft_ep *ep, struct ft_op *op, double since)
{
	size_t rounds = 0;
	double now;

	while (!op->done) {
		ft_play(ep);
		rounds++;
		now = ft_now();
		if (ft.sh->word[DEATH] && now - since > FT_TOLD &&
		    now - (double)ft.sh->word[DEATH] * 1e-3 > FT_TOLD)
			ft_fail("no completion within %.1f s of the death", FT_TOLD);
	}
	printf("  %s: %s after %.2f s, %zu rounds meanwhile\n", ft.name, fi_strerror(op->err),
	       ft.sh->word[DEATH] ? ft_now() - (double)ft.sh->word[DEATH] * 1e-3 : 0.0, rounds);
	return op->err;
}

void ft_mourn(struct ft_ep *ep)
{
	while (!ft.sh->word[DEATH])
		ft_play(ep);
	ft_msleep(20); /* the signal has struck */
}

void ft_dismiss(struct ft_ep *ep)
{
	play(ep, STOP);
}

void ft_survived(struct ft_ep *ep, char *buf, size_t len)
{
	struct ft_op op;
	ssize_t ret;

	ft_fresh(&op);
	FT_HERE();
	while ((ret = fi_tsend(ep->ep, buf, len, NULL, ep->peer[VICTIM], 9, &op)) == -FI_EAGAIN)
		ft_progress();
	if (!ret)
		CHECK(ft_outlive(ep, &op, ft_now()) != 0);
	for (int i = 0; i < 200; i++)
		ft_play(ep);
	ft_dismiss(ep);
}

static void finish(struct ft_ep *ep, char *buf)
{
	ft_close(ep);
	free(buf);
}

/* The survivor's send waits for a receive that never comes. */
static void kill_send_pending(void)
{
	size_t len = 4u << 20;
	char *buf = ft_buf(len);
	struct ft_ep ep;
	struct ft_op op;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_handshake(&ep);
	if (ft.rank == VICTIM) {
		ft_await_word(READY, 1);
		ft_progress_for(0.05);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		ft_tsend(&ep, VICTIM, 5, buf, len, &op);
		ft_play(&ep);
		ft.sh->word[READY] = 1;
		CHECK(ft_outlive(&ep, &op, 0) != 0);
		ft_survived(&ep, buf, len);
	}
	finish(&ep, buf);
}

/* The message was announced, its sender dies, then the survivor posts the receive. */
static void kill_recv_pending(void)
{
	size_t len = 8u << 20;
	char *buf = ft_buf(len);
	struct ft_ep ep;
	struct ft_op op;

	ft_peer_limit("rxm", 0,
		      "it reads a message over a connection that it has closed, and crashes");
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_handshake(&ep);
	if (ft.rank == VICTIM) {
		ft_tsend(&ep, SURVIVOR, 5, buf, len, &op);
		ft_await_word(READY, 1);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		while (ft_peek(&ep, true, VICTIM, 5, 0, 0, &op) == FI_ENOMSG)
			ft_play(&ep);
		ft.sh->word[READY] = 1;
		ft_mourn(&ep);
		ft_trecv(&ep, VICTIM, 5, 0, buf, len, &op);
		CHECK(ft_outlive(&ep, &op, ft_now()) != 0);
		ft_survived(&ep, buf, len);
	}
	finish(&ep, buf);
}

/* Death while the bytes move: the message comes whole, or as an error. */
static void kill_in_transfer(bool victim_sends)
{
	size_t len = 192u << 20;
	char *buf = ft_buf(len);
	struct ft_ep ep;
	struct ft_op op;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_handshake(&ep);
	if (ep.info->ep_attr->max_msg_size < len) /* over verbs in peer mode */
		len = ep.info->ep_attr->max_msg_size;
	if (ft.rank != BYSTANDER)
		ft_fill(buf, len, victim_sends == (ft.rank == VICTIM));
	if (ft.rank == VICTIM) {
		if (victim_sends)
			ft_tsend(&ep, SURVIVOR, 5, buf, len, &op);
		else
			ft_trecv(&ep, SURVIVOR, 5, 0, buf, len, &op);
		ft_await_word(READY, 1);
		ft_progress_for(0.03);
		ft_die();
	} else if (ft.rank == BYSTANDER) {
		ft_bystander(&ep);
	} else {
		if (victim_sends)
			ft_trecv(&ep, VICTIM, 5, 0, buf, len, &op);
		else
			ft_tsend(&ep, VICTIM, 5, buf, len, &op);
		ft.sh->word[READY] = 1;
		if (ft_outlive(&ep, &op, 0) == 0 && victim_sends)
			ft_verify(buf, len, 1, len);
		ft_mourn(&ep);
		ft_survived(&ep, buf, len);
	}
	finish(&ep, buf);
}

static void kill_sender(void)
{
	kill_in_transfer(true);
}

static void kill_receiver(void)
{
	kill_in_transfer(false);
}

static void look_rarely(void)
{
	ft_msleep(50);
	ft_progress();
}

/* The receive of its send never comes. */
static void outlive_rarely(struct ft_ep *ep, char *buf, size_t len)
{
	struct ft_op op;

	ft_tsend(ep, VICTIM, 5, buf, len, &op);
	for (int i = 0; i < 100; i++)
		look_rarely();
	CHECK(!op.done);
	ft.sh->word[READY] = 1;
	while (!op.done)
		look_rarely();
	CHECK(op.err != 0);
	CHECK(ft_now() - (double)ft.sh->word[DEATH] * 1e-3 < 2);
}

/* As kill_send_pending, where the survivor computes, and looks twenty times in a second. */
static void kill_rarely(void)
{
	size_t len = 4u << 20;
	char *buf = ft_buf(len);
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_handshake(&ep);
	if (ft.rank == VICTIM) {
		ft_await_word(READY, 1);
		ft_die();
	} else if (ft.rank == SURVIVOR) {
		outlive_rarely(&ep, buf, len);
	}
	finish(&ep, buf);
}

const struct ft_case ft_cases_kill[] = {
	{"kill_send_pending", 3, 30, kill_send_pending},
	{"kill_recv_pending", 3, 30, kill_recv_pending},
	{"kill_sender", 3, 30, kill_sender},
	{"kill_receiver", 3, 30, kill_receiver},
	{"kill_rarely", 3, 40, kill_rarely},
	{0},
};
