/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_packet.c - entry of libFuzzer: the input is a list of packets of a hostile endpoint and of
 * things that the application under attack does.
 *
 * One entry: a byte of control, two of length (little endian), the packet. Control: bit 0, the
 * packet's src stays as it is; bit 1, fuzz_action of the other bits follows.
 */
#include "qv_fuzz.h"

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz *f = fuzz_new(size & 1, true);

	f->rig->rng = size; /* the same input does the same */
	while (size >= 3) {
		unsigned control = data[0];
		size_t len = data[1] | (size_t)data[2] << 8;

		data += 3;
		size -= 3;
		if (len > size)
			len = size;
		if (len > FUZZ_MAX)
			len = FUZZ_MAX;
		if (len)
			fuzz_packet(f, data, len, control & 1);
		if (control & 2)
			fuzz_action(f, control >> 2);
		data += len;
		size -= len;
	}
	fuzz_end(f);
	return 0;
}
