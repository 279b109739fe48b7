/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_av.c - address vector: the application's numbers for the addresses in the core's AV. */
#include "qv_fi_av.h"

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

	qv_fi_lock(av->dom);
	entry = qv_fi_av_entry(av, addr);
	if (entry) {
		memcpy(buf, entry->name, *len < entry->namelen ? *len : entry->namelen);
		*len = entry->namelen;
	}
	qv_fi_unlock(av->dom);
	return entry ? 0 : -FI_EINVAL;
}

static const char *straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	return fi_av_straddr(qv_fi_av_of(fid)->core, addr, buf, len);
}

static int no_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
		     void *context)
{
	return -FI_ENOSYS;
}

static int av_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct qv_fi_av *av = container_of(fid, struct qv_fi_av, fid.fid);

	if (bfid->fclass != FI_CLASS_EQ || flags)
		return -FI_EINVAL;
	av->eq = container_of(bfid, struct fid_eq, fid);
	return 0;
}

static int av_close(struct fid *fid)
{
	struct qv_fi_av *av = container_of(fid, struct qv_fi_av, fid.fid);
	struct qv_fi_domain *dom = av->dom;
	int ret = -FI_EBUSY;

	qv_fi_lock(dom);
	if (!av->refs)
		ret = fi_close(&av->core->fid);
	if (!ret)
		dom->refs--;
	qv_fi_unlock(dom);
	if (ret)
		return ret;
	qv_fi_index_free(av->index);
	free(av->index);
	free(av->entries);
	free(av);
	return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */
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
	.av_set = no_av_set,
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

int qv_fi_av_open_core(struct qv_fi_domain *dom, size_t count, struct fid_av **core)
{
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .count = count};
	int ret = fi_av_open(dom->core, &attr, core, NULL);

	if (!ret)
		return 0;
	attr = (struct fi_av_attr){.type = FI_AV_MAP, .count = count};
	return fi_av_open(dom->core, &attr, core, NULL);
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
	ret = qv_fi_av_open_core(dom, 0, &av->core);
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
	if (ret != -FI_ENOMEM)
		QV_FI_INFO(AV, "the core opens no address vector: %s\n", qv_fi_host.strerror(-ret));
	free(av->index);
	free(av->entries);
	free(av);
	return ret;
}
