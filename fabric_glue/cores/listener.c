/* SPDX-License-Identifier: BSD-2-Clause */
/* listener.c - who lives, by a TCP connection beside the core's own. */
#include "listener.h"
#include "listener_conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#define UNASKED_MS 2000  /* who has not been asked after for so long is looked after by the tick */
#define CLOSED_MS  300   /* a connection that ends so soon was one too many for the other side */
#define AGAIN_MS   1000  /* and no other is tried for so long */
#define IDLE_MS    10000 /* who has not been asked after for so long is not followed any more */
#define SILENT_MS  1500  /* no sign of life for so long is worth to be told */
#define BACKLOG    4096

/* Being asked. */

static int listen_at(const void *own, size_t len, sa_family_t family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0)
		return -1;
	/* Connections of who had the port before us may still be ending. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (!bind(fd, own, (socklen_t)len) && !listen(fd, BACKLOG))
		return fd;
	close(fd);
	return -1;
}

struct qv_fi_listener *qv_fi_listener_open(const void *own, size_t len)
{
	struct qv_fi_tcp_addr at;
	struct qv_fi_listener *l;

	if (!qv_fi_tcp_addr_of(own, len, &at) || !at.port)
		return NULL;
	l = calloc(1, sizeof *l);
	if (l)
		l->fd = listen_at(own, len, (sa_family_t)at.family);
	return l;
}

bool qv_fi_listener_listens(const struct qv_fi_listener *l)
{
	return l && l->fd >= 0;
}

void qv_fi_listener_close(struct qv_fi_listener *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nconns; i++)
		close(l->conns[i].fd);
	for (size_t i = 0; i < l->naccepted; i++)
		close(l->accepted[i]);
	if (l->fd >= 0)
		close(l->fd);
	free(l->slots);
	free(l->remotes);
	free(l);
}

/* Whom there is no room for is closed again: its owner sees that we live. */
static void accept_all(struct qv_fi_listener *l)
{
	int fd;

	for (size_t i = 0; i < l->naccepted;)
		if (qv_fi_conn_error(l->accepted[i])) {
			close(l->accepted[i]);
			l->accepted[i] = l->accepted[--l->naccepted];
		} else {
			i++;
		}
	while (l->fd >= 0 && (fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
		if (l->naccepted < QV_FI_CONNS_MAX)
			l->accepted[l->naccepted++] = fd;
		else
			close(fd);
}

/* Asking. */

static void note_life(const struct qv_fi_conn *conn, struct qv_fi_remote *remote, int64_t now)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof info;

	if (!getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	    now - info.tcpi_last_ack_recv > remote->alive_at)
		remote->alive_at = now - info.tcpi_last_ack_recv;
}

static enum qv_presence silence(const struct qv_fi_remote *remote, int64_t now, uint64_t *silent)
{
	if (now - remote->alive_at < SILENT_MS)
		return QV_PRESENT;
	*silent = (uint64_t)(now - remote->alive_at);
	return QV_SILENT;
}

static void lives(struct qv_fi_remote *remote, int64_t now)
{
	remote->alive_at = now;
	remote->lost = false;
}

/* Why a connection has ended, or none was made. */
static enum qv_presence judge(struct qv_fi_remote *remote, int error, bool stood, int64_t now,
			      uint64_t *silent)
{
	switch (error) {
	case ECONNREFUSED: lives(remote, now); return remote->reached ? QV_ABSENT : QV_UNTOLD;
	case ECONNRESET:
		remote->reached = true; /* or it would have been refused */
					/* fall through */
	case QV_FI_CONN_CLOSED: lives(remote, now); return QV_UNSURE; /* it is asked again */
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case EHOSTDOWN:
	case ENETUNREACH:
		/* That none is made proves nothing: a queue may be full, or a firewall shut. */
		remote->lost |= stood;
		return remote->lost ? silence(remote, now, silent) : QV_UNTOLD;
	case EADDRNOTAVAIL: return QV_UNSURE; /* no port of ours is free */
	default: return QV_UNTOLD;
	}
}

static enum qv_presence look(struct qv_fi_listener *l, struct qv_fi_conn *conn, int64_t now,
			     uint64_t *silent)
{
	struct qv_fi_remote *remote = &l->remotes[conn->remote];
	int error = qv_fi_conn_result(conn, remote, now);
	const bool stood = conn->stands;

	if (error == EINPROGRESS)
		return remote->lost ? silence(remote, now, silent) : QV_UNSURE;
	if (!error && !stood) {
		conn->stands = remote->reached = true;
		lives(remote, now);
		qv_fi_tcp_keep_alive(conn->fd);
	}
	if (!error && !(error = qv_fi_conn_error(conn->fd))) {
		note_life(conn, remote, now);
		return silence(remote, now, silent);
	}
	if (error == QV_FI_CONN_CLOSED && now - conn->since < CLOSED_MS)
		remote->not_before = now + AGAIN_MS;
	qv_fi_conn_drop(l, conn);
	return judge(remote, error, stood, now, silent);
}

enum qv_presence qv_fi_listener_ask(struct qv_fi_listener *l, const void *addr, size_t len,
				    uint64_t *silent)
{
	const int64_t now = qv_fi_now_ms();
	struct qv_fi_remote *remote = qv_fi_remote_at(l, addr, len, now);
	struct qv_fi_conn *conn;

	if (!remote)
		return QV_UNTOLD;
	if (now - remote->asked_at >= SILENT_MS && now - remote->alive_at >= SILENT_MS)
		remote->alive_at = now; /* nobody has asked it for one */
	remote->asked_at = now;
	conn = qv_fi_conn_with(l, remote);
	if (!conn)
		conn = qv_fi_conn_start(l, remote, now);
	if (!conn)
		return QV_UNSURE;
	conn->asked_at = now;
	return look(l, conn, now, silent);
}

/* It goes as soon as it stands. */
static bool connect_first(struct qv_fi_listener *l, struct qv_fi_remote *remote, int64_t now)
{
	struct qv_fi_conn *conn = qv_fi_conn_start(l, remote, now);

	if (conn)
		conn->asked_at = now - IDLE_MS;
	return conn;
}

void qv_fi_listener_meet(struct qv_fi_listener *l, const void *addr, size_t len)
{
	const int64_t now = qv_fi_now_ms();
	struct qv_fi_remote *remote = qv_fi_remote_at(l, addr, len, now);

	if (!remote || remote->reached || remote->waits || qv_fi_conn_with(l, remote))
		return;
	remote->waits = !connect_first(l, remote, now);
	l->nwaiting += remote->waits;
}

/* First connections for which there was no room. */
static void connect_waiting(struct qv_fi_listener *l, int64_t now)
{
	for (size_t i = 0; i < l->nremotes && l->nwaiting; i++) {
		struct qv_fi_remote *remote = &l->remotes[l->next++ % l->nremotes];

		if (!remote->waits)
			continue;
		if (!remote->reached && !qv_fi_conn_with(l, remote) &&
		    !connect_first(l, remote, now))
			return;
		remote->waits = false;
		l->nwaiting--;
	}
}

void qv_fi_listener_tick(struct qv_fi_listener *l)
{
	const int64_t now = qv_fi_now_ms();
	uint64_t silent;

	accept_all(l);
	for (size_t i = l->nconns; i-- > 0;) {
		/* What it tells is for who asks, if anybody does. */
		if (!l->conns[i].stands && now - l->conns[i].asked_at >= UNASKED_MS)
			look(l, &l->conns[i], now, &silent);
		if (i < l->nconns && l->conns[i].stands && now - l->conns[i].asked_at >= IDLE_MS)
			qv_fi_conn_drop(l, &l->conns[i]);
	}
	connect_waiting(l, now);
}
