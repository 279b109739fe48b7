/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * soak.c - everything at once, for as long as QV_SOAK_SECONDS says: random sizes, wildcards,
 * probes and cancels from two threads per rank, while one rank after the other is stopped and
 * continued. Every payload is checked, no message is lost or comes twice, memory stays flat.
 */
#include "tests/fabric/harness/ft.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum {
	RANKS = 3,   /* that talk; one more stops them */
	WINDOW = 16, /* sends under way per rank */
	POSTED = 24, /* receives at any time, at least a third of them for any message */
	CLASSES = 8, /* tags 0 to 7 */
	LONGEST = 1 << 20,
	WORD_SENT = 0, /* [from * 8 + to]: messages of a rank that has ended sending */
	WORD_ENDED = 40
};

struct head { /* in front of each payload */
	uint32_t from, len;
	uint64_t seq, tag;
};

struct slot { /* one send or receive */
	struct ft_op op;
	char *buf;
	fi_addr_t from;
	uint64_t tag, ignore;
	bool posted, cancelled;
};

struct side { /* what one thread knows */
	struct ft_ep *ep;
	struct slot slot[POSTED];
	uint64_t rnd, count[RANKS]; /* messages to, or from, each rank */
	uint64_t *seen[RANKS];      /* receiver: bits of the sequence numbers */
	uint64_t cancels, probes, found;
};

static double seconds(void)
{
	const char *text = getenv("QV_SOAK_SECONDS");

	return text ? atof(text) : 20;
}

static double end_of_sends;
enum { SEQS = 1 << 24 }; /* per sender and receiver, at most */

/* Mostly short, now and then long. */
static size_t draw_len(uint64_t *rnd)
{
	uint64_t r = ft_random(rnd), kind = r % 16;
	size_t most = kind < 8 ? 64 : kind < 13 ? 6000 : kind < 15 ? 60000 : LONGEST;

	return sizeof(struct head) + (size_t)(r >> 8) % (most - sizeof(struct head));
}

/* Sending. */

static void start_send(struct side *s, struct slot *slot)
{
	uint32_t to = (uint32_t)(ft_random(&s->rnd) % RANKS);
	struct head head = {.from = (uint32_t)ft.rank,
			    .len = (uint32_t)draw_len(&s->rnd),
			    .seq = s->count[to],
			    .tag = ft_random(&s->rnd) % CLASSES};
	ssize_t ret;

	if (head.seq >= SEQS)
		return;
	ft_fill(slot->buf, head.len, head.seq * RANKS + head.from);
	memcpy(slot->buf, &head, sizeof(head));
	ret = fi_tsend(s->ep->ep, slot->buf, head.len, NULL, s->ep->peer[to], head.tag,
		       ft_fresh(&slot->op));
	if (ret == -FI_EAGAIN)
		return;
	OK(ret);
	slot->posted = true;
	s->count[to]++;
}

static void *sender(void *arg)
{
	struct side *s = arg;
	unsigned busy = 1;

	while (ft_now() < end_of_sends || busy) {
		busy = 0;
		ft_poll_cq(s->ep, s->ep->tx_cq);
		for (size_t i = 0; i < WINDOW; i++) {
			struct slot *slot = &s->slot[i];

			if (slot->posted && slot->op.done) {
				CHECK_EQ(slot->op.err, 0);
				slot->posted = false;
			}
			if (!slot->posted && ft_now() < end_of_sends)
				start_send(s, slot);
			busy += slot->posted;
		}
		sched_yield();
	}
	for (int i = 0; i < RANKS; i++)
		ft.sh->word[WORD_SENT + ft.rank * 8 + i] = s->count[i];
	atomic_fetch_add(&ft.sh->word[WORD_ENDED], 1);
	return NULL;
}

/* Receiving. */

static void start_recv(struct side *s, size_t i)
{
	struct slot *slot = &s->slot[i];
	uint64_t r = ft_random(&s->rnd);
	bool any = i % 3 == 0; /* somebody takes whatever comes */

	slot->from = any || r & 1 ? FI_ADDR_UNSPEC : s->ep->peer[(r >> 8) % RANKS];
	slot->ignore = any ? ~0ull : (r & 2 ? CLASSES - 1 : r & 4 ? 3 : 0);
	slot->tag = (r >> 16) % CLASSES;
	slot->cancelled = false;
	OK(fi_trecv(s->ep->ep, slot->buf, LONGEST, NULL, slot->from, slot->tag, slot->ignore,
		    ft_fresh(&slot->op)));
	slot->posted = true;
}

static void check_message(struct side *s, const struct slot *slot)
{
	struct head head;
	uint64_t *word, bit;

	memcpy(&head, slot->buf, sizeof(head));
	CHECK(head.from < RANKS && head.seq < SEQS);
	CHECK_EQ(slot->op.len, head.len);
	CHECK_EQ(slot->op.tag, head.tag);
	CHECK_EQ((slot->tag ^ head.tag) & ~slot->ignore, 0);
	CHECK(slot->from == FI_ADDR_UNSPEC || slot->from == s->ep->peer[head.from]);
	word = &s->seen[head.from][head.seq / 64];
	bit = 1ull << head.seq % 64;
	CHECK(!(*word & bit)); /* not twice */
	*word |= bit;
	s->count[head.from]++;
	ft_fill(slot->buf + LONGEST, head.len, head.seq * RANKS + head.from);
	memcpy(slot->buf + LONGEST, &head, sizeof(head));
	CHECK(!memcmp(slot->buf, slot->buf + LONGEST, head.len));
}

static void finish_recv(struct side *s, struct slot *slot)
{
	slot->posted = false;
	if (slot->op.err == FI_ECANCELED && slot->cancelled) {
		s->cancels++;
		return;
	}
	CHECK_EQ(slot->op.err, 0);
	check_message(s, slot);
}

/* Look for a message, claim what is found, and receive it. */
static void probe(struct side *s)
{
	struct slot *slot = &s->slot[POSTED - 1];
	struct iovec iov = {slot->buf, LONGEST};
	struct fi_msg_tagged msg = {.msg_iov = &iov, .iov_count = 1, .context = &slot->op};

	slot->from = FI_ADDR_UNSPEC;
	slot->tag = ft_random(&s->rnd) % CLASSES;
	slot->ignore = 0;
	slot->cancelled = false;
	s->probes++;
	if (ft_peek(s->ep, true, FT_ANY, slot->tag, 0, FI_CLAIM, &slot->op))
		return;
	s->found++;
	slot->op.done = 0;
	msg.tag = slot->tag;
	msg.addr = FI_ADDR_UNSPEC;
	OK(fi_trecvmsg(s->ep->ep, &msg, FI_CLAIM));
	slot->posted = true;
}

static bool all_here(const struct side *s)
{
	if (ft.sh->word[WORD_ENDED] < RANKS)
		return false;
	for (int i = 0; i < RANKS; i++)
		if (s->count[i] < ft.sh->word[WORD_SENT + i * 8 + ft.rank])
			return false;
	return true;
}

static void cancel(struct side *s, struct slot *slot)
{
	if (!slot->posted || slot->cancelled)
		return;
	slot->cancelled = true;
	fi_cancel(&s->ep->ep->fid, &slot->op);
}

static void receive_all(struct side *s)
{
	double hang = 60;

	for (double last = ft_now(); !all_here(s);) {
		uint64_t r = ft_random(&s->rnd);

		if (ft_poll_cq(s->ep, s->ep->rx_cq))
			last = ft_now();
		if (ft_now() - last > hang)
			ft_fail("nothing came for %.0f s", hang);
		for (size_t i = 0; i < POSTED; i++) {
			if (s->slot[i].posted && s->slot[i].op.done)
				finish_recv(s, &s->slot[i]);
			if (!s->slot[i].posted && i < POSTED - 1)
				start_recv(s, i);
		}
		if (r % 64 == 0)
			cancel(s, &s->slot[(r >> 8) % (POSTED - 1)]);
		if (r % 256 == 1 && !s->slot[POSTED - 1].posted)
			probe(s);
		sched_yield();
	}
	for (size_t i = 0; i < POSTED; i++) {
		cancel(s, &s->slot[i]);
		FT_HERE();
		while (s->slot[i].posted && !s->slot[i].op.done)
			ft_poll_cq(s->ep, s->ep->rx_cq);
	}
	for (int i = 0; i < RANKS; i++)
		CHECK_EQ(s->count[i], ft.sh->word[WORD_SENT + i * 8 + ft.rank]);
}

/* The rank that stops the others. */

static void disturb(void)
{
	uint64_t rnd = (uint64_t)getpid();

	while (ft.sh->word[WORD_ENDED] < RANKS) {
		pid_t pid = ft.sh->rank[ft_random(&rnd) % RANKS].pid;

		ft_msleep((int)(ft_random(&rnd) % 300));
		kill(pid, SIGSTOP);
		ft_msleep((int)(ft_random(&rnd) % 200));
		kill(pid, SIGCONT);
	}
}

/* Memory. */

static size_t early_peak;

/* A third of the way through, once everything has been at its longest. */
static void *watch_memory(void *arg)
{
	double at = *(double *)arg;

	while (ft_now() < at)
		ft_msleep(20);
	early_peak = ft_vm_hwm();
	return NULL;
}

static void talk(struct ft_ep *ep)
{
	static struct side in, out;
	pthread_t thread, watcher;
	double third = ft_now() + seconds() * 0.4;
	size_t peak;

	in.ep = out.ep = ep;
	in.rnd = 77 + (uint64_t)ft.rank;
	out.rnd = (uint64_t)ft_now() ^ (uint64_t)getpid();
	printf("  %s: rank %d, seed %llu\n", ft.name, ft.rank, (unsigned long long)out.rnd);
	for (size_t i = 0; i < POSTED; i++) {
		in.slot[i].buf = ft_buf(2 * LONGEST);
		memset(in.slot[i].buf, 0, 2 * LONGEST);
		out.slot[i].buf = i < WINDOW ? ft_buf(LONGEST) : NULL;
	}
	for (int i = 0; i < RANKS; i++) {
		in.seen[i] = malloc(SEQS / 8);
		CHECK(in.seen[i]);
		memset(in.seen[i], 0, SEQS / 8);
	}
	end_of_sends = ft_now() + seconds();
	CHECK(!pthread_create(&watcher, NULL, watch_memory, &third));
	CHECK(!pthread_create(&thread, NULL, sender, &out));
	receive_all(&in);
	pthread_join(thread, NULL);
	pthread_join(watcher, NULL);
	peak = ft_vm_hwm();
	printf("  %s: rank %d: %llu messages in, %llu cancelled, %llu of %llu probes found one, "
	       "peak %zu MB, was %zu\n",
	       ft.name, ft.rank, (unsigned long long)(in.count[0] + in.count[1] + in.count[2]),
	       (unsigned long long)in.cancels, (unsigned long long)in.found,
	       (unsigned long long)in.probes, peak >> 20, early_peak >> 20);
	if (seconds() >= 60) /* in less, the longest queue of all may come late */
		CHECK(peak <= early_peak + early_peak / 20);
	CHECK(in.count[0] && in.count[1] && in.count[2]);
}

static void soak(void)
{
	struct ft_ep ep;

	if (ft.rank == RANKS) {
		ft_barrier_idle();
		ft_barrier_idle();
		ft_barrier_idle();
		disturb();
		ft_barrier_idle();
		ft_barrier_idle();
		return;
	}
	ft.n = RANKS; /* for addresses; barriers are of all */
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV,
				       .threading = FI_THREAD_SAFE,
				       .split_cq = true});
	ft_barrier();
	talk(&ep);
	ft_barrier();
	ft_close(&ep);
}

const struct ft_case ft_cases_soak[] = {
	{"soak", RANKS + 1, 4000, soak},
	{0},
};
