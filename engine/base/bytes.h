/* SPDX-License-Identifier: BSD-2-Clause */
/* bytes.h - numbers as users write them, of bytes and others. */
#ifndef QV_BYTES_H
#define QV_BYTES_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* With k, M or G for 2^10, 2^20 or 2^30; less than SIZE_MAX. False: it is none. */
static inline bool qv_bytes_parse(const char *text, size_t *bytes)
{
	static const char units[] = "kmg";
	unsigned long long value;
	unsigned shift = 0;
	const char *unit;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end) {
		unit = strchr(units, *end | 0x20);
		if (!unit || end[1])
			return false;
		shift = 10 * (unsigned)(unit - units + 1);
	}
	if (errno || value > (SIZE_MAX - 1) >> shift)
		return false;
	*bytes = (size_t)value << shift;
	return true;
}

/* The number that n characters begin with, digits only, and how many these are. 0: it is more than most, or
 * there are none. */
static inline uint32_t qv_digits(const char *text, size_t n, uint32_t most, size_t *length)
{
	uint64_t number = 0;
	size_t i = 0;

	while (i < n && text[i] >= '0' && text[i] <= '9' && number <= most)
		number = 10 * number + (uint64_t)(text[i++] - '0');
	*length = i;
	return number <= most ? (uint32_t)number : 0;
}

#endif /* QV_BYTES_H */
