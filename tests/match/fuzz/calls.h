/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.h - a string of bytes as a structure, its settings and a list of calls, judged by
 * the oracle. What libFuzzer's entry and the plain driver share.
 *
 *   byte 0   structure (of a list that has the compositions too)
 *   byte 1   bits 0-1 ISA; 2-3 how far the sequence numbers are from their end, 0: far;
 *            4 and 5 the hints no_any_source and no_any_tag; 6 protocol bits; 7 end with full
 *            queues
 *   byte 2   which of eight allocations fail, over and over; the creation of the engine is spared
 *   byte 3   bits 0-1 sort of tags; 2-3 sort of sources
 *   then     calls: a byte of what (bits 0-3) and how often - 1 (bits 4-7), a byte of key (bits
 *            0-4 tag, 5-7 source), and for receives a byte of how wild they are
 *
 * Bytes that are missing at the end are 0.
 */
#ifndef QV_FUZZ_MATCH_H
#define QV_FUZZ_MATCH_H

#include <stddef.h>
#include <stdint.h>

/* Run one string. Ends the program if engine and oracle differ. */
void qv_fuzz_match(const uint8_t *data, size_t size);

/* Calls that have been made on engines so far. */
uint64_t qv_fuzz_match_ops(void);

#endif /* QV_FUZZ_MATCH_H */
