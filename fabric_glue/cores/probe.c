/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.c - FI_ATOMIC: who does it. `net` of libfabric 1.17 offers it and answers each call with
 * -FI_ENOSYS, `tcp` does not have it: there quiver's own protocol does. What no query can tell is in
 * quirks.c.
 */
#include "core.h"
#include "fabric_glue/node/node.h"

#include <string.h>
#include <strings.h>

/* Its domain is asked: no endpoint is needed for that. */
static bool can_add(struct fi_info *info)
{
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	QV_FI_ROOMY(fi_atomic_attr, attr);
	bool can;

	if (qv_fi_host.fabric(info->fabric_attr, &fabric, NULL))
		return false;
	if (fi_domain(fabric, info, &domain, NULL)) {
		fi_close(&fabric->fid);
		return false;
	}
	can = !fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr.a, 0);
	fi_close(&domain->fid);
	fi_close(&fabric->fid);
	return can;
}

static bool ask(const char *core)
{
	struct fi_info *hints = qv_fi_core_hints(core, NULL), *list;
	bool has = hints && !qv_fi_core_ask(core, NULL, NULL, 0, hints, &list);

	if (hints)
		qv_fi_host.freeinfo(hints);
	if (!has)
		return false;
	has = can_add(list);
	qv_fi_host.freeinfo(list);
	return has;
}

bool qv_fi_core_has_atomics(const char *core)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		char name[64];
		bool can;
	} known[8];
	bool can = false, found = false;
	size_t i;

	if (qv_fi_is_node(core))
		return true;
	pthread_mutex_lock(&lock);
	for (i = 0; i < sizeof known / sizeof *known && known[i].name[0] && !found; i++)
		if (!strcasecmp(known[i].name, core)) {
			can = known[i].can;
			found = true;
		}
	if (!found)
		can = ask(core);
	if (!found && i < sizeof known / sizeof *known && strlen(core) < sizeof known->name) {
		strcpy(known[i].name, core);
		known[i].can = can;
	}
	pthread_mutex_unlock(&lock);
	return can;
}

bool qv_fi_core_own_atomics(const char *core, bool pair)
{
	if (qv_fi_params.peer || qv_fi_is_node(core))
		return false;
	return pair || qv_fi_quirks_of(core).wrong_atomics || !qv_fi_core_has_atomics(core);
}

/* Nothing orders them with what the core does by FI_RMA. */
void qv_fi_core_grant_atomics(struct fi_info *info)
{
	const uint64_t mixed = FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW;
	const uint64_t among = FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |
			       FI_ORDER_ATOMIC_WAW;

	if (!(info->caps & FI_RMA)) /* memory is registered with the core, for its key */
		return;
	info->caps |= FI_ATOMIC;
	info->tx_attr->caps |= FI_ATOMIC;
	info->rx_attr->caps |= FI_ATOMIC;
	info->tx_attr->msg_order = (info->tx_attr->msg_order & ~mixed) | among;
	info->rx_attr->msg_order = (info->rx_attr->msg_order & ~mixed) | among;
	if (info->domain_attr->mr_iov_limit > QV_FI_IOV_LIMIT)
		info->domain_attr->mr_iov_limit = QV_FI_IOV_LIMIT;
}
