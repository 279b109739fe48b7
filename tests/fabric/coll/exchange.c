/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c - exchanges and blocks with lengths of their own, by fi_open_ops. */
#include "tests/fabric/harness/ft.h"
#include "coll.h"

#include <signal.h>

#include <quiver/fi_exchange.h>

enum { MOST = 8, LONG = 300000, EACH = 3 };

static struct qv_fi_exchange_ops *ops_of(struct ft_ep *ep)
{
	void *ops = NULL;

	if (!ft.quiver)
		ft_skip("an extension of quiver");
	CHECK_EQ(-fi_open_ops(&ep->ep->fid, "quiver_exchange/0", 0, &ops, NULL), FI_ENOSYS);
	CHECK(!ops);
	OK(fi_open_ops(&ep->ep->fid, QV_FI_OPS_EXCHANGE, 0, &ops, NULL));
	CHECK_EQ(((struct qv_fi_exchange_ops *)ops)->size, sizeof(struct qv_fi_exchange_ops));
	return ops;
}

/* Bytes that one rank has for another in a turn: nothing, little, or much. */
static size_t length(int turn, int from, int to)
{
	const unsigned int d = (unsigned int)(turn * 7 + from * 5 + to * 3) % 5;

	return d == 0 ? 0 : d == 1 && turn % 3 == 0 ? LONG : d * 61 + (unsigned int)from;
}

static unsigned char value(int from, int to, size_t i)
{
	return (unsigned char)(from * 37 + to * 11 + i * 3 + i / 256 + 1);
}

/* Blocks. */

/* Blocks with room between them, the last one first. */
static unsigned char *lay_out(size_t *at, const size_t *bytes, int n)
{
	size_t end = 5;
	unsigned char *buf;

	for (int i = n - 1; i >= 0; i--) {
		at[i] = end;
		end += bytes[i] + 5;
	}
	buf = malloc(end);
	CHECK(buf);
	memset(buf, 0xEE, end);
	return buf;
}

static void one(struct ft_ep *ep, struct qv_fi_exchange_ops *ops, fi_addr_t group, int turn,
		bool gather)
{
	size_t at[MOST], bytes[MOST], result_at[MOST], result_bytes[MOST];
	const int n = gather ? 1 : ft.n;
	unsigned char *in, *out;
	struct ft_op op;

	for (int r = 0; r < n; r++)
		bytes[r] = length(turn, ft.rank, gather ? 0 : r);
	for (int r = 0; r < ft.n; r++)
		result_bytes[r] = length(turn, r, gather ? 0 : ft.rank);
	in = lay_out(at, bytes, n);
	out = lay_out(result_at, result_bytes, ft.n);
	for (int r = 0; r < n; r++)
		for (size_t i = 0; i < bytes[r]; i++)
			in[at[r] + i] = value(ft.rank, r, i);
	POST((gather ? ops->allgatherv : ops->alltoallv)(
		&ep->ep->fid, &(struct qv_fi_blocks_call){.group = group,
							  .buf = in,
							  .at = at,
							  .bytes = bytes,
							  .result = out,
							  .result_at = result_at,
							  .result_bytes = result_bytes,
							  .context = ft_fresh(&op)}));
	memset(at, 0xff, sizeof(at)); /* the caller's again */
	memset(bytes, 0xff, sizeof(bytes));
	ft_wait(&op);
	CHECK(op.flags & FI_COLLECTIVE);
	for (int r = 0; r < ft.n; r++) {
		for (size_t i = 0; i < result_bytes[r]; i++)
			CHECK_EQ(out[result_at[r] + i], value(r, gather ? 0 : ft.rank, i));
		CHECK_EQ(out[result_at[r] - 1], 0xEE);
		CHECK_EQ(out[result_at[r] + result_bytes[r]], 0xEE);
	}
	free(in);
	free(out);
}

static void blocks(void)
{
	struct qv_fi_exchange_ops *ops;
	struct fid_mc *mc;
	struct ft_ep ep;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	ops = ops_of(&ep);
	mc = ft_join(&ep, (1u << ft.n) - 1);
	for (int turn = 0; turn < 20; turn++)
		one(&ep, ops, fi_mc_addr(mc), turn, turn % 2);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* Exchanges. */

struct flight {
	struct ft_op op;
	struct qv_fi_exchange *exchange;
	struct qv_exchange_item items[MOST * EACH];
	size_t n;
};

/* Some ranks get several, some nothing. */
static int times(int turn, int from, int to)
{
	return (turn + from * 2 + to) % (EACH + 1);
}

static void fill(struct flight *f, int turn)
{
	f->n = 0;
	for (int k = 0; k < EACH; k++)
		for (int to = 0; to < ft.n; to++) {
			const size_t bytes = length(turn + k, ft.rank, to);
			unsigned char *data;

			if (times(turn, ft.rank, to) <= k)
				continue;
			data = malloc(bytes + 1);
			CHECK(data);
			for (size_t i = 0; i < bytes; i++)
				data[i] = value(ft.rank, to, i + (size_t)k);
			f->items[f->n++] = (struct qv_exchange_item){(uint32_t)to, data, bytes};
		}
}

static void check(struct flight *f, struct qv_fi_exchange_ops *ops, int turn)
{
	size_t n, next = 0;
	const struct qv_exchange_item *item = ops->result(f->exchange, &n);

	for (int from = 0; from < ft.n; from++)
		for (int k = 0; k < times(turn, from, ft.rank); k++, next++) {
			CHECK(next < n);
			CHECK_EQ(item[next].peer, from);
			CHECK_EQ(item[next].bytes, length(turn + k, from, ft.rank));
			for (size_t i = 0; i < item[next].bytes; i++)
				CHECK_EQ(((const unsigned char *)item[next].data)[i],
					 value(from, ft.rank, i + (size_t)k));
		}
	CHECK_EQ(next, n);
	OK(ops->release(f->exchange));
	for (size_t i = 0; i < f->n; i++)
		free((void *)(uintptr_t)f->items[i].data);
}

/* All ways, two at once. */
static void sparse(void)
{
	struct flight *f = calloc(2, sizeof(*f));
	struct qv_fi_exchange_ops *ops;
	struct fid_mc *mc;
	struct ft_ep ep;

	CHECK(f);
	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	ops = ops_of(&ep);
	mc = ft_join(&ep, (1u << ft.n) - 1);
	for (int turn = 0; turn < 2 * QV_N_WAYS; turn += 2) {
		for (int k = 0; k < 2; k++) {
			fill(&f[k], turn + k);
			POST(ops->exchange(
				&ep.ep->fid,
				&(struct qv_fi_exchange_call){.group = fi_mc_addr(mc),
							      .way = (enum qv_way)(turn / 2),
							      .items = f[k].items,
							      .n = f[k].n,
							      .context = ft_fresh(&f[k].op)},
				&f[k].exchange));
		}
		for (int k = 0; k < 2; k++) {
			ft_wait(&f[k].op);
			check(&f[k], ops, turn + k);
		}
	}
	free(f);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* What goes wrong. */

static void errors(void)
{
	const size_t zero[MOST] = {0};
	struct qv_fi_blocks_call b = {
		.at = zero, .bytes = zero, .result_at = zero, .result_bytes = zero};
	struct qv_exchange_item item = {(uint32_t)ft.n, NULL, 0};
	struct qv_fi_exchange_call x = {.items = &item, .n = 1};
	struct qv_fi_exchange *exchange = NULL;
	struct qv_fi_exchange_ops *ops;
	struct fid_mc *mc;
	struct ft_ep ep;
	struct ft_op op;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	ops = ops_of(&ep);
	CHECK_EQ(-ops->alltoallv(&ep.ep->fid, &b), FI_EINVAL); /* no group */
	mc = ft_join(&ep, (1u << ft.n) - 1);
	b.group = x.group = fi_mc_addr(mc);
	CHECK_EQ(-ops->alltoallv(&ep.av->fid, &b), FI_EINVAL);
	CHECK_EQ(-ops->exchange(&ep.ep->fid, &x, &exchange), FI_EINVAL); /* no such rank */
	item.peer = 0;
	x.way = (enum qv_way)QV_N_WAYS;
	CHECK_EQ(-ops->exchange(&ep.ep->fid, &x, &exchange), FI_EINVAL);
	x.way = QV_WAY_CRYSTAL;
	x.flags = b.flags = FI_PEEK;
	CHECK_EQ(-ops->exchange(&ep.ep->fid, &x, &exchange), FI_EBADFLAGS);
	CHECK_EQ(-ops->allgatherv(&ep.ep->fid, &b), FI_EBADFLAGS);
	CHECK(!exchange);
	OK(ops->release(NULL));
	x.flags = 0;
	x.context = ft_fresh(&op);
	if (ft.rank == 1) /* the other one must wait for us */
		ft_barrier();
	POST(ops->exchange(&ep.ep->fid, &x, &exchange));
	if (ft.rank == 0) {
		CHECK_EQ(-ops->release(exchange), FI_EBUSY);
		ft_barrier();
	}
	ft_wait(&op);
	OK(ops->release(exchange));
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

/* A member dies in it: the others are told, and lose nothing but what it had. */
static void killed(enum qv_way way)
{
	const int victim = ft.n - 1;
	struct qv_fi_exchange *exchange = NULL;
	struct qv_fi_exchange_ops *ops;
	struct fid_mc *mc;
	struct ft_ep ep;
	struct ft_op op;
	size_t n;
	int rc;

	ft_open(&ep, &(struct ft_conf){.caps = FI_COLLECTIVE, .eq = true});
	ops = ops_of(&ep);
	mc = ft_join(&ep, (1u << ft.n) - 1);
	ft_barrier();
	if (ft.rank == victim) {
		ft.sh->rank[victim].may_die = true;
		ft.sh->members = (uint32_t)victim;
		raise(SIGKILL);
	}
	rc = ops->exchange(&ep.ep->fid,
			   &(struct qv_fi_exchange_call){
				   .group = fi_mc_addr(mc), .way = way, .context = ft_fresh(&op)},
			   &exchange);
	if (!rc) {
		while (!op.done)
			ft_progress();
		rc = -op.err;
		CHECK(!ops->result(exchange, &n) && !n);
		OK(ops->release(exchange));
	}
	/* Who sees it first may see a transfer fail; who comes later is told at once. */
	CHECK(rc == -FI_ECONNABORTED || rc == -FI_EIO);
	OK(fi_close(&mc->fid));
	ft_close(&ep);
}

static void killed_direct(void)
{
	killed(QV_WAY_DIRECT);
}

/* Not all have a message of the dead one to wait for: some wait for those who do. */
static void killed_crystal(void)
{
	killed(QV_WAY_CRYSTAL);
}

const struct ft_case ft_cases_exchange[] = {
	{"exchange_blocks", 4, 30, blocks},
	{"exchange_sparse", 4, 40, sparse},
	{"exchange_five", 5, 40, sparse},
	{"exchange_errors", 2, 20, errors},
	{"exchange_kill", 4, 30, killed_direct},
	{"exchange_kill_routed", 4, 30, killed_crystal},
	{NULL, 0, 0, NULL},
};
