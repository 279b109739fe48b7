/* SPDX-License-Identifier: BSD-2-Clause */
/* av_entry.c - what the application has named, what the cores have, and the way between. */
#include "av.h"
#include "fabric_glue/cores/core.h"
#include "fabric_glue/data.h"

#include <stdlib.h>
#include <string.h>

static size_t fixed_len(const struct fi_info *info)
{
	if (info->src_addrlen)
		return info->src_addrlen;
	switch (info->addr_format) {
	case FI_ADDR_PSMX: return 8;
	case FI_ADDR_PSMX2: return 16;
	case FI_ADDR_EFA:
	case FI_ADDR_PSMX3: return 32;
	default: return 0;
	}
}

struct qv_fi_format qv_fi_av_format(const struct qv_fi_av *av)
{
	const struct fi_info *info = av->dom->core_info[QV_FI_MAIN];

	return (struct qv_fi_format){
		.pair = av->dom->pair, .main = info->addr_format, .fixed = fixed_len(info)};
}

/* Entries: what the application has named, lock held. */

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
		.way = node->way,
		.refs = 1,
		.namelen = node->namelen,
		.name = node->name,
	};
	for (struct qv_fi_ep *ep = av->eps; ep; ep = ep->next_av)
		ep->mode->av_inserted(ep, node->index);
	return node->index;
}

int qv_fi_av_drop(struct qv_fi_av *av, fi_addr_t index)
{
	struct qv_fi_av_entry *entry = qv_fi_av_entry(av, index);
	struct qv_fi_av_index *x = av->index;
	struct qv_fi_av_node *node;
	bool needed = false;

	if (!entry)
		return -FI_EINVAL;
	if (entry->refs > 1) {
		entry->refs--;
		return 0;
	}
	for (struct qv_fi_ep *ep = av->eps; ep; ep = ep->next_av)
		needed |= !ep->mode->av_removed(ep, index);
	node = qv_fi_index_by_name(x, entry->name, entry->namelen);
	node->index = FI_ADDR_NOTAVAIL;
	if (node->way.addr == FI_ADDR_NOTAVAIL)
		qv_fi_index_drop(x, node);
	else if (!needed)
		qv_fi_av_release(av, node->way);
	memset(entry, 0, sizeof *entry);
	if (!x->free_slots++ || index < x->lowest)
		x->lowest = index;
	return 0;
}

/* Nodes: all addresses, lock held. */

struct qv_fi_av_node *qv_fi_av_node(struct qv_fi_av *av, const void *name, size_t len)
{
	const struct qv_fi_format format = qv_fi_av_format(av);
	struct qv_fi_av_node *node;
	char normal[QV_FI_ADDR_MAX];

	len = qv_fi_addr_normal(&format, name, len, normal);
	if (!len)
		return NULL;
	node = qv_fi_index_by_name(av->index, normal, len);
	return node ? node : qv_fi_index_add(av->index, normal, len);
}

bool qv_fi_av_reached(struct qv_fi_av *av, struct qv_fi_av_node *node, struct qv_fi_way way)
{
	if (node->way.addr != FI_ADDR_NOTAVAIL)
		return true;
	if (!qv_fi_index_reached(av->index, node, way))
		return false;
	if (node->index == FI_ADDR_NOTAVAIL)
		return true;
	av->entries[node->index].way = way;
	/* It may be that of a peer that spoke before, under another spelling of its address. */
	for (struct qv_fi_ep *ep = av->eps; ep; ep = ep->next_av)
		ep->mode->av_inserted(ep, node->index);
	return true;
}

/* Over this core, which knows the peer by these bytes. */
static int reach_over(struct qv_fi_av *av, struct qv_fi_av_node *node, unsigned core,
		      const void *addr)
{
	struct qv_fi_way way = {.addr = FI_ADDR_NOTAVAIL, .core = core};
	int ret = fi_av_insert(av->core[core], addr, 1, &way.addr, 0, NULL);

	if (ret != 1 || way.addr == FI_ADDR_NOTAVAIL) {
		QV_FI_WARN(AV, "core %s does not take an address: %s\n",
			   av->dom->fabric->cores->name[core],
			   ret < 0 ? qv_fi_host.strerror(-ret) : "too many, or no such peer");
		return ret < 0 ? ret : -FI_EADDRNOTAVAIL;
	}
	if (qv_fi_av_reached(av, node, way))
		return 0;
	fi_av_remove(av->core[core], &way.addr, 1, 0); /* it is asked for again */
	return -FI_ENOMEM;
}

static bool is_here(const struct qv_fi_av *av, const struct qv_fi_pair *pair)
{
	char own[QV_FI_ADDR_MAX];
	size_t len = sizeof own;

	if (!av->eps || fi_getname(&av->eps->rail[QV_FI_MAIN].core->fid, own, &len))
		len = 0;
	return qv_fi_pair_is_here(pair, own, len);
}

static int reach(struct qv_fi_av *av, struct qv_fi_av_node *node)
{
	const struct qv_fi_domain *dom = av->dom;
	struct qv_fi_pair pair;
	char main[QV_FI_ADDR_MAX];

	if (node->way.addr != FI_ADDR_NOTAVAIL)
		return 0;
	if (!dom->pair)
		return reach_over(av, node, QV_FI_MAIN, node->name);
	qv_fi_pair_parse(node->name, node->namelen, &pair);
	/* shm takes a limited number of peers: the others are reached like those elsewhere. */
	if (dom->cores > 1 && *pair.local && pair.node == dom->node && is_here(av, &pair) &&
	    !reach_over(av, node, QV_FI_LOCAL, pair.local))
		return 0;
	memcpy(main, pair.main, pair.main_len); /* aligned */
	return reach_over(av, node, QV_FI_MAIN, main);
}

/* For the endpoints. */

int qv_fi_av_reach(struct qv_fi_av *av, fi_addr_t index, struct qv_fi_way *way)
{
	struct qv_fi_av_entry *entry = qv_fi_av_entry(av, index);
	int ret = 0;

	if (!entry)
		return -FI_EINVAL;
	if (entry->way.addr == FI_ADDR_NOTAVAIL)
		ret = reach(av, qv_fi_index_by_name(av->index, entry->name, entry->namelen));
	*way = av->entries[index].way;
	return ret;
}

/*
 * A network core has places enough for addresses, and may still hold a connection under
 * the number that it would give to the next address: over net of libfabric 1.17 that peer was never
 * answered, now and then.
 */
void qv_fi_av_release(struct qv_fi_av *av, struct qv_fi_way way)
{
	struct qv_fi_av_node *node = qv_fi_index_by_way(av->index, way);
	int ret;

	if (!node || node->index != FI_ADDR_NOTAVAIL ||
	    !av->dom->fabric->cores->quirks[way.core].few_addresses)
		return;
	for (const struct qv_fi_ep *ep = av->eps; ep; ep = ep->next_av)
		if (qv_fi_ep_knows(ep, way))
			return;
	qv_fi_index_drop(av->index, node);
	ret = fi_av_remove(av->core[way.core], &way.addr, 1, 0);
	if (ret)
		QV_FI_INFO(AV, "core %s does not let an address go: %s\n",
			   av->dom->fabric->cores->name[way.core], qv_fi_host.strerror(-ret));
}

fi_addr_t qv_fi_av_by_name(struct qv_fi_av *av, const void *name, size_t len)
{
	const struct qv_fi_format format = qv_fi_av_format(av);
	struct qv_fi_av_node *node;
	char normal[QV_FI_ADDR_MAX];

	len = qv_fi_addr_normal(&format, name, len, normal);
	node = len ? qv_fi_index_by_name(av->index, normal, len) : NULL;
	return node ? node->index : FI_ADDR_NOTAVAIL;
}

fi_addr_t qv_fi_av_by_way(struct qv_fi_av *av, struct qv_fi_way way)
{
	struct qv_fi_av_node *node = qv_fi_index_by_way(av->index, way);

	return node ? node->index : FI_ADDR_NOTAVAIL;
}

/* Why there is none: no address that a peer can have, or no memory. */
static int no_node(const struct qv_fi_av *av, const void *name, size_t len)
{
	const struct qv_fi_format format = qv_fi_av_format(av);
	char normal[QV_FI_ADDR_MAX];

	return qv_fi_addr_normal(&format, name, len, normal) ? -FI_ENOMEM : -FI_EINVAL;
}

int qv_fi_av_find_way(struct qv_fi_av *av, const void *name, size_t len, struct qv_fi_way *way)
{
	struct qv_fi_av_node *node = qv_fi_av_node(av, name, len);
	int ret;

	if (!node)
		return no_node(av, name, len);
	ret = reach(av, node);
	if (ret && node->index == FI_ADDR_NOTAVAIL)
		qv_fi_index_drop(av->index, node);
	if (!ret)
		*way = node->way;
	return ret;
}
