/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cut.c - connections between two living processes are cut under the core that has them: at the
 * first packet, in mid-stream, twice, when nothing is under way, by either side or both, in order
 * or by a reset. What is promised is in tests/fabric/harness/stream.h.
 *
 * Each case draws for each length and moment who cuts and how, from QV_SEED (default 1);
 * QV_CUT_ROUNDS (default 1) says how many times.
 */
#include "tests/fabric/harness/sever.h"
#include "tests/fabric/harness/stream.h"

#define LOST "what is on a connection that breaks is lost"

enum moment { FIRST, MIDDLE, TWICE, IDLE, MOMENTS };
static const char *const moments[] = {"first packet", "middle", "twice", "idle"};
static const char *const hows[] = {"ended", "reset"};

struct kind { /* of traffic */
	bool both, lockstep, multi, delivery;
	double late;
};

struct cut {
	enum moment moment;
	enum ft_severing how;
	bool mine;    /* this rank cuts */
	size_t after; /* messages that this rank has seen end; or 30 ms */
	double again; /* seconds until the second time */
	/* what came of it */
	unsigned times;
	double at;
	size_t severed;
};

static const size_t lens[] = {8, 3000, 100000, 4u << 20};
static const size_t counts[] = {2000, 1000, 200, 8}, windows[] = {256, 128, 16, 4};
enum { LENS = 4 };

static unsigned from_env(const char *name)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 0) : 1;
}

static void cut_now(struct cut *c)
{
	size_t n = ft_sever(c->how);

	c->severed += n;
	if (n) {
		c->times++;
		c->at = ft_now();
	}
}

/* Called between any two calls of the core. */
static void step(struct ft_stream *s, void *arg)
{
	struct cut *c = arg;
	size_t seen = s->sent + s->received;
	bool due;

	if (!c->mine || c->moment == IDLE || c->times == (c->moment == TWICE ? 2 : 1))
		return;
	if (c->times)
		due = ft_now() - c->at > c->again;
	else
		due = c->moment == FIRST || seen >= c->after || ft_now() - s->start > 0.03;
	if (due)
		cut_now(c);
}

static void talk(struct ft_ep *ep, const struct kind *k, size_t i, struct cut *c)
{
	size_t n = ft_scaled(counts[i]);
	struct ft_stream s = {.ep = ep,
			      .other = !ft.rank,
			      .n = k->lockstep && n > 300 ? 300
				   : n < 4                ? 4
							  : n,
			      .len = lens[i],
			      .window = k->lockstep ? 1 : windows[i],
			      .sends = k->both || ft.rank == 0,
			      .receives = k->both || ft.rank == 1,
			      .lockstep = k->lockstep,
			      .multi = k->multi,
			      .delivery = k->delivery,
			      .late = k->late,
			      .step = step,
			      .arg = c};
	bool clean;

	c->after = 1 + c->after % (s.n * 3 / 4);
	clean = ft_stream(&s);
	if (c->moment == IDLE) {
		ft_progress_for(0.02);
		if (c->mine)
			cut_now(c);
		ft_barrier_idle();
		clean &= ft_stream(&s);
	}
	printf("  %s: rank %d, %zu x %zu B, %s, %s: cut %zu, sent %zu, failed %zu, received %zu%s\n",
	       ft.name, ft.rank, s.n, s.len, moments[c->moment], hows[c->how], c->severed, s.sent,
	       s.failed, s.received, clean ? "" : ", told");
}

static void one(const struct kind *k, size_t len, enum moment moment, uint64_t *rnd)
{
	uint64_t r = ft_random(rnd);
	struct cut c = {.moment = moment,
			.how = r >> 8 & 1 ? FT_RESET : FT_END,
			.mine = (1 + (r >> 16) % 3) >> ft.rank & 1,
			.after = (r >> 24) % 4096,
			.again = (double)(1 + (r >> 40) % 300) * 1e-3};
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV | (k->multi ? FI_MULTI_RECV : 0),
				       .tx_flags = k->delivery ? FI_DELIVERY_COMPLETE : 0});
	talk(&ep, k, len, &c);
	ft.sh->word[ft.rank] += c.severed;
	ft_stream_works(&ep, !ft.rank);
	ft_close(&ep);
}

/* There must be connections that a process can cut. */
static void need_sockets(void)
{
	if (!strcmp(ft_core(), "shm"))
		ft_skip("no connections");
	if (!strncmp(ft_core(), "verbs", 5))
		ft_skip("connections of verbs are no sockets");
}

static void cut(struct kind k)
{
	unsigned rounds = from_env("QV_CUT_ROUNDS");
	uint64_t rnd = from_env("QV_SEED");

	need_sockets();
	ft_peer_limit("rxm", 0, LOST);
	if (ft.rank == 0)
		printf("  %s: QV_SEED=%llu\n", ft.name, (unsigned long long)rnd);
	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < LENS; i++)
			for (enum moment m = 0; m < MOMENTS; m++)
				one(&k, i, m, &rnd);
	ft_barrier();
	CHECK(ft.sh->word[0] + ft.sh->word[1] >= rounds * LENS * MOMENTS / 2);
}

static void stream(void)
{
	cut((struct kind){0});
}

static void pingpong(void)
{
	cut((struct kind){.both = true, .lockstep = true});
}

static void flood(void)
{
	cut((struct kind){.both = true});
}

static void unexpected(void)
{
	cut((struct kind){.late = 0.1});
}

static void delivery(void)
{
	cut((struct kind){.both = true, .delivery = true});
}

static void multi(void)
{
	cut((struct kind){.multi = true});
}

/* While it closes. */

/* What was sent arrives though the endpoint is closed at once, and a connection cut meanwhile. */
static void close_one(size_t len, uint64_t seed)
{
	enum { N = 20 };
	static struct ft_op op[N];
	struct ft_severer severer = {
		.how = seed & 1 ? FT_RESET : FT_END, .times = 2, .most = 3000, .seed = seed};
	char *buf = ft_buf(N * (len + FT_GUARD));
	bool mine = seed >> 1 & 1 ? ft.rank == 0 : ft.rank == 1;
	struct ft_ep ep;
	size_t severed;
	double start;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_stream_works(&ep, !ft.rank);
	for (size_t i = 0; i < N && ft.rank == 1; i++)
		ft_trecv(&ep, 0, i, 0, buf + i * (len + FT_GUARD), len, &op[i]);
	ft_barrier();
	if (ft.rank == 0) {
		for (size_t i = 0; i < N; i++) {
			ft_fill(buf + i * (len + FT_GUARD), len, i);
			ft_tsend(&ep, 1, i, buf + i * (len + FT_GUARD), len, &op[i]);
		}
		ft_wait_all(op, N);
	}
	if (mine)
		ft_sever_start(&severer);
	while (mine && ft.rank == 1 && seed & 4 && !severer.severed)
		ft_msleep(1); /* before the first of them is taken */
	start = ft_now();
	if (ft.rank == 0) {
		ft_close_part(&ep);
		if (ft_now() - start > 10 * ft.patience)
			ft_fail("the endpoint took %.1f s to close", ft_now() - start);
	}
	for (size_t i = 0; i < N && ft.rank == 1; i++) {
		FT_HERE();
		while (!op[i].done) {
			ft_progress();
			if (ft_now() - start > FT_STILL * ft.patience)
				ft_fail("message %zu of %d of %zu B, sent before the endpoint "
					"closed, does not come",
					i, N, len);
		}
		CHECK_EQ(op[i].err, 0);
		ft_verify(buf + i * (len + FT_GUARD), len, i, len);
	}
	if (mine) {
		severed = ft_sever_stop(&severer);
		ft.sh->word[ft.rank] += severed > 0;
		printf("  %s: rank %d, %zu B, %s: cut %zu\n", ft.name, ft.rank, len,
		       hows[severer.how], severed);
	}
	ft_barrier();
	if (ft.rank == 1)
		ft_close_part(&ep);
	free(buf);
}

static void closing(void)
{
	uint64_t rnd = from_env("QV_SEED");
	unsigned rounds = 4 * from_env("QV_CUT_ROUNDS");

	need_sockets();
	ft_peer_limit("rxm", 0, LOST);
	for (unsigned round = 0; round < rounds; round++)
		for (size_t i = 0; i < LENS - 1; i++)
			close_one(lens[i], ft_random(&rnd));
	ft_barrier();
	CHECK(ft.sh->word[0] + ft.sh->word[1] >= rounds);
}

const struct ft_case ft_cases_cut[] = {
	{"cut_stream", 2, 400, stream},     {"cut_pingpong", 2, 400, pingpong},
	{"cut_flood", 2, 400, flood},       {"cut_unexpected", 2, 400, unexpected},
	{"cut_delivery", 2, 400, delivery}, {"cut_multi", 2, 400, multi},
	{"cut_close", 2, 400, closing},     {0},
};
