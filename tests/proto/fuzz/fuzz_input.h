/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_input.h - strings of bytes as packets of a hostile endpoint, and things that the
 * application under attack does. The endpoints live on from string to string, since making them
 * takes much longer than a string; after each one they must have come to rest, now and then honest
 * messages must work, and now and then all is checked and made anew.
 *
 * The first byte of a string: which endpoints (FUZZ_READ, FUZZ_SPOOF, FUZZ_HEADERLESS). Then
 * entries of a byte of control, two of length (little endian), the packet. Control:
 *   bit 0      the packet's src stays as it is
 *   bit 1      something that the application does follows: fuzz_action of the other bits, or
 *   bits 2..4  not 0: a word that the victim has told goes into the packet, ...
 *   bits 5..7  ... so many words behind the first
 */
#ifndef QV_FUZZ_INPUT_H
#define QV_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

void fuzz_input(const uint8_t *data, size_t size);
/* Check all, and free the endpoints. */
void fuzz_input_end(void);
/* What an end depends on is what all strings since the endpoints were made have done: they are
 * written to this file as they come, each behind four bytes of length. */
void fuzz_input_log(const char *path);

#endif /* QV_FUZZ_INPUT_H */
