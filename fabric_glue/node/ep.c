/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.c - endpoint of the core `node`, and what comes for it: to the protocol, where it lies. */
#include "node.h"

#include "engine/node/take.h"
#include "engine/proto/plain.h"
#include "fabric_glue/data.h"
#include "fabric_glue/layered/comp.h"

#include <stdlib.h>
#include <string.h>

/* What has come. */

static int on_packet(void *owner, uint64_t from, const void *buf, size_t len)
{
	struct qv_fi_rail *rail = owner;

	return qv_proto_packet(rail->ep->proto, &rail->xport, buf, len, from);
}

QV_INLINE int came(struct qv_fi_rail *rail, uint64_t from, const struct qv_plain *msg)
{
	struct qv_peer *peer = qv_fi_peer_by_core(rail, from);

	return QV_LIKELY(peer != NULL) ? qv_plain_came(peer, msg, qv_fi_complete)
				       : on_packet(rail, from, NULL, 0); /* refused */
}

static int on_tagged(void *owner, uint64_t from, uint64_t tag, const void *buf, size_t len)
{
	const struct qv_plain msg = {tag, 0, buf, len, QV_REQ_TAGGED};

	return came(owner, from, &msg);
}

QV_INLINE int on_tagged_data(void *owner, uint64_t from, uint64_t tag, uint64_t data,
			     const void *buf, size_t len)
{
	const struct qv_plain msg = {tag, data, buf, len, QV_REQ_TAGGED | QV_REQ_DATA};

	return came(owner, from, &msg);
}

bool qv_fi_node_poll(struct qv_fi_rail *rail)
{
	const struct qv_fi_cq *cq = rail->ep->rx_cq;

	return qv_node_poll_as(rail->node, cq && cq->room ? QV_NODE_FEW : QV_NODE_BATCH,
			       on_tagged_data);
}

static void on_awake(void *owner)
{
	struct qv_fi_rail *rail = owner;

	qv_fi_ep_awake(rail->ep);
}

static void warn(void *owner, const char *text)
{
	(void)owner;
	QV_FI_WARN(EP_DATA, "core node: %s\n", text);
}

static const struct qv_node_ops node_ops = {
	.packet = on_packet,
	.tagged = on_tagged,
	.tagged_data = on_tagged_data,
	.awake = on_awake,
	.warn = warn,
};

/* The object. */

static struct qv_fi_node_ep *ep_of(struct fid *fid)
{
	return container_of(fid, struct qv_fi_node_ep, fid.fid);
}

static int ep_close(struct fid *fid)
{
	struct qv_fi_node_ep *ep = ep_of(fid), **at;

	if (ep->av) {
		for (at = &ep->av->eps; *at != ep;)
			at = &(*at)->next;
		*at = ep->next;
	}
	qv_node_destroy(ep->node);
	free(ep);
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct qv_fi_node_ep *ep = ep_of(fid);

	switch (bfid->fclass) {
	case FI_CLASS_AV:
		ep->av = container_of(bfid, struct qv_fi_node_av, fid.fid);
		ep->next = ep->av->eps;
		ep->av->eps = ep;
		qv_node_share(ep->node, ep->av->names);
		return 0;
	case FI_CLASS_CNTR:
		if (flags & FI_REMOTE_READ)
			ep->reads = container_of(bfid, struct qv_fi_node_cntr, fid.fid);
		if (flags & FI_REMOTE_WRITE)
			ep->writes = container_of(bfid, struct qv_fi_node_cntr, fid.fid);
		return 0;
	case FI_CLASS_CQ:
		container_of(bfid, struct qv_fi_node_cq, fid.fid)->node = ep->node;
		return 0;
	default: return -FI_EINVAL;
	}
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static int ep_getname(struct fid *fid, void *addr, size_t *len)
{
	char text[QV_FI_NODE_TEXT];
	size_t size = qv_fi_node_print(text, qv_node_name(ep_of(fid)->node)), room = *len;

	if (room)
		memcpy(addr, text, room < size ? room : size);
	*len = size;
	return room < size ? -FI_ETOOSMALL : 0;
}

static struct fi_ops ep_fi_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = qv_fi_no_ops_open,
};

static struct fi_ops_cm ep_cm = {
	.size = sizeof(struct fi_ops_cm),
	.getname = ep_getname,
};

struct qv_node *qv_fi_node_of(const struct fid_ep *ep)
{
	return ep->fid.ops == &ep_fi_ops ? container_of(ep, struct qv_fi_node_ep, fid)->node : NULL;
}

struct qv_fi_node_ep *qv_fi_node_ep_of(struct fid_ep *ep)
{
	return ep_of(&ep->fid);
}

/* At an address, or NULL. */
static int create(const char *at, void *rail, struct qv_node **node)
{
	uint64_t name;
	int rc;

	if (!at || !qv_fi_node_parse(at, &name) || !name)
		return -qv_fi_errno(qv_node_create(&node_ops, rail, node));
	rc = qv_node_create_as(&node_ops, rail, name | 1, node);
	if (rc == QV_EIO && !(name & 1))
		rc = qv_node_create_as(&node_ops, rail, name, node);
	return rc == QV_EIO ? -FI_EADDRINUSE : -qv_fi_errno(rc);
}

int qv_fi_node_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **out,
		       void *rail)
{
	struct qv_fi_node_ep *ep = calloc(1, sizeof *ep);
	int rc;

	if (!ep)
		return -FI_ENOMEM;
	rc = create(info->src_addr, rail, &ep->node);
	if (rc) {
		free(ep);
		return rc;
	}
	qv_node_open_memory(ep->node, &qv_fi_node_memory_ops);
	ep->domain = container_of(domain, struct qv_fi_node_domain, fid);
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = rail;
	ep->fid.fid.ops = &ep_fi_ops;
	ep->fid.cm = &ep_cm;
	ep->fid.rma = &qv_fi_node_rma_ops;
	ep->fid.atomic = &qv_fi_node_atomic_ops;
	*out = &ep->fid;
	return 0;
}
