/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_schedule_local.c - all ranks of a group in one process: a message is a look into the sender's
 * vector. */
#include "qv_schedule.h"

#include <string.h>

struct local {
	const struct qv_local_run *run;
	struct qv_group g;
	const void *const *in;
	char *const *work;
	uint64_t random;
};

/* xorshift64*; whether the next step that can run does so now. */
static int now(struct local *l)
{
	l->random ^= l->random >> 12;
	l->random ^= l->random << 25;
	l->random ^= l->random >> 27;
	return (int)(l->random * 0x2545F4914F6CDD1Du >> 63);
}

/* Elements before block i. */
static size_t elements(const struct local *l, uint32_t i)
{
	return qv_block_begin(l->g.all[0]->blocks, l->run->count, i);
}

static void receive(struct local *l, size_t number)
{
	const struct qv_step *step = qv_group_step(&l->g, number);
	const struct qv_step *sent = qv_group_step(&l->g, l->g.partner[number]);
	const struct qv_local_run *run = l->run;
	const size_t at = elements(l, step->first),
		     count = elements(l, step->first + step->blocks) - at;
	char *mine;
	const char *theirs;

	if (!count)
		return;
	mine = l->work[l->g.rank[number]] + at * run->item;
	theirs = sent->kind == QV_STEP_SEND_IN ? l->in[step->peer] : l->work[step->peer];
	theirs += elements(l, sent->first) * run->item;
	if (step->kind == QV_STEP_STORE)
		memcpy(mine, theirs, count * run->item);
	else if (step->kind == QV_STEP_COMBINE)
		run->reduce(run->context, mine, mine, theirs, count);
	else
		run->reduce(run->context, mine, theirs, mine, count);
}

static void copy(struct local *l, size_t number)
{
	const struct qv_step *step = qv_group_step(&l->g, number);
	const uint32_t rank = l->g.rank[number];
	const size_t at = elements(l, step->first),
		     count = elements(l, step->first + step->blocks) - at;
	const char *from = (const char *)l->in[rank] + elements(l, step->from) * l->run->item;
	char *to = l->work[rank] + at * l->run->item;

	if (count && from != to)
		memcpy(to, from, count * l->run->item);
}

/* Run a step that can run; the sender's end of a message goes with the receiver's. */
static void take(struct local *l, size_t number)
{
	if (qv_group_step(&l->g, number)->kind == QV_STEP_COPY) {
		copy(l, number);
	} else {
		receive(l, number);
		qv_group_done(&l->g, l->g.partner[number]);
	}
	qv_group_done(&l->g, number);
}

int qv_schedule_run_local(const struct qv_local_run *run, struct qv_schedule *const *all,
			  uint32_t ranks, const void *const *in, void *const *work)
{
	struct local l = {.run = run, .in = in, .work = (char *const *)work};
	size_t left, ready;
	int rc = qv_group_open(&l.g, all, ranks, &left);

	if (rc)
		return rc;
	if (all[0]->coll == QV_COLL_ALLTOALL && run->count % ranks) {
		qv_group_close(&l.g);
		return QV_EINVAL;
	}
	l.random = run->seed * 2 + 1;
	do {
		left = ready = 0;
		for (size_t i = 0; i < l.g.n; i++) {
			const enum qv_step_kind kind = qv_group_step(&l.g, i)->kind;

			if (l.g.done[i] || qv_is_send(kind) || kind == QV_STEP_FENCE)
				continue;
			left++;
			if (!qv_group_ready(&l.g, i) ||
			    (kind != QV_STEP_COPY && !qv_group_ready(&l.g, l.g.partner[i])))
				continue;
			ready++;
			if (now(&l))
				take(&l, i);
		}
	} while (ready);
	qv_group_close(&l.g);
	return left ? QV_EINVAL : QV_OK;
}
