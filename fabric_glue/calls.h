/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.h - what the calls of libfabric come to: a send or a receive for the endpoint's mode, or an
 * operation that a core does as it is.
 */
#ifndef QV_FI_CALLS_H
#define QV_FI_CALLS_H

#include "data.h"

/* Operation tables. */

extern struct fi_ops_ep qv_fi_ep_ops;
extern struct fi_ops_cm qv_fi_cm_ops;
extern struct fi_ops_msg qv_fi_msg_ops;
extern struct fi_ops_tagged qv_fi_tagged_ops;
extern struct fi_ops_rma qv_fi_rma_ops;
extern struct fi_ops_collective qv_fi_coll_ops;
extern struct fi_ops_atomic qv_fi_atomic_ops;
/* Part of them, fabric_glue/offer/atomic_valid.c */
int qv_fi_atomic_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op, size_t *count);
int qv_fi_fetch_atomic_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
			     size_t *count);
int qv_fi_compare_atomic_valid(struct fid_ep *fid, enum fi_datatype type, enum fi_op op,
			       size_t *count);

/* Common to tagged and untagged transfers. */
struct qv_fi_send {
	const struct iovec *iov;
	size_t cnt;
	fi_addr_t to;
	uint64_t tag, data;
	unsigned req; /* QV_REQ_TAGGED, QV_REQ_DATA */
	void *context;
};
struct qv_fi_recv {
	const struct iovec *iov;
	size_t cnt;
	fi_addr_t from;
	uint64_t tag, ignore;
	unsigned req; /* QV_REQ_TAGGED */
	void *context;
};

static inline bool qv_fi_is_enabled(const struct qv_fi_ep *ep)
{
	return __atomic_load_n(&ep->enabled, __ATOMIC_ACQUIRE);
}

/* As the endpoint's mode has them, once it is enabled. */
static inline ssize_t qv_fi_send(struct qv_fi_ep *ep, const struct qv_fi_send *s, uint64_t flags)
{
	return QV_LIKELY(qv_fi_is_enabled(ep)) ? ep->mode->send(ep, s, flags) : -FI_EOPBADSTATE;
}

static inline ssize_t qv_fi_inject(struct qv_fi_ep *ep, const struct qv_fi_send *s)
{
	return QV_LIKELY(qv_fi_is_enabled(ep)) ? ep->mode->inject(ep, s) : -FI_EOPBADSTATE;
}

static inline ssize_t qv_fi_recv(struct qv_fi_ep *ep, const struct qv_fi_recv *r, uint64_t flags)
{
	return QV_LIKELY(qv_fi_is_enabled(ep)) ? ep->mode->recv(ep, r, flags) : -FI_EOPBADSTATE;
}

/* Flags of the endpoint, for operations on memory. Nothing is matched there: delivered comes to the same. */
static inline uint64_t qv_fi_memory_flags(const struct qv_fi_ep *ep)
{
	const uint64_t flags = ep->tx_op_flags;

	return flags & FI_MATCH_COMPLETE ? (flags & ~FI_MATCH_COMPLETE) | FI_DELIVERY_COMPLETE
					 : flags;
}

/* Flags of a receive beyond the common ones; req: QV_REQ_TAGGED or 0. */
static inline uint64_t qv_fi_special_flags(unsigned req)
{
	return req & QV_REQ_TAGGED ? FI_PEEK | FI_CLAIM | FI_DISCARD : FI_MULTI_RECV;
}

/* From fabric_glue/calls/claim.c: between FI_PEEK and FI_CLAIM. */
void qv_fi_claim_store(struct fi_context *context, void *u);
void *qv_fi_claim_take(struct fi_context *context);

/* From fabric_glue/calls/update.c: as the core's calls; msg->context is the struct qv_fi_pass. */
ssize_t qv_fi_own_update(struct qv_fi_ep *ep, fi_addr_t to, const struct fi_msg_atomic *msg,
			 const struct fi_ioc *compare, size_t ncompare, const struct fi_ioc *result,
			 size_t nresult);

/* From fabric_glue/calls/pass.c. */

/* One operation that a core has in hand. */
struct qv_fi_pass {
	struct qv_xfer xfer; /* first */
	struct qv_fi_ep *ep;
	struct qv_fi_pass *next, **at; /* in ep->passes; *at is this one */
	fi_addr_t to;
	struct qv_fi_rail *rail; /* whose core holds it; NULL: it ends whatever happens */
	struct qv_peer *peer;    /* it is held for this; NULL: not yet, or not any more */
	bool told;               /* it has ended for the application */
	void *context;
	uint64_t flags; /* of its completion */
	int err;        /* what a core says of its failure; 0: nothing */
	bool entry;
	bool copy_all; /* FI_INJECT of more than the core injects: its data is to be copied */
	size_t copied;
	char copy[];
};

struct qv_fi_passing {
	fi_addr_t to;    /* as the application knows it */
	void *context;   /* the application's */
	uint64_t flags;  /* of the call */
	uint64_t kind;   /* flags of its completion: FI_RMA or FI_ATOMIC, FI_READ or FI_WRITE */
	size_t len;      /* bytes that the call sends, */
	size_t compared; /* and of values to compare with */
	bool quiet;      /* an inject call: no entry but for an error */
	/* Give it to the core: its endpoint, the peer as it knows it, the context to pass. */
	ssize_t (*give)(struct qv_fi_rail *rail, fi_addr_t to, struct qv_fi_pass *pass,
			const struct qv_fi_passing *p);
	const void *op; /* for give */
};
/* 0 or -FI_E*; -FI_EAGAIN: the core is full, some progress was made. */
ssize_t qv_fi_pass(struct qv_fi_ep *ep, const struct qv_fi_passing *p);
/* Is one of these under way to that address? Lock held. */
bool qv_fi_pass_is_under_way(const struct qv_fi_ep *ep, fi_addr_t to);
/* FI_FENCE: is nothing under way to that address any more? Lock held. Else some progress was made. */
bool qv_fi_fence_is_open(struct qv_fi_ep *ep, fi_addr_t to);
/* The same by the core's inject call, if it injects so much. */
ssize_t qv_fi_pass_inject(struct qv_fi_ep *ep, const struct qv_fi_passing *p,
			  ssize_t (*inject)(struct qv_fi_rail *rail, fi_addr_t to, const void *op));
/* For give, if FI_INJECT is set: a copy that lives as long as the operation, of at most len + compared
 * bytes in all. */
void *qv_fi_pass_copy(struct qv_fi_pass *pass, const void *from, size_t len);
/* The cores are closed: what they still had in hand never completes. */
void qv_fi_pass_end(struct qv_fi_ep *ep);
/* A core says so of what ends now; of other transfers it is not kept. */
void qv_fi_pass_error(struct qv_xfer *xfer, int err);
/* Is this the context of one that is under way? */
bool qv_fi_pass_known(const struct qv_fi_ep *ep, const void *context);

#endif /* QV_FI_CALLS_H */
