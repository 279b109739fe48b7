/* SPDX-License-Identifier: BSD-2-Clause */
/* join.c - to join a group: who is in it, what its members must have in common, and the event that
 * reports the join. */
#include "coll.h"

#include <stdlib.h>
#include <string.h>

/* Sets that have been joined, and how often: each time is another group. */
struct qv_fi_joins {
	struct qv_fi_joins *next;
	uint64_t hash;
	uint64_t times;
};

static struct qv_fi_joins *joins_of(struct qv_fi_coll *coll, uint64_t hash)
{
	struct qv_fi_joins *j = coll->joins;

	while (j && j->hash != hash)
		j = j->next;
	if (j)
		return j;
	j = calloc(1, sizeof *j);
	if (!j)
		return NULL;
	j->hash = hash;
	j->next = coll->joins;
	coll->joins = j;
	return j;
}

/* Members are known to each other by their addresses: numbers in an AV are each process's own. */
static int name_members(struct qv_fi_group *group, const struct qv_fi_set *set,
			struct qv_fi_joins **joins)
{
	char own[QV_WIRE_MAX_NAME];
	size_t len = sizeof own;
	int ret = qv_fi_ep_name(group->ep, own, &len);
	uint64_t times;

	if (ret)
		return ret;
	group->rank = UINT32_MAX;
	group->hash = set->n;
	for (uint32_t i = 0; i < set->n; i++) {
		const struct qv_fi_av_entry *e = qv_fi_av_entry(set->av, set->addrs[i]);

		if (!e)
			return -FI_EINVAL;
		if (e->namelen == len && !memcmp(e->name, own, len))
			group->rank = i;
		group->hash = qv_fi_coll_mix(group->hash, e->name, e->namelen);
		group->addrs[i] = set->addrs[i];
	}
	if (group->rank == UINT32_MAX) {
		QV_FI_WARN(EP_CTRL, "join: the endpoint's own address is not in the set\n");
		return -FI_EINVAL;
	}
	*joins = joins_of(group->ep->coll, group->hash);
	if (!*joins)
		return -FI_ENOMEM;
	times = (*joins)->times + 1;
	group->hash = qv_fi_coll_mix(group->hash, &times, sizeof times);
	return 0;
}

static void report(struct qv_fi_group *group, int status)
{
	struct fi_eq_err_entry err = {.fid = &group->mc.fid,
				      .context = group->mc.fid.context,
				      .err = qv_fi_errno(status),
				      .prov_errno = status};
	struct fi_eq_entry ok = {.fid = &group->mc.fid, .context = group->mc.fid.context};
	int ret = status ? qv_fi_eq_tell_error(group->ep->eq, &err)
			 : qv_fi_eq_tell(group->ep->eq, FI_JOIN_COMPLETE, &ok);

	if (ret)
		QV_FI_WARN(EP_CTRL, "the event queue takes no event: %s\n",
			   qv_fi_host.strerror(-ret));
}

/* Do all mean the same group, and will they choose the same schedules? */
static bool agree(const struct qv_fi_group *group)
{
	for (uint32_t r = 0; r < group->n; r++) {
		if (group->members[r].hash != group->hash)
			return false;
		if (group->members[r].check != group->ep->coll->check) {
			qv_fi_warn("member %u of a group has another core or FI_QUIVER_COLL "
				   "than member %u",
				   r, group->rank);
			return false;
		}
	}
	return true;
}

void qv_fi_group_joined(struct qv_fi_group *group, int status)
{
	if (!status && !agree(group))
		status = QV_EPROTO;
	if (!status) {
		status = qv_fi_memory_begin(group);
		if (!status)
			return;
		if (status == QV_ENOSYS)
			status = QV_OK;
	}
	qv_fi_group_shared(group, status);
}

void qv_fi_group_shared(struct qv_fi_group *group, int status)
{
	if (!status && group->n > 1) {
		if (!qv_fi_measure_begin(group))
			return;
		status = QV_ENOMEM;
	}
	qv_fi_group_ready(group, status);
}

/* What all have told says who runs the combine units of this group. */
static void count_units(struct qv_fi_group *group)
{
	const struct qv_select_call call = {
		.ranks = group->n, .rank = group->rank, .load = group->load};

	for (uint32_t r = 0; r < group->n; r++)
		group->load[r] = (uint32_t)group->members[r].load;
	group->units = (unsigned)qv_select_units(group->select, &call);
	group->ep->coll->units += group->units;
}

void qv_fi_group_ready(struct qv_fi_group *group, int status)
{
	if (status) {
		qv_fi_group_fail(group, status);
	} else {
		count_units(group);
		group->joined = true;
	}
	report(group, status);
}

static int begin_join(struct qv_fi_ep *ep, const struct qv_fi_set *set, struct qv_fi_group *group)
{
	int ret = ep->coll ? 0 : qv_fi_coll_open(ep);
	struct qv_fi_joins *joins;

	group->n = (uint32_t)set->n;
	group->addrs = calloc(set->n + 1, sizeof *group->addrs);
	group->members = calloc(set->n + 1, sizeof *group->members);
	group->load = calloc(set->n + 1, sizeof *group->load);
	if (!ret && (!group->addrs || !group->members || !group->load))
		ret = -FI_ENOMEM;
	if (!ret)
		ret = name_members(group, set, &joins);
	if (!ret && qv_select_open(qv_fi_params.coll, NULL, 0, &group->select))
		ret = -FI_ENOMEM;
	if (!ret)
		ret = qv_fi_group_take_slot(ep->coll, group);
	if (ret)
		return ret;
	group->members[group->rank] = (struct qv_fi_member){.hash = group->hash,
							    .check = ep->coll->check,
							    .id = group->id,
							    .load = ep->coll->units};
	qv_fi_memory_offer(group, &group->members[group->rank]);
	ret = qv_fi_coll_start_join(ep->coll, group);
	if (ret) {
		qv_fi_group_leave_slot(ep->coll, group);
		return ret;
	}
	/* A call that has failed takes no notice from the next one, and others do not count it. */
	qv_fi_group_listen(group);
	joins->times++;
	return 0;
}

/* Whether the call may join: a set, or a group of this endpoint, says who is in it. 0 or -FI_E*. */
static int check_join(struct qv_fi_ep *ep, const struct fi_collective_addr *addr, uint64_t flags)
{
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (!ep->eq)
		return -FI_ENOEQ;
	if (!(ep->caps & FI_COLLECTIVE))
		return -FI_EOPNOTSUPP;
	if (flags & ~(FI_COLLECTIVE | FI_SEND | FI_RECV))
		return -FI_EBADFLAGS;
	if (!addr || !addr->set || qv_fi_set_of(addr->set)->av != ep->av)
		return -FI_EINVAL;
	if (addr->coll_addr != FI_ADDR_NOTAVAIL &&
	    addr->coll_addr != qv_fi_set_addr(qv_fi_set_of(addr->set)) &&
	    !qv_fi_group_find(ep->coll, addr->coll_addr))
		return -FI_EINVAL;
	return 0;
}

int qv_fi_join(struct fid_ep *fid, const void *address, uint64_t flags, struct fid_mc **mc,
	       void *context)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid);
	const struct fi_collective_addr *addr = address;
	struct qv_fi_group *group;
	int ret;

	if (!(flags & FI_COLLECTIVE))
		return -FI_ENOSYS; /* there is no multicast */
	group = calloc(1, sizeof *group);
	if (!group)
		return -FI_ENOMEM;
	group->ep = ep;
	group->mc.fid.fclass = FI_CLASS_MC;
	group->mc.fid.context = context;
	group->mc.fid.ops = &qv_fi_group_ops;
	qv_fi_lock(ep->dom);
	ret = check_join(ep, addr, flags);
	if (!ret)
		ret = begin_join(ep, qv_fi_set_of(addr->set), group);
	if (!ret) {
		*mc = &group->mc; /* before the event can be read */
		qv_fi_coll_progress(ep);
	}
	qv_fi_unlock(ep->dom);
	if (ret)
		qv_fi_group_free(group);
	return ret;
}

void qv_fi_coll_forget_joins(struct qv_fi_coll *coll)
{
	struct qv_fi_joins *j;

	while ((j = coll->joins)) {
		coll->joins = j->next;
		free(j);
	}
}
