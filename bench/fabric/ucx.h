/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ucx.h - implementations of `quiver bench fabric` that are no libfabric providers: UCX's tag
 * matching, through its public ucp_tag calls, over one kind of transport ("ucx+shm", "ucx+tcp").
 * The functions stand for those of ep.c with the same end of their names.
 */
#ifndef BENCH_UCX_H
#define BENCH_UCX_H

#include "fabric.h"

static inline bool qv_fb_ucx_is(const char *impl)
{
	return !strncmp(impl, "ucx+", 4);
}

/* Was UCX there when this program was built? If not, open fails and says so. */
bool qv_fb_ucx_built(void);

int qv_fb_ucx_open(struct qv_fb_ep *ep, const struct qv_fb_setup *setup);
/* *n: room for the address, then its length. */
int qv_fb_ucx_address(struct qv_fb_ep *ep, char *address, size_t *n);
int qv_fb_ucx_connect(struct qv_fb_ep *ep, const void *address);
int qv_fb_ucx_turn(struct qv_fb_ep *ep, const void *own, bool self);
void qv_fb_ucx_close(struct qv_fb_ep *ep);
void qv_fb_ucx_describe(const struct qv_fb_ep *ep, char *text, size_t size);

int qv_fb_ucx_send(struct qv_fb_ep *ep, const void *buf, size_t bytes, uint64_t tag);
int qv_fb_ucx_recv(struct qv_fb_ep *ep, void *buf, size_t bytes, uint64_t tag, struct qv_fb_op *op);
int qv_fb_ucx_poll(struct qv_fb_ep *ep);

#endif /* BENCH_UCX_H */
