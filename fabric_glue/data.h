/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * data.h - the data path. One header stands on the other:
 *
 *   queue.h  completion queue, counter
 *   rail.h   one of the cores under an endpoint
 *   ep.h     the endpoint
 *
 * and here is what rooms do for an endpoint.
 */
#ifndef QV_FI_DATA_H
#define QV_FI_DATA_H

#include <quiver/combine.h>

#include "fabric_glue/ep.h"

/* Cookie of a request: how its completion is to be reported. */
#define QV_CK_ENTRY 1u /* write a CQ entry on success (errors are always written) */
#define QV_CK_PEEK  2u /* not a transfer: no counter */
#define QV_CK_COLL  8u /* of a collective: qv_fi_coll_comp */
#define QV_CK_NONE  4u /* fi_inject: no entry even on error of the peer; the next send tells */

/* fabric_glue/objects/offload.c: batches of messages that a device matches. */

/* An endpoint of this process is enabled: it has a device to ask, if the user wants that. */
void qv_fi_offload_begin(struct qv_fi_ep *ep);
/* n entries are about to be handled. True: call qv_fi_offload_done behind them. */
bool qv_fi_offload_entries(struct qv_fi_rail *rail, const struct fi_cq_data_entry *e,
			   const fi_addr_t *from, size_t n);
void qv_fi_offload_done(struct qv_fi_ep *ep);
/* As qv_combine_to with arguments that are right, by the device if the array is long enough. */
void qv_fi_offload_combine(const struct qv_fi_ep *ep, const struct qv_combine *cpu, enum qv_op op,
			   enum qv_type type, void *dst, const void *a, const void *b,
			   size_t count);
/* A line of counters for the user, on stderr. */
void qv_fi_offload_print(void);

/* From fabric_glue/layered/comp.c. */

/* One more in a counter, if there is one. */
void qv_fi_count(struct qv_fi_ep *ep, int which, bool error);
/* qv_proto_owner_ops.complete */
void qv_fi_complete_any(void *owner, const struct qv_comp *c);
extern const struct qv_proto_owner_ops qv_fi_owner_ops;
/* An operation that a core did for the application is done. */
void qv_fi_pass_complete(struct qv_fi_ep *ep, const struct qv_fi_pass *pass, int status);
/* Now and then, and before an address is removed: their peers are looked after, and those whose peers
 * have died end. fabric_glue/calls/pass.c */
void qv_fi_pass_look_after(struct qv_fi_ep *ep);
/* Its peer has died: it ends for the application, and the core may keep it for ever. */
void qv_fi_pass_give_up(struct qv_fi_pass *pass);
bool qv_fi_pass_waits(const struct qv_fi_ep *ep); /* is any of them under way? */
void qv_fi_remote_event(struct qv_fi_rail *rail, uint64_t flags, size_t len, uint64_t data,
			fi_addr_t src);
int qv_fi_errno(int status); /* enum qv_status to a positive FI_E*, 0 for QV_OK */

/* From fabric_glue/calls/update.c: what peers do to our memory by our own protocol. */
extern const struct qv_memory_ops qv_fi_own_memory_ops;

/* From fabric_glue/objects/stats.c. */

int qv_fi_ep_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
/* fabric_glue/coll/exchange.c */
struct qv_fi_exchange_ops;
extern struct qv_fi_exchange_ops qv_fi_exchange_ops;
/* fabric_glue/coll/stream.c */
struct qv_fi_stream_ops;
extern struct qv_fi_stream_ops qv_fi_stream_ops;
/* FI_QUIVER_STATS: an endpoint is enabled; it closes, or else the process ends. */
void qv_fi_stats_begin(struct qv_fi_ep *ep);
void qv_fi_stats_end(struct qv_fi_ep *ep);
/* With interval= or signal=: write the file, if it is time. */
void qv_fi_stats_tick(const struct qv_fi_ep *ep, uint64_t now);
/* With signal=: it has come, and nothing is written yet (fabric_glue/objects/stats_signal.c). */
bool qv_fi_stats_asked(void);

/* From fabric_glue/objects/totals.c: its tick. Lock held. */
void qv_fi_totals_tick(struct qv_fi_ep *ep);

/* From fabric_glue/objects/trace.c: FI_QUIVER_TRACE, the same. */
void qv_fi_trace_begin(struct qv_fi_ep *ep);
void qv_fi_trace_end(struct qv_fi_ep *ep);

/* From fabric_glue/objects/stats_file.c. */

/* Write it anew, as a whole: 0 or errno. A pipe that nobody reads is not waited for. */
int qv_fi_file_replace(const char *path, const char *text, size_t len);
const char *qv_fi_file_error(const char *path, int error);

/* From fabric_glue/objects/live.c. */

/* If it is the last time, as libfabric ends, qv_fi_lock_last; else the lock is waited for, and had. */
bool qv_fi_lock_at_end(pthread_mutex_t *lock, bool last);

/* From fabric_glue/settings/profile.c. */

/* Add what was queued at the endpoint (ep->detail) to what was at earlier ones, and write all of it. False: it
 * was the last time, and who writes just now does not end. */
bool qv_fi_profile_add(const struct qv_fi_ep *ep, const char *pattern, bool last);

/* From fabric_glue/settings/assertion.c. */

void qv_fi_assertions_apply(const struct qv_fi_ep *ep, struct qv_match_settings *match);
/* Is this receive ruled out? Says so, if it is. req: QV_REQ_*; src: QV_SRC_ANY or another; flags:
 * FI_PEEK, FI_CLAIM. */
bool qv_fi_breaks_assertion(struct qv_fi_ep *ep, unsigned req, uint64_t ignore, uint32_t src,
			    uint64_t flags);

/* fabric_glue/words.c: the engine's names of libfabric's types and operations; false: there is none. */
bool qv_fi_type(enum fi_datatype type, enum qv_type *out);
bool qv_fi_op(enum fi_op op, enum qv_op *out);

/* From fabric_glue/coll: join.c, op.c, open.c. */

int qv_fi_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
	       void *context);
/* Move operations on. The endpoint has some: ep->coll. */
void qv_fi_coll_progress(struct qv_fi_ep *ep);
/* A message of a collective is over. */
void qv_fi_coll_sent(void *context);
void qv_fi_coll_comp(const struct qv_comp *comp);
/* What it has done, for the endpoint's statistics. */
void qv_fi_coll_collect(const struct qv_fi_ep *ep, struct qv_fi_stats *stats);
/* The endpoint closes: members hear of it, while it can still send; and when nothing
 * is under way. */
void qv_fi_coll_shutdown(struct qv_fi_ep *ep);
void qv_fi_coll_close(struct qv_fi_ep *ep);

/* From fabric_glue/peer/srx.c: peer mode, the domain's `peer` is set. */

/* The mode's part of enabling an endpoint, after its objects are bound. */
int qv_fi_srx_enable(struct qv_fi_ep *ep);
/* Before the endpoint closes: the core takes what is for others, or time is up. Lock held, but not
 * while we wait. */
void qv_fi_srx_leave(struct qv_fi_ep *ep);
/* Behind the closing of the core's endpoint. */
void qv_fi_srx_close(struct qv_fi_ep *ep);
/* fabric_glue/peer/death.c: look after peers that owe something. Lock held. */
void qv_fi_srx_tick(struct qv_fi_srx *srx);

#endif /* QV_FI_DATA_H */
