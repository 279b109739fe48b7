/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_schedule.c - building schedules: what is asked is checked, then a family adds its steps. */
#include "qv_schedule.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FACTORS 32 /* of a number below 2^32 */

static const char *const names[QV_N_ALGORITHMS] = {
	"binomial", "ring", "butterfly", "radix", "pipeline", "direct", "clairvoyant", "segmented",
};

const char *qv_algorithm_name(enum qv_algorithm algorithm)
{
	return (unsigned int)algorithm < QV_N_ALGORITHMS ? names[algorithm] : NULL;
}

static struct qv_step *new_step(struct qv_builder *b)
{
	struct qv_schedule *s = b->s;
	struct qv_step *grown;

	if (b->failed)
		return NULL;
	if (s->n == s->room) {
		grown = realloc(s->steps, (s->room * 2 + 16) * sizeof(*grown));
		b->failed = !grown;
		if (!grown)
			return NULL;
		s->steps = grown;
		s->room = s->room * 2 + 16;
	}
	return &s->steps[s->n++];
}

static uint32_t add(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t first,
		    uint32_t blocks, uint32_t after)
{
	struct qv_step *step = blocks ? new_step(b) : NULL;

	if (!step)
		return QV_STEP_NONE;
	*step = (struct qv_step){kind, peer, 0, first, blocks, after};
	if (kind == QV_STEP_SEND)
		step->tag = b->sent[peer]++;
	else if (qv_is_receive(kind))
		step->tag = b->received[peer]++;
	return (uint32_t)(b->s->n - 1);
}

uint32_t qv_add_send(struct qv_builder *b, uint32_t peer, uint32_t first, uint32_t blocks,
		     uint32_t after)
{
	return add(b, QV_STEP_SEND, peer, first, blocks, after);
}

uint32_t qv_add_receive(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t first,
			uint32_t blocks, uint32_t after)
{
	return add(b, kind, peer, first, blocks, after);
}

void qv_add_fence(struct qv_builder *b)
{
	if (b->s->n && b->s->steps[b->s->n - 1].kind != QV_STEP_FENCE)
		add(b, QV_STEP_FENCE, 0, 0, b->s->blocks, QV_STEP_NONE);
}

/* ---- what is asked --------------------------------------------------------------------------- */
/* Prime factors, the largest first: the first exchange is of the shortest pieces. */
static size_t factors_of(uint32_t number, uint32_t *k)
{
	size_t n = 0;

	for (uint32_t f = 2; number > 1; f++) {
		if (f > number / f)
			f = number;
		for (; number % f == 0; number /= f) {
			memmove(k + 1, k, n * sizeof(*k));
			k[0] = f;
			n++;
		}
	}
	return n;
}

static int radix_fits(const struct qv_schedule_spec *spec)
{
	uint64_t product = 1;

	if (spec->radix_n > MAX_FACTORS)
		return 0;
	for (size_t i = 0; i < spec->radix_n; i++) {
		product *= spec->radix[i];
		if (spec->radix[i] < 2 || product > spec->ranks)
			return 0;
	}
	return !spec->radix_n || product == spec->ranks;
}

static int by_arrival(const struct qv_schedule_spec *spec)
{
	return spec->algorithm == QV_ALG_CLAIRVOYANT || spec->algorithm == QV_ALG_SEGMENTED;
}

static int judge(const struct qv_schedule_spec *spec, uint32_t rank)
{
	if ((unsigned int)spec->coll > QV_COLL_REDUCE_SCATTER ||
	    (unsigned int)spec->algorithm >= QV_N_ALGORITHMS)
		return QV_EINVAL;
	if (!spec->ranks || spec->ranks >= UINT32_MAX / 2 || rank >= spec->ranks ||
	    spec->root >= spec->ranks)
		return QV_EINVAL;
	if (spec->coll != QV_COLL_REDUCE && spec->root)
		return QV_EINVAL;
	if (spec->algorithm == QV_ALG_RADIX && !radix_fits(spec))
		return QV_EINVAL;
	if (by_arrival(spec) && spec->arrive && !spec->round)
		return QV_EINVAL;
	/* Blocks travel around a ring from where they begin; arrivals have no order. */
	if (spec->ordered && (spec->algorithm == QV_ALG_RING || by_arrival(spec)))
		return QV_ENOSYS;
	return QV_OK;
}

static uint32_t blocks_of(const struct qv_schedule_spec *spec)
{
	if (spec->coll == QV_COLL_REDUCE_SCATTER)
		return spec->ranks;
	switch (spec->algorithm) {
	case QV_ALG_BINOMIAL:
	case QV_ALG_CLAIRVOYANT: return 1;
	case QV_ALG_SEGMENTED:
	case QV_ALG_PIPELINE: return spec->segments ? spec->segments : 1;
	default: return spec->ranks;
	}
}

static void build(struct qv_builder *b)
{
	const struct qv_schedule_spec *spec = b->spec;
	uint32_t k[MAX_FACTORS];
	size_t n = 0;

	add(b, QV_STEP_COPY, 0, 0, b->s->blocks, QV_STEP_NONE);
	if (spec->ranks == 1)
		return;
	qv_add_fence(b);
	switch (spec->algorithm) {
	case QV_ALG_BINOMIAL: qv_build_binomial(b); return;
	case QV_ALG_CLAIRVOYANT: qv_build_clairvoyant(b); return;
	case QV_ALG_SEGMENTED: qv_build_segmented(b); return;
	case QV_ALG_RING: qv_build_ring(b); return;
	case QV_ALG_PIPELINE: qv_build_pipeline(b); return;
	case QV_ALG_DIRECT: k[n++] = spec->ranks; break;
	case QV_ALG_BUTTERFLY:
		for (uint32_t two = 2; two <= spec->ranks; two *= 2)
			k[n++] = 2;
		break;
	case QV_ALG_RADIX:
		n = spec->radix_n;
		if (n)
			memcpy(k, spec->radix, n * sizeof(*k));
		else
			n = factors_of(spec->ranks, k);
		break;
	}
	qv_build_exchange(b, k, n);
}

int qv_schedule_build(const struct qv_schedule_spec *spec, uint32_t rank,
		      struct qv_schedule **schedule)
{
	struct qv_builder b = {.spec = spec, .rank = rank};
	int rc = judge(spec, rank);

	if (rc)
		return rc;
	b.s = calloc(1, sizeof(*b.s));
	b.sent = calloc(spec->ranks, 2 * sizeof(*b.sent));
	if (b.s && b.sent) {
		b.received = b.sent + spec->ranks;
		b.s->ranks = spec->ranks;
		b.s->rank = rank;
		b.s->blocks = blocks_of(spec);
		build(&b);
	}
	free(b.sent);
	if (b.s && b.received && !b.failed) {
		*schedule = b.s;
		return QV_OK;
	}
	qv_schedule_free(b.s);
	return QV_ENOMEM;
}

void qv_schedule_free(struct qv_schedule *schedule)
{
	if (schedule)
		free(schedule->steps);
	free(schedule);
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
