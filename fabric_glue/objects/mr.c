/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mr.c - registered memory: the cores', in an object of ours. The cores run without locks of
 * their own, so that registering and closing must take the domain's. Over two cores the memory is
 * registered with both under the same key: a peer uses the one that it reaches us by. Memory that
 * no peer may reach has its key for nobody: an application may give all of it the same one.
 */
#include "fabric_glue/data.h"
#include "fabric_glue/node/memory.h"

#include <stdlib.h>

struct mr {
	struct fid_mr fid;
	struct fid_mr *core[QV_FI_CORES]; /* NULL: closed */
	struct qv_fi_domain *dom;
	struct qv_fi_region region; /* for what peers do by our own protocol */
	bool reached;               /* by peers */
	bool listed;
	struct qv_fi_cntr *writes; /* of peers, or NULL */
};

#define KEY_TRIES 64

static struct mr *mr_of(struct fid *fid)
{
	return container_of(fid, struct mr, fid.fid);
}

static int close_cores(struct mr *mr)
{
	for (unsigned c = mr->dom->cores; c-- > 0;) {
		int ret = mr->core[c] ? fi_close(&mr->core[c]->fid) : 0;

		if (ret)
			return ret;
		mr->core[c] = NULL;
	}
	return 0;
}

static void unlist(struct mr *mr)
{
	if (mr->listed)
		qv_fi_memory_remove(mr->dom->memory, &mr->region);
	mr->listed = false;
}

/* Under the key that it has now. */
static int list(struct mr *mr)
{
	int ret;

	unlist(mr);
	if (!mr->dom->memory || !mr->reached || mr->fid.key == FI_KEY_NOTAVAIL)
		return 0;
	mr->region.key = mr->fid.key;
	ret = qv_fi_memory_add(mr->dom->memory, &mr->region);
	mr->listed = !ret;
	return ret;
}

static int mr_close(struct fid *fid)
{
	struct mr *mr = mr_of(fid);
	struct qv_fi_domain *dom = mr->dom;
	int ret;

	qv_fi_lock(dom);
	ret = close_cores(mr);
	if (!ret) {
		unlist(mr);
		dom->refs--;
	}
	if (!ret && mr->writes)
		mr->writes->wait_set.regions--;
	qv_fi_unlock(dom);
	if (!ret)
		free(mr);
	return ret;
}

/* FI_MR_ENDPOINT: the endpoint that peers will address. */
static int bind_ep(struct mr *mr, struct qv_fi_ep *ep, uint64_t flags)
{
	int ret = 0;

	for (unsigned c = 0; c < mr->dom->cores && !ret; c++)
		ret = fi_mr_bind(mr->core[c], &ep->rail[c].core->fid, flags);
	return ret;
}

/* FI_RMA_EVENT: what counts the writes of peers. libfabric's own shm does not do that. */
static int bind_cntr(struct mr *mr, struct qv_fi_cntr *cntr, uint64_t flags)
{
	struct fid *core;
	int ret = 0;

	if (flags != FI_REMOTE_WRITE || cntr->wait_set.dom != mr->dom || mr->writes)
		return -FI_EINVAL;
	for (unsigned c = 0; c < mr->dom->cores && !ret; c++) {
		ret = qv_fi_cntr_core(cntr, c, &core);
		if (!ret)
			ret = fi_mr_bind(mr->core[c], core, flags);
	}
	if (ret)
		return ret;
	mr->writes = mr->region.counter = cntr;
	cntr->wait_set.regions++;
	return 0;
}

static int mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct mr *mr = mr_of(fid);
	int ret = -FI_ENOSYS;

	qv_fi_lock(mr->dom);
	if (bfid->fclass == FI_CLASS_EP)
		ret = bind_ep(mr, container_of(bfid, struct qv_fi_ep, fid.fid), flags);
	else if (bfid->fclass == FI_CLASS_CNTR)
		ret = bind_cntr(mr, container_of(bfid, struct qv_fi_cntr, fid.fid), flags);
	qv_fi_unlock(mr->dom);
	return ret;
}

/* Descriptors are for cores that need local registration, which neither of two does. */
static int take_key(struct mr *mr)
{
	mr->fid.mem_desc = mr->dom->cores > 1 ? NULL : fi_mr_desc(mr->core[QV_FI_MAIN]);
	if (mr->reached)
		mr->fid.key = fi_mr_key(mr->core[QV_FI_MAIN]);
	return list(mr);
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	struct mr *mr = mr_of(fid);
	int ret = 0;

	qv_fi_lock(mr->dom);
	for (unsigned c = 0; c < mr->dom->cores && !ret; c++)
		ret = fi_control(&mr->core[c]->fid, command, arg);
	if (!ret)
		ret = take_key(mr); /* enabling may have assigned it */
	qv_fi_unlock(mr->dom);
	return ret;
}

static struct fi_ops mr_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
	.ops_open = qv_fi_no_ops_open,
};

/* With every core, or none. The second takes the key that the first has chosen. */
static int reg_cores(struct mr *mr, struct fi_mr_attr *attr, uint64_t flags)
{
	int ret = 0;

	for (unsigned c = 0; c < mr->dom->cores && !ret; c++) {
		ret = fi_mr_regattr(mr->dom->core[c], attr, flags, &mr->core[c]);
		if (ret)
			mr->core[c] = NULL;
		else if (qv_fi_has_mr_mode(mr->dom, FI_MR_PROV_KEY))
			attr->requested_key = fi_mr_key(mr->core[c]);
	}
	if (ret)
		close_cores(mr);
	return ret;
}

/* Lock held. Under FI_MR_BASIC the application leaves the key to us, and for memory that no peer reaches
 * the cores want one all the same: try until one is free. */
static int reg_core(struct mr *mr, struct fi_mr_attr *attr, uint64_t flags)
{
	struct qv_fi_domain *dom = mr->dom;
	int ret = -FI_ENOKEY;

	if (!dom->basic_mr && mr->reached)
		return reg_cores(mr, attr, flags);
	for (int i = 0; i < KEY_TRIES && ret == -FI_ENOKEY; i++) {
		attr->requested_key = dom->next_key++;
		ret = reg_cores(mr, attr, flags);
	}
	return ret;
}

static int reg(struct fid *fid, struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **out,
	       void *context)
{
	struct mr *mr;
	int ret = 0;

	if (fid->fclass != FI_CLASS_DOMAIN)
		return -FI_EINVAL;
	mr = calloc(1, sizeof *mr);
	if (!mr)
		return -FI_ENOMEM;
	mr->dom = container_of(fid, struct qv_fi_domain, fid.fid);
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = context;
	mr->fid.fid.ops = &mr_fi_ops;
	mr->fid.key = attr->requested_key;
	mr->reached = attr->access & (FI_REMOTE_READ | FI_REMOTE_WRITE);
	qv_fi_lock(mr->dom);
	if (mr->dom->memory)
		ret = qv_fi_region_init(&mr->region, attr,
					qv_fi_has_mr_mode(mr->dom, FI_MR_VIRT_ADDR));
	if (!ret)
		ret = reg_core(mr, attr, flags);
	if (!ret) {
		ret = take_key(mr);
		if (ret)
			close_cores(mr);
		mr->dom->refs += !ret;
	}
	qv_fi_unlock(mr->dom);
	if (ret) {
		free(mr);
		return ret;
	}
	*out = &mr->fid;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	QV_FI_ROOMY(fi_mr_attr, attr);

	attr.a.mr_iov = iov;
	attr.a.iov_count = count;
	attr.a.access = access;
	attr.a.offset = offset;
	attr.a.requested_key = requested_key;
	return reg(fid, &attr.a, flags, mr, context);
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	const struct iovec iov = {.iov_base = (void *)buf, .iov_len = len};

	return mr_regv(fid, &iov, 1, access, offset, requested_key, flags, mr, context);
}

/* Only what every version of the structure has: without FI_HMEM the rest says nothing. */
static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr)
{
	return mr_regv(fid, attr->mr_iov, attr->iov_count, attr->access, attr->offset,
		       attr->requested_key, flags, mr, attr->context);
}

struct fi_ops_mr qv_fi_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
