/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_entry.c - entry of libFuzzer: see fuzz_ring.h. */
#include "fuzz_ring.h"

#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return atexit(fuzz_ring_end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_ring_input(data, size);
	return 0;
}
