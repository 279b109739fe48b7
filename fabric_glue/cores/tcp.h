/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp.h - what tcp.c and tcp_links.c share. */
#ifndef QV_FI_TCP_H
#define QV_FI_TCP_H

#include "fabric_glue/layered/presence.h"

#include <string.h>

#define QV_FI_TCP_PROBES 64   /* connections that are being made */
#define QV_FI_TCP_LINKS  4096 /* of them are looked at */

/* An end of a connection, in a form that can be compared. */
struct qv_fi_tcp_addr {
	uint8_t addr[16];
	uint16_t port, family;
};

struct qv_fi_tcp_link {
	struct qv_fi_tcp_addr to;
	int fd;
	uint16_t port; /* our end's */
	bool unacked;  /* the other host has not confirmed all that was sent */
};

/* A host, by any address of it with port 0. */
struct qv_fi_tcp_host {
	struct qv_fi_tcp_addr addr;
	int64_t alive_at; /* ms: its last sign of life, or when we first looked */
};

/* An address at which somebody listened. */
struct qv_fi_tcp_proof {
	struct qv_fi_tcp_addr to;
	uint64_t links; /* the core's connections with that host, then */
	int64_t until;  /* ms: it is believed so long */
	int64_t span;   /* of the last time */
};

/* A connection that is being made. */
struct qv_fi_tcp_probe {
	struct qv_fi_tcp_addr to;
	int fd;
	int64_t since; /* ms */
};

struct qv_fi_tcp {
	struct qv_fi_tcp_probe probes[QV_FI_TCP_PROBES];
	size_t nprobes;
	struct qv_fi_tcp_link *links; /* room for QV_FI_TCP_LINKS */
	size_t nlinks;
	struct qv_fi_tcp_host *hosts;
	size_t nhosts;
	struct qv_fi_tcp_proof *proofs;
	size_t nproofs;
	uint16_t port;       /* the core listens there; 0: not known */
	bool calling;        /* a host that has not answered yet; the kernel does not say which */
	int64_t snapshot_at; /* ms */
};

static inline bool qv_fi_tcp_same(const struct qv_fi_tcp_addr *a, const struct qv_fi_tcp_addr *b)
{
	return !memcmp(a, b, sizeof *a);
}

static inline bool qv_fi_tcp_same_host(const struct qv_fi_tcp_addr *a,
				       const struct qv_fi_tcp_addr *b)
{
	return a->family == b->family && !memcmp(a->addr, b->addr, sizeof a->addr);
}

/* False: another kind of address. */
bool qv_fi_tcp_addr_of(const void *addr, size_t len, struct qv_fi_tcp_addr *end);
/* Its other end's kernel is asked every second whether it is there. */
void qv_fi_tcp_keep_alive(int fd);
/* Know the core's connections as they were at most 50 ms ago. */
void qv_fi_tcp_look(struct qv_fi_tcp *l, int64_t now);
/* Does it belong to the core: has it called that address, or was called itself? */
bool qv_fi_tcp_is_cores(const struct qv_fi_tcp *l, const struct qv_fi_tcp_link *link,
			const struct qv_fi_tcp_addr *to);

#endif /* QV_FI_TCP_H */
