/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fab.h - the simulated cores: objects of libfabric under the provider, and the network between
 * them. They come under the names of real cores and have what those have and lack, so that the
 * provider takes the way that it takes over each of them.
 */
#ifndef SF_FAB_H
#define SF_FAB_H

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "sf.h"

#define SF_CONTAINER(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))

/* What one core is like. */
struct sf_flavor {
	const char *name;
	uint64_t caps;
	uint32_t format; /* of addresses */
	size_t inject;
	bool shared;     /* memory: same host only, no connections to lose, what is sent is there */
	bool collides;   /* from libfabric 2.0 on: both sides may connect at once */
	unsigned window; /* packets that may be under way from one endpoint to another */
};
const struct sf_flavor *sf_flavor_of(const char *name);

/* host.c: what libfabric itself does. */

void sf_host_init(void);
int sf_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);

/* addr.c: addresses, and who is there. */

struct sf_cep;
#define SF_ADDR_MAX 64u
size_t sf_addr_write(const struct sf_flavor *fl, uint32_t number, uint32_t pid, char *out);
/* 0: none */
uint32_t sf_addr_parse(const struct sf_flavor *fl, const void *addr);
uint32_t sf_addr_new(void);
struct sf_cep *sf_addr_who(uint32_t number);
void sf_addr_set(uint32_t number, struct sf_cep *ep);

/* fab.c: domains, address vectors, queues. */

struct sf_mr {
	struct fid_mr fid;
	struct sf_dom *dom;
	struct sf_mr *next;
	char *buf;
	size_t len;
	uint64_t base;
};

struct sf_dom {
	struct fid_domain fid;
	const struct sf_flavor *flavor;
	struct sf_proc *proc;
	struct sf_mr *mrs;
	int mr_mode;
};

struct sf_av {
	struct fid_av fid;
	struct sf_dom *dom;
	uint32_t *numbers; /* addresses by index; 0: removed */
	size_t count, cap;
};

struct sf_comp {
	struct fi_cq_data_entry e;
	fi_addr_t from;
	int err; /* an error entry */
};

struct sf_cq {
	struct fid_cq fid;
	struct sf_cep *ep;
	struct sf_comp *ring;
	size_t head, tail, cap;
};
void sf_cq_add(struct sf_cq *cq, const struct sf_comp *c);

/* cep.c: endpoints of a core. */

struct sf_packet {
	struct sf_conn *conn;
	struct sf_cep *from;
	uint64_t ready; /* ns; when it arrives */
	uint64_t order; /* of equals */
	uint64_t data;
	unsigned gen; /* of the connection */
	unsigned to;  /* conn->ep[to], which may be its sender too */
	bool has_data;
	size_t len;
	char body[];
};

/* A read from a peer's memory. */
struct sf_read {
	struct sf_read *next;
	struct sf_conn *conn;
	unsigned cuts;
	uint64_t at, addr, key;
	void *context;
	size_t cnt;
	struct iovec iov[4];
};

struct sf_rxbuf {
	void *buf;
	size_t len;
	void *context;
};

struct sf_cep {
	struct fid_ep fid;
	uint64_t uid;
	const struct sf_flavor *flavor;
	struct sf_dom *dom;
	struct sf_proc *proc;
	struct sf_av *av;
	struct sf_cq *cq;
	uint32_t number; /* its address */
	bool enabled, closed;
	struct sf_rxbuf *posted; /* ring */
	size_t phead, pcount, pcap;
	struct sf_packet **heap; /* what is on its way here, the next one first */
	size_t nheap, heap_cap;
	struct sf_tx *txs, **txs_tail; /* what it has in hand, in order */
	struct sf_read *reads;
	unsigned ntx;
	uint64_t refused_until; /* calls are refused */
	uint64_t looks;         /* calls of sf_cep_progress */
};
/* All that belongs to this process is gone. */
void sf_fab_proc_ended(struct sf_proc *proc);
void sf_fab_domains_ended(const struct sf_proc *proc);
int sf_cep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);
/* Move on: send, receive, read. */
void sf_cep_progress(struct sf_cep *ep);

/* net.c: between two endpoints. */

/* One packet that an endpoint has in hand. */
struct sf_tx {
	struct sf_tx *next;
	struct sf_conn *conn;
	unsigned cuts; /* of the connection, when it was given */
	uint64_t at;   /* ns; not before */
	void *context;
	bool inject, has_data;
	uint64_t data;
	size_t len, cnt;
	struct iovec iov[4];
	char copy[]; /* inject */
};

struct sf_conn {
	struct sf_conn *next_hash;
	struct sf_cep *ep[2];
	unsigned gen[2];       /* packets to ep[i] of another generation are lost */
	unsigned cuts;         /* so often it has been broken */
	uint64_t dead_at;      /* ns; one side has ended, the other one hears of it; 0: both live */
	uint64_t up;           /* ns; when it is (re-)connected */
	uint64_t met_end;      /* until then both sides may be connecting at once */
	bool spoken[2];        /* ep[i] has sent */
	uint64_t last[2];      /* arrival of the last packet to ep[i] */
	unsigned under_way[2]; /* packets to ep[i] */
	uint64_t stuck[2];     /* in this look ep[i] cannot send more */
	fi_addr_t index[2];    /* what ep[i] calls the other one */
};

/* The connection between them, NULL: nobody is at that address. */
struct sf_conn *sf_net_conn(struct sf_cep *from, uint32_t number);
static inline unsigned sf_net_side(const struct sf_conn *c, const struct sf_cep *ep)
{
	return c->ep[1] == ep;
}
/* One side has ended, and the other one knows. */
bool sf_net_dead(const struct sf_conn *c);
bool sf_net_has_room(const struct sf_conn *c, const struct sf_cep *from);
/* A packet goes on its way; the memory is copied. Connections may be cut then. */
void sf_net_launch(struct sf_conn *c, struct sf_cep *from, const struct sf_tx *tx);
/* The next packet that is here, NULL: none; and that it has been taken. */
struct sf_packet *sf_net_arrived(struct sf_cep *ep);
void sf_net_take(struct sf_cep *ep, struct sf_packet *pkt);
/* silent: nobody hears of it; lossy: what it has sent may be lost. */
void sf_net_closed(struct sf_cep *ep, bool silent, bool lossy);
/* This process ends its connections with who was at that address; if it lives, nothing happens. */
void sf_net_give_back(const struct sf_proc *proc, uint32_t number);
/* Has this process something on its way to that address? */
bool sf_net_unacked(const struct sf_proc *proc, uint32_t number);

#endif /* SF_FAB_H */
