/* SPDX-License-Identifier: BSD-2-Clause */
/* hostile.h - keys of someone who knows the engine's hash and aims at one bucket. */
#ifndef QV_HOSTILE_H
#define QV_HOSTILE_H

#include <stdint.h>

/* Tags for i = 0, 1, ...: all differ, and with one and the same source all are in the first bucket
 * of any table of at most 2^32 slots, as long as the hash is not keyed. */
uint64_t qv_hostile_tag(uint64_t i);

/* The same with a source each: the sum of both parts is what is hashed. */
uint64_t qv_hostile_tag_for(uint64_t i, uint32_t src);

/* The next source from `src` on that is in the first bucket of a table of 2^slots slots where
 * only sources are compared. */
uint32_t qv_hostile_src(uint32_t src, unsigned int slots);

/* Tags that the hashes of structures bins and ucx put in one bin, with source 0. */
uint64_t qv_hostile_bins_tag(uint64_t i);
uint64_t qv_hostile_ucx_tag(uint32_t i);

#endif /* QV_HOSTILE_H */
