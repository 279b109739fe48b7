/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * random.h - pseudo-random numbers that a start value repeats: SplitMix64 (Steele, Lea and Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014). Not for secrets.
 */
#ifndef QV_RANDOM_H
#define QV_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t qv_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* 0 .. n - 1 */
static inline uint64_t qv_random_below(uint64_t *state, uint64_t n)
{
	return qv_random(state) % n;
}

static inline bool qv_random_percent(uint64_t *state, unsigned percent)
{
	return qv_random(state) % 100 < percent;
}

/* 0 .. 1, without 1 */
static inline double qv_random_unit(uint64_t *state)
{
	return (double)(qv_random(state) >> 11) / 9007199254740992.0;
}

#endif /* QV_RANDOM_H */
