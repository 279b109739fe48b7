/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy.h - copies of payload. What is long goes by one instruction, `rep movsb`, on processors that do it fast.
 * Between processors that share no cache it writes lines without fetching them. glibc 2.36 does so by
 * itself; 2.41 does not on AMD's, where 4 KiB between two processes then took twice as long.
 * But where the destination is 1 to 31 bytes ahead of the source, both counted from the start of their pages,
 * it takes 17 to 28 times as long on AMD's Zen 3: 16 KiB in 5 to 9 us, not 0.3. What malloc takes from the
 * kernel begins 16 bytes into a page, and what lies in memory shared with others often begins with one.
 */
#ifndef QV_COPY_H
#define QV_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"

#define QV_COPY_LONG 2048u /* shorter copies go by vectors anyway */

/* copy.c: of QV_COPY_LONG bytes or more. */
void qv_copy_long(void *to, const void *from, size_t len);

/* As memcpy. Both may be NULL if len is 0. */
QV_INLINE void qv_copy(void *to, const void *from, size_t len)
{
	if (QV_UNLIKELY(len >= QV_COPY_LONG))
		qv_copy_long(to, from, len);
	else if (len)
		memcpy(to, from, len);
}

#endif /* QV_COPY_H */
