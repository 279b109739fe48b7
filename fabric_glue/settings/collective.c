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

/* The MPI of this process, by what its header names. */
static void find_mpi(struct qv_tag_bits *bits)
{
	if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
		qv_tag_bits_parse("ompi", bits);
	else if (dlsym(RTLD_DEFAULT, "PMPI_Init"))
		qv_tag_bits_parse("mpich", bits);
}

bool qv_fi_collective_parse(const char *text, struct qv_tag_bits *bits, char *why, size_t size)
{
	if (!text)
		find_mpi(bits);
	if (!text || qv_tag_bits_parse(text, bits))
		return true;
	snprintf(why, size,
		 "is neither ompi nor mpich nor MASK[:OPERATION], bits of a tag in hexadecimal, as "
		 "in 80000000:7fffffff");
	return false;
}
