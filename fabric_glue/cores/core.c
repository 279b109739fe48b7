/* SPDX-License-Identifier: BSD-2-Clause */
/* core.c - the core provider under us: what is asked of it. */
#include "core.h"
#include "fabric_glue/node/node.h"
#include "pair.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * Flags between libfabric and its providers, not in the public headers but the same since 1.12 and
 * used by providers that are built as files of their own: skip what is layered, and see what
 * FI_PROVIDER hides.
 */
#define CORE_PROV_ONLY (1ULL << 59)
#define GETINFO_HIDDEN (1ULL << 60)

static __thread int asking; /* this thread is inside the core's getinfo, which may ask us back */

bool qv_fi_core_asking(void)
{
	return asking;
}

/* Asking. */

static bool copy_bytes(void **to, size_t *tolen, const void *from, size_t len)
{
	if (!from || !len)
		return true;
	*to = malloc(len);
	if (!*to)
		return false;
	memcpy(*to, from, len);
	*tolen = len;
	return true;
}

static bool copy_text(char **to, const char *from)
{
	return !from || (*to = strdup(from));
}

/* The mr_mode to ask for, so that the keys and addresses of the application's own registrations are
 * what it expects. Without one-sided calls it has none, and all that we can handle is asked for. */
static int ask_mr_mode(const struct fi_info *app)
{
	int mode;

	if (!app || !app->domain_attr || (app->caps && !(app->caps & QV_FI_ONE_SIDED)))
		return QV_FI_CORE_MR_MODE;
	mode = app->domain_attr->mr_mode;
	if (mode & FI_MR_BASIC)
		return QV_FI_BASIC_MR;
	return mode & QV_FI_CORE_MR_MODE;
}

/* shm keeps those that it is asked for. */
static uint64_t ask_orders(const struct fi_info *app)
{
	const uint64_t orders = app ? qv_fi_orders(app->caps) : 0;

	return orders & ((app && app->tx_attr ? app->tx_attr->msg_order : 0) |
			 (app && app->rx_attr ? app->rx_attr->msg_order : 0));
}

struct fi_info *qv_fi_core_hints(const char *core, const struct fi_info *app)
{
	struct fi_info *h = qv_fi_host.dupinfo(NULL);
	bool ok;

	if (!h)
		return NULL;
	h->caps = FI_MSG | FI_RMA | FI_SOURCE;
	if (qv_fi_params.peer)
		h->caps |= FI_TAGGED | FI_DIRECTED_RECV;
	h->caps |= app && app->caps ? app->caps & QV_FI_ONE_SIDED : FI_ATOMIC;
	h->mode = QV_FI_CORE_MODE;
	h->ep_attr->type = FI_EP_RDM;
	h->tx_attr->msg_order = FI_ORDER_SAS | ask_orders(app);
	h->rx_attr->msg_order = h->tx_attr->msg_order;
	h->domain_attr->mr_mode = ask_mr_mode(app);
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->resource_mgmt = FI_RM_ENABLED;
	ok = copy_text(&h->fabric_attr->prov_name, core);
	if (app) {
		h->addr_format = app->addr_format;
		ok = ok &&
		     copy_bytes(&h->src_addr, &h->src_addrlen, app->src_addr, app->src_addrlen);
		ok = ok &&
		     copy_bytes(&h->dest_addr, &h->dest_addrlen, app->dest_addr, app->dest_addrlen);
		if (app->fabric_attr)
			ok = ok && copy_text(&h->fabric_attr->name, app->fabric_attr->name);
		if (app->domain_attr)
			ok = ok && copy_text(&h->domain_attr->name, app->domain_attr->name);
		if (qv_fi_is_pair(app))
			ok = ok && !qv_fi_pair_unwrap(h);
	}
	if (ok)
		return h;
	qv_fi_host.freeinfo(h);
	return NULL;
}

static bool is_name(const char *name, const char *wanted)
{
	return !wanted || (name && !strcasecmp(name, wanted));
}

/* Asking for "tcp" also brings "tcp;ofi_rxm", and not every core looks at the names of fabric and
 * domain: keep what was asked for. */
static struct fi_info *keep_exact(struct fi_info *list, const char *core,
				  const struct fi_info *hints)
{
	struct fi_info *kept = NULL, **tail = &kept, *next;

	for (; list; list = next) {
		next = list->next;
		list->next = NULL;
		if (is_name(list->fabric_attr->prov_name, core) &&
		    is_name(list->fabric_attr->name, hints->fabric_attr->name) &&
		    is_name(list->domain_attr->name, hints->domain_attr->name)) {
			*tail = list;
			tail = &list->next;
		} else {
			qv_fi_host.freeinfo(list);
		}
	}
	return kept;
}

int qv_fi_core_ask(const char *core, const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **list)
{
	int ret;

	if (qv_fi_is_node(core))
		return qv_fi_node_getinfo(node, service, flags, hints, list);
	flags |= GETINFO_HIDDEN | (strchr(core, ';') ? 0 : CORE_PROV_ONLY);
	*list = NULL;
	asking++;
	ret = qv_fi_host.getinfo(QV_FI_CORE_API, node, service, flags, hints, list);
	asking--;
	if (ret)
		return ret;
	*list = keep_exact(*list, core, hints);
	return *list ? 0 : -FI_ENODATA;
}

/* Some of the answers promise what is not there. */
static int ask_truth(const char *core, const char *node, const char *service, uint64_t flags,
		     const struct fi_info *hints, struct fi_info **list)
{
	const struct qv_fi_quirks quirks = qv_fi_quirks_of(core);
	const bool no_event = quirks.no_rma_event;
	uint64_t untrue = no_event ? FI_RMA_EVENT : 0;
	int ret = -FI_ENODATA;

	*list = NULL;
	if (quirks.wrong_atomics && qv_fi_params.peer) /* there they would be the core's */
		untrue |= FI_ATOMIC;
	if (!(hints->caps & untrue))
		ret = qv_fi_core_ask(core, node, service, flags, hints, list);
	if (ret)
		return ret;
	/* It is named without being asked for, too. */
	for (struct fi_info *i = *list; i && no_event; i = i->next)
		i->caps &= ~FI_RMA_EVENT;
	if (!(hints->caps & FI_ATOMIC) || qv_fi_core_has_atomics(core))
		return 0;
	QV_FI_INFO(CORE, "core %s offers FI_ATOMIC and does not have it\n", core);
	qv_fi_host.freeinfo(*list);
	*list = NULL;
	return -FI_ENODATA;
}

int qv_fi_core_query(const char *core, bool pair, const char *node, const char *service,
		     uint64_t flags, struct fi_info *hints, uint64_t need, struct fi_info **list)
{
	static const uint64_t drop[] = {FI_RMA_EVENT | FI_ATOMIC, FI_RMA};
	const uint64_t orders = qv_fi_orders(FI_ATOMIC) & ~qv_fi_orders(FI_RMA);
	int ret;

	*list = NULL;
	if (!hints)
		return -FI_ENOMEM;
	if (hints->caps & FI_ATOMIC && qv_fi_core_own_atomics(core, pair)) {
		hints->caps &= ~FI_ATOMIC;
		hints->tx_attr->msg_order &= ~orders;
		hints->rx_attr->msg_order &= ~orders;
		need &= ~FI_ATOMIC;
	}
	ret = ask_truth(core, node, service, flags, hints, list);
	for (size_t i = 0; i < sizeof drop / sizeof *drop && ret == -FI_ENODATA; i++) {
		if (need & drop[i])
			break;
		if (!(hints->caps & drop[i]))
			continue;
		hints->caps &= ~drop[i];
		/* No RMA to be had: long messages go in segments. */
		if (!(hints->caps & FI_RMA))
			hints->domain_attr->mr_mode = QV_FI_CORE_MR_MODE;
		ret = ask_truth(core, node, service, flags, hints, list);
	}
	qv_fi_host.freeinfo(hints);
	return ret;
}

static void drop_addresses(struct fi_info *info)
{
	free(info->src_addr);
	free(info->dest_addr);
	info->src_addr = info->dest_addr = NULL;
	info->src_addrlen = info->dest_addrlen = 0;
}

/* A query by address could name another interface: ask by the names only. But the names may be of
 * no interface, where an endpoint is to listen on all of them. */
static int query_again(const char *core, const struct fi_info *app, struct fi_info **list)
{
	struct fi_info *hints = qv_fi_core_hints(core, app);
	uint64_t need = app ? app->caps & QV_FI_ONE_SIDED : 0;
	const bool pair = app && qv_fi_is_pair(app);
	int ret;

	if (hints)
		drop_addresses(hints);
	ret = qv_fi_core_query(core, pair, NULL, NULL, 0, hints, need, list);
	if (ret == -FI_ENODATA && app && (app->src_addr || app->dest_addr))
		ret = qv_fi_core_query(core, pair, NULL, NULL, 0, qv_fi_core_hints(core, app), need,
				       list);
	return ret;
}

int qv_fi_core_info(const char *core, const struct fi_info *app, struct fi_info **info)
{
	struct fi_info *list;
	int ret = query_again(core, app, &list);

	if (ret)
		return ret;
	if (list->next) {
		qv_fi_host.freeinfo(list->next);
		list->next = NULL;
	}
	if (app) {
		/* What the application chose, or nothing where it chose nothing. */
		drop_addresses(list);
		if (!copy_bytes(&list->src_addr, &list->src_addrlen, app->src_addr,
				app->src_addrlen) ||
		    !copy_bytes(&list->dest_addr, &list->dest_addrlen, app->dest_addr,
				app->dest_addrlen)) {
			qv_fi_host.freeinfo(list);
			return -FI_ENOMEM;
		}
		ret = qv_fi_is_pair(app) ? qv_fi_pair_unwrap(list) : 0;
		if (ret) {
			qv_fi_host.freeinfo(list);
			return ret;
		}
	}
	*info = list;
	return 0;
}
