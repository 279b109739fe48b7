/* SPDX-License-Identifier: BSD-2-Clause */
/* listener_conn.c - connections with the endpoints that are asked after. */
#include "listener_conn.h"
#include "engine/base/hash.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define CONNECT_MS 2000 /* then it is tried again */
#define TURN_MS    1000 /* where there are too many, each stands so long at least */

/* Endpoints. */

static size_t *slot_of(const struct qv_fi_listener *l, const struct qv_fi_tcp_addr *to)
{
	size_t i = (size_t)qv_fnv(QV_FNV_START, to, sizeof *to) & l->mask;

	while (l->slots[i] && !qv_fi_tcp_same(&l->remotes[l->slots[i] - 1].to, to))
		i = (i + 1) & l->mask;
	return &l->slots[i];
}

static bool make_room(struct qv_fi_listener *l)
{
	const size_t n = l->remotes ? 2 * (l->mask + 1) : 64;
	struct qv_fi_remote *remotes;
	size_t *slots;

	if (l->remotes && 2 * (l->nremotes + 1) <= l->mask + 1)
		return true;
	remotes = realloc(l->remotes, n / 2 * sizeof *remotes);
	if (remotes)
		l->remotes = remotes;
	slots = remotes ? calloc(n, sizeof *slots) : NULL;
	if (!slots)
		return false;
	free(l->slots);
	l->slots = slots;
	l->mask = n - 1;
	for (size_t i = 0; i < l->nremotes; i++)
		*slot_of(l, &l->remotes[i].to) = i + 1;
	return true;
}

struct qv_fi_remote *qv_fi_remote_at(struct qv_fi_listener *l, const void *addr, size_t len,
				     int64_t now)
{
	struct qv_fi_tcp_addr to;
	struct qv_fi_remote *remote;
	size_t *slot;

	if (len > sizeof remote->addr || !qv_fi_tcp_addr_of(addr, len, &to) || !make_room(l))
		return NULL;
	slot = slot_of(l, &to);
	if (*slot)
		return &l->remotes[*slot - 1];
	remote = &l->remotes[l->nremotes++];
	*slot = l->nremotes;
	*remote = (struct qv_fi_remote){
		.to = to, .len = (socklen_t)len, .alive_at = now, .asked_at = now};
	memcpy(&remote->addr, addr, len);
	return remote;
}

/* Connections. */

struct qv_fi_conn *qv_fi_conn_with(struct qv_fi_listener *l, const struct qv_fi_remote *remote)
{
	for (size_t i = 0; i < l->nconns; i++)
		if (&l->remotes[l->conns[i].remote] == remote)
			return &l->conns[i];
	return NULL;
}

void qv_fi_conn_drop(struct qv_fi_listener *l, struct qv_fi_conn *conn)
{
	close(conn->fd);
	*conn = l->conns[--l->nconns];
}

/* Where too many are asked after, they take turns. */
static void drop_oldest(struct qv_fi_listener *l, int64_t now)
{
	struct qv_fi_conn *oldest = NULL;

	for (size_t i = 0; i < l->nconns; i++)
		if (l->conns[i].stands && (!oldest || l->conns[i].since < oldest->since))
			oldest = &l->conns[i];
	if (oldest && now - oldest->since >= TURN_MS)
		qv_fi_conn_drop(l, oldest);
}

struct qv_fi_conn *qv_fi_conn_start(struct qv_fi_listener *l, struct qv_fi_remote *remote,
				    int64_t now)
{
	struct qv_fi_conn *conn;
	int fd;

	if (now < remote->not_before)
		return NULL;
	if (l->nconns == QV_FI_CONNS_MAX)
		drop_oldest(l, now);
	if (l->nconns == QV_FI_CONNS_MAX)
		return NULL;
	fd = socket(remote->to.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	conn = &l->conns[l->nconns++];
	*conn = (struct qv_fi_conn){
		.remote = (size_t)(remote - l->remotes), .fd = fd, .since = now, .asked_at = now};
	if (connect(fd, (const struct sockaddr *)&remote->addr, remote->len) &&
	    errno != EINPROGRESS)
		conn->error = errno;
	return conn;
}

/* Where nobody listens on this host, connect(2) may take just that port, and meet itself. */
static bool meets_itself(const struct qv_fi_conn *conn, const struct qv_fi_remote *remote)
{
	struct sockaddr_storage here;
	socklen_t len = sizeof here;
	struct qv_fi_tcp_addr own;

	return !getsockname(conn->fd, (struct sockaddr *)&here, &len) &&
	       qv_fi_tcp_addr_of(&here, len, &own) && qv_fi_tcp_same(&own, &remote->to);
}

int qv_fi_conn_result(const struct qv_fi_conn *conn, const struct qv_fi_remote *remote, int64_t now)
{
	struct pollfd pfd = {.fd = conn->fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int error = 0;

	if (conn->stands || conn->error)
		return conn->error;
	if (poll(&pfd, 1, 0) <= 0)
		return now - conn->since < CONNECT_MS ? EINPROGRESS : ETIMEDOUT;
	if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		error = errno;
	return !error && meets_itself(conn, remote) ? ECONNREFUSED : error;
}

int qv_fi_conn_error(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);

	if (n == 0)
		return QV_FI_CONN_CLOSED;
	return n > 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : errno;
}
