/* SPDX-License-Identifier: BSD-2-Clause */
/* ep_ops.c - endpoint options, cancel, names; what connectionless endpoints do not have. */
#include "fabric_glue/calls.h"

#include <string.h>

static struct qv_fi_ep *ep_of(struct fid_ep *fid)
{
	return container_of(fid, struct qv_fi_ep, fid);
}

static ssize_t ep_cancel(fid_t fid, void *context)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid.fid);
	ssize_t rc;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	qv_fi_lock(ep->dom);
	rc = ep->mode->cancel(ep, context);
	qv_fi_unlock(ep->dom);
	return rc;
}

/* An option's value, len bytes of it, into what the application has room for. */
static int tell(void *value, size_t *room, const void *own, size_t len)
{
	size_t had = *room;

	*room = len;
	if (had < len)
		return -FI_ETOOSMALL;
	memcpy(value, own, len);
	return 0;
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid.fid);
	const size_t none = 0; /* there are no connections, so none of their messages */
	const int p2p = FI_HMEM_P2P_DISABLED;

	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	switch (name) {
	case FI_OPT_MIN_MULTI_RECV: return tell(value, len, &ep->multi_min, sizeof ep->multi_min);
	case FI_OPT_CM_DATA_SIZE: return tell(value, len, &none, sizeof none);
	case FI_OPT_FI_HMEM_P2P: return tell(value, len, &p2p, sizeof p2p);
	case FI_OPT_XPU_TRIGGER: return -FI_EOPNOTSUPP;
	default: return -FI_ENOPROTOOPT;
	}
}

/* There is no device memory here (FI_HMEM), so all but the demand to use it is met. */
static int check_p2p(const void *value, size_t len)
{
	int p2p;

	if (len != sizeof p2p)
		return -FI_EINVAL;
	memcpy(&p2p, value, sizeof p2p);
	switch (p2p) {
	case FI_HMEM_P2P_ENABLED:
	case FI_HMEM_P2P_PREFERRED:
	case FI_HMEM_P2P_DISABLED: return 0;
	case FI_HMEM_P2P_REQUIRED: return -FI_EOPNOTSUPP;
	default: return -FI_EINVAL;
	}
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid.fid);

	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	switch (name) {
	case FI_OPT_MIN_MULTI_RECV:
		if (len != sizeof ep->multi_min)
			return -FI_EINVAL;
		memcpy(&ep->multi_min, value, sizeof ep->multi_min);
		return 0;
	case FI_OPT_FI_HMEM_P2P: return check_p2p(value, len);
	default: return -FI_ENOPROTOOPT;
	}
}

static int no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr, struct fid_ep **tx,
		     void *context)
{
	return -FI_ENOSYS;
}

static int no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr, struct fid_ep **rx,
		     void *context)
{
	return -FI_ENOSYS;
}

static ssize_t rx_size_left(struct fid_ep *fid)
{
	return ep_of(fid)->enabled ? (ssize_t)QV_FI_RX_SIZE : -FI_EOPBADSTATE;
}

static ssize_t tx_size_left(struct fid_ep *fid)
{
	return ep_of(fid)->enabled ? (ssize_t)QV_FI_TX_SIZE : -FI_EOPBADSTATE;
}

static int cm_setname(fid_t fid, void *addr, size_t len)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid.fid);

	if (ep->dom->pair)
		return -FI_ENOSYS;
	return fi_setname(&ep->rail[QV_FI_MAIN].core->fid, addr, len);
}

static int cm_getname(fid_t fid, void *addr, size_t *len)
{
	struct qv_fi_ep *ep = container_of(fid, struct qv_fi_ep, fid.fid);
	int rc = qv_fi_ep_name(ep, addr, len);

	if (!rc)
		qv_fi_sign(addr, *len, qv_fi_ep_says(ep));
	return rc;
}

struct fi_ops_ep qv_fi_ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = no_tx_ctx,
	.rx_ctx = no_rx_ctx,
	.rx_size_left = rx_size_left,
	.tx_size_left = tx_size_left,
};

static int cm_getpeer(struct fid_ep *fid, void *addr, size_t *len)
{
	return -FI_ENOSYS;
}

static int cm_connect(struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

static int cm_listen(struct fid_pep *fid)
{
	return -FI_ENOSYS;
}

static int cm_accept(struct fid_ep *fid, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

static int cm_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t len)
{
	return -FI_ENOSYS;
}

static int cm_shutdown(struct fid_ep *fid, uint64_t flags)
{
	return -FI_ENOSYS;
}

struct fi_ops_cm qv_fi_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = cm_setname,
	.getname = cm_getname,
	.getpeer = cm_getpeer,
	.connect = cm_connect,
	.listen = cm_listen,
	.accept = cm_accept,
	.reject = cm_reject,
	.shutdown = cm_shutdown,
	.join = qv_fi_join,
};
