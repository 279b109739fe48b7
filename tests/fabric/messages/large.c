/* SPDX-License-Identifier: BSD-2-Clause */
/* large.c - messages of 64 MiB, and of 1 GiB where asked; buffers whose memory is new each time. */
#include "tests/fabric/harness/ft.h"

#include <sys/mman.h>

static void large(size_t len)
{
	char *buf = malloc(len + FT_GUARD);
	struct ft_ep ep;
	struct ft_op op;

	CHECK(buf);
	ft_guard(buf + len, 0);
	ft_open(&ep, &(struct ft_conf){0});
	if (ft.peer && ep.info->ep_attr->max_msg_size < len)
		ft_skip("a limit of the core %s in peer mode: messages of %zu bytes at most",
			ft_core(), ep.info->ep_attr->max_msg_size);
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

/* Buffers at one address, whose pages are given back after each message: who keeps a registration of
 * them, or the address of a page, sends old bytes or writes where nobody looks. */
static void remap(void)
{
	enum { ROUNDS = 24, ROOM = 2 << 20 };
	static const size_t lens[] = {1 << 20, 70000, 300000, 5000};
	void *at = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ft_ep ep;
	struct ft_op op;

	CHECK(at != MAP_FAILED);
	ft_open(&ep, &(struct ft_conf){0});
	for (uint64_t round = 0; round < ROUNDS; round++) {
		const size_t len = lens[round % 4];
		char *buf = mmap(at, ROOM, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		CHECK(buf == at);
		if ((int)(round / 4 % 2) == ft.rank) {
			ft_fill(buf, len, round);
			ft_tsend(&ep, !ft.rank, round, buf, len, &op);
			ft_wait(&op);
		} else {
			ft_guard(buf, len);
			ft_trecv(&ep, !ft.rank, round, 0, buf, len, &op);
			ft_wait(&op);
			CHECK_EQ(op.len, len);
			ft_verify(buf, len, round, len);
		}
		CHECK(mmap(at, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		      at);
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_large[] = {
	{"remap", 2, 30, remap},
	{"large_64m", 2, 30, large_64m},
	{"large_1g", 2, 120, large_1g},
	{0},
};
