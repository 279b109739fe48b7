/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * second.c - FI_QUIVER_RAILS: another domain of the core beside the one that the application has opened,
 * for pieces of long messages.
 */
#include "core.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
				  &((const struct sockaddr_in6 *)b)->sin6_addr);
}

/* Does this network interface have that address? */
static bool has_address(const char *interface, const void *addr, size_t len)
{
	struct ifaddrs *list, *i;

	if (!addr || len < sizeof(struct sockaddr_in) || getifaddrs(&list))
		return false;
	for (i = list; i; i = i->ifa_next)
		if (i->ifa_addr && !strcmp(i->ifa_name, interface) && same_host(i->ifa_addr, addr))
			break;
	freeifaddrs(list);
	return i;
}

/* Is it of the domain of that name, or of the interface? */
static bool is_of(const struct fi_info *info, const char *name)
{
	const char *domain = info->domain_attr->name;

	return (domain && !strcasecmp(domain, name)) ||
	       has_address(name, info->src_addr, info->src_addrlen);
}

static struct fi_info *find(struct fi_info *list, const char *name)
{
	while (list && !is_of(list, name))
		list = list->next;
	return list;
}

static bool seen_before(const struct fi_info *list, const struct fi_info *info)
{
	while (list != info && strcmp(list->domain_attr->name, info->domain_attr->name))
		list = list->next;
	return list != info;
}

/* One of the two is not there. */
static void explain(const char *core, const struct fi_info *list, const char *name)
{
	char there[512] = "";

	for (const struct fi_info *i = list; i; i = i->next)
		if (!seen_before(list, i) &&
		    strlen(there) + strlen(i->domain_attr->name) + 2 < sizeof there)
			strcat(strcat(there, " "), i->domain_attr->name);
	qv_fi_warn(
		"FI_QUIVER_RAILS=%s,%s: core %s has no domain or interface %s here; there are:%s",
		qv_fi_params.rails[0], qv_fi_params.rails[1], core, name, there);
}

/* All that the core has here. */
static int list_all(const char *core, struct fi_info **list)
{
	return qv_fi_core_query(core, false, NULL, NULL, 0, qv_fi_core_hints(core, NULL), 0, list);
}

bool qv_fi_second_serves(const char *core)
{
	struct fi_info *list;
	bool all = true;

	if (list_all(core, &list))
		return false;
	for (unsigned r = 0; r < 2 && all; r++) {
		all = find(list, qv_fi_params.rails[r]);
		if (!all)
			explain(core, list, qv_fi_params.rails[r]);
	}
	qv_fi_host.freeinfo(list);
	return all;
}

int qv_fi_second_choose(struct fi_info **list)
{
	struct fi_info **at = list, *info;

	while ((info = *at)) {
		if (is_of(info, qv_fi_params.rails[0])) {
			at = &info->next;
			continue;
		}
		*at = info->next;
		info->next = NULL;
		qv_fi_host.freeinfo(info);
	}
	return *list ? 0 : -FI_ENODATA;
}

/* Addresses of one kind: who reaches the first can reach the second. */
static int info_of(const char *core, const struct fi_info *first, struct fi_info **info)
{
	struct fi_info *list, *i;
	int ret = list_all(core, &list);

	if (ret)
		return ret;
	for (i = find(list, qv_fi_params.rails[1]); i && i->addr_format != first->addr_format;)
		i = find(i->next, qv_fi_params.rails[1]);
	*info = i ? qv_fi_host.dupinfo(i) : NULL;
	qv_fi_host.freeinfo(list);
	return *info ? 0 : -FI_ENODATA;
}

static int open_domain(struct qv_fi_domain *dom, const char *core, struct fi_info *info)
{
	struct fi_fabric_attr attr = {
		.prov_name = (char *)(uintptr_t)core,
		.name = info->fabric_attr->name,
		.api_version = QV_FI_CORE_API,
	};
	int ret = qv_fi_host.fabric(&attr, &dom->second, NULL);

	if (ret)
		return ret;
	ret = fi_domain(dom->second, info, &dom->core[QV_FI_SECOND], NULL);
	if (ret)
		fi_close(&dom->second->fid);
	return ret;
}

int qv_fi_second_open(struct qv_fi_domain *dom)
{
	const char *core = dom->fabric->cores->name[QV_FI_MAIN];
	struct fi_info *info = NULL;
	int ret = info_of(core, dom->core_info[QV_FI_MAIN], &info);

	if (!ret)
		ret = open_domain(dom, core, info);
	if (!ret) {
		dom->core_info[QV_FI_SECOND] = info;
		return 0;
	}
	dom->second = NULL;
	dom->core[QV_FI_SECOND] = NULL;
	if (info)
		qv_fi_host.freeinfo(info);
	qv_fi_warn("FI_QUIVER_RAILS: the domain %s of core %s cannot be opened: %s",
		   qv_fi_params.rails[1], core, qv_fi_host.strerror(-ret));
	return ret;
}

void qv_fi_second_close(struct qv_fi_domain *dom)
{
	if (!dom->second)
		return;
	fi_close(&dom->core[QV_FI_SECOND]->fid);
	fi_close(&dom->second->fid);
	qv_fi_host.freeinfo(dom->core_info[QV_FI_SECOND]);
	dom->core[QV_FI_SECOND] = NULL;
	dom->second = NULL;
}
