/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcp.c - what the kernel knows of TCP connections, and the cores do not tell.
 *
 * Does a host answer? Its kernel acknowledges what the core has sent, and keep-alive segments,
 * which are switched on for the core's connections here; the last acknowledgement is its last sign
 * of life.
 *
 * Does anybody listen at an address? A connection of our own tells; but who is alive and busy would
 * find all these connections waiting for him some day. So this is done only where the core has no
 * connection to that address, and again when one of its connections with that host is gone. One may
 * come and go between two looks, so it is done again in any case, after twice the time each time.
 */
#include "tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PROBE_MS   1000 /* then it is tried again: what was lost comes late */
#define PROOF_MS   1000 /* who listened is asked again after so long at first */
#define PROOFS_MAX 1024 /* beyond, one that is believed no more is forgotten */
#define SILENT_MS  1500 /* no sign of life for so long is worth to be told */

struct qv_fi_tcp *qv_fi_tcp_open(const void *own, size_t len)
{
	struct qv_fi_tcp *l = calloc(1, sizeof *l);
	struct qv_fi_tcp_addr end;

	if (l)
		l->links = malloc(QV_FI_TCP_LINKS * sizeof *l->links);
	if (!l || !l->links) {
		free(l);
		return NULL;
	}
	if (qv_fi_tcp_addr_of(own, len, &end))
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

/* Signs of life. */

static struct qv_fi_tcp_host *host_of(struct qv_fi_tcp *l, const struct qv_fi_tcp_addr *to,
				      int64_t now)
{
	struct qv_fi_tcp_host *hosts;

	for (size_t i = 0; i < l->nhosts; i++)
		if (qv_fi_tcp_same_host(&l->hosts[i].addr, to))
			return &l->hosts[i];
	hosts = realloc(l->hosts, (l->nhosts + 1) * sizeof *hosts);
	if (!hosts)
		return NULL;
	l->hosts = hosts;
	hosts[l->nhosts] = (struct qv_fi_tcp_host){.addr = *to, .alive_at = now};
	return &hosts[l->nhosts++];
}

/* The other host is asked every second. */
static void follow_link(int fd)
{
	int on = 0;
	socklen_t len = sizeof on;

	if (!qv_fi_params.death || getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &len) || on)
		return;
	qv_fi_tcp_keep_alive(fd);
}

static uint64_t mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 32;
}

/* Who does not read has closed the window, and the kernel asks ever more rarely whether it is open
 * again: seconds without a sign of life say nothing as long as the last question was answered. */
static bool waits_for_window(const struct qv_fi_tcp_link *link, const struct tcp_info *info)
{
	return link->unacked && !info->tcpi_unacked && !info->tcpi_probes;
}

/* The core's connections with this host: which they are, as one number; 0: it has none. What they
 * tell of the host is noted. */
static uint64_t look_at_host(struct qv_fi_tcp *l, const struct qv_fi_tcp_addr *to,
			     struct qv_fi_tcp_host *host, int64_t now)
{
	uint64_t all = 0;

	for (size_t i = 0; i < l->nlinks; i++) {
		const struct qv_fi_tcp_link *link = &l->links[i];
		struct tcp_info info = {0};
		socklen_t len = sizeof info;

		if (!qv_fi_tcp_same_host(&link->to, to) || !qv_fi_tcp_is_cores(l, link, to))
			continue;
		follow_link(link->fd);
		if (getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &len) ||
		    info.tcpi_state != TCP_ESTABLISHED)
			continue;
		if (waits_for_window(link, &info))
			host->alive_at = now;
		else if (now - info.tcpi_last_ack_recv > host->alive_at)
			host->alive_at = now - info.tcpi_last_ack_recv;
		all += mix((uint64_t)link->to.port << 32 | (uint64_t)link->port << 16 |
			   (uint16_t)link->fd) |
		       1;
	}
	return all;
}

static bool is_connected(const struct qv_fi_tcp *l, const struct qv_fi_tcp_addr *to)
{
	for (size_t i = 0; i < l->nlinks; i++)
		if (qv_fi_tcp_same(&l->links[i].to, to))
			return true;
	return false;
}

static struct qv_fi_tcp_proof *oldest_proof(struct qv_fi_tcp *l)
{
	struct qv_fi_tcp_proof *oldest = l->proofs;

	for (size_t i = 1; i < l->nproofs; i++)
		if (l->proofs[i].until < oldest->until)
			oldest = &l->proofs[i];
	return oldest;
}

static struct qv_fi_tcp_proof *proof_of(struct qv_fi_tcp *l, const struct qv_fi_tcp_addr *to,
					int64_t now)
{
	struct qv_fi_tcp_proof *proofs, *proof;

	for (size_t i = 0; i < l->nproofs; i++)
		if (qv_fi_tcp_same(&l->proofs[i].to, to))
			return &l->proofs[i];
	proof = l->nproofs < PROOFS_MAX ? NULL : oldest_proof(l);
	if (!proof || proof->until > now) {
		proofs = realloc(l->proofs, (l->nproofs + 1) * sizeof *proofs);
		if (!proofs)
			return NULL;
		l->proofs = proofs;
		proof = &proofs[l->nproofs++];
	}
	*proof = (struct qv_fi_tcp_proof){.to = *to};
	return proof;
}

static bool holds(const struct qv_fi_tcp_proof *proof, uint64_t links, int64_t now)
{
	return links && links == proof->links && now < proof->until;
}

static void prove(struct qv_fi_tcp_proof *proof, uint64_t links, int64_t now)
{
	proof->span = links == proof->links && proof->span ? 2 * proof->span : PROOF_MS;
	proof->links = links;
	proof->until = now + proof->span;
}

/* Probes. */

static void end_probe(struct qv_fi_tcp *l, struct qv_fi_tcp_probe *probe)
{
	close(probe->fd);
	*probe = l->probes[--l->nprobes];
}

/* 0: somebody listens; ECONNREFUSED; EINPROGRESS: not known yet; another: the host is not there. */
static int look_at(struct qv_fi_tcp *l, struct qv_fi_tcp_probe *probe, int64_t now)
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

static int begin_probe(struct qv_fi_tcp *l, const struct qv_fi_tcp_addr *to, const void *addr,
		       size_t len, int64_t now)
{
	int fd, error = 0;

	if (l->nprobes == QV_FI_TCP_PROBES)
		return EINPROGRESS;
	fd = socket(to->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return EINPROGRESS;
	if (connect(fd, addr, (socklen_t)len))
		error = errno;
	if (error == EINPROGRESS)
		l->probes[l->nprobes++] = (struct qv_fi_tcp_probe){*to, fd, now};
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

static int try_address(struct qv_fi_tcp *l, const struct qv_fi_tcp_addr *to, const void *addr,
		       size_t len, int64_t now)
{
	for (size_t i = 0; i < l->nprobes; i++)
		if (qv_fi_tcp_same(&l->probes[i].to, to))
			return look_at(l, &l->probes[i], now);
	return begin_probe(l, to, addr, len, now);
}

enum qv_presence qv_fi_tcp_listens(struct qv_fi_tcp *l, const void *addr, size_t len,
				   uint64_t *silent)
{
	int64_t now = qv_fi_now_ms();
	int error = EINPROGRESS;
	struct qv_fi_tcp_proof *proof;
	struct qv_fi_tcp_host *host;
	struct qv_fi_tcp_addr to;
	uint64_t links;

	if (!qv_fi_tcp_addr_of(addr, len, &to))
		return QV_PRESENT;
	host = host_of(l, &to, now);
	proof = proof_of(l, &to, now);
	if (!host || !proof)
		return QV_UNSURE;
	drop_old(l, now);
	qv_fi_tcp_look(l, now);
	links = look_at_host(l, &to, host, now);
	if (is_connected(l, &to) || holds(proof, links, now))
		error = 0;
	else if (!(error = try_address(l, &to, addr, len, now)))
		prove(proof, links, now);
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
