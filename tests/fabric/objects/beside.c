/* SPDX-License-Identifier: BSD-2-Clause */
/* beside.c - an endpoint closes beside others of the process: of its own domain and of others,
 * of the same thread and of others. Nobody is kept waiting, and nothing is lost. */
#include "tests/fabric/harness/ft.h"

#include <pthread.h>

enum { N = 300, SHORT = 40, LONG = 3000 };

/* Two endpoints of this process know each other as peer[0] (the first) and peer[1]. */
static void introduce(struct ft_ep *a, struct ft_ep *b)
{
	struct ft_ep *ep[2] = {a, b};
	char name[FT_MAX_NAME];

	for (int i = 0; i < 2; i++) {
		size_t len = sizeof name;

		OK(fi_getname(&ep[i]->ep->fid, name, &len));
		for (int j = 0; j < 2; j++)
			CHECK_EQ(fi_av_insert(ep[j]->av, name, 1, &ep[j]->peer[i], 0, NULL), 1);
	}
}

/* Endpoints of one process share memory there: an answer to one that is gone is written to it. */
static void skip_shm(void)
{
	if (!strcmp(ft_core(), "shm"))
		ft_skip("shm writes to closed endpoints of its own process");
}

struct stream {
	struct ft_op tx[N], rx[N];
	char out[N][LONG], in[N][LONG + FT_GUARD];
};

static size_t length_of(size_t i)
{
	return i % 3 ? SHORT : LONG;
}

static void post_receives(struct ft_ep *at, struct stream *s)
{
	for (size_t i = 0; i < N; i++) {
		ft_guard(s->in[i], LONG);
		ft_trecv(at, FT_ANY, 7, 0, s->in[i], LONG, &s->rx[i]);
	}
}

/* No call that could move the other endpoint, unless there is no room. */
static void send_stream(struct ft_ep *from, int to, struct stream *s, uint64_t seed)
{
	for (size_t i = 0; i < N; i++) {
		ft_fill(s->out[i], length_of(i), seed + i);
		if (i % 3 == 1)
			POST(fi_tinject(from->ep, s->out[i], SHORT, from->peer[to], 7));
		else
			ft_tsend(from, to, 7, s->out[i], length_of(i), &s->tx[i]);
	}
}

static void all_received(struct stream *s, uint64_t seed)
{
	for (size_t i = 0; i < N; i++) {
		ft_wait(&s->rx[i]);
		CHECK_EQ(s->rx[i].len, length_of(i));
		ft_verify(s->in[i], length_of(i), seed + i, LONG);
	}
}

#define BURST 100u /* more than a ring of core node begins with, and than a poll takes */

/* Of two endpoints in one domain the one that has spoken closes. What it has sent arrives, though the
 * other one has not looked since. That one still has to confirm what it has got, and lives on. */
static void close_same_domain(void)
{
	static struct ft_op burst[BURST];
	uint64_t out = 0, in = 0, got[BURST];
	struct ft_op tx, rx;
	struct ft_ep ep[2];

	ft_peer_limit("shm", 0, "it crashes with several endpoints in a process");
	ft_open(&ep[0], &(struct ft_conf){0});
	for (int round = 0; round < 5; round++) {
		ft_open(&ep[1], &(struct ft_conf){.beside = &ep[0]});
		out = (uint64_t)round + 1;
		ft_trecv(&ep[0], FT_ANY, 1, 0, &in, 8, &rx);
		POST(fi_tsend(ep[1].ep, &out, 8, NULL, ep[0].peer[0], 1, ft_fresh(&tx)));
		ft_wait(&rx);
		ft_wait(&tx);
		CHECK_EQ(in, round + 1);
		for (unsigned i = 0; i < BURST; i++)
			ft_trecv(&ep[0], FT_ANY, 2, 0, &got[i], 8, &burst[i]);
		for (uint64_t i = 0; i < BURST; i++)
			POST(fi_tinject(ep[1].ep, &i, 8, ep[0].peer[0], 2));
		ft_close_part(&ep[1]);
		ft_wait_all(burst, BURST);
		for (unsigned i = 0; i < BURST; i++)
			CHECK_EQ(got[i], i);
		for (double until = ft_now() + 0.3; ft_now() < until;)
			ft_progress();
	}
	ft_close(&ep[0]);
}

/* One thread has two domains, and messages go both ways when the one that spoke first, or last,
 * closes. What it has sent arrives; it need not be waited for that the other one answers, for it
 * cannot. */
static void close_other_domain(void)
{
	static struct stream s[2];
	const struct ft_conf conf = {.lonely = true};
	struct ft_ep ep[2];
	uint64_t word = 0;
	struct ft_op tx, rx;
	double took;

	ft_peer_limit("rxm", 0, "of two domains in a process one waits for the other for ever");
	for (int round = 0; round < 6; round++) {
		int closes = round % 2, stays = !closes;
		bool met = round < 4;

		ft_open(&ep[0], &conf);
		ft_open(&ep[1], &conf);
		introduce(&ep[0], &ep[1]);
		if (met) {
			ft_trecv(&ep[stays], FT_ANY, 1, 0, &word, 8, &rx);
			ft_tsend(&ep[closes], stays, 1, &word, 8, &tx);
			ft_wait(&rx);
			ft_wait(&tx);
		}
		post_receives(&ep[stays], &s[closes]);
		post_receives(&ep[closes], &s[stays]);
		if (round % 4 < 2)
			send_stream(&ep[stays], closes, &s[stays], 5000);
		send_stream(&ep[closes], stays, &s[closes], 1000);
		took = ft_now();
		ft_close_ep(&ep[closes]);
		took = ft_now() - took;
		if (ft.quiver && took > 1.2 * ft.patience)
			ft_fail("round %d: closing took %.2f s", round, took);
		all_received(&s[closes], 1000);
		ft_close_part(&ep[closes]);
		/* what was sent to the one that is gone may fail, and is told once */
		for (size_t i = 0; round % 4 < 2 && i < N; i++) {
			FT_HERE();
			while (i % 3 != 1 && !s[stays].tx[i].done)
				ft_progress();
			CHECK(i % 3 == 1 || s[stays].tx[i].done == 1);
		}
		ft_close_part(&ep[stays]);
	}
}

enum { COPIES = 100, COPY = 4096 };

/* A call by another thread, whose domain that is from now on. */
static void *look_once(void *ep)
{
	fi_cq_read(((struct ft_ep *)ep)->rx_cq, NULL, 0);
	return NULL;
}

static void inject_all(struct ft_ep *from, size_t len)
{
	char *buf = ft_buf(len);

	for (size_t i = 0; i < COPIES; i++) {
		ft_fill(buf, len, i);
		POST(fi_tinject(from->ep, buf, len, from->peer[1], i));
	}
	free(buf);
}

/* What comes now is what was injected, or an error; or nothing comes, if it never went. */
static size_t receive_all(struct ft_ep *at, size_t len)
{
	static struct ft_op op[COPIES];
	static char in[COPIES][COPY + FT_GUARD];
	char *again[COPIES];
	size_t right = 0;

	for (size_t i = 0; i < COPIES; i++) { /* what was given back is used again */
		again[i] = ft_buf(len);
		memset(again[i], 0x55, len);
	}
	for (size_t i = 0; i < COPIES; i++) {
		ft_guard(in[i], len);
		ft_trecv(at, FT_ANY, i, 0, in[i], len, &op[i]);
	}
	for (double end = ft_now() + 1; ft_now() < end;)
		ft_progress();
	for (size_t i = 0; i < COPIES; i++) {
		free(again[i]);
		if (!op[i].done || op[i].err)
			continue;
		CHECK_EQ(op[i].len, len);
		ft_verify(in[i], len, i, len);
		right++;
	}
	return right;
}

/* Of two domains in one process the one that injected closes while nobody receives, and gives up. The
 * other one is looked at meanwhile, or belongs to a thread that is elsewhere, and has not answered yet. */
static void close_unreceived(void)
{
	const struct ft_conf conf = {.lonely = true};

	skip_shm();
	setenv("FI_QUIVER_MEMORY", "65536", 1);
	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		struct ft_ep ep[2];
		pthread_t thread;
		size_t len;

		ft_open(&ep[0], &conf);
		ft_open(&ep[1], &conf);
		introduce(&ep[0], &ep[1]);
		if (elsewhere) {
			CHECK(pthread_create(&thread, NULL, look_once, &ep[1]) == 0);
			pthread_join(thread, NULL);
		}
		len = ep[0].info->tx_attr->inject_size;
		len = len < COPY ? len : COPY;
		inject_all(&ep[0], len);
		ft_close_ep(&ep[0]);
		CHECK(receive_all(&ep[1], len));
		ft_close_part(&ep[0]);
		ft_close_part(&ep[1]);
	}
}

/* Other threads. */

enum { WORD_REFUSED = 30 };

struct busy {
	struct ft_ep *closing, *other;
	_Atomic uint64_t calls;
	_Atomic bool stop;
	bool refused;
};

/* Calls on another endpoint of the domain; and on the one that closes, until it says that. */
static void *keep_calling(void *arg)
{
	struct busy *b = arg;
	uint64_t word = 1;

	while (!atomic_load(&b->stop)) {
		struct fi_cq_tagged_entry e;

		if (!b->refused) {
			ssize_t ret = fi_tinject(b->closing->ep, &word, 8, b->closing->peer[1], 9);

			b->refused = ret == -FI_EOPBADSTATE;
			if (ret && ret != -FI_EAGAIN && !b->refused)
				return arg;
		}
		if (b->refused && fi_cq_read(b->other->rx_cq, &e, 1) != -FI_EAGAIN)
			return arg;
		if (b->refused && atomic_fetch_add(&b->calls, 1) == 200)
			ft.sh->word[WORD_REFUSED] = 1;
	}
	return NULL;
}

/* The peer is elsewhere while an endpoint closes: others of its domain go on meanwhile, and new
 * work for the one that closes is refused. The peer comes back when it has seen that. */
static void close_unlocked(void)
{
	struct ft_ep ep[2];
	struct busy b = {.closing = &ep[0], .other = &ep[1]};
	struct ft_op op;
	uint64_t word = 1;
	pthread_t thread;
	void *bad;

	if (!ft.quiver || !strcmp(ft_core(), "shm") || !strcmp(ft_core(), "node"))
		ft_skip("nobody is waited for over %s", ft_core());
	ft_open(&ep[0], &(struct ft_conf){.threading = FI_THREAD_SAFE});
	ft_open(&ep[1], &(struct ft_conf){.threading = FI_THREAD_SAFE, .beside = &ep[0]});
	if (ft.rank == 1) {
		ft_trecv(&ep[0], FT_ANY, 1, 0, &word, 8, &op);
		ft_wait(&op);
		ft_barrier();
		for (double end = ft_now() + 30; !ft.sh->word[WORD_REFUSED] && ft_now() < end;)
			ft_msleep(1); /* no call of libfabric's */
		ft_barrier();
	} else {
		double took;

		ft_tsend(&ep[0], 1, 1, &word, 8, &op);
		ft_wait(&op);
		ft_barrier();
		CHECK(pthread_create(&thread, NULL, keep_calling, &b) == 0);
		took = ft_now();
		ft_close_ep(&ep[0]);
		took = ft_now() - took;
		atomic_store(&b.stop, true);
		pthread_join(thread, &bad);
		CHECK(!bad);
		printf("  %s: %llu calls beside a close of %.3f s\n", ft.name,
		       (unsigned long long)b.calls, took);
		CHECK(b.refused && b.calls > 200);
		ft.sh->word[WORD_REFUSED] = 1;
		ft_barrier();
	}
	if (ft.rank == 1)
		ft_close_ep(&ep[0]);
	ft_close_part(&ep[1]);
	ft_close_part(&ep[0]);
}

struct service {
	struct ft_ep *ep;
	_Atomic bool stop;
	_Atomic uint64_t got;
	bool wrong;
};

/* A domain of its own, which only this thread calls: it takes what comes. */
static void *serve(void *arg)
{
	struct service *s = arg;
	struct fi_cq_tagged_entry e;
	uint64_t word = 0;
	bool posted = false;

	while (!atomic_load(&s->stop)) {
		ssize_t n;

		if (!posted)
			posted = fi_trecv(s->ep->ep, &word, 8, NULL, FI_ADDR_UNSPEC, 0, ~0ull,
					  &word) == 0;
		n = fi_cq_read(s->ep->rx_cq, &e, 1);
		if (n == 1) {
			posted = false;
			s->wrong |= e.tag != word;
			atomic_fetch_add(&s->got, 1);
		} else if (n != -FI_EAGAIN) {
			s->wrong = true;
		}
	}
	return NULL;
}

/* One thread opens, sends and closes in a domain; another one is all the time in calls on its own.
 * Both domains are without locks. */
static void close_beside_thread(void)
{
	enum { EACH = 50 };
	const uint64_t rounds = ft_scaled(30);
	const struct ft_conf conf = {.lonely = true};
	struct ft_ep server, client;
	struct service s = {.ep = &server};
	char name[FT_MAX_NAME];
	size_t len = sizeof name;
	pthread_t thread;

	skip_shm();
	ft_open(&server, &conf);
	OK(fi_getname(&server.ep->fid, name, &len));
	CHECK(pthread_create(&thread, NULL, serve, &s) == 0);
	for (uint64_t round = 0; round < rounds; round++) {
		ft_open_domain(&client, &conf);
		OK(fi_endpoint(client.domain, client.info, &client.ep, NULL));
		OK(fi_ep_bind(client.ep, &client.av->fid, 0));
		OK(fi_ep_bind(client.ep, &client.rx_cq->fid, FI_TRANSMIT | FI_RECV));
		OK(fi_enable(client.ep));
		CHECK_EQ(fi_av_insert(client.av, name, 1, &client.peer[0], 0, NULL), 1);
		for (uint64_t i = 0; i < EACH; i++) {
			uint64_t word = round * EACH + i;
			ssize_t ret;

			FT_HERE();
			while ((ret = fi_tinject(client.ep, &word, 8, client.peer[0], word)) ==
			       -FI_EAGAIN)
				fi_cq_read(client.rx_cq, NULL, 0);
			OK(ret);
		}
		OK(fi_close(&client.ep->fid));
		client.ep = NULL;
		ft_close_part(&client);
	}
	FT_HERE();
	for (double end = ft_now() + 10 * ft.patience; s.got < rounds * EACH && ft_now() < end;)
		ft_msleep(1);
	atomic_store(&s.stop, true);
	pthread_join(thread, NULL);
	CHECK_EQ(s.got, rounds * EACH);
	CHECK(!s.wrong);
	ft_close_part(&server);
}

const struct ft_case ft_cases_beside[] = {
	{"close_same_domain", 1, 60, close_same_domain},
	{"close_other_domain", 1, 60, close_other_domain},
	{"close_unreceived", 1, 60, close_unreceived},
	{"close_unlocked", 2, 40, close_unlocked},
	{"close_beside_thread", 1, 60, close_beside_thread},
	{0},
};
