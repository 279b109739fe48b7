/* SPDX-License-Identifier: BSD-2-Clause */
/* set.c - sets of addresses of an AV, in order: who is to be in a group. */
#include "coll.h"

#include <stdlib.h>
#include <string.h>

#define SET_FLAGS                                                                               \
	(FI_UNIVERSE | FI_BARRIER_SET | FI_BROADCAST_SET | FI_ALLTOALL_SET | FI_ALLREDUCE_SET | \
	 FI_ALLGATHER_SET | FI_REDUCE_SCATTER_SET | FI_REDUCE_SET | FI_SCATTER_SET |            \
	 FI_GATHER_SET)

struct qv_fi_set *qv_fi_set_of(const struct fid_av_set *fid)
{
	return container_of((struct fid_av_set *)(uintptr_t)fid, struct qv_fi_set, fid);
}

/* A number that is the set's alone, and not an address of a peer or a group. */
fi_addr_t qv_fi_set_addr(const struct qv_fi_set *set)
{
	return UINT64_C(0x5156) << 48 | ((uintptr_t)set & UINT64_C(0xffffffffffff));
}

static size_t find(const struct qv_fi_set *set, fi_addr_t addr)
{
	size_t i = 0;

	while (i < set->n && set->addrs[i] != addr)
		i++;
	return i;
}

/* One that is not there yet. */
static int append(struct qv_fi_set *set, fi_addr_t addr)
{
	fi_addr_t *grown;

	if (set->n == set->room) {
		grown = realloc(set->addrs, (2 * set->room + 8) * sizeof *grown);
		if (!grown)
			return -FI_ENOMEM;
		set->addrs = grown;
		set->room = 2 * set->room + 8;
	}
	set->addrs[set->n++] = addr;
	return 0;
}

static int add(struct qv_fi_set *set, fi_addr_t addr)
{
	if (!qv_fi_av_entry(set->av, addr) || find(set, addr) < set->n)
		return -FI_EINVAL;
	return append(set, addr);
}

static void drop(struct qv_fi_set *set, size_t i)
{
	set->n--;
	memmove(set->addrs + i, set->addrs + i + 1, (set->n - i) * sizeof *set->addrs);
}

static bool same_av(const struct fid_av_set *a, const struct fid_av_set *b)
{
	return qv_fi_set_of(a)->av == qv_fi_set_of(b)->av;
}

static int set_union(struct fid_av_set *dst, const struct fid_av_set *src)
{
	struct qv_fi_set *to = qv_fi_set_of(dst), *from = qv_fi_set_of(src);
	int ret = 0;

	if (!same_av(dst, src))
		return -FI_EINVAL;
	qv_fi_lock(to->av->dom);
	for (size_t i = 0; i < from->n && !ret; i++)
		if (find(to, from->addrs[i]) == to->n)
			ret = add(to, from->addrs[i]);
	qv_fi_unlock(to->av->dom);
	return ret;
}

/* Keep those that are (or are not) in the other set. */
static int keep(struct fid_av_set *dst, const struct fid_av_set *src, bool if_there)
{
	struct qv_fi_set *set = qv_fi_set_of(dst), *other = qv_fi_set_of(src);

	if (!same_av(dst, src))
		return -FI_EINVAL;
	qv_fi_lock(set->av->dom);
	for (size_t i = set->n; i-- > 0;)
		if ((find(other, set->addrs[i]) < other->n) != if_there)
			drop(set, i);
	qv_fi_unlock(set->av->dom);
	return 0;
}

static int set_intersect(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return keep(dst, src, true);
}

static int set_diff(struct fid_av_set *dst, const struct fid_av_set *src)
{
	return keep(dst, src, false);
}

static int set_insert(struct fid_av_set *fid, fi_addr_t addr)
{
	struct qv_fi_set *set = qv_fi_set_of(fid);
	int ret;

	qv_fi_lock(set->av->dom);
	ret = add(set, addr);
	qv_fi_unlock(set->av->dom);
	return ret;
}

static int set_remove(struct fid_av_set *fid, fi_addr_t addr)
{
	struct qv_fi_set *set = qv_fi_set_of(fid);
	size_t i;

	qv_fi_lock(set->av->dom);
	i = find(set, addr);
	if (i < set->n)
		drop(set, i);
	else
		i = SIZE_MAX;
	qv_fi_unlock(set->av->dom);
	return i == SIZE_MAX ? -FI_EINVAL : 0;
}

static int set_addr(struct fid_av_set *fid, fi_addr_t *addr)
{
	*addr = qv_fi_set_addr(qv_fi_set_of(fid));
	return 0;
}

static int set_close(struct fid *fid)
{
	struct qv_fi_set *set = container_of(fid, struct qv_fi_set, fid.fid);

	qv_fi_lock(set->av->dom);
	set->av->refs--;
	qv_fi_unlock(set->av->dom);
	free(set->addrs);
	free(set);
	return 0;
}

static struct fi_ops set_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = set_close,
	.bind = qv_fi_no_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_av_set set_ops = {
	.size = sizeof(struct fi_ops_av_set),
	.set_union = set_union,
	.intersect = set_intersect,
	.diff = set_diff,
	.insert = set_insert,
	.remove = set_remove,
	.addr = set_addr,
};

/* Those that the attributes name; addresses that were removed from the AV are left out. */
static int fill(struct qv_fi_set *set, const struct fi_av_set_attr *attr)
{
	uint64_t stride = attr->stride ? attr->stride : 1;
	fi_addr_t first = attr->start_addr, last = attr->end_addr;
	int ret = 0;

	if (attr->flags & FI_UNIVERSE) {
		first = 0;
		stride = 1;
		last = set->av->used ? set->av->used - 1 : 0;
	} else if (first == FI_ADDR_NOTAVAIL || last == FI_ADDR_NOTAVAIL) {
		return first == last ? 0 : -FI_EINVAL;
	} else if (first > last || last >= set->av->used) {
		return -FI_EINVAL;
	}
	for (fi_addr_t addr = first; addr <= last && addr >= first && !ret; addr += stride)
		if (qv_fi_av_entry(set->av, addr))
			ret = append(set, addr);
	return ret;
}

int qv_fi_av_set(struct fid_av *fid, struct fi_av_set_attr *attr, struct fid_av_set **out,
		 void *context)
{
	struct qv_fi_av *av = container_of(fid, struct qv_fi_av, fid);
	struct qv_fi_set *set;
	int ret;

	if (!attr)
		return -FI_EINVAL;
	if (attr->flags & ~SET_FLAGS)
		return -FI_EBADFLAGS;
	if (attr->comm_key_size) {
		QV_FI_INFO(AV, "there are no communication keys\n");
		return -FI_ENOSYS;
	}
	set = calloc(1, sizeof *set);
	if (!set)
		return -FI_ENOMEM;
	set->av = av;
	set->fid.fid.fclass = FI_CLASS_AV_SET;
	set->fid.fid.context = context;
	set->fid.fid.ops = &set_fi_ops;
	set->fid.ops = &set_ops;
	qv_fi_lock(av->dom);
	ret = fill(set, attr);
	if (!ret)
		av->refs++;
	qv_fi_unlock(av->dom);
	if (ret) {
		free(set->addrs);
		free(set);
		return ret;
	}
	*out = &set->fid;
	return 0;
}
