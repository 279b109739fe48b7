/* SPDX-License-Identifier: BSD-2-Clause */
/* tag_bits.h - which bits of a tag tell collective operations, as users write it. */
#ifndef QV_TAG_BITS_H
#define QV_TAG_BITS_H

#include <stdbool.h>
#include <stdint.h>

struct qv_tag_bits {
	uint64_t mask; /* one of them is set in messages of collective operations; 0 = not known */
	uint64_t op;   /* they tell operations and communicators apart */
};

/* "ompi", "mpich" or MASK[:OPERATION] in hexadecimal; false: none of these, *bits is unchanged. */
bool qv_tag_bits_parse(const char *text, struct qv_tag_bits *bits);

#endif /* QV_TAG_BITS_H */
