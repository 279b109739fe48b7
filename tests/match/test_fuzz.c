/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_fuzz.c - without libFuzzer: what it has found, and random strings, through the same
 * code (tests/match/fuzz/calls.h).
 *     test_match_fuzz DIRECTORY [STRINGS]
 * Each file of the directory, then it with single bytes changed, then STRINGS random strings
 * (default 3000, multiplied by QV_TEST_SCALE). QV_SEED replays a run.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/match/fuzz/calls.h"
#include "tests/proto/rig/need.h"
#include "tests/proto/fuzz/replay.h"
#include "engine/base/random.h"

/* Variants of each file. */
#define VARIANTS 20

static uint64_t random_state;

static void random_strings(unsigned long n)
{
	uint8_t data[200];

	while (n--) {
		size_t size = 4 + qv_random_below(&random_state, sizeof(data) - 4);

		for (size_t i = 0; i < size; i++)
			data[i] = (uint8_t)qv_random(&random_state);
		/* Memory fails in one of four. */
		if (qv_random_percent(&random_state, 75))
			data[2] = 0;
		qv_fuzz_match(data, size);
	}
}

int main(int argc, char **argv)
{
	const char *scale = getenv("QV_TEST_SCALE");
	unsigned long n = 3000;
	unsigned int files;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: %s DIRECTORY [STRINGS]\n", argv[0]);
		return 2;
	}
	if (argc == 3)
		n = strtoul(argv[2], NULL, 0);
	if (scale)
		n *= strtoul(scale, NULL, 0);
	random_state = qv_replay_seed();
	files = qv_replay(argv[1], VARIANTS, &random_state, qv_fuzz_match);
	QV_NEED(files);
	random_strings(n);
	printf("%u files of %s and %d variants each, %lu random strings: %llu calls, all as the "
	       "oracle says\n",
	       files, argv[1], VARIANTS, n, (unsigned long long)qv_fuzz_match_ops());
	return 0;
}
