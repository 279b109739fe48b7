/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_samples.h - by what every backend judges its device: questions whose answers are known. */
#ifndef QV_SAMPLES_H
#define QV_SAMPLES_H

#include <quiver/offload.h>

#include <stdbool.h>

/* Numbers that are the same in each run; *state is where it stands. */
uint32_t qv_samples_draw(uint64_t *state);

/* n keys with `tags` different tags, some of them wild. */
void qv_samples_keys(struct qv_offload_key *keys, uint32_t n, uint32_t tags, bool wild,
		     uint64_t *state);

/* Which of n entries each of n queries gets, in MPI's order, by a plain loop. n <= 256. */
void qv_samples_match(const struct qv_offload_key *entries, const struct qv_offload_key *queries,
		      uint32_t n, uint32_t *result);

/* A reduction of k arrays src[0] .. src[k - 1]. */
struct qv_samples_arrays {
	const struct qv_combine *cpu;
	enum qv_op op;
	enum qv_type type;
	const char *const *src;
	size_t k;
};

/*
 * Whether some of the results for elements first .. first + count, which begin at out, the first
 * and the last among them, are what the CPU makes of these: the same bits, but where a sum or a
 * product is a NaN any other is as good. count > 0.
 */
bool qv_samples_right(const struct qv_samples_arrays *arrays, size_t first, size_t count,
		      const char *out);

#endif /* QV_SAMPLES_H */
