/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_info.c - fi_getinfo: who is asked for, over which core; nothing unless we are named. */
#include "qv_fi_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Flags by which libfabric and its own layers talk to providers that they build upon. */
#define INTERNAL_FLAGS (0xfULL << 58)
#define KNOWN_FLAGS    (FI_SOURCE | FI_NUMERICHOST | FI_PROV_ATTR_ONLY)

static const char suffix[] = ";ofi_quiver";

struct query {
	uint32_t version;
	const char *node, *service;
	uint64_t flags;
	const struct fi_info *hints;
};

/* mr_mode 0 of an old application leaves the choice to us; since 1.5 it means no mode at all. */
static void relax_mr_mode(struct fi_info *ask, const struct query *q)
{
	if (FI_VERSION_LT(q->version, FI_VERSION(1, 5)) &&
	    !(q->hints && q->hints->domain_attr && q->hints->domain_attr->mr_mode))
		ask->domain_attr->mr_mode = QV_FI_BASIC_MR;
}

/* Our answer over this core, each entry under the provider name `name` (NULL: our own). The core's
 * list is edited in place: only libfabric knows how long its structures are. */
static int answer(const struct query *q, const char *core, const char *name, struct fi_info **out)
{
	struct fi_info *ask = qv_fi_core_hints(core, q->hints), *list, *next, **tail = out;
	bool need_rma = q->hints && q->hints->caps & FI_RMA;
	int ret;

	*out = NULL;
	if (ask)
		relax_mr_mode(ask, q);
	ret = qv_fi_core_query(core, q->node, q->service, q->flags & (FI_SOURCE | FI_NUMERICHOST),
			       ask, need_rma, &list);
	if (ret) {
		QV_FI_INFO(CORE, "hints refused by core %s: %s\n", core, qv_fi_host.strerror(-ret));
		return ret;
	}
	for (; list; list = next) {
		next = list->next;
		list->next = NULL;
		qv_fi_offer(list);
		free(list->fabric_attr->prov_name);
		list->fabric_attr->prov_name = name ? strdup(name) : NULL;
		if (!qv_fi_offer_fits(list, q->hints)) {
			qv_fi_host.freeinfo(list);
			continue;
		}
		qv_fi_offer_narrow(list, q->hints, q->version);
		*tail = list;
		tail = &list->next;
	}
	return *out ? 0 : -FI_ENODATA;
}

/* Shared by both names: 0 = go on, else the answer. */
static int begin(uint64_t flags)
{
	if (flags & INTERNAL_FLAGS || qv_fi_core_asking())
		return -FI_ENODATA;
	if (flags & ~KNOWN_FLAGS) {
		QV_FI_INFO(CORE, "flags 0x%llx not known\n", (unsigned long long)flags);
		return -FI_EBADFLAGS;
	}
	return 0;
}

static bool settings_are_good(void)
{
	qv_fi_params_init();
	return qv_fi_params.valid;
}

static const char *hinted_name(const struct fi_info *hints)
{
	return hints && hints->fabric_attr ? hints->fabric_attr->prov_name : NULL;
}

/* ---- "quiver" -------------------------------------------------------------------------------- */
int qv_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		  const struct fi_info *hints, struct fi_info **info)
{
	const struct query q = {version, node, service, flags, hints};
	const char *name = hinted_name(hints), *core;
	int ret = begin(flags);

	if (ret)
		return ret;
	/* An application that takes the first provider that fits must not get us by accident. */
	if (name ? strcasecmp(name, "quiver") : !qv_fi_filter_has("quiver"))
		return -FI_ENODATA;
	if (!settings_are_good())
		return -FI_ENODATA;
	core = qv_fi_core_named("quiver");
	return core ? answer(&q, core, NULL, info) : -FI_ENODATA;
}

/* ---- "ofi_quiver" ---------------------------------------------------------------------------- */
/* The part before ";ofi_quiver", NULL if that is not its end. */
static const char *layered_core(const char *name, char *core, size_t size)
{
	size_t len = strlen(name), cut = sizeof suffix - 1;

	if (len <= cut || len - cut >= size || strcasecmp(name + len - cut, suffix))
		return NULL;
	memcpy(core, name, len - cut);
	core[len - cut] = 0;
	return core;
}

/* Append what "<core>;ofi_quiver", or plain "ofi_quiver", has. libfabric itself appends our name to
 * the name in each entry. */
static void append(const struct query *q, const char *name, struct fi_info **list)
{
	char buf[QV_FI_NAME_MAX];
	const char *wanted = layered_core(name, buf, sizeof buf), *core;

	if (!settings_are_good())
		return;
	core = qv_fi_core_named(name);
	while (*list)
		list = &(*list)->next;
	if (core)
		answer(q, core, wanted, list);
}

int qv_fi_util_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info)
{
	const struct query q = {version, node, service, flags, hints};
	const char *name = hinted_name(hints), *pos = NULL, *core;
	char entry[QV_FI_NAME_MAX], buf[QV_FI_NAME_MAX];
	bool own = !name || !strcasecmp(name, "ofi_quiver"), listed = false;
	int ret = begin(flags);

	if (ret)
		return ret;
	*info = NULL;
	if (name && layered_core(name, buf, sizeof buf)) {
		append(&q, name, info);
		return *info ? 0 : -FI_ENODATA;
	}
	while (qv_fi_filter_next(&pos, entry, sizeof entry)) {
		core = layered_core(entry, buf, sizeof buf);
		if (!core && strcasecmp(entry, "ofi_quiver"))
			continue;
		listed = true;
		/* A core's name alone asks for it and for all that is layered over it. */
		if (own || (core && !strcasecmp(core, name)))
			append(&q, entry, info);
	}
	if (name && own && !listed)
		append(&q, name, info);
	return *info ? 0 : -FI_ENODATA;
}
