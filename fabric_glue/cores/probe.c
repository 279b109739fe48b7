/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probe.c - FI_ATOMIC that a core names but does not have: `net` of libfabric 1.17 offers it and
 * answers each call with -FI_ENOSYS. What no query can tell is in quirks.c.
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

bool qv_fi_core_has_atomics(const char *core, struct fi_info *info)
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
		can = can_add(info);
	if (!found && i < sizeof known / sizeof *known && strlen(core) < sizeof known->name) {
		strcpy(known[i].name, core);
		known[i].can = can;
	}
	pthread_mutex_unlock(&lock);
	return can;
}
