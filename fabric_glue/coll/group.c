/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.c - groups: their places, leave, loss of a member. A member that finds another one gone
 * tells all others. Each of these does the same, and tries again what cannot go now. So nobody waits
 * for ever for a member that waits for the dead one.
 */
#include "coll.h"

#include <stdlib.h>
#include <string.h>

#define GROUP_ADDR (UINT64_C(0x5157) << 48)
/* Groups that an endpoint can be in at once: the rest of 30 bits tells uses of a slot apart. */
#define SLOT_BITS 16
#define SLOT_MASK ((1u << SLOT_BITS) - 1)
#define ID_MASK   0x3fffffffu
#define NOTICE    0xffffu /* as the number of a message */

struct qv_fi_group *qv_fi_group_find(struct qv_fi_coll *coll, fi_addr_t addr)
{
	const uint32_t id = (uint32_t)addr & ID_MASK, slot = id & SLOT_MASK;

	if (!coll || (addr & ~(fi_addr_t)ID_MASK) != GROUP_ADDR || slot >= coll->nslots ||
	    !coll->slots[slot] || coll->slots[slot]->id != id)
		return NULL;
	return coll->slots[slot];
}

/* Places. */

/* Its number has come round, and is another group's now. */
static void forget_lost(struct qv_fi_coll *coll, uint32_t id)
{
	struct qv_fi_group **at = &coll->lost, *group;

	while ((group = *at) && group->id != id)
		at = &group->next;
	if (!group)
		return;
	*at = group->next;
	free(group->addrs);
	free(group);
}

int qv_fi_group_take_slot(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	uint32_t slot = 0, n = coll->nslots ? 2 * coll->nslots : 16;
	struct qv_fi_group **grown;

	while (slot < coll->nslots && coll->slots[slot])
		slot++;
	if (slot == coll->nslots) {
		if (slot > SLOT_MASK)
			return -FI_ENOSPC;
		grown = realloc(coll->slots, n * sizeof *grown);
		if (!grown)
			return -FI_ENOMEM;
		memset(grown + coll->nslots, 0, (n - coll->nslots) * sizeof *grown);
		coll->slots = grown;
		coll->nslots = n;
	}
	coll->slots[slot] = group;
	group->id = (slot | coll->next_id++ << SLOT_BITS) & ID_MASK;
	group->mc.fi_addr = GROUP_ADDR | group->id;
	group->next = coll->groups;
	coll->groups = group;
	forget_lost(coll, group->id);
	return 0;
}

void qv_fi_group_leave_slot(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	struct qv_fi_group **at = &coll->groups;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	coll->slots[group->id & SLOT_MASK] = NULL;
}

/* A stream that is open, of this group and with this tag. */
static bool is_taken(const struct qv_fi_group *group, uint64_t tag)
{
	for (const struct qv_fi_coll_op *op = group->ep->coll->ops; op; op = op->next)
		if (op->stream && op->group == group && op->tag == tag &&
		    !qv_fi_stream_closes(op->stream))
			return true;
	return false;
}

uint64_t qv_fi_group_tag(struct qv_fi_group *group)
{
	while (is_taken(group, (uint64_t)group->seq << 16))
		group->seq++;
	return (uint64_t)group->seq << 16;
}

/* Loss. */

void qv_fi_group_listen(struct qv_fi_group *group)
{
	const struct qv_fi_coll_io io = {.tag = qv_fi_join_tag(group->hash) | NOTICE,
					 .context = &group->notice};

	group->notice = (struct qv_fi_coll_msg){.group = group};
	group->listening = true;
	if (group->ep->mode->coll_recv(group->ep, FI_ADDR_UNSPEC, &io))
		group->listening = false;
}

void qv_fi_group_stop_listening(struct qv_fi_group *group)
{
	if (group->listening)
		group->ep->mode->coll_cancel(group->ep, &group->notice);
	group->listening = false;
}

/* The address of who has been told is forgotten: nothing else is sent to it any more. */
static void tell_others(struct qv_fi_group *group)
{
	const struct qv_fi_coll_io io = {.tag = qv_fi_join_tag(group->hash) | NOTICE};

	group->untold = 0;
	for (uint32_t r = 0; r < group->n; r++) {
		int status;

		if (r == group->rank || group->addrs[r] == FI_ADDR_NOTAVAIL)
			continue;
		/* Who cannot be told for another reason is taken for gone, too. If it is not, it
		 * hears of the loss from another member. */
		status = group->ep->mode->coll_send(group->ep, group->addrs[r], &io);
		if (status == QV_EAGAIN || status == QV_ENOMEM)
			group->untold++;
		else
			group->addrs[r] = FI_ADDR_NOTAVAIL;
	}
}

/* Whoever sent to this group, or to its join, waits for an answer that will not come otherwise. */
static void discard(struct qv_fi_group *group)
{
	group->ep->mode->coll_discard(group->ep, (uint64_t)group->id << 32, UINT32_MAX);
	group->ep->mode->coll_discard(group->ep, qv_fi_join_tag(group->hash), NOTICE);
}

void qv_fi_group_fail(struct qv_fi_group *group, int status)
{
	if (group->failed)
		return;
	group->failed = status;
	QV_FI_WARN(EP_DATA, "a group of %u is lost: %s\n", group->n, qv_strerror(status));
	qv_fi_group_stop_listening(group);
	qv_fi_coll_abort(group->ep->coll, group, status);
	qv_fi_memory_close(group);
	tell_others(group);
}

void qv_fi_group_progress(struct qv_fi_group *group)
{
	if (group->heard)
		qv_fi_group_fail(group, QV_EPEER);
	else if (!group->listening && !group->failed && !group->ep->coll->closing)
		qv_fi_group_listen(group); /* there was no memory for it */
	if (group->untold)
		tell_others(group);
	if (group->failed)
		discard(group);
}

/* Leave. */

static void empty(struct qv_fi_group *group)
{
	qv_expect_close(group->expect);
	qv_select_close(group->select);
	qv_fi_measure_free(group);
	qv_fi_memory_close(group);
	free(group->memory.told);
	free(group->addrs);
	free(group->load);
	free(group->members);
}

void qv_fi_group_free(struct qv_fi_group *group)
{
	empty(group);
	free(group);
}

/* Others may not know yet that it is lost, and send to it after the program has closed it here. */
static void keep_lost(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	struct qv_fi_group lost = {
		.ep = coll->ep, .id = group->id, .hash = group->hash, .next = coll->lost};

	if (group->untold) {
		lost.n = group->n;
		lost.rank = group->rank;
		lost.untold = group->untold;
		lost.addrs = group->addrs;
		group->addrs = NULL;
	}
	empty(group);
	*group = lost;
	coll->lost = group;
}

void qv_fi_group_progress_lost(struct qv_fi_coll *coll)
{
	for (struct qv_fi_group *group = coll->lost; group; group = group->next) {
		if (group->untold)
			tell_others(group);
		discard(group);
	}
}

void qv_fi_group_free_lost(struct qv_fi_coll *coll)
{
	struct qv_fi_group *group;

	while ((group = coll->lost)) {
		coll->lost = group->next;
		free(group->addrs);
		free(group);
	}
}

static int group_close(struct fid *fid)
{
	struct qv_fi_group *group = container_of(fid, struct qv_fi_group, mc.fid);
	struct qv_fi_ep *ep = group->ep;
	struct qv_fi_domain *dom;

	if (!ep) {
		qv_fi_group_free(group);
		return 0;
	}
	dom = ep->dom;
	qv_fi_lock(dom);
	if (group->ops) {
		qv_fi_unlock(dom);
		return -FI_EBUSY;
	}
	qv_fi_group_stop_listening(group);
	qv_fi_coll_leave(ep->coll, group);
	ep->coll->units -= group->units;
	discard(group);
	qv_fi_group_leave_slot(ep->coll, group);
	if (group->failed)
		keep_lost(ep->coll, group);
	else
		qv_fi_group_free(group);
	qv_fi_unlock(dom);
	return 0;
}

struct fi_ops qv_fi_group_ops = {
	.size = sizeof(struct fi_ops),
	.close = group_close,
	.bind = qv_fi_no_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};
