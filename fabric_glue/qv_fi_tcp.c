/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_fi_tcp.c - what the kernel knows of TCP connections, and the cores do not tell.
 *
 * Does anybody listen at an address? A connection of our own tells; but who is alive and busy would
 * find all these connections waiting for him some day. So this is done only where the process, its
 * core that is, has no connection to that address yet.
 */
#include "qv_fi_presence.h"

#include <dirent.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROBES_MAX   64   /* connections that are being made */
#define PROBE_MS     3000 /* as good as no answer */
#define SNAPSHOT_MS  50   /* what is known of the core's connections is true for so long */
#define SNAPSHOT_MAX 4096 /* of them */

/* An end of a connection, in a form that can be compared. */
struct end {
	uint8_t addr[16];
	uint16_t port, family;
};

struct link {
	struct end to;
	bool unacked; /* the other host has not confirmed all that was sent */
};

/* A connection that is being made. */
struct probe {
	struct end to;
	int fd;
	int64_t since; /* ms */
};

struct qv_fi_tcp {
	struct probe probes[PROBES_MAX];
	size_t nprobes;
	struct link *links; /* room for SNAPSHOT_MAX */
	size_t nlinks;
	bool calling;        /* a host that has not answered yet; the kernel does not say which */
	int64_t snapshot_at; /* ms */
};

struct qv_fi_tcp *qv_fi_tcp_open(void)
{
	struct qv_fi_tcp *l = calloc(1, sizeof *l);

	if (l)
		l->links = malloc(SNAPSHOT_MAX * sizeof *l->links);
	if (l && l->links)
		return l;
	free(l);
	return NULL;
}

void qv_fi_tcp_close(struct qv_fi_tcp *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nprobes; i++)
		close(l->probes[i].fd);
	free(l->links);
	free(l);
}

static bool end_of(const void *addr, size_t len, struct end *end)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	sa_family_t family;

	memset(end, 0, sizeof *end);
	if (len < sizeof family)
		return false;
	memcpy(&family, addr, sizeof family);
	end->family = family;
	if (family == AF_INET && len >= sizeof in) {
		memcpy(&in, addr, sizeof in);
		memcpy(end->addr, &in.sin_addr, sizeof in.sin_addr);
		end->port = in.sin_port;
		return true;
	}
	if (family == AF_INET6 && len >= sizeof in6) {
		memcpy(&in6, addr, sizeof in6);
		memcpy(end->addr, &in6.sin6_addr, sizeof in6.sin6_addr);
		end->port = in6.sin6_port;
		return true;
	}
	return false;
}

static bool same(const struct end *a, const struct end *b)
{
	return !memcmp(a, b, sizeof *a);
}

/* Who this socket is connected to; false: nobody, or itself. */
static bool peer_of(int fd, struct end *end)
{
	struct sockaddr_storage there, here;
	socklen_t there_len = sizeof there, here_len = sizeof here;
	struct end own;

	return !getpeername(fd, (struct sockaddr *)&there, &there_len) &&
	       !getsockname(fd, (struct sockaddr *)&here, &here_len) &&
	       end_of(&there, there_len, end) && end_of(&here, here_len, &own) && !same(end, &own);
}

/* Is this a connection that is being made? */
static bool is_calling(int fd)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof info;

	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	       info.tcpi_state == TCP_SYN_SENT;
}

static bool is_probe(const struct qv_fi_tcp *l, int fd)
{
	for (size_t i = 0; i < l->nprobes; i++)
		if (l->probes[i].fd == fd)
			return true;
	return false;
}

static void take_snapshot(struct qv_fi_tcp *l, int64_t now)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	l->snapshot_at = now;
	l->nlinks = 0;
	l->calling = false;
	while (dir && l->nlinks < SNAPSHOT_MAX && (entry = readdir(dir))) {
		struct link *link = &l->links[l->nlinks];
		int fd = atoi(entry->d_name), bytes;

		if (is_probe(l, fd))
			continue;
		if (!peer_of(fd, &link->to)) {
			l->calling |= is_calling(fd);
			continue;
		}
		link->unacked = !ioctl(fd, SIOCOUTQ, &bytes) && bytes > 0;
		l->nlinks++;
	}
	if (dir)
		closedir(dir);
}

static void look_at_links(struct qv_fi_tcp *l, int64_t now)
{
	if (!l->snapshot_at || now - l->snapshot_at >= SNAPSHOT_MS)
		take_snapshot(l, now);
}

static bool is_connected(struct qv_fi_tcp *l, const struct end *to, int64_t now)
{
	look_at_links(l, now);
	for (size_t i = 0; i < l->nlinks; i++)
		if (same(&l->links[i].to, to))
			return true;
	return false;
}

/*
 * Whatever the port: who was called by the peer does not know by which one. What is for a host that
 * has not answered yet is still with the core.
 */
bool qv_fi_tcp_unacked(struct qv_fi_tcp *l, const void *addr, size_t len)
{
	struct end to;

	if (!end_of(addr, len, &to))
		return false;
	look_at_links(l, qv_fi_now_ms());
	if (l->calling)
		return true;
	for (size_t i = 0; i < l->nlinks; i++)
		if (l->links[i].unacked && !memcmp(l->links[i].to.addr, to.addr, sizeof to.addr))
			return true;
	return false;
}

/* A host that cannot be reached is no reason to give its processes up: a cable may be off. */
static enum qv_presence verdict(int error)
{
	return error == ECONNREFUSED ? QV_ABSENT : QV_PRESENT;
}

static void end_probe(struct qv_fi_tcp *l, struct probe *probe)
{
	close(probe->fd);
	*probe = l->probes[--l->nprobes];
}

static enum qv_presence look_at(struct qv_fi_tcp *l, struct probe *probe, int64_t now)
{
	struct pollfd pfd = {.fd = probe->fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int error = 0;

	if (poll(&pfd, 1, 0) <= 0) {
		if (now - probe->since < PROBE_MS)
			return QV_UNSURE;
		error = ETIMEDOUT;
	} else if (getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &error, &len)) {
		error = errno;
	}
	end_probe(l, probe);
	return verdict(error);
}

static enum qv_presence begin_probe(struct qv_fi_tcp *l, const struct end *to, const void *addr,
				    size_t len, int64_t now)
{
	int fd, error = 0;

	if (l->nprobes == PROBES_MAX)
		return QV_UNSURE;
	fd = socket(to->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return QV_PRESENT;
	if (connect(fd, addr, (socklen_t)len))
		error = errno;
	if (error == EINPROGRESS) {
		l->probes[l->nprobes++] = (struct probe){*to, fd, now};
		return QV_UNSURE;
	}
	close(fd);
	return verdict(error);
}

/* Those that nobody asks for any more. */
static void drop_old(struct qv_fi_tcp *l, int64_t now)
{
	for (size_t i = 0; i < l->nprobes;)
		if (now - l->probes[i].since >= 2 * PROBE_MS)
			end_probe(l, &l->probes[i]);
		else
			i++;
}

enum qv_presence qv_fi_tcp_listens(struct qv_fi_tcp *l, const void *addr, size_t len)
{
	int64_t now = qv_fi_now_ms();
	struct end to;

	if (!end_of(addr, len, &to))
		return QV_PRESENT;
	drop_old(l, now);
	for (size_t i = 0; i < l->nprobes; i++)
		if (same(&l->probes[i].to, &to))
			return look_at(l, &l->probes[i], now);
	if (is_connected(l, &to, now))
		return QV_PRESENT;
	return begin_probe(l, &to, addr, len, now);
}
