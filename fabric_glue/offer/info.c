/* SPDX-License-Identifier: BSD-2-Clause */
/* info.c - fi_getinfo: who is asked for, over which core; nothing unless we are named. */
#include "fabric_glue/cores/core.h"
#include "fabric_glue/cores/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Flags by which libfabric and its own layers talk to providers that they build upon. */
#define INTERNAL_FLAGS (0xfULL << 58)
#define KNOWN_FLAGS    (FI_SOURCE | FI_NUMERICHOST | FI_PROV_ATTR_ONLY)

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

/* What a second core is to contribute to an offer. */
struct second {
	struct fi_info *info; /* NULL: there is none here, but elsewhere in the job may be */
	bool one_sided;       /* QV_FI_ONE_SIDED goes over both */
};

/* Turn what the core has into an offer of ours. False: there is none. */
static bool make_offer(const struct query *q, const struct second *second, struct fi_info *info)
{
	if (second && second->info && qv_fi_pair_offer(info, second->info, second->one_sided))
		return false;
	if (second && !second->info && qv_fi_pair_wrap(info))
		return false;
	qv_fi_offer(info);
	if (!qv_fi_offer_fits(info, q->hints))
		return false;
	qv_fi_offer_narrow(info, q->hints, q->version);
	return true;
}

/* The core that serves the peers on this node, beside one with this info. */
static int find_second(const struct qv_fi_cores *cores, const struct fi_info *main, uint64_t need,
		       struct second *second)
{
	uint64_t caps = main->caps & QV_FI_ONE_SIDED;
	const char *core = cores->name[QV_FI_LOCAL];

	/* All of it, or FI_RMA only, or messages only. */
	second->one_sided = caps && !qv_fi_pair_local(core, main, caps, &second->info);
	if (!second->one_sided && caps & ~FI_RMA && !(need & ~FI_RMA))
		second->one_sided = !qv_fi_pair_local(core, main, FI_RMA, &second->info);
	if (second->one_sided) {
		if (caps & FI_ATOMIC && qv_fi_core_own_atomics(core, true))
			qv_fi_core_grant_atomics(second->info);
		return 0;
	}
	if (qv_fi_pair_local(core, main, 0, &second->info)) {
		QV_FI_INFO(CORE, "core %s cannot be used here\n", core);
		second->info = NULL;
		return 0;
	}
	return need ? -FI_ENODATA : 0;
}

/* The info of an endpoint that listens on every interface has the core's own name for those of fabric
 * and domain. As hints, without that address, it may be any of them. */
static void relax_names(struct fi_info *ask, const char *core)
{
	char **fabric = &ask->fabric_attr->name, **domain = &ask->domain_attr->name;

	if (!*fabric || strcasecmp(*fabric, core))
		return;
	free(*fabric);
	*fabric = NULL;
	if (!*domain || strcasecmp(*domain, core))
		return;
	free(*domain);
	*domain = NULL;
}

static bool rename_to(char **name, const char *as)
{
	if (!as || !strcasecmp(*name, as))
		return true;
	free(*name);
	*name = strdup(as);
	return *name;
}

/* The answer has the names of the hints: from 1.18 on libfabric leaves out what has not. */
static bool restore_names(struct fi_info *info, const struct fi_info *hints)
{
	return (!hints || !hints->fabric_attr ||
		rename_to(&info->fabric_attr->name, hints->fabric_attr->name)) &&
	       (!hints || !hints->domain_attr ||
		rename_to(&info->domain_attr->name, hints->domain_attr->name));
}

/* rxm offers InfiniBand addresses, and has nothing for who then asks for them. */
static bool is_refused_format(const char *core, const struct fi_info *info)
{
	return strchr(core, ';') && info->addr_format == FI_SOCKADDR_IB;
}

/* verbs has addresses of IPv4 and of IPv6 for one device, which over two cores have one format: ranks
 * that take offers of equal looks by turns would not know each other's. The first counts. */
static bool is_other_length(const struct fi_info *offers, const struct fi_info *info)
{
	for (; offers; offers = offers->next)
		if (!strcmp(offers->fabric_attr->name, info->fabric_attr->name) &&
		    !strcmp(offers->domain_attr->name, info->domain_attr->name))
			return offers->src_addrlen != info->src_addrlen;
	return false;
}

/* Our answer over these cores, each entry under the provider name `name` (NULL: our own). The list
 * of the main core is edited in place: only libfabric knows how long its structures are. */
static int answer_over(const struct query *q, const struct qv_fi_cores *cores, bool pair,
		       const char *name, struct fi_info **out)
{
	const char *core = cores->name[QV_FI_MAIN];
	struct fi_info *ask = qv_fi_core_hints(core, q->hints), *list, *next, **tail = out;
	uint64_t need = q->hints ? q->hints->caps & QV_FI_ONE_SIDED : 0;
	const bool atomics = ask && ask->caps & FI_ATOMIC;
	struct second second = {0};
	int ret;

	*out = NULL;
	if (ask) {
		relax_mr_mode(ask, q);
		relax_names(ask, core);
	}
	ret = qv_fi_core_query(core, pair, q->node, q->service,
			       q->flags & (FI_SOURCE | FI_NUMERICHOST), ask, need, &list);
	if (!ret && *qv_fi_params.rails)
		ret = qv_fi_second_choose(&list);
	if (!ret && atomics && qv_fi_core_own_atomics(core, pair))
		for (struct fi_info *i = list; i; i = i->next)
			qv_fi_core_grant_atomics(i);
	if (!ret && pair)
		ret = find_second(cores, list, need, &second);
	if (ret) {
		qv_fi_refused("by core %s, caps 0x%llx: %s", pair ? cores->text : core,
			      (unsigned long long)(q->hints ? q->hints->caps : 0),
			      qv_fi_host.strerror(-ret));
		if (list)
			qv_fi_host.freeinfo(list);
		if (second.info)
			qv_fi_host.freeinfo(second.info);
		return ret;
	}
	for (; list; list = next) {
		next = list->next;
		list->next = NULL;
		free(list->fabric_attr->prov_name);
		list->fabric_attr->prov_name = name ? strdup(name) : NULL;
		if (qv_fi_params.peer && qv_fi_quirks_of(core).one_endpoint)
			list->domain_attr->ep_cnt = 1;
		if (is_refused_format(core, list) || !make_offer(q, pair ? &second : NULL, list) ||
		    !restore_names(list, q->hints) || (pair && is_other_length(*out, list))) {
			qv_fi_host.freeinfo(list);
			continue;
		}
		*tail = list;
		tail = &list->next;
	}
	if (second.info)
		qv_fi_host.freeinfo(second.info);
	return *out ? 0 : -FI_ENODATA;
}

/* Do these hints leave us to choose the format of addresses? */
static bool any_format(const struct fi_info *hints)
{
	return !hints || hints->addr_format == FI_FORMAT_UNSPEC || qv_fi_is_pair(hints);
}

static int answer(const struct query *q, const struct qv_fi_cores *cores, const char *name,
		  struct fi_info **out)
{
	int ret = -FI_ENODATA;

	*out = NULL;
	if (qv_fi_params.peer && !qv_fi_mode_serves(cores))
		return -FI_ENODATA;
	if (*qv_fi_params.rails && !qv_fi_second_serves(cores->name[QV_FI_MAIN]))
		return -FI_ENODATA;
	if (cores->count == 1)
		return answer_over(q, cores, false, name, out);
	if (any_format(q->hints))
		ret = answer_over(q, cores, true, name, out);
	else
		qv_fi_refused("addr_format of one core");
	if (!ret || !cores->may_drop || (q->hints && qv_fi_is_pair(q->hints)))
		return ret;
	QV_FI_INFO(CORE, "%s does not serve these hints, %s alone may\n", cores->text,
		   cores->name[QV_FI_MAIN]);
	return answer_over(q, cores, false, name, out);
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

/* "quiver". */

int qv_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		  const struct fi_info *hints, struct fi_info **info)
{
	const struct query q = {version, node, service, flags, hints};
	const char *name = hinted_name(hints);
	const struct qv_fi_cores *cores;
	int ret = begin(flags);

	if (ret)
		return ret;
	/* An application that takes the first provider that fits must not get us by accident. */
	if (name ? strcasecmp(name, "quiver") : !qv_fi_filter_has("quiver"))
		return -FI_ENODATA;
	if (!settings_are_good())
		return -FI_ENODATA;
	cores = qv_fi_core_named("quiver");
	qv_fi_refusal_begin();
	return qv_fi_refusal_end(hints, cores ? answer(&q, cores, NULL, info) : -FI_ENODATA);
}

/* "ofi_quiver". */

/* Append what "<core>;ofi_quiver", or plain "ofi_quiver", has. libfabric itself appends our name to
 * the name in each entry. */
static void append(const struct query *q, const char *name, struct fi_info **list)
{
	char buf[QV_FI_NAME_MAX];
	const char *wanted = qv_fi_core_layered(name, buf, sizeof buf);
	const struct qv_fi_cores *cores;

	if (!settings_are_good())
		return;
	cores = qv_fi_core_named(name);
	while (*list)
		list = &(*list)->next;
	if (cores)
		answer(q, cores, wanted, list);
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
	if (name && qv_fi_core_layered(name, buf, sizeof buf)) {
		append(&q, name, info);
		return *info ? 0 : -FI_ENODATA;
	}
	while (qv_fi_filter_next(&pos, entry, sizeof entry)) {
		core = qv_fi_core_layered(entry, buf, sizeof buf);
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
