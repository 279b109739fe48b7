/* SPDX-License-Identifier: BSD-2-Clause */
/* sched_case.c - the schedules of a whole group, and all kinds of them in turn. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "sched_case.h"

const char *qv_sched_case_name(const struct qv_schedule_spec *spec)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s/%s/%u root %u segments %u%s", qv_coll_name(spec->coll),
		 qv_algorithm_name(spec->algorithm), spec->ranks, spec->root, spec->segments,
		 spec->ordered ? " ordered" : "");
	return text;
}

void qv_sched_case_open(struct qv_sched_case *c, const struct qv_schedule_spec *spec)
{
	c->spec = *spec;
	for (uint32_t r = 0; r < spec->ranks; r++)
		if (qv_schedule_build(spec, r, &c->all[r]))
			fail_msg("%s: rank %u cannot be built", qv_sched_case_name(spec), r);
}

void qv_sched_case_close(struct qv_sched_case *c)
{
	for (uint32_t r = 0; r < c->spec.ranks; r++)
		qv_schedule_free(c->all[r]);
}

static void one(const struct qv_schedule_spec *spec, void (*test)(struct qv_sched_case *c))
{
	static struct qv_sched_case c;

	if (!qv_schedule_exists(spec->coll, spec->algorithm, spec->ordered))
		return;
	qv_sched_case_open(&c, spec);
	test(&c);
	qv_sched_case_close(&c);
}

static void each_root(struct qv_schedule_spec spec, void (*test)(struct qv_sched_case *c))
{
	const uint32_t step = spec.ranks < 12 ? 1 : spec.ranks / 3;

	for (spec.root = 0; spec.root < spec.ranks; spec.root += step) {
		one(&spec, test);
		if (spec.coll != QV_COLL_REDUCE && spec.coll != QV_COLL_BROADCAST &&
		    spec.coll != QV_COLL_GATHER && spec.coll != QV_COLL_SCATTER)
			return;
	}
}

static void each_algorithm(int coll, int ordered, uint32_t ranks,
			   void (*test)(struct qv_sched_case *c))
{
	for (int algorithm = 0; algorithm < QV_N_ALGORITHMS; algorithm++) {
		struct qv_schedule_spec spec = {.coll = (enum qv_coll)coll,
						.algorithm = (enum qv_algorithm)algorithm,
						.ranks = ranks,
						.ordered = ordered};

		each_root(spec, test);
		if (algorithm != QV_ALG_PIPELINE && algorithm != QV_ALG_SEGMENTED &&
		    algorithm != QV_ALG_BINARY)
			continue;
		spec.segments = 5;
		each_root(spec, test);
	}
}

void qv_sched_each(uint32_t ranks, void (*test)(struct qv_sched_case *c))
{
	for (int ordered = 0; ordered < 2; ordered++) {
		for (int coll = QV_COLL_REDUCE; coll <= QV_COLL_REDUCE_SCATTER; coll++)
			each_algorithm(coll, ordered, ranks, test);
		each_algorithm(QV_COLL_SCAN, ordered, ranks, test);
		each_algorithm(QV_COLL_EXSCAN, ordered, ranks, test);
	}
}

void qv_sched_each_move(uint32_t ranks, void (*test)(struct qv_sched_case *c))
{
	for (int coll = QV_COLL_BARRIER; coll <= QV_COLL_ALLTOALL; coll++)
		each_algorithm(coll, 0, ranks, test);
}

/* Whether a rank gets a block, and if so, block *block of the contribution of rank *from; of a
 * gather and allgather, that is all the contribution. */
static int source(const struct qv_schedule_spec *spec, uint32_t rank, uint32_t at, uint32_t *from,
		  uint32_t *block)
{
	*from = spec->root;
	*block = at;
	switch (spec->coll) {
	case QV_COLL_BROADCAST: return 1;
	case QV_COLL_SCATTER: return at == rank;
	case QV_COLL_ALLTOALL: *from = at, *block = rank; return 1;
	case QV_COLL_GATHER: *from = at; return rank == spec->root;
	case QV_COLL_ALLGATHER: *from = at; return 1;
	default: return 0;
	}
}

void qv_sched_check_moved(const struct qv_schedule_spec *spec, uint32_t rank, size_t count,
			  size_t item, const void *work, const void *const in[])
{
	const size_t P = spec->ranks;

	for (uint32_t at = 0; at < P; at++) {
		const size_t begin = count * at / P, end = count * (at + 1) / P;
		uint32_t from, block;

		if (!source(spec, rank, at, &from, &block))
			continue;
		if (spec->coll == QV_COLL_GATHER || spec->coll == QV_COLL_ALLGATHER)
			block = 0;
		if (memcmp((const char *)work + item * begin,
			   (const char *)in[from] + item * (count * block / P),
			   item * (end - begin)))
			fail_msg("%s: rank %u, block %u is wrong", qv_sched_case_name(spec), rank,
				 at);
	}
}
