/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * choice.h - of two ways to do the same, the faster one, where nobody can know which that is, and it may
 * change: by the time that each has taken. The slower one is tried again when so much time went
 * into the other that what it would cost more is little beside that. One that has long been the
 * faster one is tried sooner: what made it slow may be over. One that is faster for a few times only
 * is tried later and later.
 */
#ifndef QV_CHOICE_H
#define QV_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: nothing is known. */
struct qv_choice {
	uint32_t ns[2];      /* what QV_CHOICE_UNIT bytes take by each way; 0: not known */
	uint8_t bad[2];      /* news in a row that was worse than that */
	uint8_t tried, left; /* a trial of this way goes on for so many times */
	uint8_t led;         /* news of the faster way since it became that */
	bool won;            /* it became that by a trial */
	uint8_t wrong;       /* trials in a row by which a way became that, and was not for long */
	uint64_t spent; /* by what went the faster way since the other one was tried, as in ns */
	uint64_t soon;  /* as spent: when one that was the faster way is tried; 0: none was */
};

#define QV_CHOICE_UNIT  ((size_t)16 << 10)
#define QV_CHOICE_NEVER UINT64_MAX

/* 0 or 1. The first four times 0. */
unsigned qv_choice_take(struct qv_choice *c);
/* len bytes, not none, took so long; QV_CHOICE_NEVER: that way is closed. */
void qv_choice_took(struct qv_choice *c, unsigned way, size_t len, uint64_t ns);

#endif /* QV_CHOICE_H */
