/* SPDX-License-Identifier: BSD-2-Clause */
/* large.c - messages of 64 MiB, and of 1 GiB where asked. */
#include "tests/fabric/harness/ft.h"

static void large(size_t len)
{
	char *buf = malloc(len + FT_GUARD);
	struct ft_ep ep;
	struct ft_op op;

	CHECK(buf);
	ft_guard(buf + len, 0);
	ft_open(&ep, &(struct ft_conf){0});
	for (int round = 0; round < 2; round++) { /* posted in time, then late */
		if (ft.rank == 1) {
			ft_fill(buf, len, (uint64_t)round);
			if (round == 0)
				ft_barrier();
			ft_tsend(&ep, 0, 1, buf, len, &op);
			if (round == 1) {
				ft_progress_for(0.01);
				ft_barrier();
			}
		} else {
			memset(buf, 0, len);
			if (round == 1)
				ft_barrier();
			ft_trecv(&ep, 1, 1, 0, buf, len, &op);
			if (round == 0)
				ft_barrier();
		}
		ft_wait(&op);
		if (ft.rank == 0) {
			CHECK_EQ(op.len, len);
			ft_verify(buf, len, (uint64_t)round, len);
		}
	}
	free(buf);
	ft_close(&ep);
}

static void large_64m(void)
{
	large(ft_scaled((size_t)64 << 20) + 3);
}

static void large_1g(void)
{
	large((size_t)1 << 30);
}

const struct ft_case ft_cases_large[] = {
	{"large_64m", 2, 30, large_64m},
	{"large_1g", 2, 120, large_1g},
	{0},
};
