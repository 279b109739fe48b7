/* SPDX-License-Identifier: BSD-2-Clause */
/* isa.c - names of the instruction sets. */
#include <string.h>

#include "select.h"

static const char *const isa_names[] = {"auto", "scalar", "avx2", "avx512f", "avx512", "neon"};

_Static_assert(sizeof(isa_names) / sizeof(isa_names[0]) == QV_N_ISAS, "each has a name");

const char *qv_isa_name(enum qv_isa isa)
{
	if ((int)isa < 0 || (int)isa >= QV_N_ISAS)
		return NULL;
	return isa_names[isa];
}

int qv_isa_parse(const char *name, enum qv_isa *isa)
{
	for (int i = 0; i < QV_N_ISAS; i++) {
		if (!strcmp(name, isa_names[i])) {
			*isa = (enum qv_isa)i;
			return QV_OK;
		}
	}
	return QV_EINVAL;
}
