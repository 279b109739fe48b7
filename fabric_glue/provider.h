/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * provider.h - what all of the provider shares:
 *
 *   host.h    the libfabric that has loaded us, and its log
 *   params.h  the environment
 *   domain.h  fabric, domain and its lock, address vector
 *
 * and here is what it offers, and how its objects are opened. data.h has those of the data path.
 */
#ifndef QV_FI_H
#define QV_FI_H

#include "engine/base/file_name.h"
#include "fabric_glue/domain.h"
#include "fabric_glue/params.h"

/* fabric_glue/objects/stats.c: libfabric ends; endpoints that are still open have their say. */
void qv_fi_stats_exit(void);
/* fabric_glue/objects/trace.c: the trace ends, too. */
void qv_fi_trace_exit(void);

/* fabric_glue/offer/info.c: getinfo and the choice of the core. */

int qv_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		  const struct fi_info *hints, struct fi_info **info);
int qv_fi_util_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);

struct qv_fi_cores; /* fabric_glue/cores/core.h */

/* What to ask of the core, with the addressing and names of the application's info
 * (may be NULL). */
struct fi_info *qv_fi_core_hints(const char *core, const struct fi_info *app);

/* The core's own fi_info for this application info: exactly the provider named core.
 * Caller frees with qv_fi_host.freeinfo. Returns 0 or -FI_E*. */
int qv_fi_core_info(const char *core, const struct fi_info *app, struct fi_info **info);

/* Opening of each object; the fi_ops tables point here. */
int qv_fi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int qv_fi_util_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int qv_fi_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		      void *context);
extern struct fi_ops_mr qv_fi_mr_ops; /* fabric_glue/objects/mr.c */
/* The domain's thread, if its application wants automatic progress. 0 or -FI_E*. */
int qv_fi_auto_start(struct qv_fi_domain *dom); /* fabric_glue/progress/auto.c */
void qv_fi_auto_stop(struct qv_fi_domain *dom);
void qv_fi_srx_port_close(
	struct qv_fi_srx_port *port); /* fabric_glue/peer/srx.c; NULL is allowed */
int qv_fi_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
		    struct fid_poll **pollset); /* fabric_glue/progress/pollset.c */
int qv_fi_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
		       struct fi_atomic_attr *attr,
		       uint64_t flags); /* fabric_glue/offer/atomic_valid.c */
int qv_fi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		  void *context);
int qv_fi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		  void *context);
int qv_fi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		    void *context);
int qv_fi_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		  void *context);
/* fabric_glue/coll/set.c, fabric_glue/coll/coll.c: fi_av_set, fi_query_collective */
int qv_fi_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
		 void *context);
int qv_fi_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
			   struct fi_collective_attr *attr, uint64_t flags);
int qv_fi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		  void *context); /* fabric_glue/objects/eq.c */
int qv_fi_trywait(struct fid_fabric *fabric, struct fid **fids,
		  int count); /* fabric_glue/progress/wait_set.c */

/* stub.c: what a call that we do not serve answers, -FI_ENOSYS. */
int qv_fi_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int qv_fi_no_control(struct fid *fid, int command, void *arg);
int qv_fi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif /* QV_FI_H */
