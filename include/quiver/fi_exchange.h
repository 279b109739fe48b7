/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_exchange.h - collectives that libfabric has no call for, as the provider "quiver" answers to
 * fi_open_ops(3) on an endpoint: exchanges of which nobody knows beforehand what will come, and
 * variable-length blocks.
 *
 *     struct qv_fi_exchange_ops *ops;
 *
 *     if (fi_open_ops(&ep->fid, QV_FI_OPS_EXCHANGE, 0, (void **)&ops, NULL) == 0)
 *             ops->alltoallv(&ep->fid, &(struct qv_fi_blocks_call){.group = fi_mc_addr(mc), ...});
 *
 * Calls are for groups that were joined by fi_join_collective(3), and like libfabric's own: all
 * members make the same calls in the same order, each ends with a completion (FI_COLLECTIVE) of its
 * context in the queue bound for sends. Ranks are numbers of members in the order of their
 * addresses in the set. Only structures are declared here: nothing has to be linked.
 */
#ifndef QUIVER_FI_EXCHANGE_H
#define QUIVER_FI_EXCHANGE_H

#include <quiver/exchange.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fid; /* <rdma/fabric.h> */

/* On an endpoint: a struct qv_fi_exchange_ops, which lives as long as the provider is loaded. */
#define QV_FI_OPS_EXCHANGE "quiver_exchange/1"

/* Variable-length blocks: one for each member, of an allgather contribution one for all. Arrays of
 * places and lengths are read during the call, buffers must stay until the completion. All places
 * and lengths are in bytes. */
struct qv_fi_blocks_call {
	uint64_t group;             /* fi_mc_addr */
	const void *buf;            /* what this rank has */
	const size_t *at, *bytes;   /* by receiver: where it begins in buf, and its bytes */
	void *result;               /* what it gets; may not overlap buf */
	const size_t *result_at;    /* by sender: where it goes in result */
	const size_t *result_bytes; /* by sender: as many as that one sends, all ranks agree */
	uint64_t flags;             /* as of fi_alltoall(3) */
	void *context;              /* of the completion */
};

/* What each member may say that it has for any other ones. */
struct qv_fi_exchange_call {
	uint64_t group;                       /* fi_mc_addr */
	enum qv_way way;                      /* the same on all ranks */
	uint32_t radix;                       /* the same; as in struct qv_exchange_spec */
	const struct qv_exchange_item *items; /* n of them, to any ranks, by rank in the group; read
					       * during the call, their data must stay until the
					       * completion, to oneself until the release */
	size_t n;
	uint64_t flags;
	void *context;
};

struct qv_fi_exchange; /* what came, opaque */

struct qv_fi_exchange_ops {
	size_t size; /* of this structure: a function beyond it is not there */
	/*
	 * MPI_Alltoallv(3): each block straight from its sender to its receiver; blocks of no bytes
	 * cost nothing.
	 *   ep    endpoint of quiver
	 *   call  what; read during the call, as are its arrays
	 * Returns 0; -FI_EINVAL: ep is no endpoint of quiver, or group none of it; -FI_EOPBADSTATE:
	 * ep is not enabled or in peer mode, or the group is not joined yet; -FI_EBADFLAGS: flags
	 * that fi_alltoall(3) does not have; -FI_ENOMEM; why the group has failed. Unless it
	 * returns 0 nothing is begun, and there will be no completion.
	 */
	int (*alltoallv)(struct fid *ep, const struct qv_fi_blocks_call *call);
	/*
	 * MPI_Allgatherv(3): the block at at[0], of bytes[0], goes to all members.
	 *   ep    endpoint of quiver
	 *   call  as for alltoallv; of at and bytes only the first is looked at
	 * Returns as alltoallv.
	 */
	int (*allgatherv)(struct fid *ep, const struct qv_fi_blocks_call *call);
	/*
	 * Begin an exchange.
	 *   ep        endpoint of quiver
	 *   call      what; read during the call, as are its items, but not their data
	 *   exchange  out: to be given to release, after the completion
	 * Returns as alltoallv; -FI_EINVAL also: a way, radix or rank that there is not;
	 * -FI_EMSGSIZE: this rank's messages are too long together.
	 */
	int (*exchange)(struct fid *ep, const struct qv_fi_exchange_call *call,
			struct qv_fi_exchange **exchange);
	/*
	 * What came.
	 *   exchange  from exchange
	 *   n         out: how many; 0 before the completion and after an error
	 * Returns n messages in order of source, of one source in the order of its items; valid
	 * until release.
	 */
	const struct qv_exchange_item *(*result)(const struct qv_fi_exchange *exchange, size_t *n);
	/* Free an exchange, NULL is allowed. 0; -FI_EBUSY: it is not over, and nothing has
	 * changed. */
	int (*release)(struct qv_fi_exchange *exchange);
};

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_FI_EXCHANGE_H */
