/* SPDX-License-Identifier: BSD-2-Clause */
/* copy.c - the slow case of memcpy, without it. */
#include "copy.h"

#define BLOCK 64u

void qv_copy_by_vectors(void *to, const void *from, size_t len)
{
	const size_t whole = len / BLOCK * BLOCK;
	const char *src = from;
	char *dst = to, block[BLOCK];

	for (size_t i = 0; i < whole; i += BLOCK) {
		memcpy(block, src + i, BLOCK);
		memcpy(dst + i, block, BLOCK);
		__asm__ volatile("" ::: "memory"); /* else the compiler makes one memcpy of it */
	}
	memcpy(dst + whole, src + whole, len - whole);
}
