/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open.c - what an endpoint has for collectives, made when it first joins a group and
 * gone when it is closed.
 */
#include "coll.h"
#include "engine/base/hash.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/fi_ext.h>

uint64_t qv_fi_coll_mix(uint64_t hash, const void *data, size_t len)
{
	hash = qv_fnv(hash, data, len);
	hash ^= hash >> 32;
	return hash * UINT64_C(0x9e3779b97f4a7c15);
}

int qv_fi_coll_open(struct qv_fi_ep *ep)
{
	const char *core = qv_fi_rail_name(&ep->rail[QV_FI_MAIN]), *rules = qv_fi_params.coll;
	struct qv_fi_coll *coll = calloc(1, sizeof *coll);

	if (!coll)
		return -FI_ENOMEM;
	if (qv_combine_open(qv_fi_params.isa, &coll->combine)) {
		free(coll);
		return -FI_ENOMEM;
	}
	coll->check = qv_fi_coll_mix(qv_fi_coll_mix(1, core, strlen(core)), rules ? rules : "",
				     rules ? strlen(rules) : 0);
	coll->ep = ep;
	coll->ops_tail = &coll->ops;
	ep->coll = coll;
	return 0;
}

void qv_fi_coll_collect(const struct qv_fi_ep *ep, struct qv_fi_stats *stats)
{
	if (!ep->coll)
		return;
	stats->collectives = ep->coll->calls;
	stats->collectives_memory = ep->coll->by_memory;
	stats->collectives_by_arrival = ep->coll->by_arrival;
	stats->combine_units = ep->coll->units;
}

void qv_fi_coll_shutdown(struct qv_fi_ep *ep)
{
	struct qv_fi_group *group = ep->coll ? ep->coll->groups : NULL;

	if (ep->coll)
		ep->coll->closing = true;
	for (; group; group = group->next) {
		if (group->ops)
			qv_fi_group_fail(group, QV_ECANCELED);
		qv_fi_memory_close(group); /* the others are told by it, too */
		qv_fi_group_stop_listening(group);
	}
}

void qv_fi_coll_close(struct qv_fi_ep *ep)
{
	struct qv_fi_coll *coll = ep->coll;

	if (!coll)
		return;
	qv_fi_coll_drop(coll);
	for (struct qv_fi_group *group = coll->groups; group; group = group->next)
		group->ep = NULL; /* the application closes it yet */
	qv_fi_group_free_lost(coll);
	qv_fi_coll_forget_joins(coll);
	free(coll->slots);
	free(coll);
	ep->coll = NULL;
}
