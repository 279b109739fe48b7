/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_bad.c - collectives that cannot be had, members that die, leave or want something else:
 * an error for everybody, within seconds, and other groups go on. */
#include "tests/fabric/harness/ft.h"
#include "coll.h"

#include <signal.h>
#include <unistd.h>

static ssize_t sum(struct ft_ep *ep, fi_addr_t group, uint64_t *in, uint64_t *out, size_t n,
		   struct ft_op *op)
{
	return fi_allreduce(ep->ep, in, n, NULL, out, NULL, group, FI_UINT64, FI_SUM, 0,
			    ft_fresh(op));
}

/* A result of several pieces, or of none. */
static void pieces(struct ft_ep *ep, fi_addr_t group)
{
	uint64_t in[2] = {1, 2}, out[2] = {0};
	struct fi_ioc from = {in, 2}, to[] = {{&out[0], 1}, {&out[1], 1}};
	struct fi_msg_collective msg = {.msg_iov = &from,
					.iov_count = 1,
					.coll_addr = group,
					.coll = FI_ALLREDUCE,
					.datatype = FI_UINT64,
					.op = FI_SUM};

	CHECK_EQ(-ep->ep->collective->msg(ep->ep, &msg, to, NULL, 2, 0), FI_EINVAL);
	CHECK_EQ(-ep->ep->collective->msg(ep->ep, &msg, NULL, NULL, 0, 0), FI_EINVAL);
}

/* A call without flags of its own has those of the endpoint. */
static void default_flags(void)
{
	struct fid_mc *mc;
	struct ft_op op;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE,
				       .eq = true,
				       .selective = true,
				       .tx_flags = FI_COMPLETION});
	mc = ft_join(&ep, 0xf);
	OK(fi_barrier(ep.ep, fi_mc_addr(mc), ft_fresh(&op)));
	ft_wait(&op);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* Calls that are refused do not harm the next one. */
static void errors(void)
{
	struct fi_collective_attr attr = {.op = FI_SUM, .datatype = FI_VOID};
	struct fid_mc *mc, *half;
	struct fid_av_set *set;
	uint64_t in = 1, out = 0;
	struct ft_op op;
	struct ft_ep ep, mute;
	fi_addr_t group;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	ft_open(&mute, &(struct ft_conf){.caps = FI_COLLECTIVE});
	CHECK_EQ(-fi_barrier(ep.ep, 0, &op), FI_EINVAL);
	set = ft_set(&mute, 0xf);
	CHECK_EQ(-fi_join_collective(mute.ep, FI_ADDR_NOTAVAIL, set, 0, &mc, NULL), FI_ENOEQ);
	CHECK_EQ(-fi_join_collective(ep.ep, FI_ADDR_NOTAVAIL, set, 0, &mc, NULL), FI_EINVAL);
	OK(fi_close(&set->fid));
	set = ft_set(&ep, 0xf & ~(1u << ft.rank));
	CHECK_EQ(-fi_join_collective(ep.ep, FI_ADDR_NOTAVAIL, set, 0, &mc, NULL), FI_EINVAL);
	CHECK_EQ(-fi_join_collective(ep.ep, 12345, set, 0, &mc, NULL), FI_EINVAL);
	OK(fi_close(&set->fid));
	mc = ft_join(&ep, 0xf);
	half = ft_join(&ep, ft.rank < 2 ? 0x3 : 0xc);
	group = fi_mc_addr(mc);
	CHECK_EQ(-fi_barrier(ep.ep, group ^ 0x10000, &op), FI_EINVAL); /* an earlier use */
	CHECK_EQ(-fi_barrier(ep.ep, group ^ 1ull << 40, &op), FI_EINVAL);
	CHECK_EQ(-fi_barrier2(ep.ep, group, FI_MULTI_RECV, &op), FI_EBADFLAGS);
	CHECK_EQ(-fi_broadcast(ep.ep, &in, 1, NULL, fi_mc_addr(half), ep.peer[ft.rank < 2 ? 2 : 0],
			       FI_UINT64, 0, &op),
		 FI_EINVAL); /* the root is in the other half */
	CHECK_EQ(-fi_allreduce(ep.ep, &in, 1, NULL, &out, NULL, group, FI_DOUBLE, FI_BAND, 0, &op),
		 FI_EOPNOTSUPP);
	CHECK_EQ(-fi_allreduce(ep.ep, &in, 1, NULL, &out, NULL, group, FI_UINT64, FI_CSWAP, 0, &op),
		 FI_EOPNOTSUPP);
	CHECK_EQ(-fi_allgather(ep.ep, &in, 1, NULL, &out, NULL, group, FI_VOID, 0, &op),
		 FI_EOPNOTSUPP);
	CHECK_EQ(-sum(&ep, group, &in, &out, SIZE_MAX / 8, &op), FI_EMSGSIZE);
	pieces(&ep, group);
	CHECK_EQ(-fi_query_collective(ep.domain, FI_ALLREDUCE, &attr, 0), FI_EOPNOTSUPP);
	CHECK_EQ(-fi_query_collective(ep.domain, FI_BARRIER, &attr, 0), FI_EOPNOTSUPP);
	attr.op = FI_NOOP;
	OK(fi_query_collective(ep.domain, FI_BARRIER, &attr, 0));
	CHECK(attr.max_members >= 4);
	if (ft.rank) { /* it cannot end before the first rank begins */
		OK(sum(&ep, group, &in, &out, 1, &op));
		CHECK_EQ(-fi_close(&mc->fid), FI_EBUSY);
	}
	ft_barrier();
	if (!ft.rank)
		OK(sum(&ep, group, &in, &out, 1, &op));
	ft_wait(&op);
	CHECK_EQ(out, 4);
	OK(fi_close(&half->fid));
	OK(fi_close(&mc->fid));
	CHECK_EQ(-fi_barrier(ep.ep, group, &op), FI_EINVAL);
	ft_close(&mute);
	ft_close(&ep);
	default_flags();
}

/* Tags of the application beside collectives: all bits, or in peer mode all but one, and the info
 * says so. */
static void tags(void)
{
	const uint64_t last = UINT64_C(1) << 63, all = ft.peer ? ~last : UINT64_MAX;
	struct fi_info *hints = ft_hints(&(struct ft_conf){.caps = FI_COLLECTIVE}), *info;
	char in[2] = "", out = 'x';
	struct ft_op op;
	struct ft_ep ep;
	struct fid_mc *mc;

	OK(ft_getinfo(hints, &info));
	CHECK_EQ(info->ep_attr->mem_tag_format >> 63, !ft.peer);
	CHECK_EQ(info->ep_attr->mem_tag_format >> 62 & 1, ft.peer);
	fi_freeinfo(info);
	hints->ep_attr->mem_tag_format = last;
	CHECK_EQ(-ft_getinfo(hints, &info), ft.peer ? FI_ENODATA : 0);
	if (!ft.peer)
		fi_freeinfo(info);
	fi_freeinfo(hints);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, (1u << ft.n) - 1);
	if (ft.peer) {
		CHECK_EQ(-fi_tsend(ep.ep, &out, 1, NULL, ep.peer[0], last, &op), FI_EINVAL);
		CHECK_EQ(-fi_tinject(ep.ep, &out, 1, ep.peer[0], last), FI_EINVAL);
		CHECK_EQ(-fi_trecv(ep.ep, in, 1, NULL, FI_ADDR_UNSPEC, last, 0, &op), FI_EINVAL);
	}
	/* Messages of both kinds, with receives that take any tag. */
	OK(fi_trecv(ep.ep, in, 1, NULL, FI_ADDR_UNSPEC, UINT64_MAX, UINT64_MAX, ft_fresh(&op)));
	OK(fi_tinject(ep.ep, &out, 1, ep.peer[!ft.rank], all));
	for (int i = 0; i < 10; i++) {
		struct ft_op barrier;

		OK(fi_barrier(ep.ep, fi_mc_addr(mc), ft_fresh(&barrier)));
		ft_wait(&barrier);
	}
	ft_wait(&op);
	CHECK_EQ(op.tag, all);
	CHECK_EQ(in[0], 'x');
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* Until the group is lost: the errors of what was under way, then of new calls. */
static void see_loss(struct ft_ep *ep, fi_addr_t group, uint64_t *in, uint64_t *out, size_t n)
{
	const double start = ft_now();
	struct ft_op op;
	ssize_t ret;

	do {
		ret = sum(ep, group, in, out, n, &op);
		if (ret)
			break;
		while (!op.done)
			ft_progress();
		if (op.err)
			ret = -op.err;
		CHECK(ft_now() - start < 10);
	} while (!ret);
	/* The first to see it may see a transfer fail. */
	CHECK(ret == -FI_ECONNABORTED || ret == -FI_EIO);
	CHECK_EQ(sum(ep, group, in, out, n, &op), ret);
}

/* The last rank dies, or closes its endpoint, while the others are at it. */
static void lose_one(bool dies, size_t n)
{
	const int victim = ft.n - 1;
	const uint32_t rest = (1u << victim) - 1;
	uint64_t *in = calloc(n, 8), *out = calloc(n, 8);
	struct fid_mc *mc, *others = NULL;
	struct ft_op op;
	struct ft_ep ep;

	CHECK(in && out);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, (1u << ft.n) - 1);
	if (ft.rank != victim)
		others = ft_join(&ep, rest);
	for (int i = 0; i < 5; i++) {
		OK(sum(&ep, fi_mc_addr(mc), in, out, n, &op));
		ft_wait(&op);
	}
	ft_barrier();
	if (ft.rank == victim) {
		OK(sum(&ep, fi_mc_addr(mc), in, out, n, &op));
		ft.sh->rank[victim].may_die = dies;
		ft.sh->members = (uint32_t)ft.n - dies;
		if (dies)
			raise(SIGKILL);
		ft_close_ep(&ep);
	} else {
		see_loss(&ep, fi_mc_addr(mc), in, out, n);
		in[0] = 1;
		OK(sum(&ep, fi_mc_addr(others), in, out, n, &op));
		ft_wait(&op);
		CHECK_EQ(out[0], victim);
		OK(fi_close(&others->fid));
	}
	OK(fi_close(&mc->fid));
	free(in);
	free(out);
	ft_close(&ep);
}

static void kill_small(void)
{
	lose_one(true, 10);
}

static void kill_large(void)
{
	ft_peer_limit("shm", FI_VERSION(2, 6),
		      "a long message to one who died holds up those to others");
	lose_one(true, ft_scaled(200000));
}

static void leave(void)
{
	lose_one(false, 1000);
}

/* A group is lost to two members, of whom one has closed it before the other one hears of that, and sends
 * long messages: these have an end. */
static void kill_closed(void)
{
	enum { VICTIM = 2 };
	const size_t n = 100000;
	uint64_t *in = calloc(3 * n, 8), *out = calloc(3 * n, 8);
	struct fid_mc *mc;
	struct ft_op op;
	struct ft_ep ep;

	CHECK(in && out);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, 0x7);
	ft_barrier();
	if (ft.rank == VICTIM) {
		ft.sh->rank[VICTIM].may_die = true;
		ft.sh->members = VICTIM;
		raise(SIGKILL);
	}
	if (!ft.rank) {
		OK(fi_alltoall(ep.ep, in, 1, NULL, out, NULL, fi_mc_addr(mc), FI_UINT64, 0,
			       ft_fresh(&op)));
		while (!op.done)
			ft_progress();
		CHECK(op.err == FI_ECONNABORTED || op.err == FI_EIO);
		OK(fi_close(&mc->fid));
		ft.sh->word[0] = 1;
		ft_barrier();
	} else {
		while (!ft.sh->word[0]) /* nothing is heard meanwhile */
			usleep(1000);
		if (!fi_alltoall(ep.ep, in, n, NULL, out, NULL, fi_mc_addr(mc), FI_UINT64, 0,
				 ft_fresh(&op))) {
			while (!op.done)
				ft_progress();
			CHECK(op.err == FI_ECONNABORTED || op.err == FI_EIO);
		}
		ft_barrier();
		OK(fi_close(&mc->fid));
	}
	free(in);
	free(out);
	ft_close(&ep);
}

/* One member is gone before it joins: nobody waits for it for ever. */
static void kill_join(void)
{
	const int victim = ft.n - 1;
	struct fid_av_set *set;
	struct fid_mc *mc;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, (1u << ft.n) - 1); /* all know each other */
	ft_barrier();
	if (ft.rank == victim) {
		ft.sh->rank[victim].may_die = true;
		ft.sh->members = (uint32_t)victim;
		raise(SIGKILL);
	}
	OK(fi_close(&mc->fid));
	set = ft_set(&ep, (1u << ft.n) - 1);
	OK(fi_join_collective(ep.ep, FI_ADDR_NOTAVAIL, set, 0, &mc, &ep));
	CHECK_EQ(ft_join_event(&ep, mc), FI_ECONNABORTED);
	OK(fi_close(&mc->fid));
	OK(fi_close(&set->fid));
	ft_close(&ep);
}

/* One member dies that has had no message from the one who waits for it, nor the other way round. */
static void kill_late(void)
{
	const int victim = 3; /* no power of two away from the root, so not met in the join */
	uint64_t in = 1, out[6];
	struct fid_mc *mc;
	struct ft_op op;
	struct ft_ep ep;

	setenv("FI_QUIVER_COLL", "gather=direct", 1);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, (1u << ft.n) - 1);
	ft_barrier();
	if (ft.rank == victim) {
		ft.sh->rank[victim].may_die = true;
		ft.sh->members = (uint32_t)ft.n - 1;
		sleep(2);
		raise(SIGKILL);
	}
	OK(fi_gather(ep.ep, &in, 1, NULL, out, NULL, fi_mc_addr(mc), ep.peer[0], FI_UINT64, 0,
		     ft_fresh(&op)));
	ft_await(&op, ft.rank ? 0 : FI_ECONNABORTED);
	ft_barrier(); /* connections of the others last until then */
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* Ranks that would choose other schedules do not get to it. */
static void mismatch(void)
{
	struct fid_av_set *set;
	struct fid_mc *mc;
	struct ft_ep ep;
	int err;

	if (ft.rank == 1)
		setenv("FI_QUIVER_COLL", "reduce=ring", 1);
	setenv("FI_QUIVER_QUIET", "1", 1);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	set = ft_set(&ep, 0x7);
	OK(fi_join_collective(ep.ep, FI_ADDR_NOTAVAIL, set, 0, &mc, NULL));
	err = ft_join_event(&ep, mc);
	CHECK(err == FI_EOTHER || err == FI_ECONNABORTED); /* found here, or heard of */
	OK(fi_close(&mc->fid));
	OK(fi_close(&set->fid));
	ft_close(&ep);
}

const struct ft_case ft_cases_coll_bad[] = {
	{"coll_errors", 4, 20, errors},           {"coll_tags", 2, 20, tags},
	{"coll_kill_small", 4, 30, kill_small},   {"coll_kill_large", 4, 30, kill_large},
	{"coll_kill_closed", 3, 30, kill_closed}, {"coll_kill_join", 3, 30, kill_join},
	{"coll_kill_late", 6, 30, kill_late},     {"coll_leave", 4, 30, leave},
	{"coll_mismatch", 3, 20, mismatch},       {NULL, 0, 0, NULL},
};
