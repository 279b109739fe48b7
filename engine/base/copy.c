/* SPDX-License-Identifier: BSD-2-Clause */
/* copy.c - long copies: see copy.h. */
#include "copy.h"

#include <stdbool.h>

#include "machine.h"

#define BLOCK 64u

static bool is_slow(const char *to, const char *from)
{
	return ((uintptr_t)to - (uintptr_t)from - 1) % 4096 < 31;
}

/* The compiler would make one memcpy of it. */
static void by_vectors(char *to, const char *from, size_t len)
{
	const size_t whole = len / BLOCK * BLOCK;
	char block[BLOCK];

	for (size_t i = 0; i < whole; i += BLOCK) {
		memcpy(block, from + i, BLOCK);
		memcpy(to + i, block, BLOCK);
		__asm__ volatile("" ::: "memory");
	}
	memcpy(to + whole, from + whole, len - whole);
}

void qv_copy_long(void *to, const void *from, size_t len)
{
	const size_t before = -(uintptr_t)to % BLOCK; /* the destination's next line */

	if (QV_UNLIKELY(is_slow(to, from)))
		by_vectors(to, from, len);
	else if (!qv_moves_bytes_fast())
		memcpy(to, from, len);
	else {
		memcpy(to, from, BLOCK);
		qv_move_bytes((char *)to + before, (const char *)from + before, len - before);
	}
}
