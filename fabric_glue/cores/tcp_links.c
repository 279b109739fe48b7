/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_links.c - the core's TCP connections, found among the open files of this process. */
#include "tcp.h"

#include <dirent.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define SNAPSHOT_MS 50 /* what is known of the core's connections is true for so long */

bool qv_fi_tcp_addr_of(const void *addr, size_t len, struct qv_fi_tcp_addr *end)
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

static void set(int fd, int level, int option, int value)
{
	(void)setsockopt(fd, level, option, &value, sizeof value);
}

void qv_fi_tcp_keep_alive(int fd)
{
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

/* Who this socket is connected to; false: nobody, or itself. */
static bool peer_of(int fd, struct qv_fi_tcp_addr *end, uint16_t *port)
{
	struct sockaddr_storage there, here;
	socklen_t there_len = sizeof there, here_len = sizeof here;
	struct qv_fi_tcp_addr own;

	if (getpeername(fd, (struct sockaddr *)&there, &there_len) ||
	    getsockname(fd, (struct sockaddr *)&here, &here_len) ||
	    !qv_fi_tcp_addr_of(&there, there_len, end) ||
	    !qv_fi_tcp_addr_of(&here, here_len, &own) || qv_fi_tcp_same(end, &own))
		return false;
	*port = own.port;
	return true;
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
	while (dir && l->nlinks < QV_FI_TCP_LINKS && (entry = readdir(dir))) {
		struct qv_fi_tcp_link *link = &l->links[l->nlinks];
		int fd = atoi(entry->d_name), bytes;

		if (is_probe(l, fd))
			continue;
		if (!peer_of(fd, &link->to, &link->port)) {
			l->calling |= is_calling(fd);
			continue;
		}
		link->fd = fd;
		link->unacked = !ioctl(fd, SIOCOUTQ, &bytes) && bytes > 0;
		l->nlinks++;
	}
	if (dir)
		closedir(dir);
}

void qv_fi_tcp_look(struct qv_fi_tcp *l, int64_t now)
{
	if (!l->snapshot_at || now - l->snapshot_at >= SNAPSHOT_MS)
		take_snapshot(l, now);
}

bool qv_fi_tcp_is_cores(const struct qv_fi_tcp *l, const struct qv_fi_tcp_link *link,
			const struct qv_fi_tcp_addr *to)
{
	return qv_fi_tcp_same(&link->to, to) || (l->port && link->port == l->port);
}

/*
 * Whatever the port: who was called by the peer does not know by which one. What is for a host that
 * has not answered yet is still with the core.
 */
bool qv_fi_tcp_unacked(struct qv_fi_tcp *l, const void *addr, size_t len)
{
	struct qv_fi_tcp_addr to;

	if (!qv_fi_tcp_addr_of(addr, len, &to))
		return false;
	qv_fi_tcp_look(l, qv_fi_now_ms());
	if (l->calling)
		return true;
	for (size_t i = 0; i < l->nlinks; i++)
		if (l->links[i].unacked && !memcmp(l->links[i].to.addr, to.addr, sizeof to.addr))
			return true;
	return false;
}

/* Who was called does not know by whom of that host. What such a connection carries
 * is sent again. */
void qv_fi_tcp_end(struct qv_fi_tcp *l, const void *addr, size_t len, bool others)
{
	struct qv_fi_tcp_addr to;
	bool some = false;

	if (!qv_fi_tcp_addr_of(addr, len, &to))
		return;
	take_snapshot(l, qv_fi_now_ms());
	for (size_t i = 0; i < l->nlinks; i++)
		if (qv_fi_tcp_same(&l->links[i].to, &to))
			some |= shutdown(l->links[i].fd, SHUT_RDWR) == 0;
	for (size_t i = 0; others && !some && i < l->nlinks; i++)
		if (qv_fi_tcp_same_host(&l->links[i].to, &to) &&
		    qv_fi_tcp_is_cores(l, &l->links[i], &to))
			shutdown(l->links[i].fd, SHUT_RDWR);
	l->snapshot_at = 0;
}
