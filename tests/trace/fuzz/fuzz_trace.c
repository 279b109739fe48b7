/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_trace.c - entry of libFuzzer: the input is a trace. */
#include "input.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_trace(data, size);
	return 0;
}

/* What changes single bytes hardly ever makes a sum right. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
	size = LLVMFuzzerMutate(data, size, room);
	return seed % 8 ? fuzz_trace_mend(data, size) : size;
}
