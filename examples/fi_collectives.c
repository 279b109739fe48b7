/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_collectives.c - four processes and nothing but libfabric's collective calls: every operation,
 * on every datatype, with every operator that it is defined for, each result checked.
 *
 *     FI_PROVIDER=quiver fi_collectives
 *
 * One process forks the four, which tell each other their addresses in shared memory. Then each
 * makes a set of the addresses of all, joins a group of them, and calls. A call is over when its
 * completion is read; reading is also what moves it on.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#define RANKS 4
#define COUNT 300 /* elements that each process has for each other */
#define ROOT  2

struct shared {
	atomic_int arrived;
	size_t len[RANKS];
	char name[RANKS][512];
};

static struct shared *shared;
static int rank;

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *cq;
static struct fid_av *av;
static struct fid_ep *ep;
static fi_addr_t peers[RANKS], group;

static void must(long rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "process %d: %s: %s\n", rank, what, fi_strerror((int)-rc));
	exit(1);
}

/* Numbers of any type. */

/* Small whole numbers, so that every type holds them exactly; im is 0 but of complex types. */
struct number {
	long re, im;
};

static const struct {
	enum fi_datatype type;
	const char *name;
	size_t size;
	int is_int, is_complex;
} types[] = {
	{FI_INT8, "int8", 1, 1, 0},
	{FI_UINT8, "uint8", 1, 1, 0},
	{FI_INT16, "int16", 2, 1, 0},
	{FI_UINT16, "uint16", 2, 1, 0},
	{FI_INT32, "int32", 4, 1, 0},
	{FI_UINT32, "uint32", 4, 1, 0},
	{FI_INT64, "int64", 8, 1, 0},
	{FI_UINT64, "uint64", 8, 1, 0},
	{FI_INT128, "int128", 16, 1, 0},
	{FI_UINT128, "uint128", 16, 1, 0},
	{FI_FLOAT, "float", sizeof(float), 0, 0},
	{FI_DOUBLE, "double", sizeof(double), 0, 0},
	{FI_LONG_DOUBLE, "long double", sizeof(long double), 0, 0},
	{FI_FLOAT_COMPLEX, "float complex", 2 * sizeof(float), 0, 1},
	{FI_DOUBLE_COMPLEX, "double complex", 2 * sizeof(double), 0, 1},
	{FI_LONG_DOUBLE_COMPLEX, "long double complex", 2 * sizeof(long double), 0, 1},
};
#define TYPES (sizeof(types) / sizeof(types[0]))

static const struct {
	enum fi_op op;
	const char *name;
} ops[] = {
	{FI_SUM, "sum"}, {FI_PROD, "prod"}, {FI_MIN, "min"},   {FI_MAX, "max"}, {FI_LAND, "land"},
	{FI_LOR, "lor"}, {FI_LXOR, "lxor"}, {FI_BAND, "band"}, {FI_BOR, "bor"}, {FI_BXOR, "bxor"},
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

static int defined(size_t op, size_t type)
{
	if (ops[op].op >= FI_BOR && !types[type].is_int)
		return ops[op].op == FI_LXOR;
	return !(types[type].is_complex && (ops[op].op == FI_MIN || ops[op].op == FI_MAX));
}

static void put_real(void *at, size_t size, long value)
{
	const float f = (float)value;
	const double d = (double)value;
	const long double l = (long double)value;

	if (size == sizeof(f))
		memcpy(at, &f, size);
	else if (size == sizeof(d))
		memcpy(at, &d, size);
	else
		memcpy(at, &l, size);
}

static long get_real(const void *at, size_t size)
{
	float f;
	double d;
	long double l;

	if (size == sizeof(f))
		return memcpy(&f, at, size), (long)f;
	if (size == sizeof(d))
		return memcpy(&d, at, size), (long)d;
	return memcpy(&l, at, size), (long)l;
}

static void put(void *vector, size_t type, size_t i, struct number n)
{
	const size_t size = types[type].size, part = types[type].is_complex ? size / 2 : size;
	const __int128 whole = n.re;
	char *at = (char *)vector + i * size;

	if (types[type].is_int)
		memcpy(at, &whole, size); /* the lower bytes come first */
	else
		put_real(at, part, n.re);
	if (types[type].is_complex)
		put_real(at + part, part, n.im);
}

static struct number get(const void *vector, size_t type, size_t i)
{
	const size_t size = types[type].size, part = types[type].is_complex ? size / 2 : size;
	const char *at = (const char *)vector + i * size;
	struct number n = {0, 0};

	if (types[type].is_int)
		memcpy(&n.re, at, size < sizeof(n.re) ? size : sizeof(n.re));
	else
		n.re = get_real(at, part);
	if (types[type].is_complex)
		n.im = get_real(at + part, part);
	return n;
}

static struct number combine(enum fi_op op, struct number a, struct number b)
{
	const int x = a.re || a.im, y = b.re || b.im;

	switch (op) {
	case FI_SUM: return (struct number){a.re + b.re, a.im + b.im};
	case FI_PROD: return (struct number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
	case FI_MIN: return b.re < a.re ? b : a;
	case FI_MAX: return b.re > a.re ? b : a;
	case FI_LAND: return (struct number){x && y, 0};
	case FI_LOR: return (struct number){x || y, 0};
	case FI_LXOR: return (struct number){x != y, 0};
	case FI_BAND: return (struct number){a.re & b.re, 0};
	case FI_BOR: return (struct number){a.re | b.re, 0};
	default: return (struct number){a.re ^ b.re, 0};
	}
}

/* What process r has at place i. */
static struct number given(int r, size_t i, size_t type)
{
	const struct number n = {(long)((unsigned int)r * 7 + i * 3 + i / 5) % 3,
				 types[type].is_complex ? (long)((unsigned int)r + i) % 2 : 0};

	return n;
}

static struct number reduced(size_t op, size_t i, size_t type)
{
	struct number n = given(0, i, type);

	for (int r = 1; r < RANKS; r++)
		n = combine(ops[op].op, n, given(r, i, type));
	return n;
}

/* One call. */

static unsigned long calls;

/* Its completion. */
static void finish(ssize_t rc, const char *what)
{
	struct fi_cq_err_entry error = {0};
	struct fi_cq_tagged_entry entry;

	must(rc, what);
	while ((rc = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		sched_yield();
	if (rc == -FI_EAVAIL) {
		fi_cq_readerr(cq, &error, 0);
		rc = -error.err;
	}
	must(rc, what);
	if (entry.op_context != what || !(entry.flags & FI_COLLECTIVE)) {
		fprintf(stderr, "process %d: %s: another completion\n", rank, what);
		exit(1);
	}
	calls++;
}

static void check(const void *result, size_t type, size_t i, struct number want, const char *what)
{
	const struct number got = get(result, type, i);

	if (got.re == want.re && got.im == want.im)
		return;
	fprintf(stderr, "process %d: %s of %s: element %zu is %ld,%ld, not %ld,%ld\n", rank, what,
		types[type].name, i, got.re, got.im, want.re, want.im);
	exit(1);
}

static char buf[RANKS * COUNT * 32], result[RANKS * COUNT * 32];

static void fill(size_t type)
{
	for (size_t i = 0; i < RANKS * COUNT; i++)
		put(buf, type, i, given(rank, i, type));
	memset(result, 0x55, sizeof(result));
}

/* The text is the context, too. */
#define CALL(call, ...)                                       \
	do {                                                  \
		static char name[] = #call;                   \
		fill(t);                                      \
		finish(call(ep, __VA_ARGS__, 0, name), name); \
	} while (0)

static void move(size_t t)
{
	const enum fi_datatype type = types[t].type;

	CALL(fi_broadcast, rank == ROOT ? buf : result, COUNT, NULL, group, peers[ROOT], type);
	for (size_t i = 0; i < COUNT; i++)
		check(rank == ROOT ? buf : result, t, i, given(ROOT, i, t), "broadcast");
	CALL(fi_gather, buf, COUNT, NULL, result, NULL, group, peers[ROOT], type);
	for (size_t i = 0; i < RANKS * COUNT && rank == ROOT; i++)
		check(result, t, i, given((int)(i / COUNT), i % COUNT, t), "gather");
	CALL(fi_allgather, buf, COUNT, NULL, result, NULL, group, type);
	for (size_t i = 0; i < RANKS * COUNT; i++)
		check(result, t, i, given((int)(i / COUNT), i % COUNT, t), "allgather");
	CALL(fi_scatter, buf, COUNT, NULL, result, NULL, group, peers[ROOT], type);
	for (size_t i = 0; i < COUNT; i++)
		check(result, t, i, given(ROOT, (size_t)rank * COUNT + i, t), "scatter");
	CALL(fi_alltoall, buf, COUNT, NULL, result, NULL, group, type);
	for (size_t i = 0; i < RANKS * COUNT; i++)
		check(result, t, i, given((int)(i / COUNT), (size_t)rank * COUNT + i % COUNT, t),
		      "alltoall");
}

static void reduce(size_t t, size_t o)
{
	const enum fi_datatype type = types[t].type;
	const enum fi_op op = ops[o].op;

	CALL(fi_reduce, buf, COUNT, NULL, result, NULL, group, peers[ROOT], type, op);
	for (size_t i = 0; i < COUNT && rank == ROOT; i++)
		check(result, t, i, reduced(o, i, t), ops[o].name);
	CALL(fi_allreduce, buf, COUNT, NULL, result, NULL, group, type, op);
	for (size_t i = 0; i < COUNT; i++)
		check(result, t, i, reduced(o, i, t), ops[o].name);
	/* Each has a part for each, and gets the reduction of those for it. */
	CALL(fi_reduce_scatter, buf, COUNT, NULL, result, NULL, group, type, op);
	for (size_t i = 0; i < COUNT; i++)
		check(result, t, i, reduced(o, (size_t)rank * COUNT + i, t), ops[o].name);
}

/* What is defined can be had; what is not is refused, by the query and by the call. */
static void ask(size_t t, size_t o)
{
	static const enum fi_collective_op reductions[] = {FI_REDUCE, FI_ALLREDUCE,
							   FI_REDUCE_SCATTER};
	const long want = defined(o, t) ? 0 : -FI_EOPNOTSUPP;

	for (size_t i = 0; i < 3; i++) {
		struct fi_collective_attr attr = {.op = ops[o].op, .datatype = types[t].type};

		if (fi_query_collective(domain, reductions[i], &attr, 0) != want ||
		    (!want && attr.datatype_attr.size != types[t].size)) {
			fprintf(stderr, "fi_query_collective: %s of %s\n", ops[o].name,
				types[t].name);
			exit(1);
		}
	}
	if (want && fi_allreduce(ep, buf, COUNT, NULL, result, NULL, group, types[t].type,
				 ops[o].op, 0, NULL) != want) {
		fprintf(stderr, "%s of %s is not refused\n", ops[o].name, types[t].name);
		exit(1);
	}
}

static void call_all(void)
{
	static char barrier[] = "fi_barrier";

	finish(fi_barrier(ep, group, barrier), barrier);
	for (size_t t = 0; t < TYPES; t++) {
		move(t);
		for (size_t o = 0; o < OPS; o++) {
			ask(t, o);
			if (defined(o, t))
				reduce(t, o);
		}
	}
	finish(fi_barrier2(ep, group, FI_COMPLETION, barrier), barrier);
}

/* Set-up. */

static void meet(int times)
{
	atomic_fetch_add(&shared->arrived, 1);
	while (atomic_load(&shared->arrived) < RANKS * times)
		sched_yield();
}

static void open_endpoint(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_TAGGED};
	struct fi_eq_attr eq_attr = {.wait_obj = FI_WAIT_NONE};
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	const char *provider = getenv("FI_PROVIDER");

	hints->caps = FI_MSG | FI_COLLECTIVE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(provider ? provider : "quiver");
	must(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), "fi_getinfo");
	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_eq_open(fabric, &eq_attr, &eq, NULL), "fi_eq_open");
	must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &eq->fid, 0), "fi_ep_bind of the event queue");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind of the queue");
	must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind of the addresses");
	must(fi_enable(ep), "fi_enable");
	fi_freeinfo(hints);
	fi_freeinfo(info);
}

static void exchange_addresses(void)
{
	shared->len[rank] = sizeof(shared->name[rank]);
	must(fi_getname(&ep->fid, shared->name[rank], &shared->len[rank]), "fi_getname");
	meet(1);
	for (int r = 0; r < RANKS; r++)
		if (fi_av_insert(av, shared->name[r], 1, &peers[r], 0, NULL) != 1)
			must(-FI_EADDRNOTAVAIL, "fi_av_insert");
}

static struct fid_mc *join_all(void)
{
	struct fi_av_set_attr attr = {
		.count = RANKS, .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL};
	struct fi_eq_entry entry = {0};
	struct fid_av_set *set;
	struct fid_mc *mc;
	fi_addr_t set_addr;
	uint32_t event;
	ssize_t rc;

	must(fi_av_set(av, &attr, &set, NULL), "fi_av_set");
	for (int r = 0; r < RANKS; r++)
		must(fi_av_set_insert(set, peers[r]), "fi_av_set_insert");
	must(fi_av_set_addr(set, &set_addr), "fi_av_set_addr");
	must(fi_join_collective(ep, set_addr, set, 0, &mc, NULL), "fi_join_collective");
	while ((rc = fi_eq_read(eq, &event, &entry, sizeof(entry), 0)) == -FI_EAGAIN) {
		fi_cq_read(cq, NULL, 0); /* moves the join on */
		sched_yield();
	}
	must(rc, "fi_eq_read");
	if (event != FI_JOIN_COMPLETE || entry.fid != &mc->fid)
		must(-FI_EOTHER, "the join's event");
	group = fi_mc_addr(mc);
	must(fi_close(&set->fid), "fi_close of the set");
	return mc;
}

static int one_process(void)
{
	struct fid_mc *mc;

	open_endpoint();
	exchange_addresses();
	mc = join_all();
	call_all();
	must(fi_close(&mc->fid), "fi_close of the group");
	meet(2);
	must(fi_close(&ep->fid), "fi_close of the endpoint");
	must(fi_close(&av->fid), "fi_close of the addresses");
	must(fi_close(&cq->fid), "fi_close of the queue");
	must(fi_close(&eq->fid), "fi_close of the event queue");
	must(fi_close(&domain->fid), "fi_close of the domain");
	must(fi_close(&fabric->fid), "fi_close of the fabric");
	if (rank == 0)
		printf("%d processes, %lu collective calls each: all right\n", RANKS, calls);
	return 0;
}

int main(void)
{
	int failed = 0, status;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	for (rank = 0; rank < RANKS; rank++)
		if (fork() == 0)
			exit(one_process());
	for (int i = 0; i < RANKS; i++)
		if (wait(&status) < 0 || status)
			failed = 1;
	return failed;
}
