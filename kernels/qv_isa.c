/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_isa.c - names of the instruction sets and what this CPU can run. */
#include <quiver/isa.h>

#include <string.h>

static const char *const names[] = {"auto", "scalar", "avx2", "avx512f", "avx512"};

const char *qv_isa_name(enum qv_isa isa)
{
	return (unsigned)isa < sizeof names / sizeof *names ? names[isa] : NULL;
}

int qv_isa_parse(const char *name, enum qv_isa *isa)
{
	for (unsigned i = 0; name && i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i])) {
			*isa = (enum qv_isa)i;
			return QV_OK;
		}
	return QV_EINVAL;
}

int qv_isa_usable(enum qv_isa isa)
{
	return isa == QV_ISA_AUTO || isa == QV_ISA_SCALAR;
}

enum qv_isa qv_isa_best(void)
{
	return QV_ISA_SCALAR;
}
