/* SPDX-License-Identifier: BSD-2-Clause */
/* assertion.c - FI_QUIVER_HINTS: receives that break a promise are refused, and
 * nothing else is. */
#include "tests/fabric/harness/ft.h"

/* An endpoint of a program that promises this; what it says on stderr goes to *said. */
static void open_with(struct ft_ep *ep, const char *hints, uint64_t caps, FILE **said)
{
	if (!ft.quiver)
		ft_skip("a setting of quiver");
	unsetenv("FI_LOG_LEVEL");
	setenv("FI_QUIVER_HINTS", hints, 1);
	ft_open(ep, &(struct ft_conf){.caps = caps});
	*said = ft_catch_stderr();
}

static uint64_t word;

/* Every call that could take a message: posted, looked at, claimed, discarded. */
static void refused(struct ft_ep *ep, fi_addr_t from, uint64_t ignore)
{
	static const uint64_t flags[] = {0, FI_PEEK, FI_PEEK | FI_CLAIM, FI_PEEK | FI_DISCARD};
	struct ft_op op = {0};
	struct iovec iov = {&word, sizeof(word)};
	struct fi_msg_tagged m = {.msg_iov = &iov,
				  .iov_count = 1,
				  .addr = from,
				  .tag = 5,
				  .ignore = ignore,
				  .context = &op};

	CHECK_EQ(-fi_trecv(ep->ep, &word, 8, NULL, from, 5, ignore, &op), FI_EINVAL);
	CHECK_EQ(-fi_trecvv(ep->ep, &iov, NULL, 1, from, 5, ignore, &op), FI_EINVAL);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		CHECK_EQ(-fi_trecvmsg(ep->ep, &m, flags[i]), FI_EINVAL);
	CHECK_EQ(op.done, 0);
}

/* The message that waits is there for an allowed receive. */
static void taken(struct ft_ep *ep, int from, uint64_t tag, uint64_t ignore, uint64_t want)
{
	struct ft_op op;

	ft_trecv(ep, from, tag, ignore, &word, 8, &op);
	ft_wait(&op);
	CHECK_EQ(word, want);
}

static void any_source(void)
{
	uint64_t out[3] = {10, 11, 12};
	struct ft_op op, claim;
	struct ft_ep ep;
	FILE *said;

	open_with(&ep, "mpi_assert_no_any_source", FI_DIRECTED_RECV, &said);
	if (ft.rank == 1) {
		for (uint64_t i = 0; i < 3; i++) {
			ft_tsend(&ep, 0, 5, &out[i], 8, &op);
			ft_wait(&op);
		}
		ft_send(&ep, 0, &out[0], 8, &op);
		ft_wait(&op);
		ft_barrier();
		ft_close(&ep);
		return;
	}
	while (ft_peek(&ep, true, 1, 5, 0, 0, &op) == FI_ENOMSG)
		ft_progress();
	refused(&ep, FI_ADDR_UNSPEC, 0);
	taken(&ep, 1, 5, 0, 10);
	taken(&ep, 1, 0, ~0ull, 11); /* of any tag: that was not promised */
	/* What was claimed from a source needs no source any more. */
	while (ft_peek(&ep, true, 1, 5, 0, FI_CLAIM, &claim) == FI_ENOMSG)
		ft_progress();
	struct iovec iov = {&word, sizeof(word)};
	struct fi_msg_tagged m = {.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC};

	claim.done = 0;
	m.context = &claim;
	OK(fi_trecvmsg(ep.ep, &m, FI_CLAIM));
	ft_wait(&claim);
	CHECK_EQ(word, 12);
	/* Untagged messages are the MPI's own. */
	ft_recv(&ep, FT_ANY, &word, 8, &op);
	ft_wait(&op);
	CHECK_EQ(word, 10);
	CHECK_EQ(ft_lines_with(said, "", ""), 1);
	CHECK_EQ(ft_lines_with(said, "quiver:", "mpi_assert_no_any_source"), 1);
	ft_barrier();
	ft_close(&ep);
}

/* The masks of Open MPI (with and without the source in the tag) and of MPICH. */
static void any_tag(void)
{
	static const uint64_t one_tag[] = {
		0,
		0x0000000100000000, /* Open MPI: an acknowledgement is asked for or not */
		0x000ffffd00000000, /* any source, in the tag */
		0x0000000000100000,
		0x000000ffffd00000,
		0x00e0000000000000, /* MPICH */
		0x00c0000000000000,
		0x00e3fffffff80000,
	};
	static const uint64_t all_tags[] = {
		0x000000017fffffff, 0x000ffffd7fffffff,
		0x000000000017ffff, 0x000000ffffd7ffff,
		0x00e000007fffffff, 0x00c000007fffffff,
		0x00e000000007ffff, ~0ull,
		0x0000000000007fff, 1,
	};
	enum { N = sizeof(one_tag) / sizeof(one_tag[0]) };
	uint64_t out[N];
	struct ft_op op;
	struct ft_ep ep;
	FILE *said;

	open_with(&ep, "no_any_tag, mpi_assert_exact_length", 0, &said);
	for (size_t i = 0; ft.rank == 1 && i < N; i++) {
		out[i] = 100 + i;
		ft_tsend(&ep, 0, i, &out[i], 8, &op);
		ft_wait(&op);
	}
	if (ft.rank == 0) {
		while (ft_peek(&ep, true, FT_ANY, N - 1, 0, 0, &op) == FI_ENOMSG)
			ft_progress();
		for (size_t i = 0; i < sizeof(all_tags) / sizeof(all_tags[0]); i++)
			refused(&ep, FI_ADDR_UNSPEC, all_tags[i]);
		for (size_t i = N; i-- > 0;)
			taken(&ep, FT_ANY, i, one_tag[i], 100 + i);
		CHECK_EQ(ft_lines_with(said, "", ""), 1);
		CHECK_EQ(ft_lines_with(said, "quiver:", "mpi_assert_no_any_tag"), 1);
	}
	ft_barrier();
	ft_close(&ep);
}

/* Without FI_DIRECTED_RECV no receive names a source, and none breaks the promise. */
static void undirected(void)
{
	uint64_t out = 77;
	struct ft_op op, tx;
	struct ft_ep ep;
	FILE *said;

	open_with(&ep, "no_any_source", 0, &said);
	ft_trecv(&ep, FT_ANY, 5, 0, &word, 8, &op);
	ft_tsend(&ep, ft.rank, 5, &out, 8, &tx);
	ft_wait(&op);
	ft_wait(&tx);
	CHECK_EQ(word, 77);
	CHECK_EQ(ft_lines_with(said, "", ""), 0);
	ft_close(&ep);
}

/* Lengths are compared and the order is kept whatever was promised of them. */
static void harmless(void)
{
	enum { N = 50 };
	uint64_t in[N][2], out[N];
	struct ft_op rx[N], tx[N];
	struct ft_ep ep;
	FILE *said;

	open_with(&ep, "exact_length,allow_overtaking", 0, &said);
	for (uint64_t i = 0; i < N; i++) {
		out[i] = i;
		ft_trecv(&ep, FT_ANY, 5, 0, in[i], i % 3 ? 16 : i % 2 ? 8 : 4, &rx[i]);
	}
	for (size_t i = 0; i < N; i++)
		ft_tsend(&ep, ft.rank, 5, &out[i], 8, &tx[i]);
	ft_wait_all(tx, N);
	for (size_t i = 0; i < N; i++) {
		if (i % 6) {
			ft_wait(&rx[i]);
			CHECK_EQ(in[i][0], i);
		} else {
			ft_wait_err(&rx[i], FI_ETRUNC);
		}
		CHECK_EQ(rx[i].len, i % 6 ? 8 : 4);
	}
	CHECK_EQ(ft_lines_with(said, "", ""), 0);
	ft_close(&ep);
}

const struct ft_case ft_cases_assertion[] = {
	{"promise_any_source", 2, 20, any_source},
	{"promise_any_tag", 2, 20, any_tag},
	{"promise_undirected", 1, 20, undirected},
	{"promise_harmless", 1, 20, harmless},
	{0},
};
