/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.c - what the provider counts, by fi_open_ops. */
#include "tests/fabric/harness/ft.h"

#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <quiver/fi_ext.h>

static struct qv_fi_stats_ops *ops_of(struct ft_ep *ep)
{
	void *ops = NULL;

	if (!ft.quiver)
		ft_skip("an extension of quiver");
	CHECK_EQ(-fi_open_ops(&ep->ep->fid, "unheard of", 0, &ops, NULL), FI_ENOSYS);
	CHECK_EQ(-fi_open_ops(&ep->ep->fid, QV_FI_OPS_STATS, FI_SEND, &ops, NULL), FI_EBADFLAGS);
	CHECK(!ops);
	OK(fi_open_ops(&ep->ep->fid, QV_FI_OPS_STATS, 0, &ops, NULL));
	return ops;
}

/* What a sender of short messages and a long one has given to a network, and copied of the short ones:
 * twice, where they have waited for the first answer. Core node moves them itself. */
static void check_moved(const struct qv_fi_stats *s, uint64_t bytes)
{
	const bool network = !strstr(s->core, "node");

	CHECK(s->copied <= 2 * bytes);
	CHECK(s->packets < 64 && (s->packets || !network));
	CHECK(!network || strstr(s->core, "shm") || s->copied >= bytes);
}

static void counts(void)
{
	enum { N = 5, LONG = 1 << 20 };
	struct qv_fi_stats_ops *ops;
	struct qv_fi_stats s;
	struct ft_op op[N + 1];
	struct ft_ep ep;
	uint64_t n = 99;
	char *buf = ft_buf(LONG);
	/* In peer mode the core sends as it likes, and it keeps what waits; in layered mode a long
	 * message waits at its sender. */
	const bool long_too = ft.peer;
	const size_t waiting = 8 * N + (ft.peer ? LONG : 0);

	ft_open(&ep, &(struct ft_conf){0});
	ops = ops_of(&ep);
	CHECK_EQ(ops->size, sizeof(*ops));
	memset(&s, 1, sizeof(s));
	OK(ops->get(&ep.ep->fid, &s, sizeof(s)));
	CHECK(!strcmp(s.core, ft_core()) || (ft_pair() && strstr(s.core, ft_core())));
	CHECK(!strcmp(s.structure, "auto") && s.isa);
	CHECK_EQ(s.eager + s.rendezvous + s.peers + s.tagged.posted + s.untagged.posted, 0);
	ft_barrier();
	if (ft.rank == 1) { /* N that nobody waits for yet, and a long one */
		for (uint64_t i = 0; i < N; i++)
			ft_tsend(&ep, 0, i, buf, 8, &op[i]);
		ft_tsend(&ep, 0, N, buf, LONG, &op[N]);
		ft_wait_all(op, N + 1);
		OK(ops->get(&ep.ep->fid, &s, sizeof(s)));
		CHECK_EQ(s.eager, N + long_too);
		CHECK_EQ(s.rendezvous, !long_too);
		if (!ft.peer) {
			CHECK_EQ(s.peers, 1);
			OK(ops->received(&ep.ep->fid, ep.peer[0], &n));
			CHECK_EQ(n, 0);
			check_moved(&s, 8 * N);
		}
	} else {
		while (ft_peek(&ep, true, FT_ANY, N, 0, 0, &op[N]) == FI_ENOMSG)
			ft_progress();
		OK(ops->get(&ep.ep->fid, &s, sizeof(s)));
		CHECK_EQ(s.tagged.unexpected, N + 1);
		CHECK_EQ(s.tagged.unexpected_now, N + 1);
		CHECK_EQ(s.unexpected_bytes, waiting);
		for (uint64_t i = 0; i <= N; i++)
			ft_trecv(&ep, FT_ANY, i, 0, buf, LONG, &op[i]);
		ft_wait_all(op, N + 1);
		ft_recv(&ep, FT_ANY, buf, 8, &op[0]);
		memset(&s, 1, sizeof(s));
		OK(ops->get(&ep.ep->fid, &s, sizeof(s)));
		CHECK_EQ(s.tagged.posted, N + 1);
		CHECK_EQ(s.tagged.arrived, N + 1);
		CHECK_EQ(s.tagged.matched, N + 1);
		CHECK_EQ(s.tagged.unexpected_now, 0);
		CHECK_EQ(s.tagged.unexpected_max, N + 1);
		CHECK(s.tagged.inspected > 0);
		CHECK_EQ(s.untagged.posted_now, 1);
		CHECK_EQ(s.untagged.posted_max, 1);
		CHECK_EQ(s.unexpected_bytes, 0);
		CHECK_EQ(s.unexpected_bytes_max, waiting);
		if (ft.peer) {
			CHECK_EQ(-ops->received(&ep.ep->fid, ep.peer[1], &n), FI_ENOSYS);
		} else {
			OK(ops->received(&ep.ep->fid, ep.peer[1], &n));
			CHECK_EQ(n, N + 1);
			/* Stored, and then received; the long one may come in packets. */
			CHECK(s.copied == 16 * N || s.copied == 16 * N + LONG);
			CHECK_EQ(-ops->received(&ep.ep->fid, 1234, &n), FI_EINVAL);
		}
		OK(fi_cancel(&ep.ep->fid, &op[0]));
		ft_wait_err(&op[0], FI_ECANCELED);
	}
	ft_barrier();
	free(buf);
	ft_close(&ep);
}

/* A program that knows a shorter structure, or a longer one, and one that asks the wrong object. */
static void sizes(void)
{
	struct qv_fi_stats_ops *ops;
	struct qv_fi_stats s;
	struct ft_ep ep;
	char longer[sizeof(s) + 8];

	ft_open(&ep, &(struct ft_conf){0});
	ops = ops_of(&ep);
	memset(&s, 1, sizeof(s));
	OK(ops->get(&ep.ep->fid, &s, offsetof(struct qv_fi_stats, eager)));
	CHECK(!strcmp(s.structure, "auto"));
	CHECK_EQ(s.eager, 0x0101010101010101);
	memset(longer, 1, sizeof(longer));
	OK(ops->get(&ep.ep->fid, (struct qv_fi_stats *)(void *)longer, sizeof(longer)));
	for (size_t i = sizeof(s); i < sizeof(longer); i++)
		CHECK_EQ(longer[i], 0);
	CHECK_EQ(-ops->get(&ep.domain->fid, &s, sizeof(s)), FI_EINVAL);
	CHECK_EQ(-ops->get(NULL, &s, sizeof(s)), FI_EINVAL);
	ft_close(&ep);
}

/* A profile by which rank 2 is the only source that many receives wait for; its messages do not. */
static void use_profile(const char *path)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs("0 1 1\n1 1 1\n2 1000 1\n", file) >= 0 && fclose(file) == 0);
	setenv("FI_QUIVER_MATCH", "pnp-static", 1);
	setenv("FI_QUIVER_PROFILE", path, 1);
}

/*
 * Sources of a profile are the numbers of the address vector, in whatever order they are heard of:
 * what waits for rank 2 is not in the way of a message from rank 1.
 */
static void profile_sources(void)
{
	enum { N = 200 };
	char path[64];
	static struct ft_op op[N];
	struct qv_fi_stats_ops *ops;
	struct qv_fi_stats s;
	uint64_t word = 0, before;
	struct ft_op one;
	struct ft_ep ep;

	if (!ft.quiver || ft.peer)
		ft_skip("a setting of quiver's layered mode");
	if (ft.rank == 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd_create("profile", 0));
		use_profile(path);
	}
	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ops = ops_of(&ep);
	if (ft.rank != 0) {
		ft_await_word(0, ft.rank == 2 ? 1 : 2);
		ft_tsend(&ep, 0, N, &word, 8, &one);
		ft_wait(&one);
	} else {
		ft.sh->word[0] = 1; /* rank 2 is heard of first */
		ft_trecv(&ep, 2, N, 0, &word, 8, &one);
		ft_wait(&one);
		for (uint64_t i = 0; i < N; i++)
			ft_trecv(&ep, 2, i, 0, &word, 8, &op[i]);
		OK(ops->get(&ep.ep->fid, &s, sizeof(s)));
		CHECK(!strcmp(s.structure, "pnp-static"));
		before = s.tagged.inspected;
		ft_trecv(&ep, 1, N, 0, &word, 8, &one);
		ft.sh->word[0] = 2;
		ft_wait(&one);
		OK(ops->get(&ep.ep->fid, &s, sizeof(s)));
		CHECK(s.tagged.inspected > before && s.tagged.inspected < before + N / 2);
		for (uint64_t i = 0; i < N; i++) {
			OK(fi_cancel(&ep.ep->fid, &op[i]));
			ft_wait_err(&op[i], FI_ECANCELED);
		}
	}
	ft_barrier();
	ft_close(&ep);
}

/* A process that ends with its endpoint open: cli.stats looks for what it says then. */
static void not_closed(void)
{
	static struct ft_ep ep;
	struct ft_op op, tx;
	uint64_t in, out = 1;

	ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
	ft_trecv(&ep, ft.rank, 5, 0, &in, 8, &op);
	ft_tsend(&ep, ft.rank, 5, &out, 8, &tx);
	ft_wait(&op);
	ft_wait(&tx);
	OK(fi_av_remove(ep.av, ep.peer, 1, 0)); /* as MPIs do at their end */
}

/* In the place of the C library's: the provider asks for it while it writes, if %h is in the name. */
static bool exits;

__attribute__((visibility("default"))) int gethostname(char *name, size_t size)
{
	struct utsname me;

	if (exits) {
		exits = false;
		exit(3);
	}
	if (uname(&me))
		return -1;
	snprintf(name, size, "%s", me.nodename);
	return 0;
}

/* As a signal handler that calls exit() while the counters are written: cli.stats looks. */
static void exit_in_write(void)
{
	struct ft_ep ep[2];

	for (int i = 0; i < 2; i++)
		ft_open(&ep[i], &(struct ft_conf){0});
	exits = true;
	ft_close(&ep[0]);
	exits = false;
	ft_close(&ep[1]);
}

/* A program that goes elsewhere before it writes: cli.stats looks for its files. */
static void elsewhere(void)
{
	struct fi_info *info;
	struct ft_ep ep;

	OK(fi_getinfo(FI_VERSION(1, 9), NULL, NULL, 0, NULL, &info));
	fi_freeinfo(info);
	CHECK(!chdir("/"));
	ft_open(&ep, &(struct ft_conf){0});
	ft_close(&ep);
}

/* One that opens an endpoint in its child, and has had one before: cli.stats looks at the sums. */
static void forked(void)
{
	struct ft_ep ep;
	struct ft_op op, tx;
	uint64_t in, out = 1;
	int status;
	pid_t child;

	for (int i = 0; i < 2; i++) {
		ft_open(&ep, &(struct ft_conf){.caps = FI_DIRECTED_RECV});
		if (i == 0) {
			ft_trecv(&ep, ft.rank, 5, 0, &in, 8, &op);
			ft_tsend(&ep, ft.rank, 5, &out, 8, &tx);
			ft_wait(&op);
			ft_wait(&tx);
		}
		ft_close(&ep);
		if (i)
			exit(0);
		child = fork();
		if (child) {
			CHECK(waitpid(child, &status, 0) == child && !status);
			return;
		}
	}
}

const struct ft_case ft_cases_stats[] = {
	{"stats_counts", 2, 20, counts},
	{"stats_sizes", 1, 20, sizes},
	{"profile_sources", 3, 20, profile_sources},
	{"stats_not_closed", 1, 20, not_closed},
	{"stats_exit_in_write", 1, 20, exit_in_write},
	{"stats_elsewhere", 1, 20, elsewhere},
	{"stats_forked", 1, 20, forked},
	{0},
};
