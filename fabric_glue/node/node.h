/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * node.h - the core `node`: engine/node behind the objects of libfabric that the provider expects of
 * a core. Only messages: the poll loop and the protocol speak to engine/node itself.
 */
#ifndef QV_FI_NODE_H
#define QV_FI_NODE_H

#include "engine/node/node.h"
#include "fabric_glue/provider.h"

#define QV_FI_NODE_NAME "node"

bool qv_fi_is_node(const char *core);
/* As fi_getinfo and fi_fabric of the core. */
int qv_fi_node_getinfo(const struct fi_info *hints, struct fi_info **list);
int qv_fi_node_fabric(struct fid_fabric **fabric);
/* The endpoint behind one of the core's; NULL: it is another core's. */
struct qv_node *qv_fi_node_of(const struct fid_ep *ep);

/* Inside. */

struct qv_fi_node_av {
	struct fid_av fid;
	struct qv_names *names;
	struct qv_fi_node_ep *eps; /* bound to it */
};

struct qv_fi_node_ep {
	struct fid_ep fid; /* fid.context: the rail */
	struct qv_node *node;
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
/* eq.c */
int qv_fi_node_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		       void *context);
/* Addresses are text: a scheme, and the name of the endpoint in decimal. */
#define QV_FI_NODE_TEXT 32 /* bytes, with the zero */
size_t qv_fi_node_print(char *text, uint64_t name);
bool qv_fi_node_parse(const char *text, uint64_t *name);

#endif /* QV_FI_NODE_H */
