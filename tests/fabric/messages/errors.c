/* SPDX-License-Identifier: BSD-2-Clause */
/* errors.c - error completions have their place among the others. */
#include "tests/fabric/harness/ft.h"

/* A queue of completions as its reader sees it: contexts, and whether they came as errors. */
struct told {
	void *context;
	bool error;
};

static size_t read_told(struct ft_ep *ep, struct told *told, size_t max, size_t at_once)
{
	struct fi_cq_tagged_entry e[8];
	struct fi_cq_err_entry err = {0};
	ssize_t n;

	FT_HERE();
	n = ep->conf.wait ? fi_cq_sread(ep->rx_cq, e, at_once, NULL, 0)
			  : fi_cq_read(ep->rx_cq, e, at_once);
	if (n == -FI_EAVAIL) {
		/* until it is taken, nothing else is told */
		CHECK_EQ(fi_cq_read(ep->rx_cq, e, at_once), -FI_EAVAIL);
		CHECK_EQ(fi_cq_readerr(ep->rx_cq, &err, 0), 1);
		CHECK(max >= 1);
		told[0] = (struct told){err.op_context, true};
		return 1;
	}
	if (n == -FI_EAGAIN)
		return 0;
	CHECK(n > 0 && (size_t)n <= max);
	for (ssize_t i = 0; i < n; i++)
		told[i] = (struct told){e[i].op_context, false};
	return (size_t)n;
}

/* Errors are told in the order in which they came among the others, in whatever portions these are
 * read: looks at what waits succeed (a message is there) and fail (none is), as they are made. */
static void errors_in_order(void)
{
	enum { N = 700 };
	static struct ft_op op[N];
	static struct told told[N];
	static const size_t portions[] = {1, 3, 8};
	struct fi_cq_err_entry err = {0};
	uint64_t word = 1, state = 5;
	struct ft_op rx, tx;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	if (ft.rank == 1) {
		ft_tsend(&ep, 0, 1, &word, 8, &tx);
		ft_wait(&tx);
		ft_barrier();
		ft_close(&ep);
		return;
	}
	while (ft_peek(&ep, true, 1, 1, 0, 0, &rx) == FI_ENOMSG)
		;
	for (size_t p = 0; p < sizeof portions / sizeof *portions; p++) {
		static bool fails[N];
		size_t n = 0;

		for (size_t i = 0; i < N; i++) {
			struct fi_msg_tagged m = {.addr = FI_ADDR_UNSPEC, .context = &op[i]};

			fails[i] = ft_random(&state) % 4 == 0;
			m.tag = fails[i] ? 2 : 1;
			OK(fi_trecvmsg(ep.ep, &m, FI_PEEK));
			if (i == 100) /* some are read before the queue grows */
				n += read_told(&ep, told, N, portions[p]);
		}
		if (!fails[n]) /* not before those that came first */
			CHECK_EQ(fi_cq_readerr(ep.rx_cq, &err, 0), -FI_EAGAIN);
		while (n < N) {
			size_t got = read_told(&ep, &told[n], N - n, portions[p]);

			CHECK(got); /* all are there already */
			n += got;
		}
		for (size_t i = 0; i < N; i++) {
			CHECK(told[i].context == &op[i]);
			CHECK_EQ(told[i].error, fails[i]);
		}
		CHECK_EQ(read_told(&ep, told, 1, 1), 0);
	}
	ft_trecv(&ep, 1, 1, 0, &word, 8, &rx);
	ft_wait(&rx);
	ft_barrier();
	ft_close(&ep);
}

/* The same of what a reader's own call finds: a message that does not fit among others. The queue
 * is empty when it is read, so that entries may go straight to the reader. */
static void errors_among_arrivals(void)
{
	enum { N = 60, BAD = 20 };
	static struct ft_op op[N];
	static uint64_t buf[N][2];
	struct told told[N];
	struct ft_ep ep;
	size_t n = 0;

	ft_open(&ep, &(struct ft_conf){0});
	if (ft.rank == 1) {
		ft_tsend(&ep, 0, 9, &n, 8, &op[0]);
		ft_wait(&op[0]);
		ft_barrier();
		for (uint64_t i = 0; i < N; i++) {
			uint64_t two[2] = {i, i};

			POST(fi_tinject(ep.ep, two, i % BAD == BAD / 2 ? 16 : 8, ep.peer[0], 3));
		}
		ft_barrier();
	} else {
		ft_trecv(&ep, 1, 9, 0, buf[0], 8, &op[0]);
		ft_wait(&op[0]);
		for (size_t i = 0; i < N; i++)
			ft_trecv(&ep, 1, 3, 0, buf[i], 8, &op[i]);
		ft_barrier_idle();
		ft_barrier_idle();
		ft_msleep(50);
		for (double end = ft_now() + 10 * ft.patience; n < N;) {
			n += read_told(&ep, &told[n], N - n, 8);
			CHECK(ft_now() < end);
		}
		for (size_t i = 0; i < N; i++) {
			CHECK(told[i].context == &op[i]);
			CHECK_EQ(told[i].error, i % BAD == BAD / 2);
		}
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_errors[] = {
	{"errors_in_order", 2, 20, errors_in_order},
	{"errors_among_arrivals", 2, 20, errors_among_arrivals},
	{0},
};
