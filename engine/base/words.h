/* SPDX-License-Identifier: BSD-2-Clause */
/* words.h - copies of a word or two, without a call. */
#ifndef QV_WORDS_H
#define QV_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "compiler.h"

#define QV_WORDS_MAX 16u /* bytes */

/* Two that overlap, of this type. */
#define QV_COPY_ENDS(type, to, from, len)                                    \
	do {                                                                 \
		type first_, last_;                                          \
		memcpy(&first_, (from), sizeof first_);                      \
		memcpy(&last_, (from) + (len) - sizeof last_, sizeof last_); \
		memcpy((to), &first_, sizeof first_);                        \
		memcpy((to) + (len) - sizeof last_, &last_, sizeof last_);   \
	} while (0)

/* At most QV_WORDS_MAX bytes. */
QV_INLINE void qv_copy_words(char *to, const char *from, size_t len)
{
	uint64_t word;

	if (QV_LIKELY(len == sizeof word)) {
		memcpy(&word, from, sizeof word);
		memcpy(to, &word, sizeof word);
	} else if (len > sizeof word) {
		QV_COPY_ENDS(uint64_t, to, from, len);
	} else if (len >= sizeof(uint32_t)) {
		QV_COPY_ENDS(uint32_t, to, from, len);
	} else if (len >= sizeof(uint16_t)) {
		QV_COPY_ENDS(uint16_t, to, from, len);
	} else if (len) {
		*to = *from;
	}
}

#endif /* QV_WORDS_H */
