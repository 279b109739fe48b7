/* SPDX-License-Identifier: BSD-2-Clause */
/* coll.c - collectives: sets and groups, all operations over many sizes, several at once, beside
 * the application's messages, by every algorithm. */
#include "tests/fabric/harness/stats.h"
#include "coll.h"

/* Sets and groups. */

struct fid_av_set *ft_set(struct ft_ep *ep, uint32_t members)
{
	struct fi_av_set_attr attr = {.start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL};
	struct fid_av_set *set;

	OK(fi_av_set(ep->av, &attr, &set, NULL));
	for (int r = 0; r < ft.n; r++)
		if (members >> r & 1)
			OK(fi_av_set_insert(set, ep->peer[r]));
	return set;
}

int ft_join_event(struct ft_ep *ep, struct fid_mc *mc)
{
	struct fi_eq_err_entry err = {0};
	struct fi_eq_entry entry = {0};
	uint32_t event = 0;
	ssize_t ret;

	while ((ret = fi_eq_read(ep->eq, &event, &entry, sizeof(entry), 0)) == -FI_EAGAIN)
		ft_progress();
	if (ret == -FI_EAVAIL) {
		CHECK(fi_eq_readerr(ep->eq, &err, 0) > 0);
		CHECK(err.fid == &mc->fid && err.context == mc->fid.context);
		return err.err;
	}
	CHECK_EQ(ret, sizeof(entry));
	CHECK_EQ(event, FI_JOIN_COMPLETE);
	CHECK(entry.fid == &mc->fid && entry.context == mc->fid.context);
	return 0;
}

struct fid_mc *ft_join(struct ft_ep *ep, uint32_t members)
{
	struct fid_av_set *set = ft_set(ep, members);
	struct fid_mc *mc = NULL;
	fi_addr_t addr;

	OK(fi_av_set_addr(set, &addr));
	OK(fi_join_collective(ep->ep, addr, set, 0, &mc, &addr));
	CHECK_EQ(ft_join_event(ep, mc), 0);
	OK(fi_close(&set->fid));
	return mc;
}

/* The members of a set, as bits, are found by taking it apart. */
static uint32_t members_of(struct ft_ep *ep, struct fid_av_set *set)
{
	uint32_t members = 0;

	for (int r = 0; r < ft.n; r++) {
		int ret = fi_av_set_remove(set, ep->peer[r]);

		CHECK(ret == 0 || ret == -FI_EINVAL);
		members |= (uint32_t)(ret == 0) << r;
	}
	return members;
}

static void sets(void)
{
	struct fi_av_set_attr attr = {.start_addr = 1, .end_addr = 3, .stride = 2};
	struct fid_av_set *a, *b;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE});
	OK(fi_av_set(ep.av, &attr, &a, NULL));
	CHECK_EQ(members_of(&ep, a), 0xa);
	OK(fi_close(&a->fid));
	attr.end_addr = 4;
	CHECK_EQ(-fi_av_set(ep.av, &attr, &a, NULL), FI_EINVAL);
	attr.start_addr = FI_ADDR_NOTAVAIL;
	CHECK_EQ(-fi_av_set(ep.av, &attr, &a, NULL), FI_EINVAL);
	attr.flags = 1;
	CHECK_EQ(-fi_av_set(ep.av, &attr, &a, NULL), FI_EBADFLAGS);
	attr.flags = FI_UNIVERSE | FI_BARRIER_SET;
	OK(fi_av_set(ep.av, &attr, &a, NULL));
	CHECK_EQ(members_of(&ep, a), 0xf);
	OK(fi_close(&a->fid));
	a = ft_set(&ep, 0x3);
	b = ft_set(&ep, 0x6);
	CHECK_EQ(-fi_av_set_insert(a, ep.peer[1]), FI_EINVAL); /* is there */
	CHECK_EQ(-fi_av_set_insert(a, 99), FI_EINVAL);
	OK(fi_av_set_union(a, b));
	OK(fi_av_set_diff(a, b));
	CHECK_EQ(members_of(&ep, a), 0x1);
	OK(fi_av_set_union(a, b));
	OK(fi_av_set_insert(a, ep.peer[3]));
	OK(fi_av_set_remove(b, ep.peer[1]));
	OK(fi_av_set_intersect(a, b));
	CHECK_EQ(members_of(&ep, a), 0x4);
	CHECK_EQ(-fi_close(&ep.av->fid), FI_EBUSY);
	OK(fi_close(&a->fid));
	OK(fi_close(&b->fid));
	ft_close(&ep);
}

/* Every operation. */

/* What rank r has at place i. */
static uint64_t value(int r, size_t i)
{
	return (uint64_t)(r + 1) * 0x9e3779b97f4a7c15ull + i * 0xbf58476d1ce4e5b9ull;
}

static uint64_t sum(size_t i)
{
	uint64_t s = 0;

	for (int r = 0; r < ft.n; r++)
		s += value(r, i);
	return s;
}

struct vectors {
	uint64_t *in, *out; /* of all blocks */
	size_t n;           /* elements of a block */
};

static void clear(const struct vectors *v)
{
	for (size_t i = 0; i < (size_t)ft.n * v->n; i++) {
		v->in[i] = value(ft.rank, i);
		v->out[i] = 0;
	}
}

static void reductions(struct ft_ep *ep, fi_addr_t group, const struct vectors *v, int root)
{
	struct ft_op op;

	clear(v);
	POST(fi_reduce(ep->ep, v->in, v->n, NULL, ft.rank == root ? v->out : NULL, NULL, group,
		       ep->peer[root], FI_UINT64, FI_SUM, 0, ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < v->n; i++)
		CHECK_EQ(v->out[i], ft.rank == root ? sum(i) : 0);
	POST(fi_allreduce(ep->ep, v->in, v->n, NULL, v->out, NULL, group, FI_UINT64, FI_SUM, 0,
			  ft_fresh(&op)));
	ft_wait(&op);
	CHECK(op.flags & FI_COLLECTIVE);
	for (size_t i = 0; i < v->n; i++)
		CHECK_EQ(v->out[i], sum(i));
	clear(v); /* in place */
	POST(fi_allreduce(ep->ep, v->in, v->n, NULL, v->in, NULL, group, FI_UINT64, FI_SUM, 0,
			  ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < v->n; i++)
		CHECK_EQ(v->in[i], sum(i));
	clear(v);
	OK(fi_reduce_scatter(ep->ep, v->in, v->n, NULL, v->out, NULL, group, FI_UINT64, FI_SUM, 0,
			     ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < v->n; i++)
		CHECK_EQ(v->out[i], sum((size_t)ft.rank * v->n + i));
}

static void moves(struct ft_ep *ep, fi_addr_t group, const struct vectors *v, int root)
{
	struct ft_op op;

	clear(v);
	OK(fi_broadcast(ep->ep, ft.rank == root ? v->in : v->out, v->n, NULL, group, ep->peer[root],
			FI_UINT64, 0, ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < v->n; i++)
		CHECK_EQ((ft.rank == root ? v->in : v->out)[i], value(root, i));
	OK(fi_gather(ep->ep, v->in, v->n, NULL, v->out, NULL, group, ep->peer[root], FI_UINT64, 0,
		     ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < (size_t)ft.n * v->n && ft.rank == root; i++)
		CHECK_EQ(v->out[i], value((int)(i / v->n), i % v->n));
	OK(fi_scatter(ep->ep, v->in, v->n, NULL, v->out, NULL, group, ep->peer[root], FI_UINT64, 0,
		      ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < v->n; i++)
		CHECK_EQ(v->out[i], value(root, (size_t)ft.rank * v->n + i));
	OK(fi_allgather(ep->ep, v->in, v->n, NULL, v->out, NULL, group, FI_UINT64, 0,
			ft_fresh(&op)));
	ft_wait(&op);
	for (size_t i = 0; i < (size_t)ft.n * v->n; i++)
		CHECK_EQ(v->out[i], value((int)(i / v->n), i % v->n));
	for (int in_place = 0; in_place < 2; in_place++) {
		OK(fi_alltoall(ep->ep, v->in, v->n, NULL, in_place ? v->in : v->out, NULL, group,
			       FI_UINT64, 0, ft_fresh(&op)));
		ft_wait(&op);
		for (size_t i = 0; i < (size_t)ft.n * v->n; i++)
			CHECK_EQ((in_place ? v->in : v->out)[i],
				 value((int)(i / v->n), (size_t)ft.rank * v->n + i % v->n));
	}
}

static void barriers(struct ft_ep *ep, fi_addr_t group)
{
	struct ft_op op;

	for (uint64_t i = 1; i <= 20; i++) {
		ft.sh->word[ft.rank] = i;
		OK(fi_barrier(ep->ep, group, ft_fresh(&op)));
		ft_wait(&op);
		for (int r = 0; r < ft.n; r++)
			CHECK(ft.sh->word[r] >= i);
	}
}

static void run_all(const char *rules)
{
	const size_t most = ft_scaled(60000) + 1, sizes[] = {0, 1, 7, 1000, most};
	struct vectors v;
	struct fid_mc *mc;
	struct ft_ep ep;
	uint64_t *memory;

	if (rules)
		setenv("FI_QUIVER_COLL", rules, 1);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, (1u << ft.n) - 1);
	memory = malloc(2 * (size_t)ft.n * most * sizeof(*memory));
	CHECK(memory);
	barriers(&ep, fi_mc_addr(mc));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		v = (struct vectors){memory, memory + (size_t)ft.n * sizes[i], sizes[i]};
		reductions(&ep, fi_mc_addr(mc), &v, (int)i % ft.n);
		moves(&ep, fi_mc_addr(mc), &v, (int)(i + 1) % ft.n);
	}
	free(memory);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

static void sizes(void)
{
	run_all(NULL);
}

static void rules_tree(void)
{
	run_all("reduce=binomial,allreduce=clairvoyant,reduce_scatter=binomial,barrier=binomial,"
		"broadcast=binomial,gather=binomial,scatter=binomial,allgather=dissemination,"
		"alltoall=hypercube");
}

static void rules_ring(void)
{
	run_all("reduce=ring,allreduce=ring:faithful,reduce_scatter=ring,broadcast=ring,"
		"gather=direct,scatter=direct,allgather=mesh3,alltoall=mesh2");
}

static void rules_groups(void)
{
	run_all("reduce=butterfly,allreduce=radix,reduce_scatter=radix:4,broadcast=pipeline,"
		"allgather=direct,alltoall=direct");
}

static void rules_segments(void)
{
	run_all("reduce=pipeline,allreduce=segmented,reduce_scatter=segmented:faithful,"
		"broadcast=binary,allgather=hypercube,alltoall=hybrid");
}

static void rules_line(void)
{
	run_all("reduce=redirect,allreduce=redirect:faithful,reduce_scatter=redirect,"
		"broadcast=clairvoyant");
}

static void rules_unit(void)
{
	run_all("reduce=unit,allreduce=unit:2,barrier=unit,broadcast=unit");
}

/* Each of four groups of all members has another one that runs its unit; the first one does again
 * once its group has been left. */
static void unit_leaders(void)
{
	struct fid_mc *mc[4];
	struct ft_ep ep;
	uint64_t in = 1, out;
	struct ft_op op;

	setenv("FI_QUIVER_COLL", "allreduce=unit", 1);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	for (int g = 0; g < 4; g++) {
		mc[g] = ft_join(&ep, (1u << ft.n) - 1);
		CHECK_EQ(ft_stats(&ep).combine_units, ft.rank <= g);
	}
	for (int g = 0; g < 4; g++) {
		OK(fi_allreduce(ep.ep, &in, 1, NULL, &out, NULL, fi_mc_addr(mc[g]), FI_UINT64,
				FI_SUM, 0, ft_fresh(&op)));
		ft_wait(&op);
		CHECK_EQ(out, (uint64_t)ft.n);
	}
	OK(fi_close(&mc[0]->fid));
	mc[0] = ft_join(&ep, (1u << ft.n) - 1);
	CHECK_EQ(ft_stats(&ep).combine_units, 1);
	for (int g = 0; g < 4; g++)
		OK(fi_close(&mc[g]->fid));
	CHECK_EQ(ft_stats(&ep).combine_units, 0);
	ft_close(&ep);
}

static void rules_rows(void)
{
	run_all("allgather=ring,alltoall=mesh3");
}

static void rules_prefixes(void)
{
	run_all("allgather=prefix,alltoall=prefix:paced=1");
}

static void rules_shifts(void)
{
	run_all("allgather=kshift:3,alltoall=hybrid:1");
}

static void rules_neighbours(void)
{
	run_all("allgather=kprefix:2:paced=1,alltoall=hybrid:2");
}

/* Many at once. */

enum { GROUPS = 5, DEEP = 4, LENGTH = 3000 };

static const uint32_t who[GROUPS] = {0xf, 0x7, 0xe, 0xa, 0xf};

struct flight {
	struct ft_op op;
	uint64_t in[LENGTH], out[LENGTH];
};

static uint64_t sum_of(uint32_t members, size_t i)
{
	uint64_t s = 0;

	for (int r = 0; r < ft.n; r++)
		if (members >> r & 1)
			s += value(r, i);
	return s;
}

static void launch(struct ft_ep *ep, struct fid_mc *const *mc, struct flight *flights)
{
	for (size_t k = 0; k < (size_t)GROUPS * DEEP; k++) {
		struct flight *f = &flights[k];
		const size_t g = k % GROUPS;

		if (!(who[g] >> ft.rank & 1))
			continue;
		for (size_t i = 0; i < LENGTH; i++)
			f->in[i] = value(ft.rank, i + k);
		POST(fi_allreduce(ep->ep, f->in, LENGTH / (k % 3 + 1), NULL, f->out, NULL,
				  fi_mc_addr(mc[g]), FI_UINT64, FI_SUM, 0, ft_fresh(&f->op)));
	}
}

/* Groups of the same and of other members, whose joins and operations overlap. */
static void overlap(void)
{
	struct flight *flights = calloc((size_t)GROUPS * DEEP, sizeof(*flights));
	struct fid_mc *mc[GROUPS] = {NULL};
	struct fid_av_set *set[GROUPS];
	struct ft_ep ep;
	fi_addr_t addr;

	CHECK(flights);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	for (int g = 0; g < GROUPS; g++) {
		set[g] = ft_set(&ep, who[g]);
		OK(fi_av_set_addr(set[g], &addr));
		if (who[g] >> ft.rank & 1)
			OK(fi_join_collective(ep.ep, addr, set[g], 0, &mc[g], NULL));
	}
	for (int g = 0; g < GROUPS; g++) {
		struct fi_eq_entry entry;
		uint32_t event;

		if (!mc[g])
			continue;
		while (fi_eq_read(ep.eq, &event, &entry, sizeof(entry), 0) == -FI_EAGAIN)
			ft_progress();
		CHECK_EQ(event, FI_JOIN_COMPLETE);
	}
	for (size_t round = 0; round < ft_scaled(20); round++) {
		launch(&ep, mc, flights);
		for (size_t k = 0; k < (size_t)GROUPS * DEEP; k++) {
			const size_t g = k % GROUPS;

			if (!(who[g] >> ft.rank & 1))
				continue;
			ft_wait(&flights[k].op);
			for (size_t i = 0; i < LENGTH / (k % 3 + 1); i += 97)
				CHECK_EQ(flights[k].out[i], sum_of(who[g], i + k));
		}
	}
	for (int g = 0; g < GROUPS; g++) {
		OK(fi_close(&set[g]->fid));
		if (mc[g])
			OK(fi_close(&mc[g]->fid));
	}
	free(flights);
	ft_close(&ep);
}

/* Receives that accept everything get what the application sends, and nothing else, in order. */
static void apart(void)
{
	enum { N = 40, LONG = 50000 };
	static uint64_t in[LONG], out[LONG], got[2 * N], word[2 * N];
	struct ft_op rx[2 * N], tx[2 * N], op;
	struct fid_mc *mc;
	struct ft_ep ep;
	const int to = (ft.rank + 1) % ft.n;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, 0xf);
	for (size_t i = 0; i < N; i++) {
		ft_trecv(&ep, FT_ANY, 0, ~0ull, &got[i], 8, &rx[i]);
		ft_recv(&ep, FT_ANY, &got[N + i], 8, &rx[N + i]);
	}
	for (size_t i = 0; i < N; i++) {
		word[i] = word[N + i] = i + 1000 * (uint64_t)ft.rank;
		in[i] = i;
		POST(fi_allreduce(ep.ep, in, i % 2 ? LONG : 3, NULL, out, NULL, fi_mc_addr(mc),
				  FI_UINT64, FI_SUM, 0, ft_fresh(&op)));
		ft_tsend(&ep, to, i, &word[i], 8, &tx[i]);
		ft_send(&ep, to, &word[N + i], 8, &tx[N + i]);
		ft_wait(&op);
		CHECK_EQ(out[1], (uint64_t)ft.n * in[1]);
	}
	ft_wait_all(rx, 2 * N);
	ft_wait_all(tx, 2 * N);
	for (size_t i = 0; i < 2 * N; i++) {
		CHECK_EQ(got[i], i % N + 1000 * (uint64_t)((ft.rank + ft.n - 1) % ft.n));
		if (i < N)
			CHECK_EQ(rx[i].tag, i);
	}
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* Schedules change with what is expected, also of broadcasts, sums do not: one rank is late, and then
 * another one. */
static void late(void)
{
	enum { N = 2000 };
	static uint64_t in[N], out[N];
	struct fid_mc *mc;
	struct ft_op op;
	struct ft_ep ep;

	setenv("FI_QUIVER_COLL",
	       "allreduce=clairvoyant:faithful,reduce=segmented:faithful,broadcast=clairvoyant:faithful",
	       1);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	mc = ft_join(&ep, 0xf);
	for (size_t i = 0; i < N; i++)
		in[i] = value(ft.rank, i);
	for (int k = 0; k < 60; k++) {
		if (ft.rank == (k < 30 ? 3 : 1))
			ft_msleep(3);
		POST(fi_reduce(ep.ep, in, N, NULL, out, NULL, fi_mc_addr(mc), ep.peer[k % 4],
			       FI_UINT64, FI_SUM, 0, ft_fresh(&op)));
		ft_wait(&op);
		for (size_t i = 0; i < N && ft.rank == k % 4; i += 13)
			CHECK_EQ(out[i], sum(i));
		POST(fi_allreduce(ep.ep, in, N, NULL, out, NULL, fi_mc_addr(mc), FI_UINT64, FI_SUM,
				  0, ft_fresh(&op)));
		ft_wait(&op);
		for (size_t i = 0; i < N; i += 13)
			CHECK_EQ(out[i], sum(i));
		for (size_t i = 0; i < N; i++)
			out[i] = ft.rank == k % 4 ? value(ft.rank, i) + (uint64_t)k : 0;
		POST(fi_broadcast(ep.ep, out, N, NULL, fi_mc_addr(mc), ep.peer[k % 4], FI_UINT64, 0,
				  ft_fresh(&op)));
		ft_wait(&op);
		for (size_t i = 0; i < N; i++)
			CHECK_EQ(out[i], value(k % 4, i) + (uint64_t)k);
	}
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

const struct ft_case ft_cases_coll[] = {
	{"coll_sets", 4, 20, sets},
	{"coll_sizes", 4, 40, sizes},
	{"coll_five", 5, 40, sizes},
	{"coll_alone", 1, 20, sizes},
	{"coll_rules_tree", 4, 40, rules_tree},
	{"coll_rules_ring", 4, 40, rules_ring},
	{"coll_rules_groups", 4, 40, rules_groups},
	{"coll_rules_segments", 4, 40, rules_segments},
	{"coll_rules_line", 4, 40, rules_line},
	{"coll_rules_unit", 4, 40, rules_unit},
	{"coll_unit_leaders", 4, 20, unit_leaders},
	{"coll_rules_rows", 4, 40, rules_rows},
	{"coll_rules_prefixes", 4, 40, rules_prefixes},
	{"coll_rules_shifts", 4, 40, rules_shifts},
	{"coll_rules_neighbours", 4, 40, rules_neighbours},
	{"coll_overlap", 4, 40, overlap},
	{"coll_apart", 4, 40, apart},
	{"coll_late", 4, 40, late},
	{NULL, 0, 0, NULL},
};
