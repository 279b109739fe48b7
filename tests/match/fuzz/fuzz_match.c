/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_match.c - entry of libFuzzer: the input is a list of calls on a matching engine. */
#include "calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	qv_fuzz_match(data, size);
	return 0;
}
