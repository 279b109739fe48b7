/* SPDX-License-Identifier: BSD-2-Clause */
/* listener_conn.h - what listener.c and listener_conn.c share: the endpoints that are asked after, and
 * connections with them. */
#ifndef QV_FI_LISTENER_CONN_H
#define QV_FI_LISTENER_CONN_H

#include "listener.h"
#include "tcp.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define QV_FI_CONNS_MAX   64   /* each way: the application needs descriptors, too */
#define QV_FI_CONN_CLOSED (-1) /* the other side has closed it */

/* An endpoint of another process. */
struct qv_fi_remote {
	struct qv_fi_tcp_addr to;
	struct sockaddr_in6 addr; /* or struct sockaddr_in */
	socklen_t len;
	bool reached;       /* a connection with it has stood: no firewall is between */
	bool lost;          /* the last one that stood broke for want of an answer */
	bool waits;         /* there was no room for its first connection */
	int64_t alive_at;   /* ms: its last sign of life */
	int64_t asked_at;   /* ms */
	int64_t not_before; /* ms: no connection until then */
};

/* A connection that we have made, or are making. */
struct qv_fi_conn {
	size_t remote; /* its place among the remotes */
	int fd;
	int error; /* of connect(2), if it was known at once */
	bool stands;
	int64_t since, asked_at; /* ms */
};

struct qv_fi_listener {
	int fd; /* -1: nobody can ask for us */
	int accepted[QV_FI_CONNS_MAX];
	size_t naccepted;
	struct qv_fi_conn conns[QV_FI_CONNS_MAX];
	size_t nconns;
	/* By address: open addressing, at most half full; 1 + place among the remotes, 0: free. */
	size_t *slots;
	size_t mask;
	struct qv_fi_remote *remotes; /* none is ever forgotten */
	size_t nremotes;
	size_t nwaiting; /* of them wait */
	size_t next;     /* the tick looks for one of these from there on */
};

/* Known or new; NULL: another kind of address, or no memory. */
struct qv_fi_remote *qv_fi_remote_at(struct qv_fi_listener *l, const void *addr, size_t len,
				     int64_t now);
/* The connection with it, NULL: there is none. */
struct qv_fi_conn *qv_fi_conn_with(struct qv_fi_listener *l, const struct qv_fi_remote *remote);
/* A new one; NULL: not now. */
struct qv_fi_conn *qv_fi_conn_start(struct qv_fi_listener *l, struct qv_fi_remote *remote,
				    int64_t now);
void qv_fi_conn_drop(struct qv_fi_listener *l, struct qv_fi_conn *conn);
/* EINPROGRESS: it is being made; 0: it stands; or why not. */
int qv_fi_conn_result(const struct qv_fi_conn *conn, const struct qv_fi_remote *remote,
		      int64_t now);
/* Of one that stands, or stood: errno, QV_FI_CONN_CLOSED, or 0. */
int qv_fi_conn_error(int fd);

#endif /* QV_FI_LISTENER_CONN_H */
