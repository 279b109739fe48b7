/* SPDX-License-Identifier: BSD-2-Clause */
/* order.c - which receive takes which message, scenario by scenario. */
#include "tests/fabric/harness/ft.h"

#define TAG(n) (0x8000000000000000u | (uint64_t)(n) << 20 | 5)

struct want {     /* a posted receive and the message that it must get */
	int from; /* FT_ANY or a rank */
	uint64_t tag, ignore;
	uint64_t gets;
};
struct give {
	int from;
	uint64_t tag, id;
};
struct scenario {
	const char *what;
	size_t wants, gives;
	struct want want[4];
	struct give give[4];
	bool tagged_only;
};

static const struct scenario scenarios[] = {
	{"older any-source beats younger directed",
	 2,
	 2,
	 {{FT_ANY, TAG(1), 0, 1}, {1, TAG(1), 0, 2}},
	 {{1, TAG(1), 1}, {1, TAG(1), 2}},
	 false},
	{"older directed beats younger any-source",
	 2,
	 2,
	 {{1, TAG(1), 0, 1}, {FT_ANY, TAG(1), 0, 2}},
	 {{1, TAG(1), 1}, {1, TAG(1), 2}},
	 false},
	{"another source's directed receive is passed by",
	 3,
	 3,
	 {{2, TAG(1), 0, 3}, {FT_ANY, TAG(1), 0, 1}, {1, TAG(1), 0, 2}},
	 {{1, TAG(1), 1}, {1, TAG(1), 2}, {2, TAG(1), 3}},
	 false},
	{"two sources, any-source first",
	 4,
	 4,
	 {{FT_ANY, TAG(1), 0, 1}, {1, TAG(1), 0, 2}, {2, TAG(1), 0, 3}, {FT_ANY, TAG(1), 0, 4}},
	 {{2, TAG(1), 1}, {1, TAG(1), 2}, {2, TAG(1), 3}, {1, TAG(1), 4}},
	 false},
	{"older any-tag beats younger exact",
	 2,
	 2,
	 {{1, 0, ~0ull, 1}, {1, TAG(7), 0, 2}},
	 {{1, TAG(7), 1}, {1, TAG(7), 2}},
	 true},
	{"older exact beats younger any-tag",
	 2,
	 2,
	 {{1, TAG(7), 0, 1}, {1, 0, ~0ull, 2}},
	 {{1, TAG(7), 1}, {1, TAG(7), 2}},
	 true},
	{"any-tag takes what exact does not want",
	 2,
	 2,
	 {{1, TAG(7), 0, 2}, {1, 0, ~0ull, 1}},
	 {{1, TAG(8), 1}, {1, TAG(7), 2}},
	 true},
	{"any-source any-tag, then three narrower",
	 4,
	 4,
	 {{FT_ANY, 0, ~0ull, 1}, {FT_ANY, TAG(3), 0, 2}, {1, 0, ~0ull, 3}, {1, TAG(3), 0, 4}},
	 {{1, TAG(3), 1}, {1, TAG(3), 2}, {1, TAG(3), 3}, {1, TAG(3), 4}},
	 true},
	{"three narrower, then any-source any-tag",
	 4,
	 4,
	 {{1, TAG(3), 0, 1}, {1, 0, ~0ull, 2}, {FT_ANY, TAG(3), 0, 3}, {FT_ANY, 0, ~0ull, 4}},
	 {{1, TAG(3), 1}, {1, TAG(3), 2}, {1, TAG(3), 3}, {1, TAG(3), 4}},
	 true},
	{"only the ignored bits may differ",
	 3,
	 3,
	 {{1, TAG(1), 1, 2}, {1, TAG(1), 1ull << 63, 1}, {1, TAG(1), 4, 3}},
	 {{1, TAG(1) ^ 1ull << 63, 1}, {1, TAG(1) ^ 1, 2}, {1, TAG(1) ^ 4, 3}},
	 true},
	{"a protocol bit that every receive ignores",
	 3,
	 3,
	 {{1, TAG(1), 1ull << 32, 1}, {FT_ANY, TAG(1), 1ull << 32, 2}, {1, TAG(2), 1ull << 32, 3}},
	 {{1, TAG(1) | 1ull << 32, 1}, {1, TAG(1), 2}, {1, TAG(2) | 1ull << 32, 3}},
	 true},
};
#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static void post(struct ft_ep *ep, bool tagged, const struct want *w, uint64_t *in,
		 struct ft_op *op)
{
	if (tagged)
		ft_trecv(ep, w->from, w->tag, w->ignore, in, sizeof(*in), op);
	else
		ft_recv(ep, w->from, in, sizeof(*in), op);
}

/* The senders take turns, so that messages arrive in the order of the list. */
static void give_all(struct ft_ep *ep, bool tagged, const struct scenario *s)
{
	for (size_t i = 0; i < s->gives; i++) {
		uint64_t out = s->give[i].id;
		struct ft_op op, mark;
		uint64_t in;

		/* The mark is of the other kind: no wildcard of the scenario can take it. When it
		 * is there, so is the message that its sender sent before. */
		if (ft.rank == 0)
			post(ep, !tagged, &(struct want){.from = s->give[i].from}, &in, &mark);
		ft_barrier();
		if (ft.rank == s->give[i].from) {
			if (tagged)
				ft_tsend(ep, 0, s->give[i].tag, &out, sizeof(out), &op);
			else
				ft_send(ep, 0, &out, sizeof(out), &op);
			if (tagged)
				ft_send(ep, 0, &out, sizeof(out), &mark);
			else
				ft_tsend(ep, 0, 0, &out, sizeof(out), &mark);
			ft_wait(&op);
			ft_wait(&mark);
		} else if (ft.rank == 0) {
			ft_wait(&mark);
		}
	}
	ft_barrier();
}

static void check(const struct scenario *s, const char *when, uint64_t *in, struct ft_op *rx)
{
	for (size_t i = 0; i < s->wants; i++) {
		ft_wait(&rx[i]);
		if (in[i] != s->want[i].gets)
			ft_fail("%s (%s): receive %zu got message %llu, not %llu", s->what, when, i,
				(unsigned long long)in[i], (unsigned long long)s->want[i].gets);
	}
}

static void play(struct ft_ep *ep, bool tagged, const struct scenario *s)
{
	uint64_t in[4];
	struct ft_op rx[4];

	for (size_t i = 0; ft.rank == 0 && i < s->wants; i++)
		post(ep, tagged, &s->want[i], &in[i], &rx[i]);
	give_all(ep, tagged, s);
	if (ft.rank == 0)
		check(s, "posted", in, rx);
}

static void order(bool tagged)
{
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV | FI_SOURCE});
	for (size_t i = 0; i < SCENARIOS; i++) {
		if (tagged || !scenarios[i].tagged_only)
			play(&ep, tagged, &scenarios[i]);
	}
	ft_close(&ep);
}

static void order_tagged(void)
{
	order(true);
}

static void order_msg(void)
{
	order(false);
}

/* The other side: messages wait, receives choose. */
static const struct scenario queued[] = {
	{"any-source takes the first arrived",
	 3,
	 3,
	 {{FT_ANY, TAG(1), 0, 1}, {FT_ANY, TAG(1), 0, 2}, {FT_ANY, TAG(1), 0, 3}},
	 {{2, TAG(1), 1}, {1, TAG(1), 2}, {2, TAG(1), 3}},
	 false},
	{"directed passes another's older message",
	 3,
	 3,
	 {{1, TAG(1), 0, 2}, {FT_ANY, TAG(1), 0, 1}, {2, TAG(1), 0, 3}},
	 {{2, TAG(1), 1}, {1, TAG(1), 2}, {2, TAG(1), 3}},
	 false},
	{"any-tag takes the first arrived",
	 3,
	 3,
	 {{1, TAG(0), ~0ull >> 1, 1}, {1, TAG(9), 0, 2}, {FT_ANY, TAG(0), ~0ull >> 1, 3}},
	 {{1, TAG(7), 1}, {1, TAG(9), 2}, {1, TAG(8), 3}},
	 true},
	{"exact passes older tags",
	 3,
	 3,
	 {{1, TAG(8), 0, 3}, {1, TAG(9), 0, 2}, {FT_ANY, TAG(7), 0, 1}},
	 {{1, TAG(7), 1}, {1, TAG(9), 2}, {1, TAG(8), 3}},
	 true},
	{"a mask of a few bits",
	 4,
	 4,
	 {{1, TAG(2), 3ull << 20, 1},
	  {1, TAG(2), 3ull << 20, 2},
	  {FT_ANY, TAG(0), ~0ull >> 1, 3},
	  {1, TAG(8), 0, 4}},
	 {{1, TAG(1), 1}, {1, TAG(3), 2}, {1, TAG(4), 3}, {1, TAG(8), 4}},
	 true},
};

static void order_queued(void)
{
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV | FI_SOURCE});
	for (size_t q = 0; q < 2 * sizeof(queued) / sizeof(queued[0]); q++) {
		const struct scenario *s = &queued[q / 2];
		bool tagged = q % 2;
		uint64_t in[4];
		struct ft_op rx[4];

		if (!tagged && s->tagged_only)
			continue;
		give_all(&ep, tagged, s);
		for (size_t i = 0; ft.rank == 0 && i < s->wants; i++) {
			post(&ep, tagged, &s->want[i], &in[i], &rx[i]);
			ft_wait(&rx[i]);
		}
		if (ft.rank == 0)
			check(s, "queued", in, rx);
	}
	ft_close(&ep);
}

/* Same key, same order: the k-th receive gets the k-th message, whatever their sizes. */
static void fifo(void)
{
	enum { N = 24 * 64, MAX = 40000 };
	static struct ft_op op[N];
	char *buf = malloc((size_t)64 * (MAX + FT_GUARD));
	struct ft_ep ep;
	uint64_t state = 7;

	CHECK(buf);
	ft_open(&ep, &(struct ft_conf){0});
	for (size_t i = 0; i < N; i++) { /* a window of 64 each way */
		size_t r = ft_random(&state) % 8, len = r < 5 ? r * 8 : r < 7 ? r * 700 : MAX;
		char *b = buf + i % 64 * (MAX + FT_GUARD);

		if (ft.rank == 0) {
			ft_fill(b, len, i);
			ft_tsend(&ep, 1, 42, b, len, &op[i]);
		} else {
			ft_guard(b, MAX);
			op[i].id = len;
			ft_trecv(&ep, i % 3 ? 0 : FT_ANY, 42, i % 5 ? 0 : 1ull << 50, b, MAX,
				 &op[i]);
		}
		for (size_t w = i - 63; i % 64 == 63 && w <= i; w++) {
			ft_wait(&op[w]);
			if (ft.rank == 1) {
				CHECK_EQ(op[w].len, op[w].id);
				ft_verify(buf + w % 64 * (MAX + FT_GUARD), op[w].len, w, MAX);
			}
		}
	}
	ft_wait_all(op, N);
	free(buf);
	ft_close(&ep);
}

const struct ft_case ft_cases_order[] = {
	{"order_tagged", 3, 20, order_tagged},
	{"order_msg", 3, 20, order_msg},
	{"order_queued", 3, 20, order_queued},
	{"order_same_key", 2, 20, fifo},
	{0},
};
