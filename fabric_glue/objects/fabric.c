/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.c - fabric: the core's fabric, opened under our name. */
#include "fabric_glue/cores/core.h"
#include "fabric_glue/node/node.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/fi_ext.h>

static int fabric_close(struct fid *fid)
{
	struct qv_fi_fabric *fabric = container_of(fid, struct qv_fi_fabric, fid.fid);
	int ret;

	if (__atomic_load_n(&fabric->refs, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	ret = fi_close(&fabric->core[QV_FI_MAIN]->fid);
	if (ret && !fabric->left)
		return ret;
	if (fabric->core[QV_FI_LOCAL])
		fi_close(&fabric->core[QV_FI_LOCAL]->fid);
	free(fabric);
	return 0;
}

static int fabric_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context)
{
	struct qv_fi_fabric *fabric = container_of(fid, struct qv_fi_fabric, fid.fid);

	if (flags)
		return -FI_EBADFLAGS;
	if (!name || strcmp(name, QV_FI_OPS_CORE))
		return -FI_ENOSYS;
	*ops = (void *)(uintptr_t)fabric->cores->text;
	return 0;
}

static int no_passive_ep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
			 void *context)
{
	return -FI_ENOSYS;
}

static int no_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **set)
{
	return -FI_ENOSYS;
}

static struct fi_ops fabric_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = fabric_close,
	.bind = qv_fi_no_bind,
	.control = qv_fi_no_control,
	.ops_open = fabric_ops_open,
};

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = qv_fi_domain_open,
	.passive_ep = no_passive_ep,
	.eq_open = qv_fi_eq_open,
	.wait_open = no_wait_open,
	.trywait = qv_fi_trywait,
};

static int open_core(const char *core, const char *name, struct fid_fabric **fabric)
{
	struct fi_fabric_attr attr = {
		.prov_name = (char *)(uintptr_t)core,
		.name = (char *)(uintptr_t)name,
		.api_version = QV_FI_CORE_API,
	};
	int ret = qv_fi_is_node(core) ? qv_fi_node_fabric(fabric)
				      : qv_fi_host.fabric(&attr, fabric, NULL);

	if (ret)
		QV_FI_WARN(FABRIC, "core %s: fabric %s: %s\n", core, name,
			   qv_fi_host.strerror(-ret));
	return ret;
}

/* The second core's fabric has its own name; the application knows only that of the first. Where it
 * cannot be had, the first one does it all. */
static void open_local(struct qv_fi_fabric *fabric)
{
	const char *core = fabric->cores->name[QV_FI_LOCAL];
	struct fi_info *info;

	if (qv_fi_core_info(core, NULL, &info))
		return;
	if (open_core(core, info->fabric_attr->name, &fabric->core[QV_FI_LOCAL]))
		fabric->core[QV_FI_LOCAL] = NULL;
	qv_fi_host.freeinfo(info);
}

static int open_over(const struct qv_fi_cores *cores, struct fi_fabric_attr *attr,
		     struct fid_fabric **out, void *context)
{
	struct qv_fi_fabric *fabric = calloc(1, sizeof *fabric);
	int ret;

	if (!fabric)
		return -FI_ENOMEM;
	fabric->cores = cores;
	ret = open_core(cores->name[QV_FI_MAIN], attr->name, &fabric->core[QV_FI_MAIN]);
	if (ret) {
		free(fabric);
		return ret;
	}
	if (cores->count > 1)
		open_local(fabric);
	fabric->api_version = attr->api_version;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fi_ops;
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	QV_FI_INFO(FABRIC, "fabric %s over core %s\n", attr->name, cores->text);
	*out = &fabric->fid;
	return 0;
}

int qv_fi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	const struct qv_fi_cores *cores = qv_fi_core_named(attr->prov_name);

	return cores ? open_over(cores, attr, fabric, context) : -FI_ENODEV;
}

int qv_fi_util_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return qv_fi_fabric_open(attr, fabric, context);
}
