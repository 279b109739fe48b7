/* SPDX-License-Identifier: BSD-2-Clause */
/* flow.c - slow and sleeping receivers, floods, everybody to everybody. */
#include "tests/fabric/harness/ft.h"

#define MIB ((size_t)1 << 20)

struct stream { /* what one rank keeps in flight towards one peer */
	struct ft_op op[64];
	char *buf[64];
	size_t window, room;
	size_t next, total; /* posted so far; to do */
	int peer;
	uint64_t seed;
};

static size_t length_of(uint64_t seed, size_t i, size_t room)
{
	uint64_t state = seed * 1000003 + i, r = ft_random(&state);

	return 8 + (r % 8 ? ft_random(&state) % 500 : ft_random(&state) % (room - 8));
}

static void stream_open(struct stream *s, int peer, size_t total, size_t window, size_t room,
			uint64_t seed)
{
	*s = (struct stream){
		.window = window, .room = room, .total = total, .peer = peer, .seed = seed};
	for (size_t i = 0; i < window; i++)
		s->buf[i] = ft_buf(room);
}

static void stream_close(struct stream *s)
{
	for (size_t i = 0; i < s->window; i++)
		free(s->buf[i]);
}

/* Post the next message where its slot is free; true when all are posted and done. */
static bool stream_send(struct ft_ep *ep, struct stream *s)
{
	size_t slot = s->next % s->window, len;

	if (s->next >= s->window && !s->op[slot].done)
		return false;
	if (s->next >= s->window && s->next - s->window < s->total)
		ft_wait(&s->op[slot]);
	if (s->next < s->total) {
		len = length_of(s->seed, s->next, s->room);
		ft_fill(s->buf[slot], len, s->next + s->seed);
		ft_tsend(ep, s->peer, s->seed, s->buf[slot], len, &s->op[slot]);
	}
	s->next++;
	return s->next >= s->total + s->window;
}

/* The same for receives; each message is checked against its place in the stream. */
static bool stream_recv(struct ft_ep *ep, struct stream *s)
{
	size_t slot = s->next % s->window;

	if (s->next >= s->window && !s->op[slot].done)
		return false;
	if (s->next >= s->window && s->next - s->window < s->total) {
		size_t i = s->next - s->window;

		ft_wait(&s->op[slot]);
		CHECK_EQ(s->op[slot].len, length_of(s->seed, i, s->room));
		ft_verify(s->buf[slot], s->op[slot].len, i + s->seed, s->room);
	}
	if (s->next < s->total) {
		ft_guard(s->buf[slot], s->room);
		ft_trecv(ep, s->peer, s->seed, 0, s->buf[slot], s->room, &s->op[slot]);
	}
	s->next++;
	return s->next >= s->total + s->window;
}

/* Three ranks press on one that first sleeps, then only makes progress, then receives: what it
 * stores meanwhile is bounded, and every message comes, in its sender's order. */
static void fan_in(void)
{
	size_t total = ft_scaled(40000), room = 9000, before;
	struct ft_ep ep;
	struct stream s[4];
	bool done = false;

	ft_peer_limit("rxm", 0, "it keeps all that comes");
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	before = ft_vm_hwm();
	for (int i = 1; i < ft.n; i++) {
		bool mine = ft.rank == 0 || ft.rank == i;

		stream_open(&s[i], ft.rank ? 0 : i, mine ? total : 0, 64, room, (uint64_t)i);
	}
	ft_barrier();
	if (ft.rank == 0) {
		ft_msleep(700);
		ft_progress_for(0.7);
	}
	FT_HERE();
	while (!done) {
		done = true;
		for (int i = 1; i < ft.n; i++) {
			if (ft.rank == 0 && s[i].next < total + 64)
				done = stream_recv(&ep, &s[i]) && done;
			if (ft.rank == i)
				done = stream_send(&ep, &s[i]);
		}
		ft_progress();
		if (ft.rank == 0)
			for (int i = 1; i < ft.n; i++)
				done = done && s[i].next >= total + 64;
	}
	if (ft.rank == 0)
		printf("  %s: %zu messages, peak memory grew by %zu KiB\n", ft.name, 3 * total,
		       (ft_vm_hwm() - before) >> 10);
	CHECK(ft_vm_hwm() - before < 128 * MIB);
	for (int i = 1; i < ft.n; i++)
		stream_close(&s[i]);
	ft_close(&ep);
}

/* shm of libfabric 2.x keeps what a sender writes while it looks, each packet in 32 KiB. */
static size_t most_kept(void)
{
	const bool is_new = FI_VERSION_GE(fi_version(), FI_VERSION(2, 0));
	return (is_new && !strcmp(ft_core(), "shm") ? 256 : 64) * MIB;
}

/* A sender that may go far ahead (2000 sends, 8 KiB each, 16 rounds) of a receiver that makes
 * progress but takes nothing. */
static void bounded_memory(void)
{
	enum { LEN = 8192, BATCH = 40 }; /* at once: networks may be slow */
	const size_t n = ft_scaled(400) * BATCH;
	struct ft_op *op = calloc(n, sizeof(*op));
	char *buf = ft_buf(LEN), *in[BATCH];
	struct ft_ep ep;
	size_t before, grew;

	ft_peer_limit("rxm", 0, "it keeps all that comes");
	ft_peer_limit("shm", 0, "it takes about a thousand long messages that nobody receives");
	CHECK(op);
	for (size_t j = 0; j < BATCH; j++)
		in[j] = ft_buf(LEN);
	ft_open(&ep, &(struct ft_conf){0});
	before = ft_vm_hwm();
	if (ft.rank == 1) {
		ft_fill(buf, LEN, 5); /* one buffer serves all: nobody writes to it */
		for (size_t i = 0; i < n; i++)
			ft_tsend(&ep, 0, i, buf, LEN, &op[i]);
		ft.sh->word[0] = 1;
		ft_wait_all(op, n);
	} else {
		ft_await_word(0, 1);
		ft_progress_for(0.3);
		grew = ft_vm_hwm() - before;
		printf("  %s: %zu MiB waiting, peak memory grew by %zu KiB\n", ft.name,
		       n * LEN / MIB, grew >> 10);
		CHECK(grew < most_kept());
		for (size_t i = 0; i < n; i += BATCH) {
			for (size_t j = 0; j < BATCH; j++) {
				ft_guard(in[j], LEN);
				ft_trecv(&ep, 1, i + j, 0, in[j], LEN, &op[j]);
			}
			ft_wait_all(op, BATCH);
			for (size_t j = 0; j < BATCH; j++)
				ft_verify(in[j], LEN, 5, LEN);
		}
	}
	for (size_t j = 0; j < BATCH; j++)
		free(in[j]);
	free(op);
	free(buf);
	ft_close(&ep);
}

/* Everybody to everybody while the last rank sleeps now and then. */
static void all_to_all(void)
{
	enum { ROUNDS = 60, MAX = 70000 };
	struct ft_op tx[4], rx[4];
	struct ft_ep ep;
	char *out = ft_buf(MAX), *in[4];

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	for (int i = 0; i < ft.n; i++)
		in[i] = ft_buf(MAX);
	for (size_t r = 0; r < ROUNDS; r++) {
		size_t len = r % 3 == 0 ? 8 : r % 3 == 1 ? 3000 : MAX;

		if (ft.rank == 3 && r % 20 == 10)
			ft_msleep(300);
		ft_fill(out, len, r * 4 + (size_t)ft.rank);
		for (int i = 0; i < ft.n; i++) {
			ft_guard(in[i], MAX);
			ft_tsend(&ep, i, r % 2, out, len, &tx[i]);
		}
		for (int i = 0; i < ft.n; i++)
			ft_trecv(&ep, i, r % 2, 0, in[i], MAX, &rx[i]);
		ft_wait_all(rx, ft.n);
		ft_wait_all(tx, ft.n);
		for (int i = 0; i < ft.n; i++) {
			CHECK_EQ(rx[i].len, len);
			ft_verify(in[i], len, r * 4 + (size_t)i, MAX);
		}
	}
	for (int i = 0; i < ft.n; i++)
		free(in[i]);
	free(out);
	ft_close(&ep);
}

/* Both sides send 64 x 1 MiB before either receives. */
static void head_to_head(void)
{
	enum { N = 64 };
	const size_t len = ft_scaled(1 << 20);
	struct ft_op tx[N], rx[N];
	struct ft_ep ep;
	char *out = malloc(N * len), *in = ft_buf(len);

	CHECK(out);
	ft_open(&ep, &(struct ft_conf){0});
	for (size_t i = 0; i < N; i++) {
		ft_fill(out + i * len, len, i + (size_t)ft.rank * N);
		ft_tsend(&ep, !ft.rank, i, out + i * len, len, &tx[i]);
	}
	for (size_t i = 0; i < N; i++) {
		ft_guard(in, len);
		ft_trecv(&ep, !ft.rank, i, 0, in, len, &rx[i]);
		ft_wait(&rx[i]);
		ft_verify(in, len, i + (size_t)!ft.rank * N, len);
	}
	ft_wait_all(tx, N);
	free(out);
	free(in);
	ft_close(&ep);
}

/* 1000 messages to a peer that has not made a step of progress since it opened. */
static void late_peer(void)
{
	enum { N = 1000, LEN = 100 };
	static struct ft_op op[N];
	static char buf[N][LEN + FT_GUARD];
	struct ft_ep ep;

	ft_open_domain(&ep, &(struct ft_conf){0});
	ft_open_ep(&ep);
	ft_barrier_idle();
	for (int i = 0; i < ft.n; i++)
		CHECK_EQ(fi_av_insert(ep.av, ft.sh->rank[i].name[0], 1, &ep.peer[i], 0, NULL), 1);
	ft_barrier_idle();
	if (ft.rank == 0)
		ft_msleep(1000);
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
	for (size_t i = 0; ft.rank == 0 && i < N; i++)
		ft_verify(buf[i], LEN, i, LEN);
	ft_close(&ep);
}

static void both_ways_flood(void)
{
	size_t total = ft_scaled(20000);
	struct stream out, in;
	struct ft_ep ep;
	bool sent = false, got = false;

	ft_open(&ep, &(struct ft_conf){0});
	stream_open(&out, !ft.rank, total, 64, 30000, (uint64_t)ft.rank + 1);
	stream_open(&in, !ft.rank, total, 32, 30000, (uint64_t)!ft.rank + 1);
	FT_HERE();
	while (!sent || !got) {
		if (!sent)
			sent = stream_send(&ep, &out);
		if (!got)
			got = stream_recv(&ep, &in);
		ft_progress();
	}
	stream_close(&out);
	stream_close(&in);
	ft_close(&ep);
}

const struct ft_case ft_cases_flow[] = {
	{"fan_in", 4, 60, fan_in},
	{"bounded_memory", 2, 60, bounded_memory},
	{"all_to_all", 4, 60, all_to_all},
	{"head_to_head", 2, 30, head_to_head},
	{"late_peer", 2, 20, late_peer},
	{"both_ways_flood", 2, 30, both_ways_flood},
	{0},
};
