/* SPDX-License-Identifier: BSD-2-Clause */
/* presence.h - is anybody at an address? */
#ifndef QV_FI_PRESENCE_H
#define QV_FI_PRESENCE_H

#include "fabric_glue/data.h"

/* An address of shm as text, and whether the process that made it lives; true in doubt. */
bool qv_fi_shm_alive(const char *name);
/* Mark our own endpoint's file for that, where processes of other name spaces may look at it, which
 * know us by another number. -1: it cannot be marked; else to be closed with the endpoint. */
int qv_fi_shm_mark(const char *name, bool peer);
/* Before the core makes our own endpoint's file: what a dead process with our number has left there
 * goes. -FI_EBUSY: it is another user's, or may be in use. */
int qv_fi_shm_take_over(const char *name);

/* The kernel's word on TCP; NULL: no memory. own, addr: struct sockaddr_in or sockaddr_in6; own is
 * where the core listens. */
struct qv_fi_tcp *qv_fi_tcp_open(const void *own, size_t len);
void qv_fi_tcp_close(struct qv_fi_tcp *l);
/* Does anybody listen there? Does not wait: QV_UNSURE, ask again. QV_SILENT: the host has not given
 * a sign of life for *silent ms. */
enum qv_presence qv_fi_tcp_listens(struct qv_fi_tcp *l, const void *addr, size_t len,
				   uint64_t *silent);
/* End the core's connection to that address; others: if it has none, those from that host. */
void qv_fi_tcp_end(struct qv_fi_tcp *l, const void *addr, size_t len, bool others);
/* Has that host not confirmed yet all that this process has sent it? */
bool qv_fi_tcp_unacked(struct qv_fi_tcp *l, const void *addr, size_t len);

#endif /* QV_FI_PRESENCE_H */
