/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * onesided.h - operations on the memory of another endpoint's owner, over engine/node. Nobody writes
 * into the memory of another process: what is long is read by who has the place for it.
 */
#ifndef QV_NODE_ONESIDED_H
#define QV_NODE_ONESIDED_H

#include "engine/proto/xport.h"
#include "engine/remote/remote.h"

struct qv_node;

/* Bytes in one packet, and so in one step of the memory's owner: so far operations are done in the
 * order in which they were started. A multiple of twice the longest element. */
#define QV_NODE_PART ((size_t)8128)

/* What may be injected. */
#define QV_NODE_INJECT ((size_t)4096)

/* Others may reach the owner's memory from now on. */
void qv_node_open_memory(struct qv_node *n, const struct qv_memory_ops *ops);

/*
 * Begin. xfer is told the end by a later poll, with a status; NULL: nobody is told, and all of it
 * fits into a packet.
 * QV_EAGAIN: no room, nothing has happened; QV_ENOMEM; QV_EPEER: nobody is there; QV_EINVAL: lists
 * that do not fit each other; QV_EMSGSIZE: too long to be injected.
 */
int qv_node_begin(struct qv_node *n, uint64_t to, const struct qv_remote_op *op,
		  struct qv_xfer *xfer);

#endif /* QV_NODE_ONESIDED_H */
