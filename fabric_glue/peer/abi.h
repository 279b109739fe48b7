/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * abi.h - what the owner of a shared receive context and its core say to each other
 * (fi_peer(3)). libfabric 1.17, against which we build, has an older form of it, so the forms
 * of 2.x are declared here; abi.c compares them with the header of a libfabric that has
 * it.
 */
#ifndef QV_FI_SRX_ABI_H
#define QV_FI_SRX_ABI_H

#include "fabric_glue/provider.h"

/* A receive, or a message that waits for one. Until 2.2 it begins with two pointers, the owner's:
 * QV_ABI_RX_AHEAD bytes before this structure. */
struct qv_abi_rx {
	struct qv_abi_srx *srx;
	fi_addr_t addr;  /* sender */
	size_t msg_size; /* bytes */
	uint64_t tag;
	uint64_t cq_data; /* valid if flags has FI_REMOTE_CQ_DATA */
	uint64_t flags;   /* of its completion, and FI_COMPLETION: there is to be one */
	void *context;
	size_t count; /* of iov and desc */
	void **desc;
	void *peer_context; /* the core's */
	void *owner_context;
	struct iovec *iov;
};
#define QV_ABI_RX_AHEAD (2 * sizeof(void *))

/* An arriving message. */
struct qv_abi_match {
	fi_addr_t addr;
	size_t msg_size;
	uint64_t tag;
};

/* What the core calls. Entries are where struct fi_peer_rx_entry begins in
 * the running libfabric. */
struct qv_abi_srx_owner {
	size_t size;
	/* 0: this receive takes it; -FI_ENOENT: none does, here is an entry to be queued. */
	int (*get_msg)(struct qv_abi_srx *srx, struct qv_abi_match *msg, void **entry);
	int (*get_tag)(struct qv_abi_srx *srx, struct qv_abi_match *msg, void **entry);
	int (*queue_msg)(void *entry);
	int (*queue_tag)(void *entry);
	/* New addresses are known: ask for those of messages that had none. */
	void (*foreach_unspec_addr)(struct qv_abi_srx *srx, fi_addr_t (*get_addr)(void *entry));
	void (*free_entry)(void *entry);
};

/* What the owner calls, for a message that was queued. */
struct qv_abi_srx_peer {
	size_t size;
	int (*start_msg)(void *entry);
	int (*start_tag)(void *entry);
	int (*discard_msg)(void *entry);
	int (*discard_tag)(void *entry);
};

struct qv_abi_srx {
	struct fid_ep ep_fid;
	struct qv_abi_srx_owner *owner_ops;
	struct qv_abi_srx_peer *peer_ops; /* set by the core */
};

struct qv_abi_srx_context {
	size_t size;
	struct qv_abi_srx *srx;
};

/* The completion queue that a core writes to is ours as well. */
struct qv_abi_cq;

struct qv_abi_cq_owner {
	size_t size;
	ssize_t (*write)(struct qv_abi_cq *cq, void *context, uint64_t flags, size_t len, void *buf,
			 uint64_t data, uint64_t tag, fi_addr_t src);
	ssize_t (*writeerr)(struct qv_abi_cq *cq, const struct fi_cq_err_entry *err);
};

struct qv_abi_cq {
	struct fid fid;
	struct qv_abi_cq_owner *owner_ops;
};

struct qv_abi_cq_context {
	size_t size;
	struct qv_abi_cq *cq;
};

#endif /* QV_FI_SRX_ABI_H */
