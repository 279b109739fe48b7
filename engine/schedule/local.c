/* SPDX-License-Identifier: BSD-2-Clause */
/* local.c - all ranks of a group in one process: a message is a look into the sender's
 * vector. */
#include "schedule.h"
#include "engine/base/random.h"

#include <stdlib.h>
#include <string.h>

struct local {
	const struct qv_local_run *run;
	struct qv_group g;
	const void *const *in;
	char *const *work;
	char **scratch; /* by rank */
	uint64_t random;
};

/* Whether the next step that can run does so now. */
static int now(struct local *l)
{
	return (int)(qv_random(&l->random) >> 63);
}

/* Where a block of the work vector, or of scratch, is. */
static char *place(const struct local *l, uint32_t rank, uint32_t block)
{
	const struct qv_schedule *s = l->g.all[rank];

	return (block < s->blocks ? l->work : l->scratch)[rank] +
	       qv_place(s, l->run->count, l->run->item, block);
}

static const char *contribution(const struct local *l, uint32_t rank, uint32_t block)
{
	return (const char *)l->in[rank] +
	       qv_place_in(l->g.all[rank], l->run->count, l->run->item, block);
}

static void receive(struct local *l, size_t number)
{
	const struct qv_step *step = qv_group_step(&l->g, number);
	const struct qv_step *sent = qv_group_step(&l->g, l->g.partner[number]);
	const struct qv_local_run *run = l->run;
	const uint32_t rank = l->g.rank[number];
	const size_t bytes = qv_step_bytes(l->g.all[rank], run->count, run->item, step);
	char *mine;
	const char *theirs;

	if (!bytes)
		return;
	mine = place(l, rank, step->first);
	theirs = sent->kind == QV_STEP_SEND_IN ? contribution(l, step->peer, sent->first)
					       : place(l, step->peer, sent->first);
	if (step->kind == QV_STEP_STORE)
		memcpy(mine, theirs, bytes);
	else if (step->kind == QV_STEP_COMBINE)
		run->reduce(run->context, mine, mine, theirs, bytes / run->item);
	else
		run->reduce(run->context, mine, theirs, mine, bytes / run->item);
}

static void copy(struct local *l, size_t number)
{
	const struct qv_step *step = qv_group_step(&l->g, number);
	const uint32_t rank = l->g.rank[number];
	const size_t bytes = qv_step_bytes(l->g.all[rank], l->run->count, l->run->item, step);
	const char *from;
	char *to;

	if (!bytes)
		return;
	from = step->kind == QV_STEP_MOVE ? place(l, rank, step->from)
					  : contribution(l, rank, step->from);
	to = place(l, rank, step->first);
	if (from != to)
		memcpy(to, from, bytes);
}

/* Run a step that can run; the sender's end of a message goes with the receiver's. */
static void take(struct local *l, size_t number)
{
	if (qv_is_local(qv_group_step(&l->g, number)->kind)) {
		copy(l, number);
	} else {
		receive(l, number);
		qv_group_done(&l->g, l->g.partner[number]);
	}
	qv_group_done(&l->g, number);
}

static void close_scratch(struct local *l)
{
	for (uint32_t r = 0; l->scratch && r < l->g.ranks; r++)
		free(l->scratch[r]);
	free(l->scratch);
}

static int open_scratch(struct local *l)
{
	l->scratch = calloc(l->g.ranks, sizeof(*l->scratch));
	for (uint32_t r = 0; l->scratch && r < l->g.ranks; r++) {
		if (!l->g.all[r]->scratch)
			continue;
		l->scratch[r] =
			malloc(l->g.all[r]->scratch *
				       qv_whole_block(l->g.all[r], l->run->count, l->run->item) +
			       1);
		if (!l->scratch[r])
			return QV_ENOMEM;
	}
	return l->scratch ? QV_OK : QV_ENOMEM;
}

int qv_schedule_run_local(const struct qv_local_run *run, struct qv_schedule *const *all,
			  uint32_t ranks, const void *const *in, void *const *work)
{
	struct local l = {.run = run, .in = in, .work = (char *const *)work};
	size_t left, ready;
	int rc = qv_group_open(&l.g, all, ranks, &left);

	if (rc)
		return rc;
	rc = qv_count_fits(all[0], run->count) ? open_scratch(&l) : QV_EINVAL;
	if (rc) {
		close_scratch(&l);
		qv_group_close(&l.g);
		return rc;
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
			    (!qv_is_local(kind) && !qv_group_ready(&l.g, l.g.partner[i])))
				continue;
			ready++;
			if (now(&l))
				take(&l, i);
		}
	} while (ready);
	close_scratch(&l);
	qv_group_close(&l.g);
	return left ? QV_EINVAL : QV_OK;
}
