/* SPDX-License-Identifier: BSD-2-Clause */
/* oracle.h - matching by linear search over plain arrays: obviously right, and slow. */
#ifndef QV_ORACLE_H
#define QV_ORACLE_H

#include <stddef.h>

#include <quiver/match.h>

/* A copy of what the caller asked for, and the node it belongs to. Oldest first. */
struct qv_oracle_recv {
	uint64_t tag, ignore;
	uint32_t src, flags;
	struct qv_recv *node;
};

struct qv_oracle_msg {
	uint64_t tag;
	uint32_t src;
	struct qv_msg *node;
};

struct qv_oracle {
	struct qv_oracle_recv *recvs;
	struct qv_oracle_msg *msgs;
	size_t n_recvs, n_msgs, room;
};

void qv_oracle_init(struct qv_oracle *o, size_t room);
void qv_oracle_fini(struct qv_oracle *o);

/* The meaning of the calls in match.h, with the failure to allocate left out. */
struct qv_msg *qv_oracle_post(struct qv_oracle *o, struct qv_recv *recv);
struct qv_recv *qv_oracle_arrive(struct qv_oracle *o, uint64_t tag, uint32_t src);
void qv_oracle_queue(struct qv_oracle *o, struct qv_msg *msg);
struct qv_msg *qv_oracle_peek(const struct qv_oracle *o, uint64_t tag, uint64_t ignore,
			      uint32_t src);
void qv_oracle_take(struct qv_oracle *o, const struct qv_msg *msg);
void qv_oracle_cancel(struct qv_oracle *o, const struct qv_recv *recv);

#endif /* QV_ORACLE_H */
