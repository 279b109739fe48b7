/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic_types.c - every type of fi_atomic(3): which operations it has, and what they make of 1 and 2. */
#include "tests/fabric/harness/ft.h"

#include <complex.h>

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

enum kind { WHOLE, REAL, COMPLEX };

struct type {
	enum fi_datatype type;
	enum kind kind;
	size_t size;
	void (*put)(void *to, int value);
	bool (*is)(const void *at, int value);
};

#define TYPE(name, T)                                    \
	static void put_##name(void *to, int value)      \
	{                                                \
		T x = (T)value;                          \
                                                         \
		memcpy(to, &x, sizeof x);                \
	}                                                \
	static bool is_##name(const void *at, int value) \
	{                                                \
		T x;                                     \
                                                         \
		memcpy(&x, at, sizeof x);                \
		return x == (T)value;                    \
	}
TYPE(int8, int8_t)
TYPE(uint8, uint8_t)
TYPE(int16, int16_t)
TYPE(uint16, uint16_t)
TYPE(int32, int32_t)
TYPE(uint32, uint32_t)
TYPE(int64, int64_t)
TYPE(uint64, uint64_t)
TYPE(int128, int128)
TYPE(uint128, uint128)
TYPE(float, float)
TYPE(double, double)
TYPE(long_double, long double)
TYPE(float_complex, float complex)
TYPE(double_complex, double complex)
TYPE(long_double_complex, long double complex)

#define ROW(fi, kind, T, name)                             \
	{                                                  \
		fi, kind, sizeof(T), put_##name, is_##name \
	}
static const struct type types[] = {
	ROW(FI_INT8, WHOLE, int8_t, int8),
	ROW(FI_UINT8, WHOLE, uint8_t, uint8),
	ROW(FI_INT16, WHOLE, int16_t, int16),
	ROW(FI_UINT16, WHOLE, uint16_t, uint16),
	ROW(FI_INT32, WHOLE, int32_t, int32),
	ROW(FI_UINT32, WHOLE, uint32_t, uint32),
	ROW(FI_INT64, WHOLE, int64_t, int64),
	ROW(FI_UINT64, WHOLE, uint64_t, uint64),
	ROW(FI_INT128, WHOLE, int128, int128),
	ROW(FI_UINT128, WHOLE, uint128, uint128),
	ROW(FI_FLOAT, REAL, float, float),
	ROW(FI_DOUBLE, REAL, double, double),
	ROW(FI_LONG_DOUBLE, REAL, long double, long_double),
	ROW(FI_FLOAT_COMPLEX, COMPLEX, float complex, float_complex),
	ROW(FI_DOUBLE_COMPLEX, COMPLEX, double complex, double_complex),
	ROW(FI_LONG_DOUBLE_COMPLEX, COMPLEX, long double complex, long_double_complex),
};

/* 2 is there; the operand is 1, the other one, of a compare, 1 too. What is there then; -1: the type
 * does not have it. */
static int after(enum kind kind, enum fi_op op)
{
	switch (op) {
	case FI_MIN: return kind == COMPLEX ? -1 : 1;
	case FI_MAX: return kind == COMPLEX ? -1 : 2;
	case FI_SUM: return 3;
	case FI_PROD: return 2;
	case FI_LOR:
	case FI_LAND: return 1;
	case FI_LXOR: return 0;
	case FI_BOR: return kind == WHOLE ? 3 : -1;
	case FI_BAND: return kind == WHOLE ? 0 : -1;
	case FI_BXOR: return kind == WHOLE ? 3 : -1;
	case FI_ATOMIC_READ: return 2;
	case FI_ATOMIC_WRITE: return 1;
	case FI_CSWAP: return 2;
	case FI_CSWAP_NE: return 1;
	case FI_CSWAP_LE:
	case FI_CSWAP_LT: return kind == COMPLEX ? -1 : 1;
	case FI_CSWAP_GE:
	case FI_CSWAP_GT: return kind == COMPLEX ? -1 : 2;
	default: return kind == WHOLE ? 3 : -1; /* FI_MSWAP */
	}
}

enum { MANY = 5 };

/* With the old values. */
static void fetch(struct ft_window *w, const struct type *t, enum fi_op op)
{
	char target[MANY * 32], a[MANY * 32], old[MANY * 32], now[MANY * 32];
	const fi_addr_t to = w->ep.peer[1];
	const int want = after(t->kind, op);
	size_t count = 0;
	struct ft_op done;
	int valid = op >= FI_CSWAP ? fi_compare_atomicvalid(w->ep.ep, t->type, op, &count)
				   : fi_fetch_atomicvalid(w->ep.ep, t->type, op, &count);

	if (valid != (want < 0 ? -FI_EOPNOTSUPP : 0))
		ft_fail("type %d, operation %d: %d", t->type, op, valid);
	if (want < 0)
		return;
	CHECK(count >= MANY);
	for (size_t i = 0; i < MANY; i++) {
		t->put(target + i * t->size, 2);
		t->put(a + i * t->size, 1);
	}
	POST(fi_write(w->ep.ep, target, MANY * t->size, NULL, to, w->addr, w->key,
		      ft_fresh(&done)));
	ft_wait(&done);
	if (op >= FI_CSWAP)
		POST(fi_compare_atomic(w->ep.ep, a, MANY, NULL, a, NULL, old, NULL, to, w->addr,
				       w->key, t->type, op, ft_fresh(&done)));
	else
		POST(fi_fetch_atomic(w->ep.ep, a, MANY, NULL, old, NULL, to, w->addr, w->key,
				     t->type, op, ft_fresh(&done)));
	ft_wait(&done);
	POST(fi_read(w->ep.ep, now, MANY * t->size, NULL, to, w->addr, w->key, ft_fresh(&done)));
	ft_wait(&done);
	for (size_t i = 0; i < MANY; i++)
		if (!t->is(old + i * t->size, 2) || !t->is(now + i * t->size, want))
			ft_fail("type %d, operation %d is wrong", t->type, op);
}

static void every_type(void)
{
	struct ft_window w;

	ft_open_window(&w, (struct ft_conf){.caps = FI_ATOMIC});
	for (size_t i = 0; ft.rank == 0 && i < sizeof types / sizeof *types; i++)
		for (int op = FI_MIN; op <= FI_MSWAP; op++)
			fetch(&w, &types[i], op);
	ft_close_window(&w);
}

const struct ft_case ft_cases_atomic_types[] = {
	{"atomic_every_type", 2, 20, every_type},
	{0},
};
