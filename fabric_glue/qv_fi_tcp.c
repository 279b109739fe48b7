/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qv_fi_tcp.c - what the kernel knows of TCP connections, and the cores do not tell.
 *
 * Does a host answer? Its kernel acknowledges what the core has sent, and keep-alive segments,
 * which are switched on for the core's connections here; the last acknowledgement is its last sign
 * of life.
 *
 * Does anybody listen at an address? A connection of our own tells; but who is alive and busy would
 * find all these connections waiting for him some day. So this is done only where the core has no
 * connection to that address, and again only when one of its connections with that host is gone.
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
#define PROBE_MS     1000 /* then it is tried again: what was lost comes late */
#define SILENT_MS    1500 /* no sign of life for so long is worth to be told */
#define SNAPSHOT_MS  50   /* what is known of the core's connections is true for so long */
#define SNAPSHOT_MAX 4096 /* of them */

/* An end of a connection, in a form that can be compared. */
struct end {
	uint8_t addr[16];
	uint16_t port, family;
};

struct link {
	struct end to;
	int fd;
	uint16_t port; /* our end's */
	bool unacked;  /* the other host has not confirmed all that was sent */
};

/* A host, by any address of it with port 0. */
struct host {
	struct end addr;
	int64_t alive_at; /* ms: its last sign of life, or when we first looked */
};

/* An address at which somebody listened. */
struct proof {
	struct end to;
	uint64_t links; /* the core's connections with that host, then */
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
	struct host *hosts;
	size_t nhosts;
	struct proof *proofs;
	size_t nproofs;
	uint16_t port;       /* the core listens there; 0: not known */
	bool calling;        /* a host that has not answered yet; the kernel does not say which */
	int64_t snapshot_at; /* ms */
};

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

struct qv_fi_tcp *qv_fi_tcp_open(const void *own, size_t len)
{
	struct qv_fi_tcp *l = calloc(1, sizeof *l);
	struct end end;

	if (l)
		l->links = malloc(SNAPSHOT_MAX * sizeof *l->links);
	if (!l || !l->links) {
		free(l);
		return NULL;
	}
	if (end_of(own, len, &end))
		l->port = end.port;
	return l;
}

void qv_fi_tcp_close(struct qv_fi_tcp *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->nprobes; i++)
		close(l->probes[i].fd);
	free(l->hosts);
	free(l->proofs);
	free(l->links);
	free(l);
}

static bool same(const struct end *a, const struct end *b)
{
	return !memcmp(a, b, sizeof *a);
}

/* Who this socket is connected to; false: nobody, or itself. */
static bool peer_of(int fd, struct end *end, uint16_t *port)
{
	struct sockaddr_storage there, here;
	socklen_t there_len = sizeof there, here_len = sizeof here;
	struct end own;

	if (getpeername(fd, (struct sockaddr *)&there, &there_len) ||
	    getsockname(fd, (struct sockaddr *)&here, &here_len) ||
	    !end_of(&there, there_len, end) || !end_of(&here, here_len, &own) || same(end, &own))
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
	while (dir && l->nlinks < SNAPSHOT_MAX && (entry = readdir(dir))) {
		struct link *link = &l->links[l->nlinks];
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

static void look_at_links(struct qv_fi_tcp *l, int64_t now)
{
	if (!l->snapshot_at || now - l->snapshot_at >= SNAPSHOT_MS)
		take_snapshot(l, now);
}

static bool same_host(const struct end *a, const struct end *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, sizeof a->addr);
}

/* The core's: it has called that address, or was called itself. */
static bool is_cores(const struct qv_fi_tcp *l, const struct link *link, const struct end *to)
{
	return same(&link->to, to) || (l->port && link->port == l->port);
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

static void end_probe(struct qv_fi_tcp *l, struct probe *probe)
{
	close(probe->fd);
	*probe = l->probes[--l->nprobes];
}

/* ---- signs of life ----------------------------------------------------------------------------
 */
static struct host *host_of(struct qv_fi_tcp *l, const struct end *to, int64_t now)
{
	struct host *hosts;

	for (size_t i = 0; i < l->nhosts; i++)
		if (same_host(&l->hosts[i].addr, to))
			return &l->hosts[i];
	hosts = realloc(l->hosts, (l->nhosts + 1) * sizeof *hosts);
	if (!hosts)
		return NULL;
	l->hosts = hosts;
	hosts[l->nhosts] = (struct host){.addr = *to, .alive_at = now};
	return &hosts[l->nhosts++];
}

static void set(int fd, int level, int option, int value)
{
	(void)setsockopt(fd, level, option, &value, sizeof value);
}

/* The other host is asked every second. */
static void watch_link(int fd)
{
	int on = 0;
	socklen_t len = sizeof on;

	if (!qv_fi_params.death || getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &len) || on)
		return;
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}

static uint64_t mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 32;
}

/* The core's connections with this host: which they are, as one number; 0: it has none. What they
 * tell of the host is noted. */
static uint64_t look_at_host(struct qv_fi_tcp *l, const struct end *to, struct host *host,
			     int64_t now)
{
	uint64_t all = 0;

	for (size_t i = 0; i < l->nlinks; i++) {
		const struct link *link = &l->links[i];
		struct tcp_info info = {0};
		socklen_t len = sizeof info;

		if (!same_host(&link->to, to) || !is_cores(l, link, to))
			continue;
		watch_link(link->fd);
		if (getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &len) ||
		    info.tcpi_state != TCP_ESTABLISHED)
			continue;
		if (now - info.tcpi_last_ack_recv > host->alive_at)
			host->alive_at = now - info.tcpi_last_ack_recv;
		all += mix((uint64_t)link->to.port << 32 | (uint64_t)link->port << 16 |
			   (uint16_t)link->fd) |
		       1;
	}
	return all;
}

static bool is_connected(const struct qv_fi_tcp *l, const struct end *to)
{
	for (size_t i = 0; i < l->nlinks; i++)
		if (same(&l->links[i].to, to))
			return true;
	return false;
}

static struct proof *proof_of(struct qv_fi_tcp *l, const struct end *to)
{
	struct proof *proofs;

	for (size_t i = 0; i < l->nproofs; i++)
		if (same(&l->proofs[i].to, to))
			return &l->proofs[i];
	proofs = realloc(l->proofs, (l->nproofs + 1) * sizeof *proofs);
	if (!proofs)
		return NULL;
	l->proofs = proofs;
	proofs[l->nproofs] = (struct proof){.to = *to};
	return &proofs[l->nproofs++];
}

/* ---- probes -----------------------------------------------------------------------------------
 */

/* 0: somebody listens; ECONNREFUSED; EINPROGRESS: not known yet; another: the host is not there. */
static int look_at(struct qv_fi_tcp *l, struct probe *probe, int64_t now)
{
	struct pollfd pfd = {.fd = probe->fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int error = 0;

	if (poll(&pfd, 1, 0) <= 0) {
		if (now - probe->since < PROBE_MS)
			return EINPROGRESS;
		error = ETIMEDOUT;
	} else if (getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &error, &len)) {
		error = errno;
	}
	end_probe(l, probe);
	return error;
}

static int begin_probe(struct qv_fi_tcp *l, const struct end *to, const void *addr, size_t len,
		       int64_t now)
{
	int fd, error = 0;

	if (l->nprobes == PROBES_MAX)
		return EINPROGRESS;
	fd = socket(to->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return EINPROGRESS;
	if (connect(fd, addr, (socklen_t)len))
		error = errno;
	if (error == EINPROGRESS)
		l->probes[l->nprobes++] = (struct probe){*to, fd, now};
	else
		close(fd);
	return error;
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

static int try_address(struct qv_fi_tcp *l, const struct end *to, const void *addr, size_t len,
		       int64_t now)
{
	for (size_t i = 0; i < l->nprobes; i++)
		if (same(&l->probes[i].to, to))
			return look_at(l, &l->probes[i], now);
	return begin_probe(l, to, addr, len, now);
}

enum qv_presence qv_fi_tcp_listens(struct qv_fi_tcp *l, const void *addr, size_t len,
				   uint64_t *silent)
{
	int64_t now = qv_fi_now_ms();
	int error = EINPROGRESS;
	struct proof *proof;
	struct host *host;
	struct end to;
	uint64_t links;

	if (!end_of(addr, len, &to))
		return QV_PRESENT;
	host = host_of(l, &to, now);
	proof = proof_of(l, &to);
	if (!host || !proof)
		return QV_UNSURE;
	drop_old(l, now);
	look_at_links(l, now);
	links = look_at_host(l, &to, host, now);
	if (is_connected(l, &to) || (links && links == proof->links))
		error = 0;
	else
		error = try_address(l, &to, addr, len, now);
	if (error == 0 && !is_connected(l, &to))
		proof->links = links;
	if (error == ECONNREFUSED) {
		host->alive_at = now; /* it says so itself */
		return QV_ABSENT;
	}
	if (error == 0 && !links)
		host->alive_at = now;
	if (now - host->alive_at >= SILENT_MS) {
		*silent = (uint64_t)(now - host->alive_at);
		return QV_SILENT;
	}
	return error == EINPROGRESS ? QV_UNSURE : QV_PRESENT;
}

/* Who was called does not know by whom of that host. What such a connection carries is sent again.
 */
void qv_fi_tcp_end(struct qv_fi_tcp *l, const void *addr, size_t len, bool others)
{
	struct end to;
	bool some = false;

	if (!end_of(addr, len, &to))
		return;
	take_snapshot(l, qv_fi_now_ms());
	for (size_t i = 0; i < l->nlinks; i++)
		if (same(&l->links[i].to, &to))
			some |= shutdown(l->links[i].fd, SHUT_RDWR) == 0;
	for (size_t i = 0; others && !some && i < l->nlinks; i++)
		if (same_host(&l->links[i].to, &to) && is_cores(l, &l->links[i], &to))
			shutdown(l->links[i].fd, SHUT_RDWR);
	l->snapshot_at = 0;
}
