/* SPDX-License-Identifier: BSD-2-Clause */
/* rnd.h - pseudo-random numbers of the tests: one 64-bit state, replayed by its start value. */
#ifndef QV_RND_H
#define QV_RND_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t qv_rnd(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* 0 .. n-1 */
static inline uint64_t qv_rnd_below(uint64_t *state, uint64_t n)
{
	return qv_rnd(state) % n;
}

static inline bool qv_rnd_percent(uint64_t *state, unsigned percent)
{
	return qv_rnd(state) % 100 < percent;
}

#endif /* QV_RND_H */
