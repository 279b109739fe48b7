/* SPDX-License-Identifier: BSD-2-Clause */
/* cancel.c - taking receives back, also while their message arrives. */
#include "tests/fabric/harness/ft.h"

static void post(struct ft_ep *ep, bool tagged, void *buf, size_t len, struct ft_op *op)
{
	if (tagged)
		ft_trecv(ep, 1, 5, 0, buf, len, op);
	else
		ft_recv(ep, 1, buf, len, op);
}

static void cancel(bool tagged)
{
	struct ft_ep ep;
	struct ft_op rx[4], tx;
	uint64_t in[4] = {0}, out = 99;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	if (ft.rank == 0) {
		for (int i = 0; i < 4; i++)
			post(&ep, tagged, &in[i], 8, &rx[i]);
		OK(fi_cancel(&ep.ep->fid, &rx[1])); /* from the middle */
		ft_wait_err(&rx[1], FI_ECANCELED);
		OK(fi_cancel(&ep.ep->fid, &rx[0])); /* the oldest */
		ft_wait_err(&rx[0], FI_ECANCELED);
		OK(fi_cancel(&ep.ep->fid, &rx[3])); /* the youngest */
		ft_wait_err(&rx[3], FI_ECANCELED);
		/* what is not posted: no effect, whatever the call answers */
		fi_cancel(&ep.ep->fid, &rx[0]);
		fi_cancel(&ep.ep->fid, &tx);
		ft_progress_for(0.005);
	}
	ft_barrier();
	if (ft.rank == 1) {
		if (tagged)
			ft_tsend(&ep, 0, 5, &out, 8, &tx);
		else
			ft_send(&ep, 0, &out, 8, &tx);
		ft_wait(&tx);
	} else {
		ft_wait(&rx[2]);
		CHECK_EQ(in[2], 99);
		CHECK_EQ(in[0] + in[1] + in[3], 0);
		fi_cancel(&ep.ep->fid, &rx[2]); /* too late */
		ft_progress_for(0.005);
		for (int i = 0; i < 4; i++)
			CHECK_EQ(rx[i].done, 1);
	}
	ft_close(&ep);
}

static void cancel_tagged(void)
{
	cancel(true);
}

static void cancel_msg(void)
{
	cancel(false);
}

/* Rank 0 lets rank 1 send and cancels a random moment later: either the message or the
 * cancellation, once; a cancelled receive leaves the message to the next one. */
static void race(bool tagged, size_t len)
{
	char *buf = ft_buf(len);
	struct ft_ep ep;
	uint64_t state = 3;
	size_t cancelled = 0, n = ft_scaled(1500);

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	for (size_t i = 1; i <= n; i++) {
		struct ft_op op;

		if (ft.rank == 1) {
			ft_fill(buf, len, i);
			ft_await_word(0, i);
			if (tagged)
				ft_tsend(&ep, 0, 5, buf, len, &op);
			else
				ft_send(&ep, 0, buf, len, &op);
			ft_wait(&op);
			continue;
		}
		ft_guard(buf, len);
		post(&ep, tagged, buf, len, &op);
		ft.sh->word[0] = i;
		for (uint64_t spin = ft_random(&state) % 40; spin; spin--)
			ft_progress();
		fi_cancel(&ep.ep->fid, &op);
		while (!op.done)
			ft_progress();
		CHECK_EQ(op.done, 1);
		CHECK(op.err == 0 || op.err == FI_ECANCELED);
		if (op.err) {
			cancelled++;
			ft_verify(buf, 0, 0, len); /* nothing was written */
			post(&ep, tagged, buf, len, &op);
			ft_wait(&op);
		}
		CHECK_EQ(op.len, len);
		ft_verify(buf, len, i, len);
	}
	ft_progress_for(0.002);
	if (ft.rank == 0)
		printf("  %s: %zu of %zu cancelled\n", ft.name, cancelled, n);
	free(buf);
	ft_close(&ep);
}

static void cancel_race_small(void)
{
	race(true, 64);
}

static void cancel_race_large(void)
{
	race(true, 100000);
}

static void cancel_race_msg(void)
{
	race(false, 64);
}

const struct ft_case ft_cases_cancel[] = {
	{"cancel_tagged", 2, 20, cancel_tagged},
	{"cancel_msg", 2, 20, cancel_msg},
	{"cancel_race_small", 2, 30, cancel_race_small},
	{"cancel_race_large", 2, 30, cancel_race_large},
	{"cancel_race_msg", 2, 30, cancel_race_msg},
	{0},
};
