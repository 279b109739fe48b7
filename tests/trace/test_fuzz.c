/* SPDX-License-Identifier: BSD-2-Clause */
/* test_fuzz.c - traces that a fuzzer began with or has found, as they are, and with single bytes
 * changed: once as that leaves them, once with right sums. argv[1] is their directory. */
#include <stdio.h>
#include <string.h>

#include "fuzz/input.h"
#include "tests/proto/fuzz/replay.h"

static void both(const uint8_t *data, size_t size)
{
	static uint8_t mended[QV_REPLAY_LONGEST];

	fuzz_trace(data, size);
	memcpy(mended, data, size);
	fuzz_trace(mended, fuzz_trace_mend(mended, size));
}

int main(int argc, char **argv)
{
	uint64_t rng = qv_replay_seed();
	const unsigned int files = argc == 2 ? qv_replay(argv[1], 2000, &rng, both) : 0;

	printf("%u traces\n", files);
	return files ? 0 : 1;
}
