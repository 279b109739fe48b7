/* SPDX-License-Identifier: BSD-2-Clause */
/* hostile.c - see hostile.h. */
#include "engine/match/auto/index.h"
#include "hostile.h"

/* The inverse of an odd number modulo 2^64, by Newton's iteration: each round doubles the bits. */
static uint64_t inverse(uint64_t a)
{
	uint64_t x = a;

	for (int i = 0; i < 6; i++)
		x *= 2 - a * x;
	return x;
}

uint64_t qv_hostile_tag(uint64_t i)
{
	return i * inverse(QV_MUL_TAG);
}

uint64_t qv_hostile_tag_for(uint64_t i, uint32_t src)
{
	return (i - src * QV_MUL_SRC) * inverse(QV_MUL_TAG);
}

uint32_t qv_hostile_src(uint32_t src, unsigned int slots)
{
	while (src * QV_MUL_SRC >> (64 - slots))
		src++;
	return src;
}

/* As in engine/match/literature/bins.c. */
uint64_t qv_hostile_bins_tag(uint64_t i)
{
	return i * inverse(UINT64_C(0xc13fa9a902a6328f));
}

/* As in engine/match/literature/ucx.c: the tag rotated by eight bits, modulo 1021. */
uint64_t qv_hostile_ucx_tag(uint32_t i)
{
	return i * 1021 >> 8 | i * 1021 << 24;
}
