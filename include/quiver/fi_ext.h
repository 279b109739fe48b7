/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_ext.h - what the libfabric provider "quiver" answers to fi_open_ops(3).
 *
 *     struct qv_fi_stats_ops *ops;
 *     struct qv_fi_stats stats;
 *
 *     if (fi_open_ops(&ep->fid, QV_FI_OPS_STATS, 0, (void **)&ops, NULL) == 0 &&
 *         ops->get(&ep->fid, &stats, sizeof(stats)) == 0)
 *             printf("%llu unexpected\n", (unsigned long long)stats.tagged.unexpected);
 *
 * Another provider, or another object, answers -FI_ENOSYS or -FI_EINVAL; flags other than 0 are
 * -FI_EBADFLAGS. Only structures are declared here: nothing has to be linked.
 */
#ifndef QUIVER_FI_EXT_H
#define QUIVER_FI_EXT_H

#include <quiver/match.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fid; /* <rdma/fabric.h> */

/* On a fabric: the exact provider name of the core, or of two as in "node,tcp", a const char * that
 * lives as long as the fabric. */
#define QV_FI_OPS_CORE "quiver_core"

/* On an endpoint: a struct qv_fi_stats_ops, which lives as long as the provider is loaded. */
#define QV_FI_OPS_STATS "quiver_stats"

/*
 * What an endpoint has done since it was enabled. Later versions add fields at the end.
 * In peer mode (FI_QUIVER_MODE) every send counts as eager, unexpected_bytes are those of all
 * messages that wait, wherever the core keeps them, and what is about quiver's own protocol is 0.
 */
struct qv_fi_stats {
	const char *core; /* provider name of the core, or of two; lives as long as the fabric */
	const char *structure; /* of the match queues; static storage */
	const char *isa;       /* of the match kernels; static storage */
	uint64_t eager;        /* messages sent with their payload, without asking */
	uint64_t rendezvous;   /* messages announced first */
	uint64_t over_budget;  /* of those: short enough, but the receiver's budget was used up */
	uint64_t queued;       /* sends that the core could not take at once */
	uint64_t refused;      /* packets that break the protocol, dropped */
	uint64_t peers;        /* endpoints that this one has had to do with */
	uint64_t unexpected_bytes, unexpected_bytes_max; /* payload stored now, and at most */
	struct qv_match_stats tagged, untagged;          /* the two match engines, see match.h */
	/* Core node: shared memory that this process has mapped for its peers, and what of it has
	 * been touched by either side, in bytes. */
	uint64_t node_mapped, node_touched;
	/* Collectives that are over, and those of them that went through memory of the node. */
	uint64_t collectives, collectives_memory;
	/* Packets, and reads, that network cores have taken from this endpoint. */
	uint64_t packets;
	/* Bytes of payload copied here: into packets, out of packets, and into and out of memory for
	 * unexpected messages. Not those that core node moves through its memory. */
	uint64_t copied;
	/* FI_QUIVER_RAILS: packets that were sent over the second rail, and messages whose packets there
	 * were sent again over the first. */
	uint64_t pieces, retaken;
	/* Collectives that were built from when members were expected. */
	uint64_t collectives_by_arrival;
	/* FI_QUIVER_COLL names unit: combine units that this endpoint runs now for its groups. */
	uint64_t combine_units;
};

struct qv_fi_stats_ops {
	size_t size; /* of this structure: a function beyond it is not there */
	/*
	 * Read the counters.
	 *   ep     endpoint of quiver
	 *   stats  out: its counters; fields that this provider does not know become 0
	 *   size   sizeof(*stats) where the program is compiled: no more is written
	 * Returns 0; -FI_EOPBADSTATE: the endpoint has not been enabled; -FI_EINVAL: ep is no
	 * endpoint of quiver. Then nothing is written.
	 */
	int (*get)(struct fid *ep, struct qv_fi_stats *stats, size_t size);
	/*
	 * Count the messages of one peer.
	 *   ep     endpoint of quiver
	 *   addr   address of the peer (fi_addr_t), in the address vector of ep
	 *   count  out: messages received from it, matched or not
	 * Returns as get; -FI_EINVAL also: no such address; -FI_ENOSYS: peer mode, in which nobody
	 * counts them.
	 */
	int (*received)(struct fid *ep, uint64_t addr, uint64_t *count);
};

/* A function that libquiver-fi.so exports, for who has no endpoint in hand, as tools that look at a
 * program from beside. libfabric does not make the names of providers known: dl_iterate_phdr(3) finds the
 * file, and dlsym(3) the function by what dlopen(3) with RTLD_NOLOAD answers. */
#define QV_FI_PROCESS_STATS "qv_fi_process_stats"

/*
 * Its type: read the counters of all endpoints that this process has opened. Any thread may call it at any
 * time. Where the application has promised FI_THREAD_DOMAIN, a thread other than the one that called
 * libfabric last may get counters that are 0.1 s of that thread's calls old. Such counters are kept from the
 * first call in the process on, which waits for them, 0.5 s at most: of a thread that does not call libfabric
 * in that time all counters are 0, until it has called it for 0.1 s.
 *   stats  out: sums, those of closed endpoints included; unexpected_bytes, posted_now and unexpected_now
 *          of open ones only; of fields that end in _max the greatest of one endpoint; names are NULL,
 *          peers, node_mapped and node_touched 0
 *   size   sizeof(*stats) where the program is compiled: no more is written
 * Returns how many endpoints are open.
 */
typedef int qv_fi_process_stats_fn(struct qv_fi_stats *stats, size_t size);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_FI_EXT_H */
