/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair.c - one endpoint over two cores: ranks 1 and 2 are reached through shared memory, the
 * last one, which takes itself to be on another node, through the network.
 */
#include "tests/fabric/harness/ft.h"

#include <poll.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { NEAR = 1, ALSO_NEAR = 2, FAR = 3 };

static void open_pair(struct ft_ep *ep, const struct ft_conf *conf)
{
	if (!ft_pair())
		ft_skip("of quiver over two cores");
	if (ft.rank == FAR)
		ft_elsewhere();
	ft_open(ep, conf);
}

/* Addresses. */

/* What libraries make of names: equal lengths, 48 bytes at most, all bytes count. */
static void pair_names(void)
{
	struct ft_ep ep;
	char name[FT_MAX_NAME], text[FT_MAX_NAME];
	size_t len = sizeof(name), text_len = sizeof(text);

	open_pair(&ep, &(struct ft_conf){0});
	CHECK((ep.info->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM)) ==
	      (FI_LOCAL_COMM | FI_REMOTE_COMM));
	for (int i = 0; i < ft.n; i++) {
		CHECK_EQ(ft.sh->rank[i].namelen[0], ft.sh->rank[0].namelen[0]);
		CHECK(ft.sh->rank[i].namelen[0] <= 48);
		for (int j = 0; j < i; j++)
			CHECK(memcmp(ft.sh->rank[i].name[0], ft.sh->rank[j].name[0],
				     ft.sh->rank[0].namelen[0]));
	}
	OK(fi_av_lookup(ep.av, ep.peer[FAR], name, &len));
	CHECK_EQ(len, ft.sh->rank[FAR].namelen[0]);
	CHECK(!memcmp(name, ft.sh->rank[FAR].name[0], len));
	CHECK(fi_av_straddr(ep.av, name, text, &text_len) &&
	      (strstr(text, "fi_shm://") || strstr(text, "fi_node://")) &&
	      strstr(text, "fi_sockaddr"));
	len = 7; /* too short: says how much it needs */
	CHECK_EQ(-fi_getname(&ep.ep->fid, name, &len), FI_ETOOSMALL);
	CHECK_EQ(len, ft.sh->rank[ft.rank].namelen[0]);
	name[0] ^= 1; /* no address of ours */
	CHECK_EQ(fi_av_insert(ep.av, name, 1, &ep.peer[0], 0, NULL), 0);
	ft_close(&ep);
}

/* Order. */

#define MOST 40000u

static size_t length(int from, size_t i)
{
	static const size_t lens[] = {8, 0, 120, 200, 4000, 9000, MOST, 16, 1, 15000};
	uint64_t seed = (uint64_t)from * 1000 + i;

	return lens[ft_random(&seed) % 10];
}

/* One message after the other from each sender; its first bytes say which one it is. */
static void send_all(struct ft_ep *ep, size_t n)
{
	char *buf = ft_buf(n * MOST);
	struct ft_op *op = calloc(n, sizeof(*op));

	CHECK(op);
	for (size_t i = 0; i < n; i++) {
		size_t len = length(ft.rank, i);

		ft_fill(buf + i * MOST, len, (uint64_t)ft.rank * 1000 + i);
		ft_tsend(ep, 0, i & 3, buf + i * MOST, len, &op[i]);
	}
	ft_wait_all(op, n);
	free(op);
	free(buf);
}

/* Wildcards over tag and source: message i of a sender takes the i-th receive that it gets, and
 * comes from the index that the sender has in the AV. */
static void receive_all(struct ft_ep *ep, size_t n, bool posted)
{
	char *buf = ft_buf(64 * (MOST + FT_GUARD));
	size_t seen[FAR + 1] = {0}, total = 3 * n;
	struct ft_op op[64];

	ft_guard(buf, 64 * (MOST + FT_GUARD) - FT_GUARD);
	if (!posted)
		ft_progress_for(0.2);
	for (size_t i = 0; i < total + 64; i++) {
		struct ft_op *o = &op[i % 64];
		char *at = buf + i % 64 * (MOST + FT_GUARD);

		if (i >= 64) {
			int from = NEAR;

			ft_wait(o);
			while (from < FAR && o->src != ep->peer[from])
				from++;
			CHECK_EQ(o->src, ep->peer[from]);
			CHECK_EQ(o->tag, seen[from] & 3);
			CHECK_EQ(o->len, length(from, seen[from]));
			ft_verify(at, o->len, (uint64_t)from * 1000 + seen[from], MOST);
			seen[from]++;
		}
		if (i >= total)
			continue;
		ft_guard(at, MOST);
		ft_trecv(ep, FT_ANY, 0, ~0ull, at, MOST, o);
		if (i == 63 && posted)
			ft_barrier();
	}
	free(buf);
}

static void order(bool posted)
{
	size_t n = ft_scaled(300);
	struct ft_ep ep;

	open_pair(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	n = n < 64 ? 64 : n;
	if (ft.rank == 0) {
		receive_all(&ep, n, posted);
	} else {
		if (posted)
			ft_barrier();
		send_all(&ep, n);
	}
	ft_close(&ep);
}

static void pair_order(void)
{
	order(true);
}

static void pair_unexpected(void)
{
	order(false);
}

/* Remote memory. */

/* One registration, one key: read and written through either core. A part of it registered again may
 * get the same key, where a core chooses (verbs). */
static void pair_rma(void)
{
	enum { LEN = 100000 };
	char *window = ft_buf(4 * LEN), *buf = ft_buf(LEN);
	struct fid_mr *mr, *part[2];
	struct ft_op op;
	struct ft_ep ep;
	uint64_t addr = 0;

	open_pair(&ep, &(struct ft_conf){.caps = FI_RMA});
	OK(fi_mr_reg(ep.domain, window, LEN / 2, FI_REMOTE_READ, 0, 78, 0, &part[0], NULL));
	OK(fi_mr_reg(ep.domain, window, 4 * LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 77, 0, &mr,
		     NULL));
	OK(fi_mr_reg(ep.domain, window + LEN, LEN, FI_REMOTE_WRITE, 0, 79, 0, &part[1], NULL));
	OK(fi_close(&part[0]->fid));
	if (!(ep.info->domain_attr->mr_mode & FI_MR_PROV_KEY))
		CHECK_EQ(fi_mr_key(mr), 77);
	if (ep.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		addr = (uintptr_t)window;
	ft.sh->word[ft.rank] = addr;
	ft.sh->word[ft.n + ft.rank] = fi_mr_key(mr);
	ft_barrier();
	for (int to = 0; to < ft.n; to++) {
		uint64_t key = ft.sh->word[ft.n + to];
		uint64_t seed = (uint64_t)(ft.rank * 10 + to);

		if (to == ft.rank)
			continue;
		addr = ft.sh->word[to] + (uint64_t)ft.rank * LEN;
		ft_fill(buf, LEN, seed);
		POST(fi_write(ep.ep, buf, LEN, NULL, ep.peer[to], addr, key, ft_fresh(&op)));
		ft_wait(&op);
		ft_guard(buf, LEN);
		POST(fi_read(ep.ep, buf, LEN, NULL, ep.peer[to], addr, key, ft_fresh(&op)));
		ft_wait(&op);
		ft_verify(buf, LEN, seed, LEN);
	}
	ft_barrier();
	for (int from = 0; from < ft.n; from++) {
		if (from != ft.rank)
			ft_compare(window + from * LEN, LEN, (uint64_t)(from * 10 + ft.rank), 0);
	}
	OK(fi_close(&mr->fid));
	OK(fi_close(&part[1]->fid));
	ft_close(&ep);
	free(buf);
	free(window);
}

/* There by one way, back by another. */

/* Rank 0 knows rank 1 by its address in the network only, as fi_getinfo makes them of a name and a
 * port: what one registers the other cannot read, but all lengths arrive, from the right source. */
static void pair_crossed(void)
{
	static const size_t lens[] = {0, 8, 128, 5000, 20000, 300000};
	struct ft_ep ep;
	char name[FT_MAX_NAME], *out = ft_buf(300000), *in = ft_buf(300000);
	struct ft_op tx, rx;

	if (!ft_pair())
		ft_skip("of quiver over two cores");
	ft_open_domain(&ep, &(struct ft_conf){.caps = FI_SOURCE | FI_DIRECTED_RECV});
	ft_open_ep(&ep);
	ft_barrier();
	memcpy(name, ft.sh->rank[!ft.rank].name[0], sizeof(name));
	if (ft.rank == 0)
		ft_network_only(name);
	CHECK_EQ(fi_av_insert(ep.av, name, 1, &ep.peer[!ft.rank], 0, NULL), 1);
	ft_barrier();
	for (size_t i = 0; i < 24; i++) {
		size_t len = lens[i % 6];

		ft_fill(out, len, i);
		ft_guard(in, 300000);
		ft_trecv(&ep, i < 12 ? !ft.rank : FT_ANY, i, 0, in, 300000, &rx);
		ft_tsend(&ep, !ft.rank, i, out, len, &tx);
		ft_wait(&tx);
		ft_wait(&rx);
		CHECK_EQ(rx.len, len);
		CHECK_EQ(rx.src, ep.peer[!ft.rank]);
		ft_verify(in, len, i, 300000);
	}
	free(in);
	free(out);
	ft_close(&ep);
}

/* Containers, and machines that are clones. */

static void talk(struct ft_ep *ep, int with, int rounds)
{
	uint64_t out = 5, in = 0;
	struct ft_op rx, tx;

	for (int i = 0; i < rounds; i++) {
		ft_trecv(ep, with, 1, 0, &in, 8, &rx);
		ft_tsend(ep, with, 1, &out, 8, &tx);
		ft_wait(&tx);
		ft_wait(&rx);
	}
}

static void all_talk(struct ft_ep *ep)
{
	for (int turn = 0; turn < 3; turn++) { /* 0 with 1, 1 with 2, 2 with 0 */
		int next = (turn + 1) % 3;

		if (ft.rank == turn || ft.rank == next)
			talk(ep, ft.rank == turn ? next : turn, 20);
	}
}

/* The last rank has a network of its own (hosts.py), all else is shared. Sockets of the others do not
 * reach it: only shm takes it to be on their node. */
static void netns(bool same)
{
	const char *node[3];
	struct ft_ep ep;

	if (!ft_pair() || !getenv("QV_TEST_NETNS"))
		ft_skip("of quiver over two cores, by hosts.py");
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	for (int i = 0; i < 3; i++)
		node[i] = ft.sh->rank[i].name[0] + 4; /* behind the mark */
	CHECK(!memcmp(node[0], node[1], 8) && !memcmp(node[0], node[2], 8) == same);
	all_talk(&ep);
	ft_close(&ep);
}

static void pair_netns(void)
{
	netns(!strcmp(ft_local_core(), "shm"));
}

/* Name spaces are told apart by what stat says of them. Exported: the provider is to call this one. */
static bool is_clone;

__attribute__((visibility("default"))) int stat(const char *path, struct stat *st)
{
	return fstatat(AT_FDCWD, is_clone && !strcmp(path, "/proc/self/ns/net") ? "/" : path, st,
		       0);
}

/* As on machines that were started from one image: the far one looks as if it were here. */
static void pair_clones(void)
{
	is_clone = true;
	netns(true);
}

/* Rank 2 has a /dev/shm of its own, as in a container: it is reached by the network although it is
 * on the same machine. With a small one it has no shm at all. */
static void container(const char *size, bool has_node)
{
	static const char none[8];
	const char *node[3];
	struct ft_ep ep;

	if (!ft_pair() || strcmp(ft_local_core(), "shm"))
		ft_skip("of shm and another core");
	if (ft.rank == 2) {
		if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("tmpfs", "/dev/shm", "tmpfs", 0, size))
			ft_skip("no mount namespace of one's own (needs CAP_SYS_ADMIN)");
	}
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	for (int i = 0; i < 3; i++)
		node[i] = ft.sh->rank[i].name[0] + 4; /* behind the mark */
	CHECK(!memcmp(node[0], node[1], 8) && memcmp(node[0], node[2], 8));
	CHECK(!memcmp(node[2], none, 8) == !has_node);
	all_talk(&ep);
	ft_close(&ep);
}

static void pair_container(void)
{
	container("size=256m", true);
}

static void pair_no_room(void)
{
	container("size=1m", false);
}

/* A loss. */

/* The far one dies with a message to take: its sender is told, the near ones go on. */
static void pair_kill(void)
{
	enum { LEN = 1 << 20 };
	char *buf = ft_buf(LEN);
	struct ft_op op;
	struct ft_ep ep;

	open_pair(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	if (ft.rank == 0) {
		double start;

		talk(&ep, FAR, 10);
		ft_tsend(&ep, FAR, 2, buf, LEN, &op);
		ft_progress_for(0.1);
		ft.sh->word[0] = 1;
		for (start = ft_now(); !op.done && ft_now() - start < 6;)
			ft_progress();
		CHECK(op.done && op.err);
		talk(&ep, NEAR, 100);
	} else if (ft.rank == FAR) {
		talk(&ep, 0, 10);
		ft_await_word(0, 1);
		ft.sh->rank[FAR].may_die = true;
		ft.sh->members = 3;
		raise(SIGKILL);
	} else if (ft.rank == NEAR) {
		talk(&ep, 0, 100);
	}
	free(buf);
	ft_close(&ep);
}

/* Sleep. */

static void sleep_for(struct ft_ep *ep, int fd, struct ft_op *op)
{
	struct fid *fids[1] = {&ep->rx_cq->fid};

	while (!op->done) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		FT_HERE();
		if (!ft_poll_cq(ep, ep->rx_cq) && !fi_trywait(ep->fabric, fids, 1) &&
		    poll(&p, 1, ft_ms(5000)) <= 0)
			ft_fail("slept 5 s through a message");
	}
	ft_wait(op);
}

/* Who sleeps on the descriptor is woken by either core. */
static void pair_sleep(void)
{
	uint64_t word = 0;
	struct ft_ep ep;
	struct ft_op op;
	int fd = -1;

	open_pair(&ep, &(struct ft_conf){.wait = FI_WAIT_FD});
	OK(fi_control(&ep.rx_cq->fid, FI_GETWAIT, &fd));
	for (int i = 0; i < 12; i++) {
		int from = 1 + i % FAR;

		if (ft.rank == 0) {
			ft_trecv(&ep, FT_ANY, (uint64_t)i, 0, &word, 8, &op);
			ft.sh->word[0] = (uint64_t)i + 1;
			sleep_for(&ep, fd, &op);
		} else if (ft.rank == from) {
			ft_await_word(0, (uint64_t)i + 1);
			ft_msleep(20);
			ft_tsend(&ep, 0, (uint64_t)i, &word, 8, &op);
			sleep_for(&ep, fd, &op);
		}
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_pair[] = {
	{"pair_names", 4, 20, pair_names},           {"pair_order", 4, 40, pair_order},
	{"pair_unexpected", 4, 40, pair_unexpected}, {"pair_rma", 4, 20, pair_rma},
	{"pair_crossed", 2, 20, pair_crossed},       {"pair_kill", 4, 20, pair_kill},
	{"pair_sleep", 4, 20, pair_sleep},           {"pair_container", 3, 20, pair_container},
	{"pair_no_room", 3, 20, pair_no_room},       {"pair_netns", 3, 20, pair_netns},
	{"pair_clones", 3, 20, pair_clones},         {0},
};
