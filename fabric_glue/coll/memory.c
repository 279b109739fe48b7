/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.c - groups whose members are all on one node: operations go through memory that all of them
 * have (engine/team), without a message. It is made in the join, in three steps. After each, members
 * tell each other whether all is well, so that all of them use it or none does.
 */
#include "coll.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/proc.h"

#define STEPS    3
#define CHECK_MS 100 /* a call that waits so long asks whether the others live */
/* From so many bytes on, but for allreduce, messages are faster, whose receivers read the sender's
 * memory. */
#define LONG_BYTES 8192

/* Whether there can be one. */

static void look(struct qv_fi_wait_set *wait_set, void *sleeps)
{
	*(bool *)sleeps |= wait_set->epoll_fd >= 0;
}

/* Who sleeps would not be woken by what others write. */
static bool sleeps(struct qv_fi_ep *ep)
{
	bool some = false;

	qv_fi_ep_each_wait_set(ep, look, &some);
	return some;
}

static bool all_are_near(const struct qv_fi_group *group)
{
	struct qv_fi_way way;

	for (uint32_t r = 0; r < group->n; r++)
		if (r != group->rank && (qv_fi_av_reach(group->ep->av, group->addrs[r], &way) ||
					 !group->ep->rail[way.core].node))
			return false;
	return true;
}

/* What goes through memory, as bits. A device combines what comes in messages. */
static unsigned kinds_of(const struct qv_fi_group *group)
{
	static const unsigned reductions = 1u << QV_COLL_REDUCE | 1u << QV_COLL_ALLREDUCE;
	unsigned kinds = 1u << QV_COLL_BARRIER | 1u << QV_COLL_BROADCAST | 1u << QV_COLL_ALLGATHER |
			 1u << QV_COLL_ALLTOALL;

	if (!group->ep->offload)
		kinds |= reductions;
	for (unsigned coll = 0; coll < QV_N_COLLS; coll++)
		if (qv_select_is_named(group->select, (enum qv_coll)coll))
			kinds &= ~(1u << coll);
	return kinds;
}

void qv_fi_memory_offer(const struct qv_fi_group *group, struct qv_fi_member *own)
{
	struct qv_proc self;

	if (group->n < 2 || group->n > QV_TEAM_MOST || sleeps(group->ep) || !all_are_near(group))
		return;
	qv_proc_self(&self);
	own->host = self.host;
	own->kinds = kinds_of(group);
	own->random = qv_proc_random();
}

/* Making it. */

static int make(struct qv_fi_group *group)
{
	struct qv_fi_memory *m = &group->memory;
	const struct qv_team_spec spec = {
		.name = group->members[0].random, .rank = group->rank, .ranks = group->n};

	if (!m->step)
		return qv_team_open(&spec, &m->team);
	if (m->step == 1)
		return group->rank ? QV_OK : qv_team_give(m->team);
	return group->rank ? qv_team_take(m->team) : QV_OK;
}

static int make_and_tell(struct qv_fi_group *group)
{
	struct qv_fi_memory *m = &group->memory;

	m->told[group->rank] = make(group) == QV_OK;
	return qv_fi_coll_start_telling(group->ep->coll, group, m->told) ? QV_ENOMEM : QV_OK;
}

int qv_fi_memory_begin(struct qv_fi_group *group)
{
	struct qv_fi_memory *m = &group->memory;
	const uint64_t host = group->members[0].host;

	m->kinds = ~0u;
	for (uint32_t r = 0; r < group->n; r++) {
		m->kinds &= (unsigned)group->members[r].kinds;
		if (group->members[r].host != host)
			return QV_ENOSYS;
	}
	if (!host || !m->kinds)
		return QV_ENOSYS;
	m->told = calloc(group->n, sizeof *m->told);
	return m->told ? make_and_tell(group) : QV_ENOMEM;
}

static bool is_well_everywhere(const struct qv_fi_group *group)
{
	for (uint32_t r = 0; r < group->n; r++)
		if (group->memory.told[r] != 1)
			return false;
	return true;
}

void qv_fi_memory_next(struct qv_fi_group *group, int status)
{
	struct qv_fi_memory *m = &group->memory;
	const bool well = !status && is_well_everywhere(group);

	if (well && ++m->step < STEPS) {
		status = make_and_tell(group);
		if (!status)
			return;
	}
	if (!well || status)
		qv_fi_memory_close(group);
	free(m->told);
	m->told = NULL;
	QV_FI_INFO(EP_CTRL, "a group of %u: %s\n", group->n,
		   m->team ? "collectives through memory" : "no memory in common");
	qv_fi_group_shared(group, status);
}

void qv_fi_memory_close(struct qv_fi_group *group)
{
	qv_team_close(group->memory.team);
	group->memory.team = NULL;
	group->memory.running = NULL;
}

/* Calls. */

bool qv_fi_memory_takes(const struct qv_fi_group *group, enum qv_coll coll, size_t bytes)
{
	const struct qv_fi_memory *m = &group->memory;

	return m->team && m->kinds >> coll & 1 &&
	       (coll == QV_COLL_ALLREDUCE || bytes <= LONG_BYTES);
}

/* Elements of some types have bytes that are not combined: they are to be those of some member. */
static void combine(void *context, void *dst, const void *a, const void *b, size_t count)
{
	const struct qv_fi_coll_op *op = context;

	if (dst != b &&
	    (op->type == QV_TYPE_LONG_DOUBLE || op->type == QV_TYPE_LONG_DOUBLE_COMPLEX))
		b = memcpy(dst, b, count * op->data.item);
	qv_combine_to(op->coll->combine, op->op, op->type, dst, a, b, count);
}

struct qv_fi_coll_op *qv_fi_memory_op(const struct qv_fi_coll_op *ask,
				      const struct qv_fi_coll_call *call, uint32_t root)
{
	const bool in_vain = call->coll == QV_COLL_REDUCE && ask->group->rank != root;
	struct qv_fi_coll_op *op = malloc(sizeof *op);

	if (!op)
		return NULL;
	*op = *ask;
	op->by_memory = true;
	op->call = (struct qv_team_call){.kind = qv_team_kind_of(call->coll),
					 .root = root,
					 .in = call->buf,
					 .out = in_vain ? NULL : call->result,
					 .count = call->count,
					 .item = ask->data.item,
					 .combine = combine,
					 .context = op};
	return op;
}

/* Members that wait for this one may be in other calls: it looks, and does not wait. */
int qv_fi_memory_step(struct qv_fi_coll_op *op)
{
	struct qv_fi_memory *m = &op->group->memory;
	const uint64_t now = op->coll->ep->ticked;
	int status;

	if (m->running != op) {
		if (m->running)
			return QV_EAGAIN; /* the calls before come first */
		status = qv_team_start(m->team, &op->call);
		if (status)
			return status;
		m->running = op;
		m->checked = now;
	}
	status = qv_team_step(m->team);
	if (QV_UNLIKELY(status == QV_EAGAIN && now - m->checked >= CHECK_MS)) {
		m->checked = now;
		status = qv_team_check(m->team);
		if (!status)
			return QV_EAGAIN; /* or over, which the next step tells */
	}
	if (status != QV_EAGAIN)
		m->running = NULL;
	if (!status)
		op->coll->by_memory += !op->sums; /* those are nobody's call */
	return status;
}
