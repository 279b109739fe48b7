/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz_mutate.h - changes to strings of fuzz_input.h that keep their form. */
#ifndef QV_FUZZ_MUTATE_H
#define QV_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Change the string of `size` bytes in place, to at most `room`; returns its new length. */
size_t fuzz_mutate(uint8_t *data, size_t size, size_t room, uint64_t *rng);

#endif /* QV_FUZZ_MUTATE_H */
