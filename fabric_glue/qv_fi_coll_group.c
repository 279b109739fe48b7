/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_fi_coll_group.c - groups: join, leave, loss of a member. Whoever finds that a member is gone
 * tells all others, and so does everyone who is told, once: nobody waits for ever for a member that
 * waits for the dead one.
 */
#include "qv_fi_coll.h"

#include <stdlib.h>
#include <string.h>

#define GROUP_ADDR (UINT64_C(0x5157) << 48)
#define SLOT_BITS                                                                            \
	16 /* groups that an endpoint can be in at once; the rest of 31 bits tells uses of a \
	    * slot apart */
#define SLOT_MASK ((1u << SLOT_BITS) - 1)
#define ID_MASK   0x7fffffffu
#define NOTICE    0xffffu             /* as the number of a message */
#define EQ_ERROR  (UINT64_C(1) << 60) /* an event of a core's queue that is an error */

/* Sets that have been joined, and how often: each time is another group. */
struct qv_fi_joins {
	struct qv_fi_joins *next;
	uint64_t hash;
	uint64_t times;
};

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *c = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ c[i]) * UINT64_C(0x100000001b3);
	hash ^= hash >> 32;
	return hash * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t notice_tag(uint64_t hash)
{
	return UINT64_C(1) << 63 | (hash & UINT64_C(0x7fffffffffff)) << 16 | NOTICE;
}

struct qv_fi_group *qv_fi_group_find(struct qv_fi_coll *coll, fi_addr_t addr)
{
	const uint32_t id = (uint32_t)addr & ID_MASK, slot = id & SLOT_MASK;

	if (!coll || (addr & ~(fi_addr_t)ID_MASK) != GROUP_ADDR || slot >= coll->nslots ||
	    !coll->slots[slot] || coll->slots[slot]->id != id)
		return NULL;
	return coll->slots[slot];
}

/* ---- what an endpoint has ----------------------------------------------------------------------
 */
/* What a core is like; calls of all ranks must be judged by the same figures. */
static const struct {
	const char *core;
	struct qv_network network;
} networks[] = {
	{"shm", {1e-6, 1.5e-10, 1e-10}},
	{"tcp", {12e-6, 4e-10, 1e-10}},
	{"net", {12e-6, 4e-10, 1e-10}},
	{NULL, {3e-6, 1e-10, 1e-10}},
};

static int open_coll(struct qv_fi_ep *ep)
{
	const char *core = qv_fi_rail_name(&ep->rail[QV_FI_MAIN]), *rules = qv_fi_params.coll;
	struct qv_fi_coll *coll = calloc(1, sizeof *coll);
	size_t i = 0;

	if (!coll)
		return -FI_ENOMEM;
	while (networks[i].core && strcmp(networks[i].core, core))
		i++;
	if (qv_select_open(rules, NULL, 0, &coll->select) ||
	    qv_combine_open(qv_fi_params.isa, &coll->combine)) {
		qv_select_close(coll->select);
		free(coll);
		return -FI_ENOMEM;
	}
	qv_select_network(coll->select, &networks[i].network);
	coll->check =
		mix(mix(1, core, strlen(core)), rules ? rules : "", rules ? strlen(rules) : 0);
	coll->ep = ep;
	coll->ops_tail = &coll->ops;
	ep->coll = coll;
	return 0;
}

static int take_slot(struct qv_fi_coll *coll, struct qv_fi_group *group)
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
	group->next = coll->groups;
	coll->groups = group;
	return 0;
}

static void leave_slot(struct qv_fi_coll *coll, struct qv_fi_group *group)
{
	struct qv_fi_group **at = &coll->groups;

	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	coll->slots[group->id & SLOT_MASK] = NULL;
}

/* ---- loss --------------------------------------------------------------------------------------
 */
static void listen_for_notice(struct qv_fi_group *group)
{
	const struct iovec none = {NULL, 0};
	const struct qv_recv_args args = {.iov = &none,
					  .cnt = 1,
					  .tag = notice_tag(group->hash),
					  .flags = QV_REQ_COLL,
					  .context = &group->notice,
					  .cookie = QV_CK_COLL};

	group->notice = (struct qv_fi_coll_msg){.group = group};
	group->listening = true;
	if (qv_proto_recv(group->ep->proto, &args))
		group->listening = false;
}

static void stop_listening(struct qv_fi_group *group)
{
	if (group->listening)
		qv_proto_cancel_coll(group->ep->proto, &group->notice);
	group->listening = false;
}

static void tell_others(struct qv_fi_group *group)
{
	const struct iovec none = {NULL, 0};
	const struct qv_send_args args = {.iov = &none,
					  .cnt = 1,
					  .tag = notice_tag(group->hash),
					  .flags = QV_REQ_COLL | QV_REQ_INJECT,
					  .cookie = QV_CK_COLL};

	for (uint32_t r = 0; r < group->n; r++) {
		struct qv_peer *peer = qv_fi_peer(group->ep, group->addrs[r]);

		/* Who cannot be told is gone, too, or hears of it from another one. */
		if (r != group->rank && peer)
			(void)qv_proto_send(group->ep->proto, peer, &args);
	}
}

/* Whoever sent to this group waits for an answer that will not come otherwise. */
static void discard(struct qv_fi_group *group)
{
	bool found = true;
	const struct qv_recv_args args = {.tag = (uint64_t)group->id << 32,
					  .ignore = UINT32_MAX,
					  .flags = QV_REQ_COLL,
					  .context = &found,
					  .cookie = QV_CK_COLL | QV_CK_PEEK};

	while (found)
		qv_proto_peek(group->ep->proto, &args, QV_PEEK_DISCARD, NULL);
}

void qv_fi_group_fail(struct qv_fi_group *group, int status)
{
	if (group->failed)
		return;
	group->failed = status;
	QV_FI_WARN(EP_DATA, "a group of %u is lost: %s\n", group->n, qv_strerror(status));
	stop_listening(group);
	qv_fi_coll_abort(group->ep->coll, group, status);
	tell_others(group);
}

void qv_fi_group_progress(struct qv_fi_group *group)
{
	if (group->heard)
		qv_fi_group_fail(group, QV_EPEER);
	if (group->failed)
		discard(group);
}

/* ---- join --------------------------------------------------------------------------------------
 */
static int times_joined(struct qv_fi_coll *coll, uint64_t hash, uint64_t *times)
{
	struct qv_fi_joins *j = coll->joins;

	while (j && j->hash != hash)
		j = j->next;
	if (!j) {
		j = calloc(1, sizeof *j);
		if (!j)
			return -FI_ENOMEM;
		j->hash = hash;
		j->next = coll->joins;
		coll->joins = j;
	}
	*times = ++j->times;
	return 0;
}

/* Members are known to each other by their addresses: numbers in an AV are each process's own. */
static int name_members(struct qv_fi_group *group, const struct qv_fi_set *set)
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
		group->hash = mix(group->hash, e->name, e->namelen);
		group->addrs[i] = set->addrs[i];
	}
	if (group->rank == UINT32_MAX) {
		QV_FI_WARN(EP_CTRL, "join: the endpoint's own address is not in the set\n");
		return -FI_EINVAL;
	}
	ret = times_joined(group->ep->coll, group->hash, &times);
	group->hash = mix(group->hash, &times, sizeof times);
	return ret;
}

static void report(struct qv_fi_group *group, int status)
{
	struct fi_eq_err_entry err = {.fid = &group->mc.fid,
				      .context = group->mc.fid.context,
				      .err = qv_fi_errno(status),
				      .prov_errno = status};
	struct fi_eq_entry ok = {.fid = &group->mc.fid, .context = group->mc.fid.context};
	ssize_t ret =
		status ? fi_eq_write(group->ep->eq, FI_JOIN_COMPLETE, &err, sizeof err, EQ_ERROR)
		       : fi_eq_write(group->ep->eq, FI_JOIN_COMPLETE, &ok, sizeof ok, 0);

	if (ret < 0)
		QV_FI_WARN(EP_CTRL, "the event queue takes no event: %s\n",
			   qv_fi_host.strerror((int)-ret));
}

/* Do all mean the same group, and will they choose the same schedules? */
static bool agree(const struct qv_fi_group *group)
{
	for (uint32_t r = 0; r < group->n; r++) {
		if (group->members[r].hash != group->hash)
			return false;
		if (group->members[r].check != group->ep->coll->check) {
			qv_fi_complain("member %u of a group has another core or FI_QUIVER_COLL "
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
	if (status)
		qv_fi_group_fail(group, status);
	else
		group->joined = true;
	report(group, status);
}

static void free_group(struct qv_fi_group *group)
{
	qv_predict_close(group->predict);
	free(group->told);
	free(group->addrs);
	free(group->members);
	free(group);
}

static int group_close(struct fid *fid)
{
	struct qv_fi_group *group = container_of(fid, struct qv_fi_group, mc.fid);
	struct qv_fi_ep *ep = group->ep;
	struct qv_fi_domain *dom;

	if (!ep) {
		free_group(group);
		return 0;
	}
	dom = ep->dom;
	qv_fi_lock(dom);
	if (group->ops) {
		qv_fi_unlock(dom);
		return -FI_EBUSY;
	}
	stop_listening(group);
	qv_fi_coll_leave(ep->coll, group);
	discard(group);
	qv_select_forget(ep->coll->select, group->id);
	leave_slot(ep->coll, group);
	qv_fi_unlock(dom);
	free_group(group);
	return 0;
}

static struct fi_ops group_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = group_close,
	.bind = qv_fi_no_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

static int begin_join(struct qv_fi_ep *ep, const struct qv_fi_set *set, struct qv_fi_group *group)
{
	int ret = ep->coll ? 0 : open_coll(ep);

	if (!ret)
		ret = name_members(group, set);
	if (!ret)
		ret = take_slot(ep->coll, group);
	if (ret)
		return ret;
	group->members[group->rank] =
		(struct qv_fi_member){group->hash, ep->coll->check, group->id};
	group->mc.fi_addr = GROUP_ADDR | group->id;
	listen_for_notice(group);
	ret = qv_fi_coll_start_join(ep->coll, group);
	if (ret) {
		stop_listening(group);
		leave_slot(ep->coll, group);
	}
	return ret;
}

/* The group that a set or another group is the pattern of. */
static int check_join(struct qv_fi_ep *ep, const struct fi_collective_addr *addr, uint64_t flags)
{
	if (!ep->proto)
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
	const struct qv_fi_set *set;
	int ret;

	if (!(flags & FI_COLLECTIVE))
		return -FI_ENOSYS; /* there is no multicast */
	ret = check_join(ep, addr, flags);
	if (ret)
		return ret;
	set = qv_fi_set_of(addr->set);
	group = calloc(1, sizeof *group);
	if (!group)
		return -FI_ENOMEM;
	group->ep = ep;
	group->n = (uint32_t)set->n;
	group->addrs = calloc(set->n + 1, sizeof *group->addrs);
	group->members = calloc(set->n + 1, sizeof *group->members);
	group->mc.fid.fclass = FI_CLASS_MC;
	group->mc.fid.context = context;
	group->mc.fid.ops = &group_fi_ops;
	qv_fi_lock(ep->dom);
	ret = group->addrs && group->members ? begin_join(ep, set, group) : -FI_ENOMEM;
	if (!ret) {
		*mc = &group->mc; /* before the event can be read */
		qv_fi_coll_progress(ep);
	}
	qv_fi_unlock(ep->dom);
	if (ret)
		free_group(group);
	return ret;
}

/* ---- the endpoint closes -----------------------------------------------------------------------
 */
void qv_fi_coll_shutdown(struct qv_fi_ep *ep)
{
	struct qv_fi_group *group = ep->coll ? ep->coll->groups : NULL;

	for (; group; group = group->next) {
		if (group->ops)
			qv_fi_group_fail(group, QV_ECANCELED);
		stop_listening(group);
	}
}

void qv_fi_coll_close(struct qv_fi_ep *ep)
{
	struct qv_fi_coll *coll = ep->coll;
	struct qv_fi_joins *j;

	if (!coll)
		return;
	qv_fi_coll_drop(coll);
	for (struct qv_fi_group *group = coll->groups; group; group = group->next)
		group->ep = NULL; /* the application closes it yet */
	while ((j = coll->joins)) {
		coll->joins = j->next;
		free(j);
	}
	qv_select_close(coll->select);
	free(coll->slots);
	free(coll);
	ep->coll = NULL;
}
