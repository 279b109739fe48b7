/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * collective.c - FI_QUIVER_COLLECTIVE: which bits of a tag say that a message is part of a collective
 * operation, and of which one.
 *
 * A wrong answer costs time only: every structure looks where a receive can be, whatever the bits.
 */
#include "fabric_glue/provider.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	struct qv_fi_collective bits;
} mpis[] = {
	/* Communicator, two bits that receives ignore, tag: collectives have negative ones. */
	{"ompi", {UINT64_C(1) << 31, UINT64_C(0xfffffffc7fffffff)}},
	/* Bits that receives ignore, 20 of the communicator, 31 of the tag. The communicator's last
	 * is set in collectives. */
	{"mpich", {UINT64_C(1) << 31, UINT64_C(0x0007ffff7fffffff)}},
};

static bool find_name(const char *name, struct qv_fi_collective *bits)
{
	for (size_t i = 0; i < sizeof mpis / sizeof *mpis; i++) {
		if (strcmp(mpis[i].name, name))
			continue;
		*bits = mpis[i].bits;
		return true;
	}
	return false;
}

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

/* The MPI of this process, by what its header names. */
static void find_mpi(struct qv_fi_collective *bits)
{
	if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
		find_name("ompi", bits);
	else if (dlsym(RTLD_DEFAULT, "PMPI_Init"))
		find_name("mpich", bits);
}

bool qv_fi_collective_parse(const char *text, struct qv_fi_collective *bits, char *why, size_t size)
{
	struct qv_fi_collective given = {0, 0};
	const char *at = text;

	if (!text)
		find_mpi(bits);
	if (!text || find_name(text, bits))
		return true;
	if (!get_hex(&at, &given.mask) || !given.mask ||
	    (*at == ':' && (at++, !get_hex(&at, &given.op))) || *at) {
		snprintf(why, size,
			 "is neither ompi nor mpich nor MASK[:OPERATION], bits of a tag in "
			 "hexadecimal, as in 80000000:7fffffff");
		return false;
	}
	*bits = given;
	return true;
}
