/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_stream.h - streams of tiny items (stream.h) between the members of a group, as the provider
 * "quiver" answers to fi_open_ops(3) on an endpoint: active messages, whose function runs at the
 * receiver.
 *
 *     struct qv_fi_stream_ops *ops;
 *
 *     if (fi_open_ops(&ep->fid, QV_FI_OPS_STREAM, 0, (void **)&ops, NULL) == 0)
 *             ops->open(&ep->fid, &(struct qv_fi_stream_call){.group = fi_mc_addr(mc), ...},
 *                       &stream);
 *
 * Groups are joined by fi_join_collective(3). Ranks are numbers of members in the order of their
 * addresses in the set. All members open, fence and close a stream at the same place among their
 * other calls for the group. A group has any number of streams. No call waits.
 *
 * Items come, and the program's function is called, only within calls for their stream, in the thread
 * that calls. No lock is held then, so the function may make any call of libfabric but that which closes
 * the endpoint; of the calls for its own stream, insert, insert_urgent and multicast only. Each stream is used by
 * one thread at a time.
 *
 * A member that makes no such call sends on nothing, and takes nothing: others may wait for it. One
 * that computes for long calls progress now and then.
 *
 * When a member dies, the group is lost: calls answer an error on all others. Only structures are
 * declared here: nothing has to be linked.
 */
#ifndef QUIVER_FI_STREAM_H
#define QUIVER_FI_STREAM_H

#include <quiver/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fid; /* <rdma/fabric.h> */

/* On an endpoint: a struct qv_fi_stream_ops, which lives as long as the provider is loaded. */
#define QV_FI_OPS_STREAM "quiver_stream/1"

struct qv_fi_stream_call {
	uint64_t group;                    /* fi_mc_addr */
	const struct qv_stream_spec *spec; /* what, but for ranks, rank and envelope, which are not
					    * looked at; the same on all members; read during the
					    * call */
	/*
	 * An item has come.
	 *   port         user
	 *   from         which member inserted it
	 *   data, bytes  during the call only; data may be at any address
	 */
	void (*item)(void *port, uint32_t from, const void *data, size_t bytes);
	void *user;
};

struct qv_fi_stream; /* opaque: a stream of one member */

struct qv_fi_stream_ops {
	size_t size; /* of this structure: a function beyond it is not there */
	/*
	 * Open a stream: all members. It has spec->limit bytes of memory for each of them.
	 *   ep      endpoint of quiver
	 *   call    what; read during the call
	 *   stream  out: to be given to close, before the group and the endpoint are closed
	 * Returns 0; -FI_EINVAL: ep is no endpoint of quiver, group none of it, a value of spec is
	 * out of range, or item is NULL; -FI_EOPBADSTATE: ep is not enabled, or the group is not
	 * joined yet; -FI_ENOMEM; why the group has failed. Unless it returns 0 nothing is opened.
	 */
	int (*open)(struct fid *ep, const struct qv_fi_stream_call *call,
		    struct qv_fi_stream **stream);
	/*
	 * Send an item. One to oneself comes within this call, within the program's function right
	 * behind the item that this is called for.
	 *   stream       from open
	 *   to           which member
	 *   data, bytes  copied; 0 bytes come nevertheless
	 * Returns 0; -FI_EAGAIN: spec->window buckets are under way, which never happens within the
	 * program's function, or a fence is on: call again after progress; -FI_EINVAL: no such
	 * member; -FI_EMSGSIZE: longer than fits into a bucket; -FI_ENOMEM; then nothing has
	 * changed. Another value is what has ended the stream.
	 */
	int (*insert)(struct qv_fi_stream *stream, uint32_t to, const void *data, size_t bytes);
	/*
	 * The same for an urgent item, see qv_stream_insert_urgent.
	 *   stream, to, data, bytes  as for insert
	 * Returns as insert.
	 */
	int (*insert_urgent)(struct qv_fi_stream *stream, uint32_t to, const void *data,
			     size_t bytes);
	/*
	 * Take what has come, and send what has waited long enough. It moves on all that the
	 * endpoint does, as fi_cq_read(3).
	 *   stream  from open
	 * Returns 0: nothing waits, nothing is under way from here; -FI_EAGAIN: something does;
	 * -FI_EINVAL: this is within the program's function; another value is what has ended the
	 * stream.
	 */
	int (*progress)(struct qv_fi_stream *stream);
	/*
	 * The same, and send all that waits.
	 *   stream  from open
	 * Returns as progress.
	 */
	int (*flush)(struct qv_fi_stream *stream);
	/*
	 * A fence, of all members: the first call begins it, and it is to be called again until it
	 * answers 0, once. Then every item has come that any member has inserted before, or that
	 * functions have inserted since. Items that others insert behind it may come within it, too.
	 * No other call for the group is begun meanwhile.
	 *   stream  from open
	 * Returns 0: it is over; -FI_EAGAIN: not yet; -FI_EINVAL, -FI_ENOMEM as progress and open;
	 * another value is what has ended the stream.
	 */
	int (*fence)(struct qv_fi_stream *stream);
	/*
	 * Read the counters.
	 *   stream  from open
	 *   stats   out: since the beginning
	 */
	void (*stats)(const struct qv_fi_stream *stream, struct qv_stream_stats *stats);
	/*
	 * Close a stream behind a fence: all members.
	 *   stream  from open; NULL is allowed
	 * Returns 0: it is freed; -FI_EAGAIN: something of it is under way, call again; -FI_EINVAL:
	 * this is within the program's function. One whose group is lost, or whose endpoint is
	 * closed, can be closed, too.
	 */
	int (*close)(struct qv_fi_stream *stream);
	/*
	 * Send an item to many members at once, see qv_stream_multicast. By ring and tree a receiver keeps
	 * items that come before earlier ones; only memory limits how many.
	 *   stream       from open
	 *   by           how it travels: of each call anew
	 *   to, n        n members in ascending order, 1 or more, none twice; read during the call
	 *   data, bytes  as for insert
	 * Returns as insert; -FI_EINVAL also: there is no such `by`, n is 0 or the members are not in ascending order;
	 * -FI_ENOMEM: nothing has changed, or the stream has ended, as further calls say.
	 */
	int (*multicast)(struct qv_fi_stream *stream, enum qv_section by, const uint32_t *to,
			 size_t n, const void *data, size_t bytes);
};

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_FI_STREAM_H */
