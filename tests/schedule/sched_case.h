/* SPDX-License-Identifier: BSD-2-Clause */
/* sched_case.h - the schedules of a whole group, and all kinds of them in turn. */
#ifndef QV_SCHED_CASE_H
#define QV_SCHED_CASE_H

#include <quiver/schedule.h>

#define QV_CASE_RANKS 512

/* A group that has been built; a test fails if it cannot be. */
struct qv_sched_case {
	struct qv_schedule_spec spec;
	struct qv_schedule *all[QV_CASE_RANKS];
};

void qv_sched_case_open(struct qv_sched_case *c, const struct qv_schedule_spec *spec);
void qv_sched_case_close(struct qv_sched_case *c);

/* Every algorithm, collective and order that can be had, for so many ranks and some roots. */
void qv_sched_each(uint32_t ranks, void (*test)(struct qv_sched_case *c));

/* The same of the collectives that combine nothing. */
void qv_sched_each_move(uint32_t ranks, void (*test)(struct qv_sched_case *c));

/* Of those: fails the test unless a rank has got in `work` what the contributions `in`, by rank, of
 * so many elements of `item` bytes give it. */
void qv_sched_check_moved(const struct qv_schedule_spec *spec, uint32_t rank, size_t count,
			  size_t item, const void *work, const void *const in[]);

/* "allreduce/ring/7" for messages. */
const char *qv_sched_case_name(const struct qv_schedule_spec *spec);

#endif /* QV_SCHED_CASE_H */
