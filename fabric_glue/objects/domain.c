/* SPDX-License-Identifier: BSD-2-Clause */
/* domain.c - domain: the core's domain, and the lock that all our objects in it share. */
#include "engine/base/proc.h"
#include "fabric_glue/cores/core.h"
#include "fabric_glue/cores/pair.h"
#include "fabric_glue/data.h"
#include "fabric_glue/node/memory.h"
#include "fabric_glue/node/node.h"

#include <stdlib.h>

/*
 * Keys of our own registrations begin anywhere. A peer that has asked for memory of a process that
 * has ended must not be given that of the next one at its address: cores connect again unasked.
 */
static uint64_t first_key(const struct qv_fi_domain *dom)
{
	size_t bytes = sizeof(uint64_t);

	for (unsigned c = 0; c < dom->cores; c++)
		if (dom->core_info[c]->domain_attr->mr_key_size < bytes)
			bytes = dom->core_info[c]->domain_attr->mr_key_size;
	/* Half of the keys: they are counted up from here. */
	return bytes ? qv_proc_random() >> (64 - 8 * bytes) >> 1 : 0;
}

/* What peers reach by our own protocol. */
static void open_memory(struct qv_fi_domain *dom)
{
	if (!dom->own_atomics[QV_FI_MAIN] && !dom->own_atomics[QV_FI_LOCAL])
		return;
	dom->memory = malloc(sizeof *dom->memory);
	if (!dom->memory) {
		dom->has_atomic = false;
		return;
	}
	qv_fi_memory_init(dom->memory);
	dom->memory->same_keys = qv_fi_has_mr_mode(dom, FI_MR_PROV_KEY);
}

static int close_cores(struct qv_fi_domain *dom)
{
	qv_fi_second_close(dom);
	for (; dom->cores; dom->cores--) {
		int ret = fi_close(&dom->core[dom->cores - 1]->fid);

		if (ret)
			return ret;
		qv_fi_host.freeinfo(dom->core_info[dom->cores - 1]);
	}
	return 0;
}

static int domain_close(struct fid *fid)
{
	struct qv_fi_domain *dom = container_of(fid, struct qv_fi_domain, fid.fid);
	int ret;

	if (dom->refs)
		return -FI_EBUSY;
	qv_fi_auto_stop(dom);
	qv_fi_srx_port_close(dom->port);
	dom->port = NULL;
	ret = close_cores(dom);
	if (ret && !dom->peer)
		return ret;
	if (ret) { /* rxm keeps what a peer that died was to read */
		QV_FI_WARN(DOMAIN, "the domain of core %s does not close, and is left to it: %s\n",
			   dom->fabric->cores->text, qv_fi_host.strerror(-ret));
		dom->fabric->left = true;
	}
	pthread_mutex_destroy(&dom->lock);
	qv_fi_eq_release(dom->eq);
	__atomic_sub_fetch(&dom->fabric->refs, 1, __ATOMIC_RELEASE);
	free(dom->memory);
	free(dom);
	return 0;
}

/* An event queue for the domain's events, of which there are none: FI_REG_MR is not served. */
static int domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct qv_fi_domain *dom = container_of(fid, struct qv_fi_domain, fid.fid);

	if (bfid->fclass != FI_CLASS_EQ || dom->eq)
		return -FI_EINVAL;
	if (flags & FI_REG_MR)
		return -FI_ENOSYS;
	dom->eq = container_of(bfid, struct fid_eq, fid);
	qv_fi_eq_hold(dom->eq);
	return 0;
}

/* One endpoint has one queue in each direction: several do what a scalable one would. */
static int no_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
			  void *context)
{
	qv_fi_warn("scalable endpoints are not offered (max_ep_tx_ctx is 1): open several "
		   "endpoints");
	return -FI_ENOSYS;
}

static int no_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		      void *context)
{
	return -FI_ENOSYS;
}

static int no_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep,
		      void *context)
{
	return -FI_ENOSYS;
}

static struct fi_ops domain_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = domain_close,
	.bind = domain_bind,
	.control = qv_fi_no_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = qv_fi_av_open,
	.cq_open = qv_fi_cq_open,
	.endpoint = qv_fi_ep_open,
	.scalable_ep = no_scalable_ep,
	.cntr_open = qv_fi_cntr_open,
	.poll_open = qv_fi_poll_open,
	.stx_ctx = no_stx_ctx,
	.srx_ctx = no_srx_ctx,
	.query_atomic = qv_fi_query_atomic,
	.query_collective = qv_fi_query_collective,
};

static void init(struct qv_fi_domain *dom, const struct fi_info *info, void *context)
{
	const struct fi_domain_attr *attr = info->domain_attr;
	uint64_t caps = FI_RMA | FI_ATOMIC;

	pthread_mutex_init(&dom->lock, NULL);
	dom->automatic = attr && (attr->data_progress == FI_PROGRESS_AUTO ||
				  attr->control_progress == FI_PROGRESS_AUTO);
	/* Where a thread of ours looks in, the application does not serialise alone. */
	dom->threadsafe = !attr || attr->threading != FI_THREAD_DOMAIN || dom->automatic;
	dom->peer = qv_fi_params.peer;
	dom->inject =
		dom->peer ? dom->core_info[QV_FI_MAIN]->tx_attr->inject_size : QV_FI_INJECT_SIZE;
	dom->basic_mr = attr && attr->mr_mode & FI_MR_BASIC;
	for (unsigned c = 0; c < dom->cores; c++) {
		dom->own_atomics[c] =
			info->caps & FI_ATOMIC && dom->core_info[c]->caps & FI_RMA &&
			qv_fi_core_own_atomics(dom->fabric->cores->name[c], dom->pair);
		caps &= dom->core_info[c]->caps | (dom->own_atomics[c] ? FI_ATOMIC : 0);
		dom->no_write_data |= dom->fabric->cores->quirks[c].no_write_data;
	}
	if (dom->pair)
		caps &= info->caps; /* both together may do less than each */
	dom->has_rma = caps & FI_RMA;
	dom->has_atomic = caps & FI_ATOMIC;
	open_memory(dom);
	dom->next_key = first_key(dom);
	dom->fid.fid.fclass = FI_CLASS_DOMAIN;
	dom->fid.fid.context = context;
	dom->fid.fid.ops = &domain_fi_ops;
	dom->fid.ops = &domain_ops;
	dom->fid.mr = &qv_fi_mr_ops;
}

static int open_core(struct qv_fi_domain *dom, unsigned core)
{
	int ret = fi_domain(dom->fabric->core[core], dom->core_info[core], &dom->core[core], NULL);

	if (ret) {
		qv_fi_host.freeinfo(dom->core_info[core]);
		return ret;
	}
	dom->cores = core + 1;
	return 0;
}

/* The core for peers on this node. Without it they are reached like all others. */
static void open_local(struct qv_fi_domain *dom, const struct fi_info *info)
{
	const char *core = dom->fabric->cores->name[QV_FI_LOCAL];
	int ret;

	if (dom->fabric->core[QV_FI_LOCAL])
		dom->node = qv_fi_node(core);
	if (!dom->node) {
		QV_FI_INFO(DOMAIN, "no %s: /proc or /dev/shm cannot be used\n", core);
		return;
	}
	ret = qv_fi_pair_local(core, dom->core_info[QV_FI_MAIN], info->caps & QV_FI_ONE_SIDED,
			       &dom->core_info[QV_FI_LOCAL]);
	if (!ret)
		ret = open_core(dom, QV_FI_LOCAL);
	if (ret) {
		QV_FI_INFO(DOMAIN, "no %s: %s\n", core, qv_fi_host.strerror(-ret));
		dom->node = 0;
	} else if (qv_fi_is_node(core) && qv_fi_has_mr_mode(dom, FI_MR_PROV_KEY)) {
		qv_fi_node_take_keys(dom->core[QV_FI_LOCAL]);
	}
}

int qv_fi_domain_open(struct fid_fabric *fid, struct fi_info *info, struct fid_domain **domain,
		      void *context)
{
	struct qv_fi_fabric *fabric = container_of(fid, struct qv_fi_fabric, fid);
	const char *core = fabric->cores->name[QV_FI_MAIN];
	struct qv_fi_domain *dom = calloc(1, sizeof *dom);
	int ret;

	if (!dom)
		return -FI_ENOMEM;
	dom->fabric = fabric;
	ret = qv_fi_core_info(core, info, &dom->core_info[QV_FI_MAIN]);
	if (!ret)
		ret = open_core(dom, QV_FI_MAIN);
	if (ret) {
		QV_FI_WARN(DOMAIN, "no domain over core %s: %s\n", core, qv_fi_host.strerror(-ret));
		free(dom);
		return ret;
	}
	dom->pair = qv_fi_is_pair(info) && fabric->cores->count > 1;
	if (dom->pair)
		open_local(dom, info);
	if (*qv_fi_params.rails)
		ret = qv_fi_second_open(dom);
	if (ret) {
		close_cores(dom);
		free(dom);
		return ret;
	}
	init(dom, info, context);
	ret = qv_fi_auto_start(dom);
	if (ret) {
		close_cores(dom);
		pthread_mutex_destroy(&dom->lock);
		free(dom->memory);
		free(dom);
		return ret;
	}
	__atomic_add_fetch(&fabric->refs, 1, __ATOMIC_RELAXED);
	QV_FI_INFO(DOMAIN, "domain %s over core %s%s, %s\n",
		   dom->core_info[QV_FI_MAIN]->domain_attr->name
			   ? dom->core_info[QV_FI_MAIN]->domain_attr->name
			   : "-",
		   core, dom->cores > 1 ? " and one for this node" : "",
		   dom->automatic    ? "with a thread for progress"
		   : dom->threadsafe ? "locked"
				     : "no lock (FI_THREAD_DOMAIN)");
	*domain = &dom->fid;
	return 0;
}
