/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic.c - atomic operations: results, forms, races, refusals. */
#include "tests/fabric/harness/ft.h"

static void open_atomic(struct ft_window *w, struct ft_conf conf)
{
	conf.caps |= FI_ATOMIC;
	ft_open_window(w, conf);
	CHECK(w->ep.info->caps & FI_ATOMIC && w->ep.info->tx_attr->caps & FI_ATOMIC);
	memset(w->target, 0, FT_WINDOW);
	ft_barrier();
}

/* Every operation on every type, against the same in C. */

enum { ELEMS = 4 };
struct one {
	enum fi_datatype type;
	size_t size;
	void (*apply)(enum fi_op op, void *target, const void *operand, const void *compare);
};

#define BITS(T, op, t, a)                       \
	do {                                    \
		if ((op) == FI_BOR)             \
			*(t) = (T)(*(t) | (a)); \
		else if ((op) == FI_BAND)       \
			*(t) = (T)(*(t) & (a)); \
		else if ((op) == FI_BXOR)       \
			*(t) = (T)(*(t) ^ (a)); \
	} while (0)
#define NO_BITS(T, op, t, a)
/* What fi_atomic(3) says, element by element. */
#define APPLY(name, T, BITWISE, MASKED)                                                         \
	static void name(enum fi_op op, void *target, const void *operand, const void *compare) \
	{                                                                                       \
		T *t = target, a = *(const T *)operand, c = *(const T *)compare, old = *t;      \
                                                                                                \
		BITWISE(T, op, t, a);                                                           \
		switch (op) {                                                                   \
		case FI_MIN: *t = a < old ? a : old; break;                                     \
		case FI_MAX: *t = a > old ? a : old; break;                                     \
		case FI_SUM: *t = (T)(old + a); break;                                          \
		case FI_PROD: *t = (T)(old * a); break;                                         \
		case FI_LOR: *t = (T)(old || a); break;                                         \
		case FI_LAND: *t = (T)(old && a); break;                                        \
		case FI_LXOR: *t = (T)(!old != !a); break;                                      \
		case FI_ATOMIC_WRITE: *t = a; break;                                            \
		case FI_CSWAP: *t = c == old ? a : old; break;                                  \
		case FI_CSWAP_NE: *t = c != old ? a : old; break;                               \
		case FI_CSWAP_LE: *t = c <= old ? a : old; break;                               \
		case FI_CSWAP_LT: *t = c < old ? a : old; break;                                \
		case FI_CSWAP_GE: *t = c >= old ? a : old; break;                               \
		case FI_CSWAP_GT: *t = c > old ? a : old; break;                                \
		case FI_MSWAP: MASKED(T, t, old, a, c); break;                                  \
		default: break;                                                                 \
		}                                                                               \
	}
#define MASK(T, t, old, a, c)    *(t) = (T)(((a) & (c)) | ((old) & ~(c)))
#define NO_MASK(T, t, old, a, c) (void)0

APPLY(apply_i8, int8_t, BITS, MASK)
APPLY(apply_u16, uint16_t, BITS, MASK)
APPLY(apply_i32, int32_t, BITS, MASK)
APPLY(apply_u64, uint64_t, BITS, MASK)
APPLY(apply_i64, int64_t, BITS, MASK)
APPLY(apply_f32, float, NO_BITS, NO_MASK)
APPLY(apply_f64, double, NO_BITS, NO_MASK)

static const struct one ones[] = {
	{FI_INT8, 1, apply_i8},    {FI_UINT16, 2, apply_u16}, {FI_INT32, 4, apply_i32},
	{FI_INT64, 8, apply_i64},  {FI_UINT64, 8, apply_u64}, {FI_FLOAT, 4, apply_f32},
	{FI_DOUBLE, 8, apply_f64},
};

/* Small whole numbers: no operation overflows, and floats are exact. */
static void put(const struct one *one, void *buf, const int *values)
{
	for (size_t i = 0; i < ELEMS; i++) {
		char *at = (char *)buf + i * one->size;

		switch (one->type) {
		case FI_INT8: *(int8_t *)at = (int8_t)values[i]; break;
		case FI_UINT16: *(uint16_t *)at = (uint16_t)values[i]; break;
		case FI_INT32: *(int32_t *)at = values[i]; break;
		case FI_FLOAT: *(float *)at = (float)values[i]; break;
		case FI_DOUBLE: *(double *)at = values[i]; break;
		default: *(int64_t *)at = values[i];
		}
	}
}

static const int start[ELEMS] = {5, 0, 7, 3}, operand[ELEMS] = {3, 6, 7, 9},
		 comparand[ELEMS] = {5, 1, 9, 2};

/* 1: done and right; 0: the provider does not have it. */
static int try_one(struct ft_window *w, const struct one *one, enum fi_op op)
{
	int (*valid)(struct fid_ep *, enum fi_datatype, enum fi_op, size_t *) =
		op >= FI_CSWAP         ? fi_compare_atomicvalid
		: op == FI_ATOMIC_READ ? fi_fetch_atomicvalid
				       : fi_atomicvalid;
	uint64_t flags = op >= FI_CSWAP         ? FI_COMPARE_ATOMIC
			 : op == FI_ATOMIC_READ ? FI_FETCH_ATOMIC
						: 0;
	uint64_t want[2 * ELEMS], a[2 * ELEMS], c[2 * ELEMS], old[2 * ELEMS], now[2 * ELEMS];
	struct fi_atomic_attr attr = {0};
	size_t count = 0, len = ELEMS * one->size;
	fi_addr_t to = w->ep.peer[1];
	struct ft_op done;

	if (valid(w->ep.ep, one->type, op, &count)) {
		CHECK(fi_query_atomic(w->ep.domain, one->type, op, &attr, flags));
		return 0;
	}
	OK(fi_query_atomic(w->ep.domain, one->type, op, &attr, flags));
	CHECK_EQ(attr.count, count);
	CHECK_EQ(attr.size, one->size);
	CHECK(count >= ELEMS);
	put(one, want, start);
	put(one, a, operand);
	put(one, c, comparand);
	memset(old, 0x5a, sizeof(old));
	POST(fi_write(w->ep.ep, want, len, NULL, to, w->addr, w->key, ft_fresh(&done)));
	ft_wait(&done);
	ft_fresh(&done);
	if (op >= FI_CSWAP)
		POST(fi_compare_atomic(w->ep.ep, a, ELEMS, NULL, c, NULL, old, NULL, to, w->addr,
				       w->key, one->type, op, &done));
	else if (op == FI_ATOMIC_READ)
		POST(fi_fetch_atomic(w->ep.ep, NULL, ELEMS, NULL, old, NULL, to, w->addr, w->key,
				     one->type, op, &done));
	else
		POST(fi_atomic(w->ep.ep, a, ELEMS, NULL, to, w->addr, w->key, one->type, op,
			       &done));
	ft_wait(&done);
	CHECK_EQ(done.flags & (FI_ATOMIC | FI_READ | FI_WRITE),
		 FI_ATOMIC | (op >= FI_ATOMIC_READ && op != FI_ATOMIC_WRITE ? FI_READ : FI_WRITE));
	if (flags)
		CHECK(!memcmp(old, want, len)); /* what was there before */
	for (size_t i = 0; i < ELEMS; i++)
		one->apply(op, (char *)want + i * one->size, (char *)a + i * one->size,
			   (char *)c + i * one->size);
	/* A fetch of the same memory comes after: the core need not order a read by RMA. */
	if (fi_fetch_atomicvalid(w->ep.ep, one->type, FI_ATOMIC_READ, &count))
		return 1;
	memset(now, 0x5a, sizeof(now));
	for (double end = ft_now() + 5; memcmp(now, want, len) && ft_now() < end;) {
		POST(fi_fetch_atomic(w->ep.ep, NULL, ELEMS, NULL, now, NULL, to, w->addr, w->key,
				     one->type, FI_ATOMIC_READ, ft_fresh(&done)));
		ft_wait(&done);
	}
	if (memcmp(now, want, len))
		ft_fail("operation %d on type %d is wrong", op, one->type);
	return 1;
}

static void types(void)
{
	struct ft_window w;
	int tried = 0;

	open_atomic(&w, (struct ft_conf){0});
	for (size_t i = 0; ft.rank == 0 && i < sizeof(ones) / sizeof(ones[0]); i++)
		for (int op = FI_MIN; op <= FI_MSWAP; op++)
			tried += try_one(&w, &ones[i], op);
	CHECK(ft.rank || tried >= 60);
	ft_close_window(&w);
}

/* Every call, counters, selective completion. */

static void forms(void)
{
	enum { MANY = 16 }; /* elements that are injected, at most */
	struct ft_window w;
	struct ft_op op;
	uint64_t one[MANY], cmp[2] = {0, 0}, old[2] = {9, 9};
	struct fi_ioc ioc[2] = {{&one[0], 1}, {&one[1], 1}}, with[2] = {{&cmp[0], 1}, {&cmp[1], 1}},
		      res[2] = {{&old[0], 1}, {&old[1], 1}};
	size_t inject, many; /* bytes, elements */
	fi_addr_t to;

	open_atomic(&w, (struct ft_conf){.cntrs = true, .selective = true});
	to = w.ep.peer[1];
	inject = w.ep.info->tx_attr->inject_size;
	many = inject / 8 < MANY ? inject / 8 : MANY;
	if (ft.rank == 0) {
		struct fi_rma_ioc at = {w.addr, 2, w.key}, first = {w.addr, many, w.key};
		struct fi_msg_atomic msg = {.msg_iov = ioc,
					    .iov_count = 2,
					    .addr = to,
					    .rma_iov = &at,
					    .rma_iov_count = 1,
					    .datatype = FI_UINT64,
					    .op = FI_SUM,
					    .context = &op};
		uint64_t ones_left = 1;

		ft_fresh(&op);
		for (size_t i = 0; i < MANY; i++)
			one[i] = 1;
		POST(fi_inject_atomic(w.ep.ep, one, many, to, w.addr, w.key, FI_UINT64, FI_SUM));
		memset(one, 0, sizeof(one)); /* ours again */
		one[0] = one[1] = 1;
		POST(fi_atomicv(w.ep.ep, ioc, NULL, 2, to, w.addr, w.key, FI_UINT64, FI_SUM, &op));
		POST(fi_atomicmsg(w.ep.ep, &msg, FI_COMPLETION)); /* the only one that says so */
		ft_wait(&op);
		OK(fi_cntr_wait(w.ep.rma_cntr, 3, ft_ms(10000)));
		/* fetch: 3 is there */
		POST(fi_fetch_atomicv(w.ep.ep, ioc, NULL, 2, res, NULL, 2, to, w.addr, w.key,
				      FI_UINT64, FI_SUM, &op));
		OK(fi_cntr_wait(w.ep.rma_cntr, 4, ft_ms(10000)));
		CHECK(old[0] == 3 && old[1] == 3);
		POST(fi_fetch_atomicmsg(w.ep.ep, &msg, res, NULL, 2, FI_INJECT));
		one[0] = one[1] = 100; /* injected: ours again */
		OK(fi_cntr_wait(w.ep.rma_cntr, 5, ft_ms(10000)));
		CHECK(old[0] == 4 && old[1] == 4);
		/* compare: 5 is there */
		cmp[0] = 5;
		cmp[1] = 6;
		POST(fi_compare_atomicv(w.ep.ep, ioc, NULL, 2, with, NULL, 2, res, NULL, 2, to,
					w.addr, w.key, FI_UINT64, FI_CSWAP, &op));
		OK(fi_cntr_wait(w.ep.rma_cntr, 6, ft_ms(10000)));
		CHECK(old[0] == 5 && old[1] == 5);
		msg.op = FI_CSWAP;
		cmp[0] = 100;
		cmp[1] = 5;
		POST(fi_compare_atomicmsg(w.ep.ep, &msg, with, NULL, 2, res, NULL, 2, 0));
		OK(fi_cntr_wait(w.ep.rma_cntr, 7, ft_ms(10000)));
		CHECK(old[0] == 100 && old[1] == 5);
		CHECK_EQ(op.done, 1);
		/* an inject by flag, in two pieces */
		ioc[0].count = ioc[1].count = many / 2;
		ioc[1].addr = &one[many / 2];
		for (size_t i = 0; i < MANY; i++)
			one[i] = 7;
		msg.rma_iov = &first;
		msg.op = FI_SUM;
		POST(fi_atomicmsg(w.ep.ep, &msg, FI_INJECT));
		memset(one, 0, sizeof(one));
		OK(fi_cntr_wait(w.ep.rma_cntr, 8, ft_ms(10000)));
		CHECK_EQ(fi_cntr_read(w.ep.send_cntr), 0);
		ft.sh->word[20] = ones_left;
		CHECK_EQ(fi_inject_atomic(w.ep.ep, w.buf, inject / 8 + 1, to, w.addr, w.key,
					  FI_UINT64, FI_SUM),
			 -FI_EINVAL);
		CHECK_EQ(fi_atomicmsg(w.ep.ep, &msg, FI_PEEK), -FI_EBADFLAGS);
	} else {
		ft_await_word(20, 1);
	}
	ft_barrier();
	if (ft.rank == 1) { /* the last write has no answer: wait for it */
		volatile uint64_t *t = (void *)w.target;

		FT_HERE();
		while (t[many - 1] != 8)
			ft_progress();
		CHECK(t[0] == 107 && t[1] == 107 && t[2] == 8);
	}
	ft_close_window(&w);
}

static void fetch(struct ft_window *w, struct fi_msg_atomic *msg, struct fi_ioc *res)
{
	msg->op = FI_ATOMIC_READ;
	ft_fresh(msg->context);
	POST(fi_fetch_atomicmsg(w->ep.ep, msg, res, NULL, 1, FI_COMPLETION));
	ft_wait(msg->context);
}

/* As much as may be injected, with one operand and with two: the memory is ours again at once. */
static void inject_long(void)
{
	enum { MOST = 512 };
	static uint64_t one[MOST], cmp[MOST], old[MOST];
	struct ft_window w;
	struct ft_op op;
	size_t many = 0, n = 0;

	open_atomic(&w, (struct ft_conf){0});
	if (ft.rank == 0 && !fi_compare_atomicvalid(w.ep.ep, FI_UINT64, FI_CSWAP, &n)) {
		fi_addr_t to = w.ep.peer[1];
		struct fi_ioc ioc = {one, 0}, with = {cmp, 0}, res = {old, 0};
		struct fi_rma_ioc at = {w.addr, 0, w.key};
		struct fi_msg_atomic msg = {.msg_iov = &ioc,
					    .iov_count = 1,
					    .addr = to,
					    .rma_iov = &at,
					    .rma_iov_count = 1,
					    .datatype = FI_UINT64,
					    .context = &op};

		many = w.ep.info->tx_attr->inject_size / 8;
		many = many < MOST ? many : MOST;
		many = many < n ? many : n;
		ioc.count = with.count = res.count = at.count = many;
		for (size_t i = 0; i < many; i++)
			one[i] = i;
		POST(fi_inject_atomic(w.ep.ep, one, many, to, w.addr, w.key, FI_UINT64, FI_SUM));
		memset(one, 0xff, sizeof(one));
		while (old[many - 1] != many - 1) /* it may come after the next */
			fetch(&w, &msg, &res);
		for (size_t i = 0; i < many; i++) {
			CHECK_EQ(old[i], i);
			cmp[i] = i;
			one[i] = 3 * i;
		}
		msg.op = FI_CSWAP;
		ft_fresh(&op);
		POST(fi_compare_atomicmsg(w.ep.ep, &msg, &with, NULL, 1, &res, NULL, 1,
					  FI_INJECT | FI_COMPLETION));
		memset(one, 0xff, sizeof(one));
		memset(cmp, 0xff, sizeof(cmp));
		ft_wait(&op);
		for (size_t i = 0; i < many; i++)
			CHECK_EQ(old[i], i);
		fetch(&w, &msg, &res);
		for (size_t i = 0; i < many; i++)
			CHECK_EQ(old[i], 3 * i);
	}
	CHECK(ft.rank || many >= 2);
	ft_close_window(&w);
}

/* An atomic operation on memory that is not registered ends in an error. shm does not look at keys,
 * or drops the request. */
static void bad_key(void)
{
	const bool shm = !strcmp(ft_core(), "shm");
	const double end = ft_now() + 1;
	struct ft_window w;
	uint64_t one = 1;
	struct ft_op op;
	ssize_t ret;

	open_atomic(&w, (struct ft_conf){0});
	if (ft.rank == 0) {
		ft_fresh(&op);
		FT_HERE();
		while ((ret = fi_atomic(w.ep.ep, &one, 1, NULL, w.ep.peer[1], w.addr,
					w.key ^ 0x5a5a5a, FI_UINT64, FI_SUM, &op)) == -FI_EAGAIN)
			ft_progress();
		FT_HERE();
		while (!ret && !op.done && !(shm && ft_now() > end))
			ft_progress();
		CHECK(ret || op.err || shm);
	}
	ft_close_window(&w);
}

/* All ranks draw numbers from one counter: each number once. */
static void contend(void)
{
	enum { N = 200, RANKS = 3 };
	struct ft_window w;
	struct ft_op op;
	uint64_t one = 1, old, last = 0;
	unsigned char *seen;

	open_atomic(&w, (struct ft_conf){0});
	seen = (unsigned char *)&ft.sh->rank[FT_MAX_RANKS - 1].name; /* shared, free here */
	for (uint64_t i = 0; i < N; i++) {
		POST(fi_fetch_atomic(w.ep.ep, &one, 1, NULL, &old, NULL, w.ep.peer[0], w.addrs[0],
				     w.keys[0], FI_UINT64, FI_SUM, ft_fresh(&op)));
		ft_wait(&op);
		CHECK(old < N * RANKS && (i == 0 || old > last));
		CHECK_EQ(__atomic_exchange_n(&seen[old], 1, __ATOMIC_RELAXED), 0);
		last = old;
	}
	ft_barrier();
	if (ft.rank == 0)
		CHECK_EQ(*(uint64_t *)w.target, N * RANKS);
	ft_close_window(&w);
}

/* Not asked for: the calls say so. Asked for it is offered, by the core or by quiver. */
static void refused(void)
{
	struct fi_info *hints = ft_hints(&(struct ft_conf){.caps = FI_RMA | FI_ATOMIC}), *info;
	int ret = ft_getinfo(hints, &info);
	struct ft_ep ep;
	struct fi_atomic_attr attr;
	uint64_t one = 1;
	size_t count;

	fi_freeinfo(hints);
	if (!ret)
		fi_freeinfo(info);
	if (ft.peer && !strcmp(ft_core(), "shm"))
		CHECK_EQ(-ret, FI_ENODATA); /* which has them wrong */
	else if (ft.quiver)
		OK(ret);
	ft_open(&ep, &(struct ft_conf){0});
	CHECK(!(ep.info->caps & FI_ATOMIC));
	if (ft.quiver) {
		CHECK_EQ(fi_atomicvalid(ep.ep, FI_UINT64, FI_SUM, &count), -FI_EOPNOTSUPP);
		CHECK_EQ(fi_query_atomic(ep.domain, FI_UINT64, FI_SUM, &attr, 0), -FI_EOPNOTSUPP);
		CHECK_EQ(fi_atomic(ep.ep, &one, 1, NULL, ep.peer[0], 0, 0, FI_UINT64, FI_SUM, NULL),
			 -FI_ENOSYS);
		CHECK_EQ(fi_inject_atomic(ep.ep, &one, 1, ep.peer[0], 0, 0, FI_UINT64, FI_SUM),
			 -FI_ENOSYS);
	}
	ft_close(&ep);
}

const struct ft_case ft_cases_atomic[] = {
	{"atomic_types", 2, 20, types},
	{"atomic_forms", 2, 20, forms},
	{"atomic_bad_key", 2, 20, bad_key},
	{"atomic_contend", 3, 20, contend},
	{"atomic_refused", 2, 20, refused},
	{"atomic_inject_long", 2, 20, inject_long},
	{0},
};
