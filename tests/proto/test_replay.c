/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay.c - without libFuzzer: what it has found, through the same code.
 *     test_proto_replay DIRECTORY     each file, and it with single bytes changed
 *     test_proto_replay --log FILE    all strings of a run, as QV_FUZZ_LOG has kept them
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proto/fuzz/fuzz_input.h"
#include "tests/proto/rig/need.h"
#include "tests/proto/fuzz/replay.h"

#define VARIANTS 60 /* of each file */

static int replay_log(const char *path)
{
	static uint8_t data[1 << 20];
	FILE *file = fopen(path, "rb");
	unsigned int strings = 0;
	uint32_t n;

	QV_NEED(file);
	while (fread(&n, sizeof(n), 1, file) == 1 && n) {
		QV_NEED(n <= sizeof(data) && fread(data, 1, n, file) == n);
		fuzz_input(data, n);
		strings++;
	}
	(void)fclose(file);
	fuzz_input_end();
	printf("%u strings of %s: nothing is wrong\n", strings, path);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t random_state;
	unsigned int files;

	if (argc == 3 && !strcmp(argv[1], "--log"))
		return replay_log(argv[2]);
	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY | --log FILE\n", argv[0]);
		return 2;
	}
	random_state = qv_replay_seed();
	files = qv_replay(argv[1], VARIANTS, &random_state, fuzz_input);
	QV_NEED(files);
	fuzz_input_end();
	printf("%u files of %s and %d variants each: nothing is wrong\n", files, argv[1], VARIANTS);
	return 0;
}
