/* SPDX-License-Identifier: BSD-2-Clause */
/* faults.h - an engine and reductions on a device that fails: what is done with it, and what has
 * become of it. For every backend. */
#ifndef QV_FAULTS_H
#define QV_FAULTS_H

#include "kernels/offload/offload.h"

#include <stdio.h>

/* How much was wrong so far, and the fault that is tried. */
extern int qv_faults_wrong;
extern const char *qv_faults_name;

#define EXPECT(x)                                                                                  \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			qv_faults_wrong++;                                                         \
			fprintf(stderr, "wrong: %s: line %d: %s\n", qv_faults_name, __LINE__, #x); \
		}                                                                                  \
	} while (0)

/* A guarded device that is asked for everything, however small. */
struct qv_offload *qv_faults_open(const struct qv_offload_ops *ops,
				  const struct qv_offload_config *config, uint32_t check_every);
/* Messages arrive at posted receives, in batches; every answer is compared. */
void qv_faults_arrivals(struct qv_offload *o, uint64_t seed);
/* Receives are posted, in batches, to messages that have come unexpected. */
void qv_faults_posts(struct qv_offload *o, uint64_t seed);
/* A sum of two arrays of a type, every element compared. */
void qv_faults_combine(struct qv_offload *o, enum qv_type type);

/* What has become of it, printed and counted: `text` in the one line that was written, and the
 * device off; NULL: no line, and it is open. */
struct qv_offload_stats qv_faults_end(struct qv_offload *o, const char *text);

#endif /* QV_FAULTS_H */
