/* SPDX-License-Identifier: BSD-2-Clause */
/* why.c - why a core cannot be used: one line that says what to do about it. */
#include "core.h"
#include "fabric_glue/node/node.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Names. */

static bool is_layer(const char *name)
{
	return !strncasecmp(name, "ofi_", 4) || !strncasecmp(name, "off_", 4);
}

static bool is_part(const char *part, size_t len, const struct fi_info *all)
{
	for (; all; all = all->next)
		if (strlen(all->fabric_attr->prov_name) == len &&
		    !strncasecmp(all->fabric_attr->prov_name, part, len))
			return true;
	return false;
}

static bool is_listed(const struct fi_info *all, const struct fi_info *here)
{
	for (; all != here; all = all->next)
		if (!strcasecmp(all->fabric_attr->prov_name, here->fabric_attr->prov_name))
			return true;
	return false;
}

static void list_cores(const struct fi_info *all, char *text, size_t size)
{
	snprintf(text, size, " %s", QV_FI_NODE_NAME);
	for (const struct fi_info *i = all; i; i = i->next)
		if (!is_layer(i->fabric_attr->prov_name) &&
		    strcasecmp(i->fabric_attr->prov_name, "quiver") && !is_listed(all, i))
			snprintf(text + strlen(text), size - strlen(text), " %s",
				 i->fabric_attr->prov_name);
}

/* What is wrong with the name; NULL if nothing is. */
static const char *name_fault(const char *core, const struct fi_info *all)
{
	const char *part = core, *end;

	if (!strcasecmp(core, "quiver") || strcasestr(core, "ofi_quiver"))
		return "is not a core, it is quiver itself";
	if (is_layer(core))
		return "is a layer over a core, not a core";
	for (;; part = end + 1) {
		end = part + strcspn(part, ";");
		if (!is_part(part, (size_t)(end - part), all))
			return "is not known to this libfabric";
		if (!*end)
			return NULL;
	}
}

bool qv_fi_core_is_known(const char *core, const char *where)
{
	struct fi_info *all = NULL;
	char known[512];
	const char *fault;

	if (qv_fi_is_node(core))
		return true;
	/* Exactly this flag: every provider answers, whether or not it is usable or hidden. */
	if (qv_fi_host.getinfo(QV_FI_CORE_API, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &all))
		return true;
	fault = name_fault(core, all);
	if (fault) {
		list_cores(all, known, sizeof known);
		qv_fi_warn("%s %s; known:%s", where, fault, known);
	}
	qv_fi_host.freeinfo(all);
	return !fault;
}

bool qv_fi_core_exists(const char *core)
{
	struct fi_info *all = NULL;
	bool exists;

	if (qv_fi_is_node(core))
		return true;
	if (qv_fi_host.getinfo(QV_FI_CORE_API, NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &all))
		return false;
	exists = is_part(core, strlen(core), all);
	qv_fi_host.freeinfo(all);
	return exists;
}

/* Abilities. */

/* Everything that the provider has here, whatever it may need. */
static struct fi_info *list_all(const char *core)
{
	struct fi_info *hints = qv_fi_host.dupinfo(NULL), *list = NULL;

	if (!hints)
		return NULL;
	hints->fabric_attr->prov_name = strdup(core);
	hints->mode = ~0ULL;
	hints->domain_attr->mode = ~0ULL;
	hints->domain_attr->mr_mode = ~(FI_MR_BASIC | FI_MR_SCALABLE);
	if (hints->fabric_attr->prov_name)
		qv_fi_core_ask(core, NULL, NULL, 0, hints, &list);
	qv_fi_host.freeinfo(hints);
	return list;
}

static bool is_rdm(const struct fi_info *i)
{
	return i->ep_attr->type == FI_EP_RDM;
}

static bool has_msg(const struct fi_info *i)
{
	return is_rdm(i) && i->caps & FI_MSG;
}

static bool has_source(const struct fi_info *i)
{
	return has_msg(i) && i->caps & FI_SOURCE;
}

static bool has_order(const struct fi_info *i)
{
	return has_source(i) && i->tx_attr->msg_order & i->rx_attr->msg_order & FI_ORDER_SAS;
}

static bool has_mode(const struct fi_info *i)
{
	return has_order(i) && !(i->mode & ~QV_FI_CORE_MODE);
}

static bool any(const struct fi_info *list, bool (*is)(const struct fi_info *))
{
	for (; list; list = list->next)
		if (is(list))
			return true;
	return false;
}

/* Only message or datagram endpoints: a layer of libfabric's makes the wanted kind of them. */
static void explain_type(const struct fi_info *list, const char *core, const char *where,
			 const char *local)
{
	const char *layer = "ofi_rxd";

	for (; list; list = list->next)
		if (list->ep_attr->type == FI_EP_MSG)
			layer = "ofi_rxm";
	if (strchr(core, ';'))
		qv_fi_warn("%s: %s has no FI_EP_RDM endpoints", where, core);
	else if (local)
		qv_fi_warn("%s: %s has no FI_EP_RDM endpoints here; with a layer it may: "
			   "FI_PROVIDER=quiver,%s FI_QUIVER_CORE=\"%s,%s;%s\"",
			   where, core, core, local, core, layer);
	else
		qv_fi_warn("%s: %s has no FI_EP_RDM endpoints here; with a layer it may: "
			   "FI_PROVIDER=\"%s;%s;ofi_quiver\"",
			   where, core, core, layer);
}

void qv_fi_core_explain(const char *core, const char *where, const char *local)
{
	static const struct {
		bool (*is)(const struct fi_info *);
		const char *lack;
	} needs[] = {
		{has_msg, "lacks FI_MSG"},
		{has_source, "lacks FI_SOURCE"},
		{has_order, "does not keep the order of messages (FI_ORDER_SAS)"},
		{has_mode, "needs a mode that quiver cannot serve"},
	};
	struct fi_info *list = list_all(core);
	size_t i;

	if (qv_fi_is_node(core)) {
		qv_fi_warn("%s: the kernel gives %s no shared memory (memfd_create with seals), "
			   "abstract sockets or epoll, or no descriptors",
			   where, core);
	} else if (!list) {
		qv_fi_warn("%s: %s has no device or interface here", where, core);
	} else if (!any(list, is_rdm)) {
		explain_type(list, core, where, local);
	} else {
		for (i = 0; i < sizeof needs / sizeof *needs; i++)
			if (!any(list, needs[i].is))
				break;
		qv_fi_warn("%s: %s %s", where, core,
			   i < sizeof needs / sizeof *needs
				   ? needs[i].lack
				   : "refuses what quiver asks of a core: manual progress, "
				     "FI_THREAD_DOMAIN, FI_RM_ENABLED, no local registration");
	}
	if (list)
		qv_fi_host.freeinfo(list);
}
