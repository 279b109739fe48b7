/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_av_entry.c - what the application has named, what the core has, and the way between. */
#include "qv_fi_av.h"

#include <stdlib.h>
#include <string.h>

size_t qv_fi_av_fixed_len(const struct qv_fi_av *av)
{
	if (av->dom->core_info->src_addrlen)
		return av->dom->core_info->src_addrlen;
	switch (qv_fi_av_format(av)) {
	case FI_ADDR_PSMX: return 8;
	case FI_ADDR_PSMX2: return 16;
	case FI_ADDR_EFA:
	case FI_ADDR_PSMX3: return 32;
	default: return 0;
	}
}

/* ---- entries: what the application has named, lock held -------------------------------------- */
static bool grow(struct qv_fi_av *av)
{
	size_t count = av->count * 2;
	struct qv_fi_av_entry *entries;

	if (av->used < av->count)
		return true;
	entries = realloc(av->entries, count * sizeof *entries);
	if (!entries)
		return false;
	memset(entries + av->count, 0, (count - av->count) * sizeof *entries);
	av->entries = entries;
	av->count = count;
	return true;
}

/* The lowest free entry, as fi_av(3) wants it of a table; FI_ADDR_NOTAVAIL: no memory. */
static fi_addr_t take_slot(struct qv_fi_av *av)
{
	struct qv_fi_av_index *x = av->index;

	if (!x->free_slots)
		return grow(av) ? av->used++ : FI_ADDR_NOTAVAIL;
	while (av->entries[x->lowest].refs)
		x->lowest++;
	x->free_slots--;
	return x->lowest++;
}

/* The application names this node, perhaps once more. */
fi_addr_t qv_fi_av_name(struct qv_fi_av *av, struct qv_fi_av_node *node)
{
	struct qv_fi_av_entry *entry;

	if (node->index != FI_ADDR_NOTAVAIL) {
		av->entries[node->index].refs++;
		return node->index;
	}
	node->index = take_slot(av);
	if (node->index == FI_ADDR_NOTAVAIL)
		return FI_ADDR_NOTAVAIL;
	entry = &av->entries[node->index];
	*entry = (struct qv_fi_av_entry){
		.core = node->core,
		.refs = 1,
		.namelen = node->namelen,
		.name = node->name,
	};
	for (struct qv_fi_ep *ep = av->eps; ep; ep = ep->next_av)
		qv_fi_ep_av_inserted(ep, node->index);
	return node->index;
}

int qv_fi_av_drop(struct qv_fi_av *av, fi_addr_t index)
{
	struct qv_fi_av_entry *entry = qv_fi_av_entry(av, index);
	struct qv_fi_av_index *x = av->index;
	struct qv_fi_av_node *node;

	if (!entry)
		return -FI_EINVAL;
	if (entry->refs > 1) {
		entry->refs--;
		return 0;
	}
	for (struct qv_fi_ep *ep = av->eps; ep; ep = ep->next_av)
		qv_fi_ep_av_removed(ep, index);
	node = qv_fi_index_by_name(x, entry->name, entry->namelen);
	node->index = FI_ADDR_NOTAVAIL;
	if (node->core == FI_ADDR_NOTAVAIL)
		qv_fi_index_drop(x, node);
	memset(entry, 0, sizeof *entry);
	if (!x->free_slots++ || index < x->lowest)
		x->lowest = index;
	return 0;
}

/* ---- nodes: all addresses, lock held --------------------------------------------------------- */
struct qv_fi_av_node *qv_fi_av_node(struct qv_fi_av *av, const void *name, size_t len)
{
	struct qv_fi_av_node *node;
	char normal[QV_FI_ADDR_MAX];

	len = qv_fi_addr_normal(qv_fi_av_format(av), name, len, qv_fi_av_fixed_len(av), normal);
	if (!len)
		return NULL;
	node = qv_fi_index_by_name(av->index, normal, len);
	return node ? node : qv_fi_index_add(av->index, normal, len);
}

bool qv_fi_av_reached(struct qv_fi_av *av, struct qv_fi_av_node *node, fi_addr_t core)
{
	if (node->core != FI_ADDR_NOTAVAIL)
		return true;
	if (!qv_fi_index_reached(av->index, node, core))
		return false;
	if (node->index == FI_ADDR_NOTAVAIL)
		return true;
	av->entries[node->index].core = core;
	/* It may be that of a peer that spoke before, under another spelling of its address. */
	for (struct qv_fi_ep *ep = av->eps; ep; ep = ep->next_av)
		qv_fi_ep_av_inserted(ep, node->index);
	return true;
}

static int reach(struct qv_fi_av *av, struct qv_fi_av_node *node)
{
	fi_addr_t core = FI_ADDR_NOTAVAIL;
	int ret;

	if (node->core != FI_ADDR_NOTAVAIL)
		return 0;
	ret = fi_av_insert(av->core, node->name, 1, &core, 0, NULL);
	if (ret != 1 || core == FI_ADDR_NOTAVAIL) {
		QV_FI_WARN(AV, "the core does not take an address: %s\n",
			   ret < 0 ? qv_fi_host.strerror(-ret) : "too many, or no such peer");
		return ret < 0 ? ret : -FI_EADDRNOTAVAIL;
	}
	return qv_fi_av_reached(av, node, core) ? 0 : -FI_ENOMEM;
}

/* ---- for the endpoints ----------------------------------------------------------------------- */
int qv_fi_av_reach(struct qv_fi_av *av, fi_addr_t index, fi_addr_t *core)
{
	struct qv_fi_av_entry *entry = qv_fi_av_entry(av, index);
	int ret = 0;

	if (!entry)
		return -FI_EINVAL;
	if (entry->core == FI_ADDR_NOTAVAIL)
		ret = reach(av, qv_fi_index_by_name(av->index, entry->name, entry->namelen));
	*core = entry->core;
	return ret;
}

fi_addr_t qv_fi_av_by_name(struct qv_fi_av *av, const void *name, size_t len)
{
	struct qv_fi_av_node *node;
	char normal[QV_FI_ADDR_MAX];

	len = qv_fi_addr_normal(qv_fi_av_format(av), name, len, qv_fi_av_fixed_len(av), normal);
	node = len ? qv_fi_index_by_name(av->index, normal, len) : NULL;
	return node ? node->index : FI_ADDR_NOTAVAIL;
}

fi_addr_t qv_fi_av_by_core(struct qv_fi_av *av, fi_addr_t core)
{
	struct qv_fi_av_node *node = qv_fi_index_by_core(av->index, core);

	return node ? node->index : FI_ADDR_NOTAVAIL;
}

int qv_fi_av_core_addr(struct qv_fi_av *av, const void *name, size_t len, fi_addr_t *core)
{
	struct qv_fi_av_node *node = qv_fi_av_node(av, name, len);
	int ret;

	if (!node)
		return -FI_EINVAL;
	ret = reach(av, node);
	if (ret && node->index == FI_ADDR_NOTAVAIL)
		qv_fi_index_drop(av->index, node);
	if (!ret)
		*core = node->core;
	return ret;
}
