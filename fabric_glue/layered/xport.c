/* SPDX-License-Identifier: BSD-2-Clause */
/* xport.c - a core endpoint as the protocol's transport. */
#include "fabric_glue/cores/core.h"
#include "engine/base/iov.h"
#include "fabric_glue/data.h"
#include "engine/proto/wire.h"
#include "fabric_glue/node/node.h"
#include "fabric_glue/objects/av.h"

#define PACKET_USUAL 4096u

static struct qv_fi_rail *rail_of(struct qv_xport *x)
{
	return container_of(x, struct qv_fi_rail, xport);
}

int qv_fi_status_slow(ssize_t rc)
{
	switch (rc) {
	case -FI_EAGAIN: return QV_EAGAIN;
	case -FI_ENOMEM: return QV_ENOMEM;
	case -FI_EMSGSIZE: return QV_EMSGSIZE;
	case -FI_ECONNREFUSED:
	case -FI_ECONNRESET:
	case -FI_ECONNABORTED:
	case -FI_EHOSTUNREACH:
	case -FI_ENOTCONN:
	case -FI_ESHUTDOWN: return QV_EPEER;
	default: return QV_EIO;
	}
}

/* What the core says to a packet. */
static inline int taken(struct qv_fi_rail *rail, ssize_t rc)
{
	rail->used = true;
	if (QV_UNLIKELY(rc))
		return qv_fi_status_slow(rc);
	rail->packets++;
	return QV_OK;
}

static int xp_inject(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt)
{
	struct qv_fi_rail *rail = rail_of(x);

	if (QV_LIKELY(cnt == 1))
		return taken(rail, fi_inject(rail->core, iov->iov_base, iov->iov_len, to));

	struct fi_msg msg = {.msg_iov = iov, .iov_count = cnt, .addr = to};

	return taken(rail, fi_sendmsg(rail->core, &msg, FI_INJECT));
}

/* The tag goes as completion data; the core tells the sender (FI_SOURCE). */
static int xp_inject_tagged(struct qv_xport *x, uint64_t to, uint64_t tag, const void *buf,
			    size_t len)
{
	struct qv_fi_rail *rail = rail_of(x);

	return taken(rail, fi_injectdata(rail->core, buf, len, tag, to));
}

static int in_flight(struct qv_fi_rail *rail, ssize_t rc)
{
	if (QV_LIKELY(!rc))
		rail->flying++;
	return taken(rail, rc);
}

static int xp_send(struct qv_xport *x, uint64_t to, const struct iovec *iov, size_t cnt,
		   struct qv_xfer *xfer)
{
	struct qv_fi_rail *rail = rail_of(x);
	struct fi_msg msg = {.msg_iov = iov, .iov_count = cnt, .addr = to, .context = xfer};

	return in_flight(rail, fi_sendmsg(rail->core, &msg, FI_COMPLETION));
}

static int xp_read(struct qv_xport *x, uint64_t from, const struct iovec *iov, size_t cnt,
		   uint64_t addr, uint64_t key, struct qv_xfer *xfer)
{
	struct qv_fi_rail *rail = rail_of(x);
	struct fi_rma_iov rma = {.addr = addr, .len = qv_iov_len(iov, cnt), .key = key};
	struct fi_msg_rma msg = {.msg_iov = iov,
				 .iov_count = cnt,
				 .addr = from,
				 .rma_iov = &rma,
				 .rma_iov_count = 1,
				 .context = xfer};

	return in_flight(rail, fi_readmsg(rail->core, &msg, FI_COMPLETION));
}

#define KEY_TRIES 64

static int xp_register(struct qv_xport *x, void *buf, size_t len, struct qv_region *region)
{
	struct qv_fi_rail *rail = rail_of(x);
	struct qv_fi_domain *dom = rail->ep->dom;
	uint64_t mode = (uint64_t)dom->core_info[rail->which]->domain_attr->mr_mode;
	struct fid_mr *mr;
	int rc = -FI_ENOKEY;

	for (int i = 0; i < KEY_TRIES && rc == -FI_ENOKEY; i++) /* the application has keys too */
		rc = fi_mr_reg(dom->core[rail->which], buf, len, FI_REMOTE_READ, 0, dom->next_key++,
			       0, &mr, NULL);
	if (rc)
		return qv_fi_status(rc);
	if (mode & FI_MR_ENDPOINT && (fi_mr_bind(mr, &rail->core->fid, 0) || fi_mr_enable(mr))) {
		fi_close(&mr->fid);
		return QV_EIO;
	}
	region->handle = mr;
	region->key = fi_mr_key(mr);
	region->addr = mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)buf : 0;
	return QV_OK;
}

static void xp_deregister(struct qv_xport *x, struct qv_region *region)
{
	struct fid_mr *mr = region->handle;

	(void)x;
	fi_close(&mr->fid);
}

static int xp_reach(struct qv_xport *x, const void *name, size_t len, uint64_t *addr)
{
	struct qv_fi_rail *rail = rail_of(x);
	const struct qv_fi_format format = {
		.main = rail->ep->dom->core_info[rail->which]->addr_format, .fixed = x->namelen};
	char normal[QV_FI_ADDR_MAX];

	if (len != x->namelen || qv_fi_addr_normal(&format, name, len, normal) != len)
		return QV_EINVAL;
	return fi_av_insert(rail->ep->av->core[rail->which], normal, 1, addr, 0, NULL) == 1
		       ? QV_OK
		       : QV_EINVAL;
}

static const struct qv_xport_ops xp_ops_headerless = {
	.inject = xp_inject,
	.inject_tagged = xp_inject_tagged,
	.send = xp_send,
	.read = xp_read,
	.register_mem = xp_register,
	.deregister_mem = xp_deregister,
	.presence = qv_fi_presence,
	.reconnect = qv_fi_reconnect,
};

static const struct qv_xport_ops xp_ops = {
	.inject = xp_inject,
	.send = xp_send,
	.read = xp_read,
	.register_mem = xp_register,
	.deregister_mem = xp_deregister,
	.presence = qv_fi_presence,
	.reconnect = qv_fi_reconnect,
	.reach = xp_reach,
};

static void init_node(struct qv_fi_rail *rail)
{
	qv_node_xport_init(rail->node, &rail->xport);
	if (qv_fi_params.eager != SIZE_MAX)
		rail->xport.eager_max = qv_fi_params.eager;
}

static void init_core(struct qv_fi_rail *rail)
{
	const struct fi_info *info = rail->ep->dom->core_info[rail->which];
	const struct qv_fi_quirks *quirks = qv_fi_rail_quirks(rail);
	size_t core_max = info->ep_attr->max_msg_size;
	size_t packet = quirks->packet ? quirks->packet : info->tx_attr->inject_size;
	bool tag_apart = quirks->tag_apart && info->caps & FI_SOURCE &&
			 info->domain_attr->cq_data_size >= sizeof(uint64_t);

	/* verbs;ofi_rxd injects next to nothing. */
	if (packet < QV_WIRE_MIN_PACKET)
		packet = PACKET_USUAL;
	rail->rx_count =
		quirks->buffers < info->rx_attr->size ? quirks->buffers : info->rx_attr->size;
	rail->one_lock = quirks->one_lock;
	rail->xport = (struct qv_xport){
		.ops = tag_apart ? &xp_ops_headerless : &xp_ops,
		.inject_max = info->tx_attr->inject_size,
		.inject_iov = info->tx_attr->iov_limit,
		.send_iov = info->tx_attr->iov_limit,
		.packet_max = packet < core_max ? packet : core_max,
		.read_max = info->caps & FI_RMA && !quirks->no_read ? core_max : 0,
		.eager_max = qv_fi_params.eager != SIZE_MAX ? qv_fi_params.eager : quirks->eager,
		.apart = quirks->no_own_read,
		.drops = !quirks->reliable,
		.no_flush = quirks->no_flush,
		.guesses_from = quirks->guesses_source,
	};
}

void qv_fi_xport_init(struct qv_fi_rail *rail)
{
	if (rail->node)
		init_node(rail);
	else
		init_core(rail);
}
