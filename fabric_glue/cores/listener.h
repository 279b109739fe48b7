/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * listener.h - who lives, over a core of whose connections the kernel tells nothing (verbs). Each
 * endpoint listens by TCP at its own address in the core, as others do by the core's own means. Who
 * has to know whether a peer lives keeps a connection to it. No byte goes over it: the peer's kernel
 * ends it when the process dies, and answers keep-alive segments while it lives, busy or stopped.
 */
#ifndef QV_FI_LISTENER_H
#define QV_FI_LISTENER_H

#include "engine/proto/xport.h"

#include <stdbool.h>
#include <stddef.h>

struct qv_fi_listener;

/* own: the endpoint's address, struct sockaddr_in or sockaddr_in6. NULL: another kind of address, or
 * no memory. */
struct qv_fi_listener *qv_fi_listener_open(const void *own, size_t len);
void qv_fi_listener_close(struct qv_fi_listener *l);
/* Can others ask whether this endpoint lives? Not if another program has the port for TCP. */
bool qv_fi_listener_listens(const struct qv_fi_listener *l);

/* The first dealing with that endpoint: a short connection. That nobody answers there counts only if
 * one has stood before, since a firewall may answer, or keep silent. */
void qv_fi_listener_meet(struct qv_fi_listener *l, const void *addr, size_t len);
/* Does the endpoint live that listens there, or did? Does not wait: QV_UNSURE, ask again. QV_UNTOLD:
 * TCP has not reached it, or does not now. QV_SILENT: a connection has been without a sign of life for
 * *silent ms. */
enum qv_presence qv_fi_listener_ask(struct qv_fi_listener *l, const void *addr, size_t len,
				    uint64_t *silent);
/* To be called ten times a second or so: takes connections, and ends those of no use. */
void qv_fi_listener_tick(struct qv_fi_listener *l);

#endif /* QV_FI_LISTENER_H */
