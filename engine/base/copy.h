/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * copy.h - copies of payload. glibc copies what is long by one instruction, `rep movsb`. On AMD's Zen 3
 * that takes 17 to 28 times as long where the destination is 1 to 31 bytes ahead of the source, both counted
 * from the start of their pages: 16 KiB in 5 to 9 us, not 0.3. What malloc takes from the kernel begins 16
 * bytes into a page, and what lies in memory shared with others often begins with one.
 */
#ifndef QV_COPY_H
#define QV_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"

#define QV_COPY_LONG 2048u /* shorter copies go by vectors anyway */

/* By vectors, whatever the length. */
void qv_copy_by_vectors(void *to, const void *from, size_t len);

QV_INLINE bool qv_copy_is_slow(const void *to, const void *from, size_t len)
{
	return len >= QV_COPY_LONG && ((uintptr_t)to - (uintptr_t)from - 1) % 4096 < 31;
}

/* As memcpy, but for its slow case. Both may be NULL if len is 0. */
QV_INLINE void qv_copy(void *to, const void *from, size_t len)
{
	if (QV_UNLIKELY(qv_copy_is_slow(to, from, len)))
		qv_copy_by_vectors(to, from, len);
	else if (len)
		memcpy(to, from, len);
}

#endif /* QV_COPY_H */
