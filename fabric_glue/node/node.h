/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.h - the core `node`: engine/node behind the objects of libfabric that the provider expects of
 * a core. The poll loop and the protocol speak to engine/node itself; one-sided operations come by
 * libfabric's calls, as to any core.
 */
#ifndef QV_FI_NODE_H
#define QV_FI_NODE_H

#include "engine/node/node.h"
#include "memory.h"

#define QV_FI_NODE_NAME "node"

bool qv_fi_is_node(const char *core);
/* As fi_getinfo and fi_fabric of the core. */
int qv_fi_node_getinfo(const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **list);
int qv_fi_node_fabric(struct fid_fabric **fabric);
/* The endpoint behind one of the core's; NULL: it is another core's. */
struct qv_node *qv_fi_node_of(const struct fid_ep *ep);
struct qv_fi_rail;
/* As qv_node_poll, of a rail over one of these; of a reader who waits for entries a few packets. */
bool qv_fi_node_poll(struct qv_fi_rail *rail);

/* Inside. */

struct qv_fi_node_domain {
	struct fid_domain fid;
	bool virtual_addr; /* peers name memory by its address, else from 0 on */
	struct qv_fi_memory memory;
};

struct qv_fi_node_cntr {
	struct fid_cntr fid;
	uint64_t value;
};

struct qv_fi_node_av {
	struct fid_av fid;
	struct qv_names *names;
	struct qv_fi_node_ep *eps; /* bound to it */
};

struct qv_fi_node_ep {
	struct fid_ep fid; /* fid.context: the rail */
	struct qv_node *node;
	struct qv_fi_node_domain *domain;
	struct qv_fi_node_cntr *reads, *writes; /* of others, in our memory; NULL: nobody counts */
	struct qv_fi_node_av *av;
	struct qv_fi_node_ep *next;
};

struct qv_fi_node_cq {
	struct fid_cq fid;
	struct qv_node *node; /* of the endpoint that is bound */
};

/* ep.c, av.c */
int qv_fi_node_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		       void *rail);
int qv_fi_node_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		       void *context);
struct qv_fi_node_ep *qv_fi_node_ep_of(struct fid_ep *ep);
/* objects.c: another core chooses the keys of this domain's memory (qv_fi_memory.same_keys). */
void qv_fi_node_take_keys(struct fid_domain *domain);

/* mr.c: memory that others reach, and what they do there */
extern struct fi_ops_mr qv_fi_node_mr_ops;
extern const struct qv_memory_ops qv_fi_node_memory_ops;
int qv_fi_node_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
			 struct fid_cntr **cntr, void *context);
/* rma.c, atomic.c */
extern struct fi_ops_rma qv_fi_node_rma_ops;
extern struct fi_ops_atomic qv_fi_node_atomic_ops;
int qv_fi_node_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
			    struct fi_atomic_attr *attr, uint64_t flags);
/* update.c: which atomic operation, in a word. */
#define QV_FI_NODE_UPDATE(op, type) ((uint16_t)((unsigned)(type) << 8 | (unsigned)(op)))
/* Is there one, with so many operands, with or without a result? */
bool qv_fi_node_can_update(uint16_t what, size_t operands, bool result);
/* Operands: one array behind the other. */
void qv_fi_node_update(const struct qv_combine *combine, uint16_t what, void *memory,
		       const char *operands, size_t len);
/* Addresses are text: a scheme, and the name of the endpoint in decimal. */
#define QV_FI_NODE_SCHEME "fi_node://"
#define QV_FI_NODE_TEXT   32 /* bytes, with the zero */
size_t qv_fi_node_print(char *text, uint64_t name);
bool qv_fi_node_parse(const char *text, uint64_t *name);
/* The name for which a service stands: whoever has it is on this node. Without a service the host's.
 * It is odd. Who may be at any host is given the even one below it: either will do. 0: any will. */
uint64_t qv_fi_node_of_service(const char *node, const char *service);

#endif /* QV_FI_NODE_H */
