/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - groups whose members have memory of a node in common: what goes through it, when there
 * is none, and members that leave. */
#include "tests/fabric/harness/stats.h"
#include "coll.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Are all ranks on one node, as quiver sees it? */
static bool is_one_node(void)
{
	return !getenv("QV_TEST_NODES") && strcmp(ft_local_core(), "shm");
}

static void sum(struct ft_ep *ep, struct fid_mc *mc, size_t n)
{
	uint64_t *v = calloc(n, sizeof(*v));
	struct ft_op op;

	CHECK(v);
	for (size_t i = 0; i < n; i++)
		v[i] = i + (uint64_t)ft.rank;
	OK(fi_allreduce(ep->ep, v, n, NULL, v, NULL, fi_mc_addr(mc), FI_UINT64, FI_SUM, 0,
			ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(v[i], (uint64_t)ft.n * i + (uint64_t)(ft.n * (ft.n - 1) / 2));
	free(v);
}

/* One of each kind, of so many words from each; all right. */
static void each_kind(struct ft_ep *ep, struct fid_mc *mc, size_t n)
{
	const fi_addr_t group = fi_mc_addr(mc);
	const size_t all = n * (size_t)ft.n;
	uint64_t *in = calloc(all, sizeof(*in)), *out = calloc(all, sizeof(*out));
	struct ft_op op;

	CHECK(in && out);
	sum(ep, mc, n);
	for (size_t i = 0; i < all; i++)
		in[i] = 1000 * (uint64_t)ft.rank + i / n;
	OK(fi_barrier(ep->ep, group, ft_fresh(&op)));
	ft_wait(&op);
	OK(fi_alltoall(ep->ep, in, n, NULL, out, NULL, group, FI_UINT64, 0, ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < all; i++)
		CHECK_EQ(out[i], 1000 * (uint64_t)(i / n) + (uint64_t)ft.rank);
	OK(fi_allgather(ep->ep, in, n, NULL, out, NULL, group, FI_UINT64, 0, ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < all; i++)
		CHECK_EQ(out[i], 1000 * (uint64_t)(i / n));
	OK(fi_reduce(ep->ep, in, n, NULL, out, NULL, group, ep->peer[1], FI_UINT64, FI_MAX, 0,
		     ft_fresh(&op)));
	ft_wait(&op);
	CHECK(ft.rank != 1 || out[0] == 1000 * (uint64_t)(ft.n - 1));
	OK(fi_broadcast(ep->ep, in, n, NULL, group, ep->peer[0], FI_UINT64, 0, ft_fresh(&op)));
	ft_wait(&op);
	CHECK_EQ(in[0], 0);
	free(in);
	free(out);
}

/* Does a device combine? Then reductions go by messages. */
static bool is_offloaded(void)
{
	const char *kind = getenv("FI_QUIVER_OFFLOAD");

	return kind && *kind && strcmp(kind, "off");
}

/* Short ones of all six kinds, long ones of allreduce and barrier; what a rule names, none. */
static void used(void)
{
	const bool one = is_one_node();
	const unsigned reductions = is_offloaded() ? 0 : 1;
	struct fid_mc *mc;
	struct ft_ep ep;

	setenv("FI_QUIVER_COLL", "reduce=binomial", 1);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, (1u << ft.n) - 1);
	each_kind(&ep, mc, 3);
	CHECK_EQ(ft_stats(&ep).collectives_memory, one ? 4 + reductions : 0);
	each_kind(&ep, mc, 50000); /* so long whatever the scale */
	CHECK_EQ(ft_stats(&ep).collectives_memory, one ? 5 + 2 * reductions : 0);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* With a device, or none where one is wanted. */
static void offloaded(void)
{
	setenv("FI_QUIVER_OFFLOAD", "opencl", 1);
	used();
}

/* A member sleeps: messages wake it. */
static void sleeper(void)
{
	struct ft_conf conf = {.caps = FI_COLLECTIVE, .eq = true};
	struct fid_mc *mc;
	struct ft_ep ep;

	if (ft.rank == 1)
		conf.wait = FI_WAIT_FD;
	ft_open(&ep, &conf);
	mc = ft_join(&ep, (1u << ft.n) - 1);
	each_kind(&ep, mc, 3);
	CHECK_EQ(ft_stats(&ep).collectives_memory, 0);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* No more descriptors than there are, and so many. */
static void limit_descriptors(unsigned more, struct rlimit *before)
{
	struct rlimit now;
	DIR *dir = opendir("/proc/self/fd");
	unsigned long top = 0;
	struct dirent *d;

	CHECK(dir && !getrlimit(RLIMIT_NOFILE, before));
	while ((d = readdir(dir))) {
		const unsigned long fd = strtoul(d->d_name, NULL, 10);

		if (fd != (unsigned long)dirfd(dir) && fd > top)
			top = fd;
	}
	closedir(dir);
	for (unsigned long fd = 0; fd < top; fd++)
		if (fcntl((int)fd, F_GETFD) < 0)
			CHECK(dup2(0, (int)fd) >= 0); /* no holes */
	now = (struct rlimit){top + 1 + more, before->rlim_max};
	CHECK(!setrlimit(RLIMIT_NOFILE, &now));
}

/* One member has no descriptors for it: nobody uses memory, and the group is there all the same. */
static void without(void)
{
	struct fid_mc *mc;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, (1u << ft.n) - 1);
	each_kind(&ep, mc, 5000); /* all speak to all */
	OK(fi_close(&mc->fid));
	for (unsigned i = 0; i < 6; i++) {
		const uint64_t before = ft_stats(&ep).collectives_memory;
		struct rlimit old;

		ft_barrier();
		if (ft.rank == (int)(i / 3))
			limit_descriptors(i % 3, &old);
		mc = ft_join(&ep, (1u << ft.n) - 1);
		each_kind(&ep, mc, 3);
		if (i % 3 < 2)
			CHECK_EQ(ft_stats(&ep).collectives_memory, before);
		if (ft.rank == (int)(i / 3))
			CHECK(!setrlimit(RLIMIT_NOFILE, &old));
		OK(fi_close(&mc->fid));
	}
	mc = ft_join(&ep, (1u << ft.n) - 1);
	each_kind(&ep, mc, 3);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* The last one has done its part and closes; the others go on with what it was part of, and are told
 * when they want more of it. */
static void leaves(void)
{
	const uint64_t one = 1;
	uint64_t all = 0;
	struct fid_mc *mc;
	struct ft_op op;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, (1u << ft.n) - 1);
	sum(&ep, mc, 3);
	if (ft.rank == 1)
		ft_msleep(600);
	OK(fi_reduce(ep.ep, &one, 1, NULL, &all, NULL, fi_mc_addr(mc), ep.peer[0], FI_UINT64,
		     FI_SUM, 0, ft_fresh(&op)));
	ft_wait(&op);
	CHECK(ft.rank || all == (uint64_t)ft.n);
	if (ft.rank == ft.n - 1)
		OK(fi_close(&mc->fid));
	ft_barrier();
	if (ft.rank != ft.n - 1) {
		OK(fi_barrier(ep.ep, fi_mc_addr(mc), ft_fresh(&op)));
		while (!op.done)
			ft_progress();
		CHECK_EQ(op.err, FI_ECONNABORTED);
		OK(fi_close(&mc->fid));
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_coll_memory[] = {
	{"coll_memory", 4, 30, used},
	{"coll_memory_16", 16, 60, used},
	{"coll_memory_offload", 4, 60, offloaded},
	{"coll_memory_sleeper", 4, 30, sleeper},
	{"coll_memory_without", 4, 30, without},
	{"coll_memory_leaves", 4, 30, leaves},
	{NULL, 0, 0, NULL},
};
