/* SPDX-License-Identifier: BSD-2-Clause */
/* vectors_main.c - qv-vectors: write the corpus. */
#include "vectors.h"

#include <string.h>

int main(int argc, char **argv)
{
	FILE *out;
	int err;

	if (argc != 3 || (strcmp(argv[1], "small") && strcmp(argv[1], "full"))) {
		fprintf(stderr,
			"usage: qv-vectors small|full FILE\n"
			"Writes the vector corpus (tests/offload/vectors.h says what is in it).\n");
		return 2;
	}
	out = fopen(argv[2], "wb");
	err = out ? qv_vec_write(out, strcmp(argv[1], "full") ? QV_VEC_SMALL : QV_VEC_FULL) : -1;
	if (out && fclose(out))
		err = -1;
	if (err)
		fprintf(stderr, "qv-vectors: cannot write %s\n", argv[2]);
	return err ? 1 : 0;
}
