/* SPDX-License-Identifier: BSD-2-Clause */
/* close.c - ends of endpoints: receives posted, sends queued, others beside them. */
#include "tests/fabric/harness/ft.h"

#include <time.h>

static void close_posted(void)
{
	enum { N = 100 };
	static struct ft_op op[2 * N];
	static uint64_t buf[2 * N];
	struct ft_ep ep;

	for (int again = 0; again < 3; again++) {
		ft_open(&ep, &(struct ft_conf){0});
		for (size_t i = 0; i < N; i++) {
			ft_trecv(&ep, FT_ANY, i, i % 2 ? 0 : ~0ull, &buf[i], 8, &op[i]);
			ft_recv(&ep, FT_ANY, &buf[N + i], 8, &op[N + i]);
		}
		ft_close(&ep);
	}
}

/* Unexpected messages that nobody takes, small and rendezvous, go with the endpoint. */
static void close_queued(void)
{
	enum { N = 50 };
	static struct ft_op op[N], mark;
	static char buf[20000];
	uint64_t word = 0;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	if (ft.rank == 0) {
		ft_recv(&ep, 1, &word, 8, &mark);
		ft_wait(&mark);
	} else {
		for (size_t i = 0; i < N; i++)
			ft_tsend(&ep, 0, i, buf, i % 2 ? sizeof(buf) : 100, &op[i]);
		ft_send(&ep, 0, &word, 8, &mark);
		ft_wait(&mark);
	}
	ft_close(&ep);
}

/* Injects belong to the provider: they arrive although the sender closes at once and the receiver
 * was asleep. */
static void close_after_inject(void)
{
	size_t n = ft_scaled(5000);
	uint64_t word = 0, sum = 0;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	ft_barrier_idle();
	if (ft.rank == 1) {
		for (size_t i = 1; i <= n; i++) {
			word = i;
			POST(fi_tinject(ep.ep, &word, 8, ep.peer[0], 7));
		}
		ft_close_ep(&ep);
	} else {
		ft_msleep(300);
		for (size_t i = 1; i <= n; i++) {
			struct ft_op op;

			ft_trecv(&ep, 1, 7, 0, &word, 8, &op);
			ft_wait(&op);
			CHECK_EQ(word, i);
			sum += word;
		}
		CHECK_EQ(sum, n * (n + 1) / 2);
	}
	ft_close(&ep);
}

/* The same of as much as may be injected, more than the receiver has room for. */
static void close_after_long_inject(void)
{
	enum { N = 200, MOST = 4096 };
	char *buf = ft_buf(MOST);
	struct ft_ep ep;
	size_t len;

	setenv("FI_QUIVER_MEMORY", "65536", 1);
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	len = ep.info->tx_attr->inject_size;
	len = len < MOST ? len : MOST;
	ft_barrier_idle();
	for (size_t i = 0; ft.rank == 1 && i < N; i++) {
		ft_fill(buf, len, i);
		POST(fi_tinject(ep.ep, buf, len, ep.peer[0], i));
		memset(buf, 0, len);
	}
	if (ft.rank == 1)
		ft_close_ep(&ep);
	else
		ft_msleep(1500);
	for (size_t i = N; ft.rank == 0 && i--;) {
		struct ft_op op;

		ft_guard(buf, len);
		ft_trecv(&ep, 1, i, 0, buf, len, &op);
		ft_wait(&op);
		ft_verify(buf, len, i, len);
	}
	ft_close(&ep);
	free(buf);
}

/* Sends whose completion was seen belong to the provider as well. */
static void close_after_send(void)
{
	enum { N = 500, LEN = 3000 };
	static struct ft_op op[N];
	static char buf[N][LEN + FT_GUARD];
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	for (size_t i = 0; i < N; i++) {
		if (ft.rank == 1) {
			ft_fill(buf[i], LEN, i);
			ft_tsend(&ep, 0, i, buf[i], LEN, &op[i]);
		} else {
			ft_guard(buf[i], LEN);
			ft_trecv(&ep, 1, i, 0, buf[i], LEN, &op[i]);
		}
	}
	ft_wait_all(op, N);
	if (ft.rank == 1)
		ft_close_ep(&ep);
	for (size_t i = 0; ft.rank == 0 && i < N; i++)
		ft_verify(buf[i], LEN, i, LEN);
	ft_close(&ep);
}

/* Two endpoints in one domain with one address vector; every one speaks to every one. */
static void several_endpoints(void)
{
	struct ft_op tx[2][2][2], rx[2][2][2];
	clock_t start; /* of this process: a starved machine is no fault */
	uint64_t out[2] = {0}, in[2][2][2];
	struct ft_ep ep[2];

	ft_open(&ep[0], &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	ft_open(&ep[1], &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV, .beside = &ep[0]});
	for (int to = 0; to < 2; to++) {
		for (int r = 0; r < 2; r++) {
			for (int from = 0; from < 2; from++)
				POST(fi_trecv(ep[to].ep, &in[to][r][from], 8, NULL,
					      ep[from].peer[r], 3, 0, ft_fresh(&rx[to][r][from])));
		}
	}
	for (int from = 0; from < 2; from++) {
		out[from] = (uint64_t)(ft.rank * 10 + from);
		for (int r = 0; r < 2; r++) {
			for (int to = 0; to < 2; to++)
				POST(fi_tsend(ep[from].ep, &out[from], 8, NULL, ep[to].peer[r], 3,
					      ft_fresh(&tx[from][r][to])));
		}
	}
	for (int to = 0; to < 2; to++) {
		for (int r = 0; r < 2; r++) {
			for (int from = 0; from < 2; from++) {
				ft_wait(&rx[to][r][from]);
				ft_wait(&tx[to][r][from]);
				CHECK_EQ(in[to][r][from], r * 10 + from);
				CHECK_EQ(rx[to][r][from].src, ep[from].peer[r]);
			}
		}
	}
	ft_barrier();
	start = clock();
	ft_close_part(&ep[1]);
	/* nobody is waited for until the time is up */
	CHECK(!ft.quiver || clock() - start < CLOCKS_PER_SEC);
	/* the one that is left goes on */
	ft_trecv(&ep[0], !ft.rank, 4, 0, &in[0][0][0], 8, &rx[0][0][0]);
	ft_tsend(&ep[0], !ft.rank, 4, &out[0], 8, &tx[0][0][0]);
	ft_wait(&rx[0][0][0]);
	ft_wait(&tx[0][0][0]);
	CHECK_EQ(in[0][0][0], !ft.rank * 10);
	ft_close(&ep[0]);
}

/* Objects in use refuse to be closed. */
static void close_busy(void)
{
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	CHECK_EQ(-fi_close(&ep.rx_cq->fid), FI_EBUSY);
	CHECK_EQ(-fi_close(&ep.domain->fid), FI_EBUSY);
	CHECK_EQ(-fi_close(&ep.fabric->fid), FI_EBUSY);
	ft_close(&ep);
}

/* A second endpoint of a domain that has room for one, as over rxm in peer mode. */
static void one_too_many(struct ft_ep *ep)
{
	FILE *err = ft_catch_stderr();
	struct fid_ep *second;

	OK(fi_endpoint(ep->domain, ep->info, &second, NULL));
	OK(fi_ep_bind(second, &ep->av->fid, 0));
	OK(fi_ep_bind(second, &ep->rx_cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK(fi_enable(second) < 0);
	CHECK_EQ(ft_lines_with(err, "quiver:", "one endpoint"), ft.quiver);
	fclose(err);
	OK(fi_close(&second->fid));
}

/* An endpoint goes, and the next one of the same domain has its place; three times, with messages
 * that wait when it goes. */
static void next_endpoint(void)
{
	struct ft_ep ep, next;
	struct ft_op op[3];
	uint64_t word = 7, in = 0;

	ft_open(&ep, &(struct ft_conf){0});
	if (ep.info->domain_attr->ep_cnt == 1)
		one_too_many(&ep);
	for (int i = 0; i < 3; i++) {
		ft_tsend(&ep, !ft.rank, 1, &word, 8, &op[0]);
		ft_wait(&op[0]);
		ft_trecv(&ep, !ft.rank, 2, 0, &in, 8, &op[1]);
		ft_barrier();
		ft_close_ep(&ep);
		next = ep;
		ft_open_ep(&next);
		ft_exchange(&next);
		ft_trecv(&next, !ft.rank, 3, 0, &in, 8, &op[1]);
		word = (uint64_t)(10 * i + ft.rank);
		ft_tsend(&next, !ft.rank, 3, &word, 8, &op[2]);
		ft_wait(&op[1]);
		ft_wait(&op[2]);
		CHECK_EQ(in, 10 * i + !ft.rank);
		CHECK(ft_peek(&next, true, FT_ANY, 1, 0, 0, &op[0]) == FI_ENOMSG);
		ft_barrier();
		ft_close_ep(&next);
		ft_open_ep(&ep);
		ft_exchange(&ep);
	}
	ft_close(&ep);
}

/* Of two endpoints of a domain the first goes, and a third comes: what is sent to each arrives there. */
static void third_endpoint(void)
{
	struct ft_ep ep[2], third;
	struct ft_op tx[2], rx[2];
	uint64_t out[2], in[2] = {0};

	ft_open(&ep[0], &(struct ft_conf){0});
	if (ep[0].info->domain_attr->ep_cnt == 1)
		ft_skip("a domain of %s has one endpoint", ft_core());
	ft_open(&ep[1], &(struct ft_conf){.beside = &ep[0]});
	ft_barrier();
	ft_close_ep(&ep[0]);
	third = ep[0];
	ft_open_ep(&third);
	ft_exchange(&third);
	for (int i = 0; i < 2; i++) {
		struct ft_ep *at = i ? &ep[1] : &third;

		out[i] = (uint64_t)(10 * i + ft.rank);
		ft_trecv(at, !ft.rank, 3, 0, &in[i], 8, &rx[i]);
		ft_tsend(at, !ft.rank, 3, &out[i], 8, &tx[i]);
	}
	for (int i = 0; i < 2; i++) {
		ft_wait(&rx[i]);
		ft_wait(&tx[i]);
		CHECK_EQ(in[i], 10 * i + !ft.rank);
	}
	ft_barrier();
	ft_close_part(&ep[1]);
	ft_close(&third);
}

const struct ft_case ft_cases_close[] = {
	{"close_posted", 2, 20, close_posted},
	{"close_queued", 2, 20, close_queued},
	{"close_after_inject", 2, 20, close_after_inject},
	{"close_after_long_inject", 2, 20, close_after_long_inject},
	{"close_after_send", 2, 20, close_after_send},
	{"close_busy", 1, 20, close_busy},
	{"several_endpoints", 2, 20, several_endpoints},
	{"next_endpoint", 2, 20, next_endpoint},
	{"third_endpoint", 2, 20, third_endpoint},
	{0},
};
