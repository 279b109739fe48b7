// SPDX-License-Identifier: BSD-2-Clause
/*
 * qv_lanes_hls.h - the arithmetic of a beat: every operation of <quiver/combine.h> on integers of 1
 * to 16 bytes, float and double. Loops over lanes are unrolled; which one is looked at is a mux.
 *
 * Sums and products of floating-point numbers are the vendor's cores, which may take denormals for
 * 0. All else on them is integer arithmetic here, and exact anywhere: comparing, picking, truth.
 */
#ifndef QV_LANES_HLS_H
#define QV_LANES_HLS_H

#include "qv_hls.h"

/* As in <quiver/combine.h>, which C compilers see; test_combine.cpp compares them. */
enum qv_lane_op {
	OP_SUM,
	OP_PROD,
	OP_MIN,
	OP_MAX,
	OP_LAND,
	OP_LOR,
	OP_LXOR,
	OP_BAND,
	OP_BOR,
	OP_BXOR
};

static inline bool qv_lanes_know(uint32_t what)
{
#pragma HLS INLINE
	const uint32_t op = what & 0xff, kind = what >> 8, size = kind & 7;

	if (kind & QV_HLS_REAL)
		return op <= OP_LXOR && (kind == (QV_HLS_REAL | 2) || kind == (QV_HLS_REAL | 3));
	return op <= OP_BXOR && size <= 4 && kind < QV_HLS_REAL;
}

/* Integers up to 8 bytes. */

template <class U, class S> static U qv_integer(U a, U b, uint32_t op, bool is_signed)
{
#pragma HLS INLINE
	const bool less = is_signed ? static_cast<S>(a) < static_cast<S>(b) : a < b;
	const bool more = is_signed ? static_cast<S>(b) < static_cast<S>(a) : b < a;

	switch (op) {
	case OP_SUM: return static_cast<U>(a + b);
	case OP_PROD: return static_cast<U>(static_cast<uint64_t>(a) * b);
	case OP_MIN: return more ? b : a;
	case OP_MAX: return less ? b : a;
	case OP_LAND: return a && b;
	case OP_LOR: return a || b;
	case OP_LXOR: return !a != !b;
	case OP_BAND: return a & b;
	case OP_BOR: return a | b;
	default: return a ^ b;
	}
}

template <class U, class S>
static qv_hls_beat qv_integers(const qv_hls_beat &a, const qv_hls_beat &b, uint32_t op,
			       bool is_signed)
{
#pragma HLS INLINE
	const unsigned bits = 8 * sizeof(U);
	qv_hls_beat r;

	for (unsigned i = 0; i < 8; i++) {
#pragma HLS UNROLL
		r.lane[i] = 0;
		for (unsigned at = 0; at < 64; at += bits) {
#pragma HLS UNROLL
			const U x = static_cast<U>(a.lane[i] >> at),
				y = static_cast<U>(b.lane[i] >> at);

			r.lane[i] |= static_cast<uint64_t>(qv_integer<U, S>(x, y, op, is_signed))
				     << at;
		}
	}
	return r;
}

/* Integers of 16 bytes. */

struct qv_u128 {
	uint64_t low, high;
};

/* The 128 bits of a product of 64 bits each. */
static inline qv_u128 qv_multiply(uint64_t a, uint64_t b)
{
#pragma HLS INLINE
	const uint64_t a0 = static_cast<uint32_t>(a), a1 = a >> 32;
	const uint64_t b0 = static_cast<uint32_t>(b), b1 = b >> 32;
	const uint64_t low = a0 * b0;
	const uint64_t middle = a1 * b0 + (low >> 32);
	const uint64_t other = a0 * b1 + static_cast<uint32_t>(middle);
	qv_u128 r;

	r.low = other << 32 | static_cast<uint32_t>(low);
	r.high = a1 * b1 + (middle >> 32) + (other >> 32);
	return r;
}

static inline bool qv_less128(qv_u128 a, qv_u128 b, bool is_signed)
{
#pragma HLS INLINE
	const uint64_t flip = static_cast<uint64_t>(is_signed) << 63;

	return a.high == b.high ? a.low < b.low : (a.high ^ flip) < (b.high ^ flip);
}

static inline qv_u128 qv_integer128(qv_u128 a, qv_u128 b, uint32_t op, bool is_signed)
{
#pragma HLS INLINE
	const bool x = a.low | a.high, y = b.low | b.high;
	qv_u128 r = {0, 0};

	switch (op) {
	case OP_SUM:
		r.low = a.low + b.low;
		r.high = a.high + b.high + (r.low < a.low);
		return r;
	case OP_PROD:
		r = qv_multiply(a.low, b.low);
		r.high += a.high * b.low + a.low * b.high;
		return r;
	case OP_MIN: return qv_less128(b, a, is_signed) ? b : a;
	case OP_MAX: return qv_less128(a, b, is_signed) ? b : a;
	case OP_LAND: r.low = x && y; return r;
	case OP_LOR: r.low = x || y; return r;
	case OP_LXOR: r.low = x != y; return r;
	case OP_BAND:
		r.low = a.low & b.low;
		r.high = a.high & b.high;
		return r;
	case OP_BOR:
		r.low = a.low | b.low;
		r.high = a.high | b.high;
		return r;
	default:
		r.low = a.low ^ b.low;
		r.high = a.high ^ b.high;
		return r;
	}
}

static inline qv_hls_beat qv_integers128(const qv_hls_beat &a, const qv_hls_beat &b, uint32_t op,
					 bool is_signed)
{
#pragma HLS INLINE
	qv_hls_beat r;

	for (unsigned i = 0; i < 8; i += 2) {
#pragma HLS UNROLL
		const qv_u128 x = {a.lane[i], a.lane[i + 1]}, y = {b.lane[i], b.lane[i + 1]};
		const qv_u128 z = qv_integer128(x, y, op, is_signed);

		r.lane[i] = z.low;
		r.lane[i + 1] = z.high;
	}
	return r;
}

/* Floating point. */

/* T: the number; U: its bits; EXPONENT: the position of the exponent. */
template <class T, class U, int EXPONENT> struct qv_real {
	static U sign()
	{
		return static_cast<U>(1) << (8 * sizeof(U) - 1);
	}

	static U infinity()
	{
		return sign() - (static_cast<U>(1) << EXPONENT);
	}

	static bool less(U a, U b)
	{
#pragma HLS INLINE
		const U x = a & ~sign(), y = b & ~sign();
		const bool minus_a = a & sign(), minus_b = b & sign();

		if (x > infinity() || y > infinity() || !(x | y))
			return false;
		return minus_a != minus_b ? minus_a : minus_a ? y < x : x < y;
	}

	static U sum(U a, U b)
	{
#pragma HLS INLINE
		union {
			U bits;
			T number;
		} x, y;

		x.bits = a;
		y.bits = b;
		x.number = x.number + y.number;
		return x.bits;
	}

	static U product(U a, U b)
	{
#pragma HLS INLINE
		union {
			U bits;
			T number;
		} x, y;

		x.bits = a;
		y.bits = b;
		x.number = x.number * y.number;
		return x.bits;
	}

	static U combine(U a, U b, uint32_t op)
	{
#pragma HLS INLINE
		/* 1.0: the exponent's bits but the highest. */
		const U one = infinity() & (infinity() >> 1);
		const bool x = a & ~sign(), y = b & ~sign();

		switch (op) {
		case OP_SUM: return sum(a, b);
		case OP_PROD: return product(a, b);
		case OP_MIN: return less(b, a) ? b : a;
		case OP_MAX: return less(a, b) ? b : a;
		case OP_LAND: return x && y ? one : 0;
		case OP_LOR: return x || y ? one : 0;
		default: return x != y ? one : 0;
		}
	}
};

static inline qv_hls_beat qv_doubles(const qv_hls_beat &a, const qv_hls_beat &b, uint32_t op)
{
#pragma HLS INLINE
	qv_hls_beat r;

	for (unsigned i = 0; i < 8; i++) {
#pragma HLS UNROLL
		r.lane[i] = qv_real<double, uint64_t, 52>::combine(a.lane[i], b.lane[i], op);
	}
	return r;
}

static inline qv_hls_beat qv_floats(const qv_hls_beat &a, const qv_hls_beat &b, uint32_t op)
{
#pragma HLS INLINE
	typedef qv_real<float, uint32_t, 23> real;
	qv_hls_beat r;

	for (unsigned i = 0; i < 8; i++) {
#pragma HLS UNROLL
		const uint32_t low = real::combine(static_cast<uint32_t>(a.lane[i]),
						   static_cast<uint32_t>(b.lane[i]), op);
		const uint32_t high = real::combine(static_cast<uint32_t>(a.lane[i] >> 32),
						    static_cast<uint32_t>(b.lane[i] >> 32), op);

		r.lane[i] = static_cast<uint64_t>(high) << 32 | low;
	}
	return r;
}

/* A beat. */

/* 0 of what is not known. */
static inline qv_hls_beat qv_lanes(const qv_hls_beat &a, const qv_hls_beat &b, uint32_t what)
{
#pragma HLS INLINE
	const uint32_t op = what & 0xff, kind = what >> 8;
	const bool is_signed = kind & QV_HLS_SIGNED;

	if (!qv_lanes_know(what))
		return qv_hls_beat();
	switch (kind & ~QV_HLS_SIGNED) {
	case 0: return qv_integers<uint8_t, int8_t>(a, b, op, is_signed);
	case 1: return qv_integers<uint16_t, int16_t>(a, b, op, is_signed);
	case 2: return qv_integers<uint32_t, int32_t>(a, b, op, is_signed);
	case 3: return qv_integers<uint64_t, int64_t>(a, b, op, is_signed);
	case 4: return qv_integers128(a, b, op, is_signed);
	case QV_HLS_REAL | 2: return qv_floats(a, b, op);
	default: return qv_doubles(a, b, op);
	}
}

#endif /* QV_LANES_HLS_H */
