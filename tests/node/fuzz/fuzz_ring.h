/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ring.h - strings of bytes as what a liar does to an endpoint: stores into the ring that it has
 * handed over and into the one that it was given, forged packets, connections that end. The endpoint
 * lives on from one string to the next; somebody honest is heard all the time.
 */
#ifndef QV_FUZZ_RING_H
#define QV_FUZZ_RING_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_RING_LONGEST 512u

void fuzz_ring_input(const uint8_t *data, size_t size);
/* All is given back. */
void fuzz_ring_end(void);
/* What the strings so far have led to, in a line. */
void fuzz_ring_report(void);

#endif /* QV_FUZZ_RING_H */
