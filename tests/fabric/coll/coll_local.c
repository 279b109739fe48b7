/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * coll_local.c - a whole group in one process: endpoints of all members, moved on in turn by one
 * thread, so that every member's operation must be able to wait for all others without holding
 * them.
 */
#include "tests/fabric/harness/ft.h"
#include "coll.h"

#include <pthread.h>
#include <sched.h>

enum { MEMBERS = 5, MOST = 3000 };

struct member {
	struct ft_ep ep;
	struct fid_mc *mc;
	fi_addr_t to[MEMBERS];
	struct ft_op op;
	uint64_t in[MEMBERS * MOST], out[MEMBERS * MOST];
};

static uint64_t value(int member, size_t i)
{
	return (uint64_t)(member + 1) * 0x9e3779b97f4a7c15ull + i * 0xbf58476d1ce4e5b9ull;
}

static void open_all(struct member *m)
{
	char name[MEMBERS][FT_MAX_NAME];
	struct fi_av_set_attr attr = {.start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL};
	struct fid_av_set *set[MEMBERS];
	fi_addr_t addr;

	for (int i = 0; i < MEMBERS; i++) {
		size_t len = FT_MAX_NAME;

		ft_open(&m[i].ep,
			&(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true, .lonely = true});
		OK(fi_getname(&m[i].ep.ep->fid, name[i], &len));
	}
	for (int i = 0; i < MEMBERS; i++) {
		for (int k = 0; k < MEMBERS; k++)
			CHECK_EQ(fi_av_insert(m[i].ep.av, name[k], 1, &m[i].to[k], 0, NULL), 1);
		OK(fi_av_set(m[i].ep.av, &attr, &set[i], NULL));
		for (int k = 0; k < MEMBERS; k++)
			OK(fi_av_set_insert(set[i], m[i].to[k]));
		OK(fi_av_set_addr(set[i], &addr));
		OK(fi_join_collective(m[i].ep.ep, addr, set[i], 0, &m[i].mc, NULL));
	}
	for (int i = 0; i < MEMBERS; i++) {
		CHECK_EQ(ft_join_event(&m[i].ep, m[i].mc), 0);
		OK(fi_close(&set[i]->fid));
	}
}

/* All members call, beginning with another one each time; n elements, or blocks of as many. */
static void call_all(struct member *m, int coll, size_t n, int root)
{
	for (int k = 0; k < MEMBERS; k++) {
		struct member *x = &m[(k + root) % MEMBERS];
		const fi_addr_t group = fi_mc_addr(x->mc);
		struct fid_ep *ep = x->ep.ep;

		memset(x->out, 0, sizeof(x->out));
		ft_fresh(&x->op);
		switch (coll) {
		case FI_BARRIER: POST(fi_barrier(ep, group, &x->op)); break;
		case FI_ALLREDUCE:
			POST(fi_allreduce(ep, x->in, n, NULL, x->out, NULL, group, FI_UINT64,
					  FI_SUM, 0, &x->op));
			break;
		case FI_REDUCE:
			POST(fi_reduce(ep, x->in, n, NULL, x->out, NULL, group, x->to[root],
				       FI_UINT64, FI_SUM, 0, &x->op));
			break;
		default:
			POST(fi_allgather(ep, x->in, n, NULL, x->out, NULL, group, FI_UINT64, 0,
					  &x->op));
		}
	}
	for (int k = 0; k < MEMBERS; k++)
		ft_wait(&m[k].op);
}

static void check_sums(const struct member *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t sum = 0;

		for (int r = 0; r < MEMBERS; r++)
			sum += value(r, i);
		CHECK_EQ(m->out[i], sum);
	}
}

static void local(void)
{
	static const size_t lengths[] = {1, 2, 13, 300, MOST};
	struct member *m = calloc(MEMBERS, sizeof(*m));

	CHECK(m);
	if (FI_VERSION_GE(fi_version(), FI_VERSION(2, 6)))
		ft_peer_limit("shm", 0, "it crashes with several endpoints in a process");
	open_all(m);
	for (int r = 0; r < MEMBERS; r++)
		for (size_t i = 0; i < (size_t)MEMBERS * MOST; i++)
			m[r].in[i] = value(r, i);
	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		const size_t n = lengths[k];

		for (int root = 0; root < MEMBERS; root++) {
			call_all(m, FI_REDUCE, n, root);
			check_sums(&m[root], n);
		}
		call_all(m, FI_BARRIER, 0, (int)k % MEMBERS);
		call_all(m, FI_ALLREDUCE, n, (int)k % MEMBERS);
		for (int r = 0; r < MEMBERS; r++)
			check_sums(&m[r], n);
		call_all(m, FI_ALLGATHER, n, (int)k % MEMBERS);
		for (int r = 0; r < MEMBERS; r++)
			for (size_t i = 0; i < n * MEMBERS; i++)
				CHECK_EQ(m[r].out[i], value((int)(i / n), i % n));
	}
	for (int r = 0; r < MEMBERS; r++)
		OK(fi_close(&m[r].mc->fid));
	for (int r = 0; r < MEMBERS; r++)
		ft_close_part(&m[r].ep);
	free(m);
}

/* A thread joins while another one changes its set. */

enum { JOINS = 300, OTHERS = 7 };

struct changing {
	struct fid_av_set *set;
	fi_addr_t others[OTHERS];
	_Atomic unsigned changes;
	_Atomic bool over;
};

static void *change(void *arg)
{
	struct changing *c = arg;

	while (!c->over)
		for (int turn = 0; turn < 2; turn++)
			for (int i = 0; i < OTHERS; i++, c->changes++)
				OK(turn ? fi_av_set_remove(c->set, c->others[i])
					: fi_av_set_insert(c->set, c->others[i]));
	return NULL;
}

/* Members other than this one never join: only groups of one are ever complete. */
static void join_changing(void)
{
	struct fi_av_set_attr attr = {.start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL};
	const struct ft_conf conf = {
		.caps = FI_COLLECTIVE, .threading = FI_THREAD_SAFE, .eq = true, .lonely = true};
	static struct changing c;
	static struct ft_ep ep[1 + OTHERS];
	static struct fid_mc *mc[JOINS];
	char name[FT_MAX_NAME];
	pthread_t thread;
	fi_addr_t own;

	for (int i = 0; i <= OTHERS; i++) {
		size_t len = sizeof name;

		ft_open(&ep[i], &conf);
		OK(fi_getname(&ep[i].ep->fid, name, &len));
		CHECK_EQ(fi_av_insert(ep[0].av, name, 1, i ? &c.others[i - 1] : &own, 0, NULL), 1);
	}
	OK(fi_av_set(ep[0].av, &attr, &c.set, NULL));
	OK(fi_av_set_insert(c.set, own));
	CHECK(!pthread_create(&thread, NULL, change, &c));
	for (int i = 0; i < JOINS; i++) {
		const unsigned before = c.changes;

		while (c.changes == before) /* it is at work just now */
			sched_yield();
		OK(fi_join_collective(ep[0].ep, FI_ADDR_NOTAVAIL, c.set, 0, &mc[i], NULL));
	}
	c.over = true;
	pthread_join(thread, NULL);
	ft_close_ep(&ep[0]);
	for (int i = 0; i < JOINS; i++)
		OK(fi_close(&mc[i]->fid));
	OK(fi_close(&c.set->fid));
	for (int i = 0; i <= OTHERS; i++)
		ft_close_part(&ep[i]);
}

const struct ft_case ft_cases_coll_local[] = {
	{"coll_local", 1, 30, local},
	{"coll_join_changing", 1, 30, join_changing},
	{NULL, 0, 0, NULL},
};
