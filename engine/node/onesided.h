/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * onesided.h - reading, writing and updating memory of another endpoint's owner. Each operation is
 * done by the endpoint that has the memory, in its poll: its owner knows what may be reached.
 * Nobody writes into the memory of another process: what is long is read by who has the place for it.
 */
#ifndef QV_NODE_ONESIDED_H
#define QV_NODE_ONESIDED_H

#include "engine/proto/xport.h"

struct qv_node;

#define QV_NODE_SPANS QV_IOV_MAX /* pieces of memory in one operation, on each side */
/* Bytes in one packet, and so in one step of the memory's owner: so far operations are done in the
 * order in which they were started. A multiple of twice the longest element. */
#define QV_NODE_PART ((size_t)8128)

enum qv_node_access {
	QV_NODE_READ = 1,
	QV_NODE_WRITE = 2,
};

/* Memory there, as its owner calls it. */
struct qv_node_span {
	uint64_t addr, key;
	size_t len;
};

enum qv_node_kind {
	QV_NODE_GET,
	QV_NODE_PUT,
	QV_NODE_UPDATE, /* put together with what is there */
	QV_NODE_OVER,   /* inside: what was granted has been read */
	QV_NODE_KINDS
};

/* All lists have as many bytes as there are there, or none at all. */
struct qv_node_op {
	enum qv_node_kind kind;
	uint16_t what; /* an update: which, in the words of the owners */
	bool inject;   /* the memory here may be reused at once: at most QV_NODE_INJECT bytes */
	bool has_data; /* `data` is told there */
	uint64_t data;
	const struct qv_node_span *there;
	/* Where it goes (get) or comes from; the other operand of an update; where what was there
	 * before an update goes. */
	const struct iovec *here, *other, *before;
	size_t nthere, nhere, nother, nbefore;
};
#define QV_NODE_INJECT ((size_t)256)

/* What another has done. */
struct qv_node_touch {
	uint64_t from;
	unsigned access;      /* one of enum qv_node_access */
	size_t len;           /* of a write, what the writer says; of a read that is not known, 0 */
	const uint64_t *data; /* what it tells, or NULL */
};

/* The owner's part: its memory. */
struct qv_node_memory_ops {
	/* The memory that others call so, at most QV_NODE_SPANS pieces of len bytes in all. QV_OK, or
	 * what the other side is told: it may not have it. */
	int (*find)(void *owner, const struct qv_node_span *span, unsigned access,
		    struct iovec *iov, size_t *cnt);
	/* Is there such an update, of len bytes with so many operands, in any order of calls? */
	bool (*can_update)(void *owner, uint16_t what, size_t len, size_t operands, bool before);
	/* Do it. Operands are one behind the other. before: NULL, or where the old bytes go. */
	void (*update)(void *owner, uint16_t what, const struct iovec *iov, size_t cnt,
		       const void *operands, size_t len, void *before);
	/* Are reads counted? */
	bool (*counts_reads)(void *owner);
	/* Another has written to memory of this key, or updated it. */
	void (*written)(void *owner, uint64_t key);
	/* Another has read or written: told of each operation once. */
	void (*touched)(void *owner, const struct qv_node_touch *touch);
};

/* Others may reach the owner's memory from now on. */
void qv_node_open_memory(struct qv_node *n, const struct qv_node_memory_ops *ops);

/*
 * Begin. xfer is told the end by a later poll, with a status; NULL: nobody is told, and all of it
 * fits into a packet.
 * QV_EAGAIN: no room, nothing has happened; QV_ENOMEM; QV_EPEER: nobody is there; QV_EINVAL: lists
 * that do not fit each other; QV_EMSGSIZE: too long to be injected.
 */
int qv_node_begin(struct qv_node *n, uint64_t to, const struct qv_node_op *op,
		  struct qv_xfer *xfer);

#endif /* QV_NODE_ONESIDED_H */
