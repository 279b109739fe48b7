/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_packet.c - entry of libFuzzer: see fuzz_input.h. QV_FUZZ_LOG: the file of the strings. */
#include "fuzz_input.h"

#include <stdlib.h>

#include "fuzz_mutate.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (getenv("QV_FUZZ_LOG"))
		fuzz_input_log(getenv("QV_FUZZ_LOG"));
	return atexit(fuzz_input_end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_input(data, size);
	return 0;
}

/* Bytes in one of three, packets in the others. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	uint64_t rng = seed;

	return seed % 3 ? fuzz_mutate(data, size, room, &rng) : LLVMFuzzerMutate(data, size, room);
}
