/* SPDX-License-Identifier: BSD-2-Clause */
/* rails.c - two hosts with two cables between them (hosts.py rails): long messages go over both, and
 * nothing is lost when the second is cut. */
#include "tests/fabric/harness/sever.h"
#include "tests/fabric/harness/stats.h"
#include "tests/fabric/harness/stream.h"

#define NETWORK "10.78.0.0" /* of the second cable */

static void open_both(struct ft_ep *ep)
{
	if (!getenv("FI_QUIVER_RAILS"))
		ft_skip("two cables are needed (hosts.py rails)");
	ft_open(ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_stream_works(ep, !ft.rank);
}

/* What goes wrong, once. */
struct harm {
	void (*begin)(void), (*end)(void);
	double lasts; /* seconds */
	size_t after; /* messages */
	double at;    /* 0: not yet */
	bool over;
};

static void step(struct ft_stream *s, void *arg)
{
	struct harm *h = arg;

	if (!h->begin || h->over || s->sent + s->received < h->after)
		return;
	if (!h->at) {
		h->begin();
		h->at = ft_now();
	} else if (ft_now() - h->at >= h->lasts) {
		h->end();
		h->over = true;
	}
}

/* Both ways at once. True: nobody was told of an error. */
static bool talk(struct ft_ep *ep, size_t n, size_t len, struct harm *h)
{
	struct ft_stream s = {.ep = ep,
			      .other = !ft.rank,
			      .n = ft_scaled(n),
			      .len = len,
			      .window = 4,
			      .sends = true,
			      .receives = true,
			      .step = step,
			      .arg = h};

	return ft_stream(&s);
}

/* Messages of all lengths, between each other: any order of arrival is that in which they were sent. */
static void mixed(struct ft_ep *ep)
{
	enum { N = 120, MOST = 3 << 20 };
	static const size_t lens[] = {0, 8, 4000, 20000, 65536, 300001, 1 << 20, MOST};
	static struct ft_op send[N], recv[N];
	static char *to[N], *from[N];
	uint64_t rnd = 7;
	size_t len[N];

	for (size_t i = 0; i < N; i++) {
		len[i] = lens[ft_random(&rnd) % 8];
		from[i] = ft_buf(len[i]);
		to[i] = ft_buf(MOST);
		ft_fill(from[i], len[i], i);
		ft_trecv(ep, FT_ANY, 1, 0, to[i], MOST, &recv[i]);
		ft_tsend(ep, !ft.rank, 1, from[i], len[i], &send[i]);
	}
	for (size_t i = 0; i < N; i++) {
		ft_wait(&send[i]);
		ft_wait(&recv[i]);
		CHECK_EQ(recv[i].len, len[i]);
		ft_verify(to[i], len[i], i, MOST);
		free(from[i]);
		free(to[i]);
	}
}

static void both(void)
{
	static const size_t lens[] = {8, 20000, 100000, 4u << 20}, counts[] = {2000, 300, 100, 12};
	struct harm none = {0};
	struct qv_fi_stats stats;
	struct ft_ep ep;

	open_both(&ep);
	for (size_t i = 0; i < 4; i++)
		CHECK(talk(&ep, counts[i], lens[i], &none));
	mixed(&ep);
	stats = ft_stats(&ep);
	printf("  %s: rank %d: %llu pieces, %llu taken back\n", ft.name, ft.rank,
	       (unsigned long long)stats.pieces, (unsigned long long)stats.retaken);
	CHECK(stats.pieces > 20);
	ft_close(&ep);
}

static void pull(void)
{
	ft_cable_of("v1", false);
}

static void plug(void)
{
	ft_cable_of("v1", true);
}

static void reset(void)
{
	ft_sever_at(FT_RESET, NETWORK);
}

static void nothing(void)
{
}

/* Rank 0 has the bad luck; all arrives. */
static void harmed(struct harm h)
{
	struct harm none = {0};
	struct qv_fi_stats stats;
	struct ft_ep ep;

	open_both(&ep);
	CHECK(talk(&ep, 60, 4u << 20, ft.rank ? &none : &h));
	if (ft.rank == 0) {
		CHECK(h.at > 0);
		if (!h.over)
			h.end();
	}
	ft_barrier();
	CHECK(talk(&ep, 12, 4u << 20, &none));
	mixed(&ep);
	stats = ft_stats(&ep);
	printf("  %s: rank %d: %llu pieces, %llu taken back\n", ft.name, ft.rank,
	       (unsigned long long)stats.pieces, (unsigned long long)stats.retaken);
	ft_close(&ep);
}

static void cable(void)
{
	harmed((struct harm){.begin = pull, .end = plug, .lasts = 3, .after = 10});
}

static void cable_for_good(void)
{
	harmed((struct harm){.begin = pull, .end = nothing, .after = 10});
}

static void sever(void)
{
	harmed((struct harm){.begin = reset, .end = reset, .lasts = 0.01, .after = 10});
}

/* For bench/fabric/rails.py: how fast rank 0 sends, with four messages under way. */
static void rate(void)
{
	enum { WINDOW = 4, MOST = 4 << 20, BYTES = 32 << 20 };
	char *buf = ft_buf(MOST);
	struct ft_op op[WINDOW];
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	for (size_t len = 256u << 10; len <= MOST; len *= 4) {
		double start = 0;

		for (size_t i = 0; i < WINDOW + BYTES / len; i++) {
			if (i >= WINDOW)
				ft_wait(&op[i % WINDOW]);
			if (i == WINDOW)
				start = ft_now(); /* connected */
			if (ft.rank == 0)
				ft_tsend(&ep, 1, i, buf, len, &op[i % WINDOW]);
			else
				ft_trecv(&ep, 0, i, 0, buf, len, &op[i % WINDOW]);
		}
		ft_wait_all(op, WINDOW);
		if (ft.rank == 0)
			printf("rate %zu %.1f\n", len, (double)BYTES / (ft_now() - start) / 1e6);
		ft_barrier();
	}
	ft_close(&ep);
	free(buf);
}

const struct ft_case ft_cases_rails[] = {
	{"rails_both", 2, 60, both},
	{"rails_cable", 2, 60, cable},
	{"rails_cable_for_good", 2, 60, cable_for_good},
	{"rails_sever", 2, 60, sever},
	{"rails_rate", 2, 300, rate},
	{0},
};
