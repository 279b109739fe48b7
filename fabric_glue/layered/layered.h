/* SPDX-License-Identifier: BSD-2-Clause */
/* layered.h - layered mode: our protocol over one core or two. What its table consists of. */
#ifndef QV_FI_LAYERED_H
#define QV_FI_LAYERED_H

#include "fabric_glue/calls.h"

/* transfer.c */
ssize_t qv_fi_layered_send(struct qv_fi_ep *ep, const struct qv_fi_send *s, uint64_t flags);
ssize_t qv_fi_layered_inject(struct qv_fi_ep *ep, const struct qv_fi_send *s);
ssize_t qv_fi_layered_recv(struct qv_fi_ep *ep, const struct qv_fi_recv *r, uint64_t flags);

/* coll.c */
int qv_fi_layered_coll_send(struct qv_fi_ep *ep, fi_addr_t to, const struct qv_fi_coll_io *io);
int qv_fi_layered_coll_recv(struct qv_fi_ep *ep, fi_addr_t from, const struct qv_fi_coll_io *io);
void qv_fi_layered_coll_cancel(struct qv_fi_ep *ep, void *context);
void qv_fi_layered_coll_discard(struct qv_fi_ep *ep, uint64_t tag, uint64_t ignore);

/* peers.c */
void qv_fi_layered_av_inserted(struct qv_fi_ep *ep, fi_addr_t index);
bool qv_fi_layered_av_removed(struct qv_fi_ep *ep, fi_addr_t index);

#endif /* QV_FI_LAYERED_H */
