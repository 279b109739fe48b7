/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nodes.h - receives and messages that are in no queue. The one that left last is used next, as
 * a busy program does; meanwhile it is full of a pattern, which is checked when it is used again,
 * and under AddressSanitizer nobody may look at it.
 */
#ifndef QV_NODES_H
#define QV_NODES_H

#include <stddef.h>

#include <quiver/match.h>

struct qv_nodes {
	struct qv_recv **recvs;
	struct qv_msg **msgs;
	size_t n_recvs, n_msgs; /* here now */
	size_t room;            /* of each kind, in all */
};

void qv_nodes_init(struct qv_nodes *n, size_t room);
/* All must be here again. */
void qv_nodes_fini(struct qv_nodes *n);

/* A node with this content; its priv words are not initialised, but for the pattern. */
struct qv_recv *qv_nodes_get_recv(struct qv_nodes *n, const struct qv_recv *content);
struct qv_msg *qv_nodes_get_msg(struct qv_nodes *n, uint64_t tag, uint32_t src);

void qv_nodes_put_recv(struct qv_nodes *n, struct qv_recv *r);
void qv_nodes_put_msg(struct qv_nodes *n, struct qv_msg *msg);

#endif /* QV_NODES_H */
