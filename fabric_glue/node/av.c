/* SPDX-License-Identifier: BSD-2-Clause */
/* av.c - address vector of the core `node`: the names that its endpoints share. */
#include "node.h"

#include <stdlib.h>
#include <string.h>

static struct qv_fi_node_av *av_of(struct fid_av *fid)
{
	return container_of(fid, struct qv_fi_node_av, fid);
}

static int av_close(struct fid *fid)
{
	struct qv_fi_node_av *av = container_of(fid, struct qv_fi_node_av, fid.fid);

	if (av->eps)
		return -FI_EBUSY;
	qv_names_destroy(av->names);
	free(av);
	return 0;
}

/* The provider inserts one at a time. */
static int av_insert(struct fid_av *fid, const void *addr, size_t count, fi_addr_t *out,
		     uint64_t flags, void *context)
{
	uint64_t name;

	if (count != 1 || !qv_fi_node_parse(addr, &name))
		return -FI_EINVAL;
	*out = qv_names_insert(av_of(fid)->names, name);
	return *out == QV_NODE_NONE ? -FI_ENOMEM : 1;
}

static int av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *out,
			uint64_t flags, void *context)
{
	if (!node && !service)
		return -FI_EINVAL;
	*out = qv_names_insert(av_of(fid)->names, qv_fi_node_of_service(node, service));
	return *out == QV_NODE_NONE ? -FI_ENOMEM : 1;
}

static int no_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
			size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	return -FI_ENOSYS;
}

static int av_remove(struct fid_av *fid, fi_addr_t *addr, size_t count, uint64_t flags)
{
	struct qv_fi_node_av *av = av_of(fid);

	for (size_t i = 0; i < count; i++) {
		for (struct qv_fi_node_ep *ep = av->eps; ep; ep = ep->next)
			qv_node_forget(ep->node, addr[i]);
		qv_names_remove(av->names, addr[i]);
	}
	return 0;
}

static int av_lookup(struct fid_av *fid, fi_addr_t addr, void *out, size_t *len)
{
	char text[QV_FI_NODE_TEXT];
	uint64_t name;
	size_t size;

	if (!qv_names_get(av_of(fid)->names, addr, &name))
		return -FI_EINVAL;
	size = qv_fi_node_print(text, name);
	memcpy(out, text, *len < size ? *len : size);
	*len = size;
	return 0;
}

static const char *av_straddr(struct fid_av *fid, const void *addr, char *buf, size_t *len)
{
	size_t size = strnlen(addr, QV_FI_NODE_TEXT - 1) + 1;

	if (*len) {
		memcpy(buf, addr, *len < size ? *len : size);
		buf[(*len < size ? *len : size) - 1] = 0;
	}
	*len = size;
	return buf;
}

static struct fi_ops av_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = av_close,
	.bind = qv_fi_no_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = av_insert,
	.insertsvc = av_insertsvc,
	.insertsym = no_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
};

int qv_fi_node_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **out,
		       void *context)
{
	struct qv_fi_node_av *av = calloc(1, sizeof *av);

	if (av)
		av->names = qv_names_create();
	if (!av || !av->names) {
		free(av);
		return -FI_ENOMEM;
	}
	av->fid.fid.fclass = FI_CLASS_AV;
	av->fid.fid.context = context;
	av->fid.fid.ops = &av_fi_ops;
	av->fid.ops = &av_ops;
	*out = &av->fid;
	return 0;
}
