/* SPDX-License-Identifier: BSD-2-Clause */
/* av.c - address vector: the application's numbers for the addresses in the core's AV. */
#include "av.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ENTRIES 64
#define MOST_HINTED   ((size_t)1 << 20) /* a larger count hint is not believed */

static int av_remove(struct fid_av *fid, fi_addr_t *addr, size_t count, uint64_t flags)
{
	struct qv_fi_av *av = qv_fi_av_of(fid);
	int ret = 0;

	if (flags)
		return -FI_EBADFLAGS;
	qv_fi_lock(av->dom);
	for (size_t i = 0; i < count && !ret; i++)
		ret = qv_fi_av_drop(av, addr[i]);
	qv_fi_unlock(av->dom);
	return ret;
}

static int lookup(struct fid_av *fid, fi_addr_t addr, void *buf, size_t *len)
{
	struct qv_fi_av *av = qv_fi_av_of(fid);
	struct qv_fi_av_entry *entry;
	char name[QV_FI_ADDR_MAX];

	qv_fi_lock(av->dom);
	entry = qv_fi_av_entry(av, addr);
	if (entry) {
		memcpy(name, entry->name, entry->namelen);
		qv_fi_sign(name, entry->namelen,
			   qv_fi_index_by_name(av->index, entry->name, entry->namelen)->said);
		memcpy(buf, name, *len < entry->namelen ? *len : entry->namelen);
		*len = entry->namelen;
	}
	qv_fi_unlock(av->dom);
	return entry ? 0 : -FI_EINVAL;
}

static const char *straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	struct qv_fi_av *av = qv_fi_av_of(fid);
	struct qv_fi_pair pair;
	char text[2 * QV_FI_ADDR_MAX], main[QV_FI_ADDR_MAX];
	size_t main_len = sizeof main;

	if (!av->dom->pair)
		return fi_av_straddr(av->core[QV_FI_MAIN], addr, buf, len);
	if (!qv_fi_pair_parse(addr, qv_fi_pair_len(addr), &pair))
		return NULL;
	memcpy(text, pair.main, pair.main_len); /* aligned */
	if (!fi_av_straddr(av->core[QV_FI_MAIN], text, main, &main_len))
		return NULL;
	if (*pair.local)
		snprintf(text, sizeof text, "%s,%s@%016llx", main, pair.local,
			 (unsigned long long)pair.node);
	else
		snprintf(text, sizeof text, "%s", main);
	if (*len)
		snprintf(buf, *len, "%s", text);
	*len = strlen(text) + 1;
	return buf;
}

static int av_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct qv_fi_av *av = container_of(fid, struct qv_fi_av, fid.fid);

	if (bfid->fclass != FI_CLASS_EQ || flags || av->eq)
		return -FI_EINVAL;
	av->eq = container_of(bfid, struct fid_eq, fid);
	qv_fi_eq_hold(av->eq);
	return 0;
}

static int close_cores(struct qv_fi_av *av)
{
	for (unsigned c = 0; c < QV_FI_RAILS; c++) {
		int ret = av->core[c] ? fi_close(&av->core[c]->fid) : 0;

		if (ret)
			return ret;
		av->core[c] = NULL;
	}
	return 0;
}

static int av_close(struct fid *fid)
{
	struct qv_fi_av *av = container_of(fid, struct qv_fi_av, fid.fid);
	struct qv_fi_domain *dom = av->dom;
	int ret = -FI_EBUSY;

	qv_fi_lock(dom);
	if (!av->refs)
		ret = close_cores(av);
	if (!ret)
		dom->refs--;
	qv_fi_unlock(dom);
	if (ret)
		return ret;
	qv_fi_eq_release(av->eq);
	qv_fi_index_free(av->index);
	free(av->index);
	free(av->entries);
	free(av);
	return 0;
}

/* Opening. */

static struct fi_ops av_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close,
	.bind = av_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = qv_fi_av_insert,
	.insertsvc = qv_fi_av_insertsvc,
	.insertsym = qv_fi_av_insertsym,
	.remove = av_remove,
	.lookup = lookup,
	.straddr = straddr,
	.av_set = qv_fi_av_set,
};

static int check_attr(const struct fi_av_attr *attr)
{
	if (!attr ||
	    (attr->type != FI_AV_UNSPEC && attr->type != FI_AV_MAP && attr->type != FI_AV_TABLE))
		return -FI_EINVAL;
	if (attr->name || attr->flags & FI_READ) {
		QV_FI_INFO(AV, "named and shared address vectors are not served\n");
		return -FI_ENOSYS;
	}
	if (attr->flags & ~(FI_EVENT | FI_SYMMETRIC))
		return -FI_EBADFLAGS;
	if (attr->rx_ctx_bits) {
		QV_FI_INFO(AV, "rx_ctx_bits: there are no scalable endpoints\n");
		return -FI_EINVAL;
	}
	return 0;
}

int qv_fi_av_open_core(struct fid_domain *core, size_t count, struct fid_av **av)
{
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .count = count};
	int ret = fi_av_open(core, &attr, av, NULL);

	if (!ret)
		return 0;
	attr = (struct fi_av_attr){.type = FI_AV_MAP, .count = count};
	return fi_av_open(core, &attr, av, NULL);
}

static int open_cores(struct qv_fi_av *av)
{
	int ret = 0;

	for (unsigned c = 0; c < QV_FI_RAILS && !ret; c++)
		if (av->dom->core[c])
			ret = qv_fi_av_open_core(av->dom->core[c], 0, &av->core[c]);
	if (ret) {
		QV_FI_INFO(AV, "the core opens no address vector: %s\n", qv_fi_host.strerror(-ret));
		close_cores(av);
	}
	return ret;
}

static size_t first_entries(size_t hint)
{
	if (hint > MOST_HINTED)
		return MOST_HINTED;
	return hint < FIRST_ENTRIES ? FIRST_ENTRIES : hint;
}

int qv_fi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
		  void *context)
{
	struct qv_fi_domain *dom = container_of(domain, struct qv_fi_domain, fid);
	int ret = check_attr(attr);
	struct qv_fi_av *av;

	if (ret)
		return ret;
	av = calloc(1, sizeof *av);
	if (!av)
		return -FI_ENOMEM;
	av->dom = dom;
	av->flags = attr->flags;
	av->count = first_entries(attr->count);
	av->entries = calloc(av->count, sizeof *av->entries);
	av->index = calloc(1, sizeof *av->index);
	ret = -FI_ENOMEM;
	if (!av->entries || !av->index)
		goto fail;
	qv_fi_lock(dom);
	ret = open_cores(av);
	if (!ret)
		dom->refs++;
	qv_fi_unlock(dom);
	if (ret)
		goto fail;
	if (attr->type == FI_AV_UNSPEC)
		attr->type = FI_AV_TABLE;
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fi_ops;
	av->fid.ops = &av_ops;
	*out = &av->fid;
	return 0;
fail:
	free(av->index);
	free(av->entries);
	free(av);
	return ret;
}
