/* SPDX-License-Identifier: BSD-2-Clause */
/* schedule.c - building schedules: a family adds the steps of what is asked. */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

static uint32_t blocks_of(const struct qv_schedule_spec *spec)
{
	if (spec->coll == QV_COLL_REDUCE_SCATTER ||
	    (spec->coll >= QV_COLL_GATHER && !qv_is_scan(spec->coll)))
		return spec->ranks;
	switch (spec->algorithm) {
	case QV_ALG_DISSEMINATION:
	case QV_ALG_BINOMIAL:
	case QV_ALG_REDIRECT:
	case QV_ALG_UNIT:
	case QV_ALG_CLAIRVOYANT: return 1;
	case QV_ALG_SEGMENTED:
	case QV_ALG_BINARY:
	case QV_ALG_PIPELINE: return spec->segments ? spec->segments : 1;
	default: return spec->ranks;
	}
}

/* What the rank has to begin with goes where it belongs in its work vector. */
static void contribute(struct qv_builder *b)
{
	const enum qv_coll coll = b->spec->coll;

	switch (coll) {
	case QV_COLL_BARRIER:
	case QV_COLL_EXSCAN: return; /* of which the rank's own is no part */
	case QV_COLL_GATHER:
	case QV_COLL_ALLGATHER:
	case QV_COLL_ALLTOALL:
		qv_add_copy(b, QV_STEP_COPY, coll == QV_COLL_ALLTOALL ? b->rank : 0, b->rank, 1,
			    QV_STEP_NONE);
		break;
	case QV_COLL_BROADCAST:
	case QV_COLL_SCATTER:
		if (b->rank != b->spec->root)
			return;
		/* fall through */
	default: qv_add_copy(b, QV_STEP_COPY, 0, 0, b->s->blocks, QV_STEP_NONE);
	}
	if (coll != QV_COLL_ALLTOALL)
		qv_add_fence(b);
}

static void build_exchange(struct qv_builder *b)
{
	const struct qv_schedule_spec *spec = b->spec;
	uint32_t k[QV_MOST_FACTORS];
	size_t n = 0;

	switch (spec->algorithm) {
	case QV_ALG_DIRECT: k[n++] = spec->ranks; break;
	case QV_ALG_BUTTERFLY:
		for (uint32_t two = 2; two <= spec->ranks; two *= 2)
			k[n++] = 2;
		break;
	default:
		n = spec->radix_n;
		if (n)
			memcpy(k, spec->radix, n * sizeof(*k));
		else
			n = qv_factors(spec->ranks, k);
		break;
	}
	qv_build_exchange(b, k, n);
}

static void build(struct qv_builder *b)
{
	const struct qv_schedule_spec *spec = b->spec;

	contribute(b);
	if (spec->ranks == 1)
		return;
	if (spec->algorithm == QV_ALG_UNIT) {
		qv_build_unit(b);
		return;
	}
	if (spec->algorithm == QV_ALG_CLAIRVOYANT) {
		qv_build_clairvoyant(b);
		return;
	}
	if (spec->coll == QV_COLL_BROADCAST && spec->algorithm == QV_ALG_BINOMIAL) {
		qv_build_delivery(b, spec->root);
		return;
	}
	if (qv_is_scan(spec->coll)) {
		qv_build_scan(b);
		return;
	}
	if (!qv_combines(spec->coll)) {
		qv_build_move(b);
		return;
	}
	switch (spec->algorithm) {
	case QV_ALG_BINOMIAL: qv_build_binomial(b); return;
	case QV_ALG_SEGMENTED: qv_build_segmented(b, 1); return;
	case QV_ALG_REDIRECT: qv_build_redirect(b); return;
	case QV_ALG_RING: qv_build_ring(b); return;
	case QV_ALG_PIPELINE: qv_build_pipeline(b); return;
	default: build_exchange(b); return;
	}
}

void qv_builder_open(struct qv_builder *b, const struct qv_schedule_spec *spec, uint32_t rank)
{
	*b = (struct qv_builder){.spec = spec, .rank = rank};
	b->s = calloc(1, sizeof(*b->s));
	b->sent = calloc(spec->ranks, 2 * sizeof(*b->sent));
	if (!b->s || !b->sent) {
		b->failed = 1;
		return;
	}
	b->received = b->sent + spec->ranks;
	b->s->ranks = spec->ranks;
	b->s->rank = rank;
	b->s->coll = spec->coll;
	b->s->blocks = blocks_of(spec);
}

struct qv_schedule *qv_builder_close(struct qv_builder *b)
{
	free(b->sent);
	if (!b->failed)
		return b->s;
	qv_schedule_free(b->s);
	return NULL;
}

int qv_schedule_build(const struct qv_schedule_spec *spec, uint32_t rank,
		      struct qv_schedule **schedule)
{
	struct qv_schedule_spec set;
	struct qv_builder b;
	struct qv_schedule *s;
	int rc = qv_schedule_read(&set, spec);

	if (!rc)
		rc = qv_schedule_judge(&set, rank);
	if (rc)
		return rc;
	qv_builder_open(&b, &set, rank);
	if (!b.failed)
		build(&b);
	s = qv_builder_close(&b);
	if (!s)
		return QV_ENOMEM;
	*schedule = s;
	return QV_OK;
}

/* Each rank of a segmented schedule goes through all rounds; so one pass is enough for all. */
static void build_segmented(struct qv_builder *b, uint32_t ranks)
{
	for (uint32_t r = 0; r < ranks; r++) {
		qv_builder_open(&b[r], b[0].spec, r);
		if (!b[r].failed)
			contribute(&b[r]);
		if (b[r].failed)
			b[0].failed = 1;
	}
	if (!b[0].failed && ranks > 1)
		qv_build_segmented(b, ranks);
}

static int build_all_segmented(const struct qv_schedule_spec *spec, struct qv_schedule **made)
{
	struct qv_builder *b = calloc(spec->ranks, sizeof(*b));
	int rc = QV_OK;

	if (!b)
		return QV_ENOMEM;
	b[0].spec = spec;
	build_segmented(b, spec->ranks);
	for (uint32_t r = 0; r < spec->ranks; r++) {
		made[r] = qv_builder_close(&b[r]);
		if (!made[r])
			rc = QV_ENOMEM;
	}
	free(b);
	return rc;
}

static int build_one_by_one(const struct qv_schedule_spec *spec, struct qv_schedule **made)
{
	int rc = QV_OK;

	for (uint32_t r = 0; r < spec->ranks && !rc; r++)
		rc = qv_schedule_build(spec, r, &made[r]);
	return rc;
}

int qv_schedule_build_all(const struct qv_schedule_spec *spec, struct qv_schedule **all)
{
	struct qv_schedule_spec set;
	struct qv_schedule **made;
	int rc = qv_schedule_read(&set, spec);

	if (!rc)
		rc = qv_schedule_judge(&set, 0);
	if (rc)
		return rc;
	made = calloc(set.ranks, sizeof(*made));
	if (!made)
		return QV_ENOMEM;
	rc = set.algorithm == QV_ALG_SEGMENTED ? build_all_segmented(&set, made)
					       : build_one_by_one(&set, made);
	if (!rc)
		memcpy(all, made, set.ranks * sizeof(*all));
	for (uint32_t r = 0; r < set.ranks && rc; r++)
		qv_schedule_free(made[r]);
	free(made);
	return rc;
}

void qv_schedule_free(struct qv_schedule *schedule)
{
	if (schedule)
		free(schedule->steps);
	free(schedule);
}

uint32_t qv_schedule_scratch(const struct qv_schedule *schedule)
{
	return schedule->scratch;
}

uint32_t qv_schedule_blocks(const struct qv_schedule *schedule)
{
	return schedule->blocks;
}

const struct qv_step *qv_schedule_steps(const struct qv_schedule *schedule, size_t *n)
{
	*n = schedule->n;
	return schedule->steps;
}
