/* SPDX-License-Identifier: BSD-2-Clause */
/* test_fuzz.c - random strings of fuzz_ring.h, without libFuzzer: test_node_fuzz [STRINGS]. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "engine/base/random.h"
#include "fuzz/fuzz_ring.h"

#define STRINGS 100000u

int main(int argc, char **argv)
{
	const char *given = getenv("QV_SEED");
	unsigned strings = argc > 1 ? (unsigned)atoi(argv[1]) : STRINGS;
	uint64_t rng = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u;
	uint8_t data[FUZZ_RING_LONGEST];

	printf("QV_SEED=%#llx\n", (unsigned long long)rng);
	fflush(stdout);
	for (unsigned i = 0; i < strings; i++) {
		size_t size = 1 + qv_random_below(&rng, i % 8 ? 48 : sizeof data);

		for (size_t k = 0; k < size; k++)
			data[k] = (uint8_t)qv_random(&rng);
		fuzz_ring_input(data, size);
	}
	fuzz_ring_end();
	fuzz_ring_report();
	return 0;
}
