/* SPDX-License-Identifier: BSD-2-Clause */
/* tag_bits.c - see tag_bits.h. */
#include "tag_bits.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	struct qv_tag_bits bits;
} mpis[] = {
	/* Communicator, two bits that receives ignore, tag: collectives have negative ones. */
	{"ompi", {UINT64_C(1) << 31, UINT64_C(0xfffffffc7fffffff)}},
	/* Bits that receives ignore, 20 of the communicator, 31 of the tag. The communicator's last
	 * is set in collectives. */
	{"mpich", {UINT64_C(1) << 31, UINT64_C(0x0007ffff7fffffff)}},
};

/* Digits only: strtoull also takes signs, spaces and 0x. */
static bool get_hex(const char **at, uint64_t *value)
{
	size_t digits = strspn(*at, "0123456789abcdefABCDEF");
	char *end;

	if (!digits || digits > 16)
		return false;
	*value = strtoull(*at, &end, 16);
	if (end != *at + digits)
		return false;
	*at = end;
	return true;
}

bool qv_tag_bits_parse(const char *text, struct qv_tag_bits *bits)
{
	struct qv_tag_bits given = {0, 0};

	for (size_t i = 0; i < sizeof mpis / sizeof *mpis; i++) {
		if (strcmp(mpis[i].name, text))
			continue;
		*bits = mpis[i].bits;
		return true;
	}
	if (!get_hex(&text, &given.mask) || !given.mask ||
	    (*text == ':' && (text++, !get_hex(&text, &given.op))) || *text)
		return false;
	*bits = given;
	return true;
}
