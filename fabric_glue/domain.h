/* SPDX-License-Identifier: BSD-2-Clause */
/* domain.h - fabric, domain and its lock, address vector; each embeds the libfabric fid first. */
#ifndef QV_FI_DOMAIN_H
#define QV_FI_DOMAIN_H

#include "engine/base/machine.h"
#include "fabric_glue/host.h"

/*
 * The cores under one endpoint. The first reaches every peer. A second one, shm, reaches those on
 * this node; addresses then name both and the node (fabric_glue/cores/pair.h).
 */
#define QV_FI_MAIN  0u
#define QV_FI_LOCAL 1u
#define QV_FI_CORES 2u
/* With FI_QUIVER_RAILS: another domain of the first core, for pieces of long messages. The application
 * has nothing in it. */
#define QV_FI_SECOND 2u
#define QV_FI_RAILS  3u

/* What the cores do for the application, with its registrations. */
#define QV_FI_ONE_SIDED (FI_RMA | FI_ATOMIC | FI_RMA_EVENT)
/* Orders among those of these capabilities: the cores keep them, or do not. */
static inline uint64_t qv_fi_orders(uint64_t caps)
{
	const uint64_t rma = FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW |
			     FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAR |
			     FI_ORDER_RMA_WAW;
	const uint64_t atomic = FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |
				FI_ORDER_ATOMIC_WAW;

	return (caps & (FI_RMA | FI_ATOMIC) ? rma : 0) | (caps & FI_ATOMIC ? atomic : 0);
}

#define QV_FI_INJECT_SIZE 4096u /* tx_attr->inject_size that we promise in layered mode */
#define QV_FI_IOV_LIMIT   4u    /* iov_limit that we promise, for both directions */
#define QV_FI_TX_SIZE     1024u
#define QV_FI_RX_SIZE     1024u

struct qv_fi_wait_set; /* fabric_glue/progress/wait_set.h */

struct qv_fi_fabric { /* fabric_glue/objects/fabric.c */
	struct fid_fabric fid;
	struct fid_fabric *core[QV_FI_CORES];
	const struct qv_fi_cores *cores; /* their names */
	uint32_t api_version;            /* what the application speaks */
	int refs;                        /* open domains and event queues */
	bool left; /* a domain of the core could not be closed: nor can its fabric */
};

struct qv_fi_srx_port; /* fabric_glue/peer/srx.h */

struct qv_fi_domain { /* fabric_glue/objects/domain.c */
	struct fid_domain fid;
	struct qv_fi_fabric *fabric;
	struct fid_domain *core[QV_FI_RAILS];
	struct fi_info *core_info[QV_FI_RAILS]; /* that the cores' domains were opened with */
	unsigned cores;                         /* that are in use: 1, or 2 */
	struct fid_fabric *second; /* that of core[QV_FI_SECOND]; NULL: there is none */
	bool pair;     /* addresses are those of fabric_glue/cores/pair.h, even if cores is 1 */
	uint64_t node; /* pair: this node, 0: nobody is on it but us */
	pthread_mutex_t lock; /* all data-path calls of the domain's objects */
	bool threadsafe;      /* false: the application serialises (FI_THREAD_DOMAIN), no lock */
	void *owner;  /* without it: the thread that called last, fabric_glue/objects/beside.c */
	bool has_rma; /* every core grants FI_RMA */
	bool no_write_data; /* a core would lose what FI_REMOTE_CQ_DATA carries */
	bool has_atomic;    /* and FI_ATOMIC, or we do it: */
	bool own_atomics[QV_FI_CORES];
	struct qv_fi_memory *memory; /* what peers reach by it; NULL: nobody does */
	bool peer;                   /* FI_QUIVER_MODE=peer */
	struct qv_fi_srx_port *port; /* peer mode: the context of a core that has one, or NULL */
	size_t inject;               /* tx_attr->inject_size that we promise */
	bool basic_mr;               /* the application has FI_MR_BASIC: keys are ours to choose */
	uint64_t next_key;           /* next key to try for our own registrations */
	int refs;                    /* open endpoints, queues, AVs, MRs ... */
	struct fid_eq *eq;           /* that is bound to it, or NULL */
	/* FI_PROGRESS_AUTO, fabric_glue/progress/auto.c */
	bool automatic;
	struct qv_fi_wait_set *wait_set; /* the endpoints that the thread moves */
	pthread_t thread;
	bool stop; /* atomic */
};

/* fabric_glue/objects/beside.c: take the lock, or note that the application has handed its domain
 * to this thread. */
void qv_fi_lock_slow(struct qv_fi_domain *dom);

/* Who finds itself here need not synchronise: only a thread itself stores its own name. */
static inline void *qv_fi_owner(const struct qv_fi_domain *dom)
{
	return __atomic_load_n(&dom->owner, __ATOMIC_RELAXED);
}

static inline void qv_fi_lock(struct qv_fi_domain *dom)
{
	if (qv_fi_owner(dom) != qv_thread())
		qv_fi_lock_slow(dom);
}

static inline void qv_fi_unlock(struct qv_fi_domain *dom)
{
	if (dom->threadsafe)
		pthread_mutex_unlock(&dom->lock);
}

/* Has the main core this mode of registered memory (fi_mr(3))? */
static inline bool qv_fi_has_mr_mode(const struct qv_fi_domain *dom, int mode)
{
	return dom->core_info[QV_FI_MAIN]->domain_attr->mr_mode & mode;
}

/*
 * Address vector (fabric_glue/objects/av.c). fi_addr_t that the application sees are dense indexes from 0, for
 * FI_AV_MAP and FI_AV_TABLE alike; each entry knows the address bytes and the core's fi_addr_t.
 * The core hears of an address when an endpoint first deals with it: see qv_fi_av_reach.
 * The core's AV holds more than the application inserted: endpoints add peers that spoke first.
 */

/* A peer as one of the cores knows it. */
struct qv_fi_way {
	fi_addr_t addr; /* FI_ADDR_NOTAVAIL: not known to it yet */
	unsigned core;  /* QV_FI_MAIN or QV_FI_LOCAL */
};

struct qv_fi_av_entry {
	struct qv_fi_way way; /* not known until qv_fi_av_reach */
	uint32_t refs;        /* insertions by the application minus removals; 0 = free slot */
	uint32_t namelen;
	void *name; /* address bytes, as fi_getname of the peer gives them */
};

struct qv_fi_av {
	struct fid_av fid;
	struct qv_fi_domain *dom;
	struct fid_av *core[QV_FI_RAILS];
	struct fid_eq *eq; /* NULL, or where FI_EVENT insertions are reported */
	uint64_t flags;
	size_t count, used; /* slots allocated; slots ever used */
	struct qv_fi_av_entry *entries;
	struct qv_fi_ep *eps; /* endpoints bound to this AV, linked by next_av */
	int refs;
	struct qv_fi_av_index *index; /* by name, and by the core's address */
};

/* An AV of a core, for `count` addresses or so (0: unknown). */
int qv_fi_av_open_core(struct fid_domain *core, size_t count, struct fid_av **av);
/* The way to an entry, which is given to its core if it has not been yet.
 * -FI_EINVAL: no such entry; another -FI_E*: the core does not take it. Lock held. */
int qv_fi_av_reach(struct qv_fi_av *av, fi_addr_t index, struct qv_fi_way *way);
/* Index of the entry with these address bytes, or FI_ADDR_NOTAVAIL. */
fi_addr_t qv_fi_av_by_name(struct qv_fi_av *av, const void *name, size_t len);
/* Index of the entry that a core knows so, or FI_ADDR_NOTAVAIL. */
fi_addr_t qv_fi_av_by_way(struct qv_fi_av *av, struct qv_fi_way way);
/* The way for these bytes: that of an entry if there is one, else the bytes are inserted into the
 * core's AV (and remembered, so that a later fi_av_insert of the same bytes goes the same way).
 * Returns 0 or -FI_E*. */
int qv_fi_av_find_way(struct qv_fi_av *av, const void *name, size_t len, struct qv_fi_way *way);

/* An endpoint does not need a peer any more that the application has not named: if no other does,
 * the core forgets its address. */
void qv_fi_av_release(struct qv_fi_av *av, struct qv_fi_way way);

/* Entry of an application address, NULL if it is not one. */
static inline struct qv_fi_av_entry *qv_fi_av_entry(struct qv_fi_av *av, fi_addr_t addr)
{
	return addr < av->used && av->entries[addr].refs ? &av->entries[addr] : NULL;
}

#endif /* QV_FI_DOMAIN_H */
