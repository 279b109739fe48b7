/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_fi_fabric.c - fabric: the core's fabric, opened under our name. */
#include "qv_fi_core.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/fi_ext.h>

static int fabric_close(struct fid *fid)
{
	struct qv_fi_fabric *fabric = container_of(fid, struct qv_fi_fabric, fid.fid);
	int ret;

	if (__atomic_load_n(&fabric->refs, __ATOMIC_ACQUIRE))
		return -FI_EBUSY;
	/* The core knows of open event queues, which are its own objects. */
	ret = fi_close(&fabric->core->fid);
	if (ret)
		return ret;
	free(fabric->core_name);
	free(fabric);
	return 0;
}

static int fabric_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context)
{
	struct qv_fi_fabric *fabric = container_of(fid, struct qv_fi_fabric, fid.fid);

	if (strcmp(name, QV_FI_OPS_CORE))
		return -FI_ENOSYS;
	*ops = fabric->core_name;
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

/* The application gets the core's own queue, and we write AV completions to it. */
static int eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **eq,
		   void *context)
{
	struct qv_fi_fabric *fabric = container_of(fid, struct qv_fi_fabric, fid);
	struct fi_eq_attr core = {0};
	int ret;

	if (attr)
		core = *attr;
	if (core.wait_obj == FI_WAIT_SET)
		return -FI_ENOSYS;
	core.flags |= FI_WRITE;
	ret = fi_eq_open(fabric->core, &core, eq, context);
	if (!ret && attr)
		attr->wait_obj = core.wait_obj;
	return ret;
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
	.eq_open = eq_open,
	.wait_open = no_wait_open,
	.trywait = qv_fi_trywait,
};

static int open_over(const char *core, struct fi_fabric_attr *attr, struct fid_fabric **out,
		     void *context)
{
	struct qv_fi_fabric *fabric = calloc(1, sizeof *fabric);
	struct fi_fabric_attr core_attr = {
		.name = attr->name,
		.api_version = QV_FI_CORE_API,
	};
	int ret = -FI_ENOMEM;

	if (!fabric)
		return ret;
	fabric->core_name = strdup(core);
	if (!fabric->core_name)
		goto out_free;
	core_attr.prov_name = fabric->core_name;
	ret = qv_fi_host.fabric(&core_attr, &fabric->core, NULL);
	if (ret) {
		QV_FI_WARN(FABRIC, "core %s: fabric %s: %s\n", core, attr->name,
			   qv_fi_host.strerror(-ret));
		goto out_name;
	}
	fabric->api_version = attr->api_version;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fi_ops;
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	QV_FI_INFO(FABRIC, "fabric %s over core %s\n", attr->name, core);
	*out = &fabric->fid;
	return 0;
out_name:
	free(fabric->core_name);
out_free:
	free(fabric);
	return ret;
}

int qv_fi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	const char *core = qv_fi_core_named(attr->prov_name);

	return core ? open_over(core, attr, fabric, context) : -FI_ENODEV;
}

int qv_fi_util_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return qv_fi_fabric_open(attr, fabric, context);
}
