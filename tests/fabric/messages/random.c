/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * random.c - random receives and messages against a list that is obviously right.
 *
 * All ranks derive the same plan from the seed. Rank 0 posts some receives, ranks 1 and 2 send in
 * turns, rank 0 posts more receives; the model says which message each receive gets.
 */
#include "tests/fabric/harness/ft.h"

enum { POSTED = 40, MESSAGES = 60, LATER = 40, RECVS = POSTED + LATER, ROUNDS = 60, MAX = 70000 };

struct recv {
	int from;
	uint64_t tag, ignore;
	int gets; /* message, or -1 */
};
struct msg {
	int from;
	uint64_t tag;
	size_t len;
	bool taken;
};
struct plan {
	struct recv recv[RECVS];
	struct msg msg[MESSAGES];
};

static uint64_t random_tag(uint64_t *state)
{
	static const uint64_t parts[] = {0, 1, 1ull << 31, 3ull << 31, 1ull << 63, 0x7fffffff};

	return parts[ft_random(state) % 6] ^ parts[ft_random(state) % 3];
}

static uint64_t random_ignore(uint64_t *state)
{
	static const uint64_t masks[] = {0,          0,     0,          1ull << 31,  1ull << 31,
					 0x7fffffff, ~0ull, 1ull << 63, 0xfull << 28};
	uint64_t r = ft_random(state);

	return r % 10 == 9 ? ft_random(state) : masks[r % 10];
}

static bool accepts(const struct recv *r, const struct msg *m)
{
	return ((r->tag ^ m->tag) & ~r->ignore) == 0 && (r->from == FT_ANY || r->from == m->from);
}

static void make_plan(struct plan *p, uint64_t seed)
{
	for (int i = 0; i < RECVS; i++) {
		int from = (int)(ft_random(&seed) % 3);

		p->recv[i] = (struct recv){.from = from ? from : FT_ANY,
					   .tag = random_tag(&seed),
					   .ignore = random_ignore(&seed),
					   .gets = -1};
	}
	for (int i = 0; i < MESSAGES; i++) {
		static const size_t lens[] = {8, 100, 129, 5000, MAX};

		p->msg[i] = (struct msg){.from = 1 + i / (MESSAGES / 2),
					 .tag = random_tag(&seed),
					 .len = lens[ft_random(&seed) % 5]};
	}
	for (int m = 0; m < MESSAGES; m++) { /* arrivals meet the posted, oldest first */
		for (int r = 0; r < POSTED && !p->msg[m].taken; r++) {
			if (p->recv[r].gets < 0 && accepts(&p->recv[r], &p->msg[m])) {
				p->recv[r].gets = m;
				p->msg[m].taken = true;
			}
		}
	}
	for (int r = POSTED; r < RECVS; r++) { /* later receives meet the waiting, oldest first */
		for (int m = 0; m < MESSAGES && p->recv[r].gets < 0; m++) {
			if (!p->msg[m].taken && accepts(&p->recv[r], &p->msg[m])) {
				p->recv[r].gets = m;
				p->msg[m].taken = true;
			}
		}
	}
}

struct state {
	struct ft_ep ep;
	struct plan plan;
	struct ft_op rx[RECVS], tx[MESSAGES];
	char *buf[RECVS], *out[MESSAGES];
};

static void post_recv(struct state *s, int r)
{
	const struct recv *w = &s->plan.recv[r];

	ft_guard(s->buf[r], MAX);
	ft_trecv(&s->ep, w->from, w->tag, w->ignore, s->buf[r], MAX, &s->rx[r]);
}

/* One sender's share, then an untagged mark; when it is there, so is all before it. */
static void turn(struct state *s, int sender)
{
	struct ft_op mark;
	uint64_t word = 0;

	if (ft.rank == 0)
		ft_recv(&s->ep, sender, &word, 8, &mark);
	ft_barrier();
	if (ft.rank == sender) {
		for (int m = 0; m < MESSAGES; m++) {
			if (s->plan.msg[m].from != sender)
				continue;
			ft_fill(s->out[m], s->plan.msg[m].len, (uint64_t)m);
			ft_tsend(&s->ep, 0, s->plan.msg[m].tag, s->out[m], s->plan.msg[m].len,
				 &s->tx[m]);
		}
		ft_send(&s->ep, 0, &word, 8, &mark);
	}
	if (ft.rank == 0 || ft.rank == sender)
		ft_wait(&mark);
	ft_barrier();
}

static void check_recv(struct state *s, int r, uint64_t seed)
{
	int m = s->plan.recv[r].gets;

	if (m < 0) { /* nothing for it: it must still be there to cancel */
		CHECK_EQ(s->rx[r].done, 0);
		OK(fi_cancel(&s->ep.ep->fid, &s->rx[r]));
		ft_wait_err(&s->rx[r], FI_ECANCELED);
		return;
	}
	while (!s->rx[r].done)
		ft_progress();
	if (s->rx[r].err || s->rx[r].len != s->plan.msg[m].len ||
	    s->rx[r].tag != s->plan.msg[m].tag)
		ft_fail("seed %llu: receive %d: error %d, %zu bytes with tag %#llx, message %d "
			"has %zu with %#llx",
			(unsigned long long)seed, r, s->rx[r].err, s->rx[r].len,
			(unsigned long long)s->rx[r].tag, m, s->plan.msg[m].len,
			(unsigned long long)s->plan.msg[m].tag);
	ft_verify(s->buf[r], s->plan.msg[m].len, (uint64_t)m, MAX);
	CHECK_EQ(s->rx[r].src, s->ep.peer[s->plan.msg[m].from]);
}

static void play_round(struct state *s, uint64_t seed)
{
	make_plan(&s->plan, seed);
	for (int r = 0; ft.rank == 0 && r < POSTED; r++)
		post_recv(s, r);
	turn(s, 1);
	turn(s, 2);
	for (int r = POSTED; ft.rank == 0 && r < RECVS; r++)
		post_recv(s, r);
	for (int r = 0; ft.rank == 0 && r < RECVS; r++)
		if (s->plan.recv[r].gets >= 0)
			check_recv(s, r, seed);
	for (int r = 0; ft.rank == 0 && r < RECVS; r++)
		if (s->plan.recv[r].gets < 0)
			check_recv(s, r, seed);
	for (int m = 0; ft.rank == 0 && m < MESSAGES; m++) { /* what is left, in order of arrival */
		if (s->plan.msg[m].taken)
			continue;
		ft_guard(s->buf[0], MAX);
		ft_trecv(&s->ep, FT_ANY, 0, ~0ull, s->buf[0], MAX, &s->rx[0]);
		s->plan.recv[0].gets = m;
		check_recv(s, 0, seed);
	}
	for (int m = 0; m < MESSAGES; m++)
		if (s->plan.msg[m].from == ft.rank)
			ft_wait(&s->tx[m]);
	ft_barrier();
}

static void random_masks(void)
{
	struct state *s = calloc(1, sizeof(*s));
	const char *given = getenv("QV_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : 1;

	CHECK(s);
	for (int i = 0; i < RECVS; i++)
		s->buf[i] = ft_buf(MAX);
	for (int i = 0; i < MESSAGES; i++)
		s->out[i] = ft_buf(MAX);
	ft_open(&s->ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV | FI_SOURCE});
	for (size_t i = 0; i < ft_scaled(ROUNDS); i++)
		play_round(s, seed + i);
	ft_close(&s->ep);
	for (int i = 0; i < RECVS; i++)
		free(s->buf[i]);
	for (int i = 0; i < MESSAGES; i++)
		free(s->out[i]);
	free(s);
}

/* Every one of the 64 bits counts, and is ignored where the receive says so and only there: receive
 * i takes the one message whose tag differs from the base in bit i. */
static void tag_bits(void)
{
	const uint64_t base = UINT64_C(0x5a5aa5a50ff01248);
	struct ft_op op[64], mark;
	uint64_t word[64], last = 0;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){0});
	for (int round = 0; round < 4; round++) {
		bool masks = round / 2, early = round % 2; /* receives before messages */

		if (ft.rank == 0)
			ft_recv(&ep, 1, &last, 8, &mark);
		if (ft.rank == 1 && early)
			ft_barrier();
		if (ft.rank == 0 && !early)
			ft_wait(&mark);
		for (uint64_t n = 0; n < 64; n++) {
			uint64_t i = ft.rank ? n : 63 - n, bit = 1ull << i; /* opposite orders */

			word[i] = ft.rank ? i : 99;
			if (ft.rank == 1)
				ft_tsend(&ep, 0, base ^ bit, &word[i], 8, &op[i]);
			else
				ft_trecv(&ep, 1, masks ? base : base ^ bit, masks ? bit : 0,
					 &word[i], 8, &op[i]);
		}
		if (ft.rank == 1)
			ft_send(&ep, 0, &last, 8, &mark);
		if (ft.rank == 0 && early)
			ft_barrier();
		for (uint64_t i = 0; i < 64; i++) {
			ft_wait(&op[i]);
			CHECK_EQ(word[i], i);
			CHECK(ft.rank || op[i].tag == (base ^ 1ull << i));
		}
		if (ft.rank == 1 || early)
			ft_wait(&mark);
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_random[] = {
	{"tag_bits", 2, 20, tag_bits},
	{"random_masks", 3, 60, random_masks},
	{0},
};
