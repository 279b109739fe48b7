/* SPDX-License-Identifier: BSD-2-Clause */
/* ucx_none.c - the implementations of ucx.c in a build without UCX. */
#include "ucx.h"

bool qv_fb_ucx_built(void)
{
	return false;
}

int qv_fb_ucx_open(struct qv_fb_ep *ep, const struct qv_fb_setup *setup)
{
	(void)setup;
	return qv_fb_fail(ep, "this program was built without UCX (package libucx-dev)", 0);
}

int qv_fb_ucx_address(struct qv_fb_ep *ep, char *address, size_t *n)
{
	(void)address;
	(void)n;
	return qv_fb_fail(ep, "no UCX", 0);
}

int qv_fb_ucx_connect(struct qv_fb_ep *ep, const void *address)
{
	(void)address;
	return qv_fb_fail(ep, "no UCX", 0);
}

int qv_fb_ucx_turn(struct qv_fb_ep *ep, const void *own, bool self)
{
	(void)own;
	(void)self;
	return qv_fb_fail(ep, "no UCX", 0);
}

void qv_fb_ucx_close(struct qv_fb_ep *ep)
{
	(void)ep;
}

void qv_fb_ucx_describe(const struct qv_fb_ep *ep, char *text, size_t size)
{
	(void)ep;
	snprintf(text, size, "no UCX");
}

int qv_fb_ucx_send(struct qv_fb_ep *ep, const void *buf, size_t bytes, uint64_t tag)
{
	(void)buf;
	(void)bytes;
	(void)tag;
	return qv_fb_fail(ep, "no UCX", 0);
}

int qv_fb_ucx_recv(struct qv_fb_ep *ep, void *buf, size_t bytes, uint64_t tag, struct qv_fb_op *op)
{
	(void)buf;
	(void)bytes;
	(void)tag;
	(void)op;
	return qv_fb_fail(ep, "no UCX", 0);
}

int qv_fb_ucx_poll(struct qv_fb_ep *ep)
{
	return qv_fb_fail(ep, "no UCX", 0);
}
