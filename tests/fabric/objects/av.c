/* SPDX-License-Identifier: BSD-2-Clause */
/* av.c - address vectors: many, twice, removed, and senders that are not in them. */
#include "tests/fabric/harness/ft.h"

#include <netinet/in.h>
#include <stddef.h>

enum { MANY = 1000, MANY_SHM = 200 }; /* shm of libfabric 1.17 takes 256 peers in all */

/* A well-formed address of nobody, like ours in everything else. */
static size_t make_up(struct ft_ep *ep, char *name, int i)
{
	const struct ft_rank *me = &ft.sh->rank[ft.rank];
	size_t len = me->namelen[ep->index];

	memcpy(name, me->name[ep->index], len);
	if (ep->info->addr_format == FI_SOCKADDR_IN)
		((struct sockaddr_in *)(void *)name)->sin_addr.s_addr =
			htonl(0x7f100000u + (uint32_t)i);
	else if (ft_pair() && len > sizeof(struct sockaddr_in)) /* the network's is the last part */
		memcpy(name + len - sizeof(struct sockaddr_in) +
			       offsetof(struct sockaddr_in, sin_addr),
		       &(uint32_t){htonl(0x7f100000u + (uint32_t)i)}, sizeof(uint32_t));
	else if (ep->info->addr_format == FI_ADDR_STR)
		len += (size_t)sprintf(name + len - 1, "x%d", i);
	else
		ft_skip("no made-up addresses of format %u", ep->info->addr_format);
	return len;
}

static void pingpong(struct ft_ep *ep, fi_addr_t to, uint64_t id)
{
	for (int turn = 0; turn < 2; turn++) {
		uint64_t word = id;
		struct ft_op op;

		if (turn == ft.rank) {
			POST(fi_tsend(ep->ep, &word, 8, NULL, to, id, ft_fresh(&op)));
		} else {
			word = 0;
			POST(fi_trecv(ep->ep, &word, 8, NULL, to, id, 0, ft_fresh(&op)));
		}
		ft_wait(&op);
		CHECK_EQ(word, id);
		CHECK(turn == ft.rank || op.src == to);
	}
}

static void check_lookup(struct ft_ep *ep, fi_addr_t addr, const char *name, size_t len)
{
	char got[FT_MAX_NAME], text[FT_MAX_NAME];
	size_t got_len = sizeof(got), text_len = sizeof(text);

	OK(fi_av_lookup(ep->av, addr, got, &got_len));
	CHECK(got_len >= len - 1 && !memcmp(got, name, len - 1));
	CHECK(fi_av_straddr(ep->av, got, text, &text_len) == text && text[0] &&
	      text_len <= FT_MAX_NAME);
	got_len = 4; /* too short: says how much it needs, writes no more */
	got[4] = '#';
	fi_av_lookup(ep->av, addr, got, &got_len);
	CHECK(got_len >= len - 1 && got[4] == '#');
}

static void av_many(enum fi_av_type type)
{
	static char names[MANY][FT_MAX_NAME];
	static fi_addr_t addrs[MANY];
	struct fi_av_attr attr = {.type = type, .count = 8};
	struct ft_ep ep;
	int many = !strcmp(ft_core(), "shm") && !ft_pair() ? MANY_SHM : MANY;
	size_t len = 0;

	ft_open_domain(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	OK(fi_close(&ep.av->fid));
	OK(fi_av_open(ep.domain, &attr, &ep.av, NULL));
	ft_open_ep(&ep);
	ft_exchange(&ep);
	if (type == FI_AV_TABLE)
		CHECK(ep.peer[0] == 0 && ep.peer[1] == 1);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < many; i++) {
			len = make_up(&ep, names[i], 100 + i);
			CHECK_EQ(fi_av_insert(ep.av, names[i], 1, &addrs[i], 0, NULL), 1);
			CHECK(addrs[i] != ep.peer[0] && addrs[i] != ep.peer[1]);
			CHECK(i == 0 || addrs[i] != addrs[i - 1]);
		}
		check_lookup(&ep, addrs[0], names[0], len);
		check_lookup(&ep, addrs[many - 1], names[many - 1], len);
		pingpong(&ep, ep.peer[!ft.rank], 1);
		OK(fi_av_remove(ep.av, addrs, (size_t)many / 2, 0));
		check_lookup(&ep, addrs[many - 1], names[many - 1], len);
		pingpong(&ep, ep.peer[!ft.rank], 2);
		OK(fi_av_remove(ep.av, addrs + many / 2, (size_t)many / 2, 0));
		pingpong(&ep, ep.peer[!ft.rank], 3);
	}
	ft_close(&ep);
}

static void av_table(void)
{
	av_many(FI_AV_TABLE);
}

static void av_map(void)
{
	av_many(FI_AV_MAP);
}

/* As many as a large machine has; the two that exist come last. */
#ifdef __SANITIZE_THREAD__
enum { PER_ADDRESS = 4000 }; /* with what it knows of each word */
#else
enum { PER_ADDRESS = 400 };
#endif

static void av_huge(void)
{
	enum { N = 100000 };
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .count = N};
	fi_addr_t *addrs = calloc(N, sizeof(*addrs));
	char *names, *at;
	struct ft_ep ep;
	size_t before;

	if (!ft.quiver)
		ft_skip("cores take fewer");
	ft_peer_limit("shm", 0, "it has 256 addresses");
	ft_peer_limit("rxm", 0, "it has memory for each address");
	ft_open_domain(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	OK(fi_close(&ep.av->fid));
	OK(fi_av_open(ep.domain, &attr, &ep.av, NULL));
	ft_open_ep(&ep);
	at = names = calloc(N, ft.sh->rank[ft.rank].namelen[ep.index] + 8);
	CHECK(names && addrs);
	for (int i = 0; i < N; i++)
		at += make_up(&ep, at, i);
	before = ft_vm_hwm();
	CHECK_EQ(fi_av_insert(ep.av, names, N, addrs, 0, NULL), N);
	for (uint64_t i = 0; i < N; i++)
		CHECK_EQ(addrs[i], i);
	ft_exchange(&ep);
	CHECK(ep.peer[0] == N && ep.peer[1] == N + 1);
	pingpong(&ep, ep.peer[!ft.rank], 1);
	CHECK(ft_vm_hwm() - before < (size_t)PER_ADDRESS * N + (32 << 20));
	OK(fi_av_remove(ep.av, addrs, N, 0));
	pingpong(&ep, ep.peer[!ft.rank], 2);
	free(names);
	free(addrs);
	ft_close(&ep);
}

/* An address inserted twice serves under both names; removed once, under the other. */
static void av_twice(void)
{
	struct ft_ep ep;
	fi_addr_t again;
	struct ft_op rx, tx;
	uint64_t in = 0, out = 6;
	const char *name;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	name = ft.sh->rank[!ft.rank].name[0];
	CHECK_EQ(fi_av_insert(ep.av, name, 1, &again, 0, NULL), 1);
	for (int i = 0; i < 4; i++) { /* to either name, received from either */
		POST(fi_trecv(ep.ep, &in, 8, NULL, i % 2 ? again : ep.peer[!ft.rank], 1, 0,
			      ft_fresh(&rx)));
		POST(fi_tsend(ep.ep, &out, 8, NULL, i / 2 ? again : ep.peer[!ft.rank], 1,
			      ft_fresh(&tx)));
		ft_wait(&rx);
		ft_wait(&tx);
		CHECK_EQ(in, 6);
	}
	ft_barrier();
	OK(fi_av_remove(ep.av, &again, 1, 0));
	ft_trecv(&ep, !ft.rank, 2, 0, &in, 8, &rx);
	ft_tsend(&ep, !ft.rank, 2, &out, 8, &tx);
	ft_wait(&rx);
	ft_wait(&tx);
	ft_close(&ep);
}

/* Removed and inserted again between messages: the peer is the same, nothing is lost. */
static void av_again(void)
{
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	for (uint64_t i = 0; i < 20; i++) {
		pingpong(&ep, ep.peer[!ft.rank], i);
		ft_barrier();
		if (i % 2 == (uint64_t)ft.rank) {
			OK(fi_av_remove(ep.av, &ep.peer[!ft.rank], 1, 0));
			CHECK_EQ(fi_av_insert(ep.av, ft.sh->rank[!ft.rank].name[0], 1,
					      &ep.peer[!ft.rank], 0, NULL),
				 1);
		}
		ft_barrier();
	}
	ft_close(&ep);
}

/* Rank 0 does not know rank 1: its messages match any-source receives, come from nobody, and are
 * rank 1's from the moment it is inserted, those that wait already too. */
static void unknown_sender(void)
{
	static const size_t lens[] = {8, 100, 30000, 8, 30000, 100};
	char *buf = ft_buf(30000);
	struct ft_op op[6], mark;
	struct ft_ep ep;
	uint64_t word = 0;

	ft_open_domain(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	ft_open_ep(&ep);
	ft_barrier();
	for (int i = 0; i < 2; i++) {
		if (ft.rank == 1 || i == 0)
			CHECK_EQ(fi_av_insert(ep.av, ft.sh->rank[i].name[0], 1, &ep.peer[i], 0,
					      NULL),
				 1);
	}
	ft_barrier();
	if (ft.rank == 1) {
		char *out = malloc(6 * 30000);

		CHECK(out);
		for (size_t i = 0; i < 6; i++) {
			ft_fill(out + i * 30000, lens[i], i);
			ft_tsend(&ep, 0, i, out + i * 30000, lens[i], &op[i]);
		}
		ft_send(&ep, 0, &word, 8, &mark);
		ft_wait(&mark);
		ft_wait_all(op, 6);
		free(out);
	} else {
		ft_recv(&ep, FT_ANY, &word, 8, &mark);
		ft_wait(&mark);
		CHECK_EQ(mark.src, FI_ADDR_NOTAVAIL);
		for (size_t i = 0; i < 6; i++) {
			int from = i == 3 || i == 4 ? 1 : FT_ANY;

			if (i == 3) /* now it has a name */
				CHECK_EQ(fi_av_insert(ep.av, ft.sh->rank[1].name[0], 1, &ep.peer[1],
						      0, NULL),
					 1);
			ft_guard(buf, 30000);
			ft_trecv(&ep, from, i, 0, buf, 30000, &op[i]);
			ft_wait(&op[i]);
			CHECK_EQ(op[i].src, i < 3 ? FI_ADDR_NOTAVAIL : ep.peer[1]);
			CHECK_EQ(op[i].len, lens[i]);
			ft_verify(buf, lens[i], i, 30000);
		}
	}
	free(buf);
	ft_close(&ep);
}

/* The receive was there before the sender had a name. */
static void unknown_then_directed(void)
{
	struct ft_op op[2];
	struct ft_ep ep;
	uint64_t word[2] = {5, 6};

	ft_open_domain(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	ft_open_ep(&ep);
	ft_barrier();
	if (ft.rank == 1) {
		CHECK_EQ(fi_av_insert(ep.av, ft.sh->rank[0].name[0], 1, &ep.peer[0], 0, NULL), 1);
		ft_tsend(&ep, 0, 1, &word[0], 8, &op[0]); /* takes the any-source receive */
		ft_wait(&op[0]);
		ft_await_word(0, 1);
		ft_tsend(&ep, 0, 1, &word[1], 8, &op[1]); /* takes the directed one */
		ft_wait(&op[1]);
	} else {
		ft_trecv(&ep, FT_ANY, 1, 0, &word[0], 8, &op[0]);
		ft_wait(&op[0]);
		CHECK_EQ(fi_av_insert(ep.av, ft.sh->rank[1].name[0], 1, &ep.peer[1], 0, NULL), 1);
		ft_trecv(&ep, 1, 1, 0, &word[1], 8, &op[1]);
		ft.sh->word[0] = 1;
		ft_wait(&op[1]);
		CHECK_EQ(op[1].src, ep.peer[1]);
		CHECK(word[0] == 5 && word[1] == 6);
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_av[] = {
	{"av_table", 2, 20, av_table},
	{"av_map", 2, 20, av_map},
	{"av_huge", 2, 30, av_huge},
	{"av_twice", 2, 20, av_twice},
	{"av_again", 2, 20, av_again},
	{"unknown_sender", 2, 20, unknown_sender},
	{"unknown_then_directed", 2, 20, unknown_then_directed},
	{0},
};
