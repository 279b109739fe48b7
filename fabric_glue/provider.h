/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * provider.h - objects of the provider; each embeds the libfabric fid first. Only fabric_glue sees
 * <rdma/...>.
 *
 * One binary serves libfabric 1.17 to 2.x: structures that libfabric or a core fills may be longer
 * than our header says, so they are never allocated by our sizeof (see docs/design.md).
 */
#ifndef QV_FI_H
#define QV_FI_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <quiver/isa.h>
#include <quiver/match.h>

#include "engine/base/file_name.h"
#include "engine/base/machine.h"
#include "engine/trace/setting.h"

#ifndef container_of
#define container_of(ptr, type, field) ((type *)((char *)(ptr)-offsetof(type, field)))
#endif

/* The API version that we speak to every core, whatever the application asked for. */
#define QV_FI_CORE_API FI_VERSION(1, 17)

/* Room for a structure that a newer libfabric may have made longer: zeroed, then filled by us. */
#define QV_FI_ROOMY(type, name) \
	union {                 \
		struct type a;  \
		char pad[512];  \
	} name = {.pad = {0}}

/* init.c: entry point, host library. */

/* The libfabric that loaded us (found through the caller of fi_prov_ini), never the linked one. */
struct qv_fi_host {
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	uint32_t (*version)(void);
	const char *(*strerror)(int err);
	int (*param_define)(const struct fi_provider *prov, const char *name,
			    enum fi_param_type type, const char *help, ...);
	int (*param_get)(struct fi_provider *prov, const char *name, void *value);
	int (*log_enabled)(const struct fi_provider *prov, enum fi_log_level level,
			   enum fi_log_subsys subsys);
	void (*log)(const struct fi_provider *prov, enum fi_log_level level,
		    enum fi_log_subsys subsys, const char *func, int line, const char *fmt, ...)
		__attribute__((format(printf, 6, 7)));
};
extern struct qv_fi_host qv_fi_host;       /* set once, in fi_prov_ini */
extern struct fi_provider qv_fi_prov;      /* "quiver" */
extern struct fi_provider qv_fi_util_prov; /* "ofi_quiver": FI_PROVIDER="<core>;ofi_quiver" */

/* libfabric's log, of the libfabric that loaded us; texts end in a newline. */
#define QV_FI_LOG(level, subsys, ...)                                                          \
	do {                                                                                   \
		if (qv_fi_host.log_enabled(&qv_fi_prov, FI_LOG_##level, FI_LOG_##subsys))      \
			qv_fi_host.log(&qv_fi_prov, FI_LOG_##level, FI_LOG_##subsys, __func__, \
				       __LINE__, __VA_ARGS__);                                 \
	} while (0)
#define QV_FI_WARN(subsys, ...) QV_FI_LOG(WARN, subsys, __VA_ARGS__)
#define QV_FI_INFO(subsys, ...) QV_FI_LOG(INFO, subsys, __VA_ARGS__)
#define QV_FI_DBG(subsys, ...)  QV_FI_LOG(DEBUG, subsys, __VA_ARGS__)

/* fabric_glue/settings/offload_param.c: FI_QUIVER_OFFLOAD and what belongs to it. */

struct qv_fi_offload_params {
	bool on;             /* FI_QUIVER_OFFLOAD is not off */
	bool xrt;            /* xrt, or auto with a bitstream: a card; else OpenCL */
	bool measure;        /* auto: limits that are not given are measured */
	const char *device;  /* FI_QUIVER_OFFLOAD_DEVICE, NULL = the first */
	const char *xclbin;  /* FI_QUIVER_XCLBIN, NULL = not given */
	const char *xrt_lib; /* FI_QUIVER_XRT_LIB, NULL = XRT's own name */
	size_t min_batch;    /* FI_QUIVER_OFFLOAD_MIN_BATCH, messages; SIZE_MAX = not given */
	size_t min_bytes;    /* FI_QUIVER_OFFLOAD_MIN_BYTES; SIZE_MAX = not given */
};

/* FI_QUIVER_STATS */
struct qv_fi_stats_params {
	bool lines;          /* yes: to stderr */
	const char *out;     /* json:FILE, a pattern, NULL = none */
	const char *profile; /* profile:FILE, the same */
	/* Of `out`: */
	bool detail;       /* what qv_match_detail_begin counts, too */
	unsigned interval; /* ms from one writing to the next, 0 = only at the end */
	int signal;        /* that asks for one, 0 = none does */
};

/* FI_QUIVER_OFFLOAD, when FI_QUIVER_XCLBIN is known: true, or false with the reason in why. */
bool qv_fi_offload_parse(const char *text, struct qv_fi_offload_params *out, char *why,
			 size_t size);

/* fabric_glue/settings/param.c: the environment. */

struct qv_fi_params {
	char *core;            /* FI_QUIVER_CORE, NULL = automatic */
	char *rails[2];        /* FI_QUIVER_RAILS; NULL = not given */
	const char *node;      /* FI_QUIVER_NODE, "" by default */
	const char *structure; /* FI_QUIVER_MATCH */
	enum qv_isa isa;       /* FI_QUIVER_ISA */
	size_t eager;          /* FI_QUIVER_EAGER, bytes; SIZE_MAX = per core */
	size_t memory;         /* FI_QUIVER_MEMORY, bytes of unexpected payload per peer */
	unsigned patience;     /* FI_QUIVER_PATIENCE, ms; 0 = no end */
	bool patience_set;     /* by the user: it holds over cores that cannot tell, too */
	unsigned death;        /* FI_QUIVER_KEEPALIVE, ms; 0 = no end */
	size_t queue;          /* FI_QUIVER_QUEUE, sends that may wait */
	unsigned linger;       /* FI_QUIVER_LINGER, ms */
	uint32_t hints;        /* FI_QUIVER_HINTS, QV_HINT_* */
	char *profile;         /* FI_QUIVER_PROFILE, the file, NULL = none */
	uint32_t named;        /* sources that the structure knows from it, 0 = it reads none */
	const char *coll;      /* FI_QUIVER_COLL, NULL = nothing is asked */
	struct qv_fi_offload_params offload;
	bool peer; /* FI_QUIVER_MODE=peer */
	struct qv_fi_stats_params stats;
	struct qv_trace_setting trace; /* FI_QUIVER_TRACE */
	bool quiet;                    /* FI_QUIVER_QUIET */
	bool valid;                    /* every value is known; if not, fi_getinfo offers nothing */
};
extern struct qv_fi_params qv_fi_params;

/* Tell cores what they read when libfabric starts them. Once, in fi_prov_ini. */
void qv_fi_prepare_cores(void);

/* fabric_glue/settings/names.c: tell libfabric of the parameters (fi_info -e). Once, in fi_prov_ini. */
void qv_fi_params_define(void);
/* A misspelt name in the environment does nothing at all, silently: say so. */
void qv_fi_params_check_names(void);
/* fabric_glue/settings/param.c: read them, at the first call; a wrong one is reported once (log and
 * stderr). Not before somebody asks for quiver: settings of a provider that nobody uses are nobody's
 * mistake. */
void qv_fi_params_init(void);

/* fabric_glue/settings/diagnostics.c: to stderr, in one piece; a text of over 1023 bytes is cut, with "..."
 * for the rest. */
void qv_fi_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* One line for the user: libfabric's warning log, and stderr with the prefix "quiver: " unless
 * FI_QUIVER_QUIET is set. Each distinct text is written to stderr once per process. */
void qv_fi_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Values of settings: true, or false with the reason in why. */
/* fabric_glue/settings/mode.c: FI_QUIVER_MODE, when the other settings are known. */
bool qv_fi_mode_parse(const char *text, bool *peer, char *why, size_t size);
/* fabric_glue/settings/assertion.c: FI_QUIVER_HINTS. */
bool qv_fi_assertions_parse(const char *text, uint32_t *hints, char *why, size_t size);
/* fabric_glue/settings/match.c: FI_QUIVER_MATCH, with a profile or NULL. */
bool qv_fi_match_usable(const char *text, const char *profile, char *why, size_t size);
/* Does it do other things with the profile than without? */
bool qv_fi_match_reads_profile(const char *structure, const char *profile);
/* fabric_glue/settings/rails_param.c: FI_QUIVER_RAILS. */
bool qv_fi_rails_parse(const char *text, char *rails[2], char *why, size_t size);
/* fabric_glue/settings/profile.c: is it a profile? *sources: above all that it names. */
bool qv_fi_profile_check(const char *path, uint32_t *sources, char *why, size_t size);
/* fabric_glue/settings/stats_param.c: FI_QUIVER_STATS. */
bool qv_fi_stats_parse(const char *text, struct qv_fi_stats_params *stats, char *why, size_t size);

/* fabric_glue/objects/stats.c: libfabric ends; endpoints that are still open have their say. */
void qv_fi_stats_exit(void);
/* fabric_glue/objects/trace.c: the trace ends, too. */
void qv_fi_trace_exit(void);

/* fabric_glue/offer/info.c: getinfo and the choice of the core. */

int qv_fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		  const struct fi_info *hints, struct fi_info **info);
int qv_fi_util_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);

struct qv_fi_cores; /* fabric_glue/cores/core.h */

/* What to ask of the core, with the addressing and names of the application's info
 * (may be NULL). */
struct fi_info *qv_fi_core_hints(const char *core, const struct fi_info *app);

/* The core's own fi_info for this application info: exactly the provider named core.
 * Caller frees with qv_fi_host.freeinfo. Returns 0 or -FI_E*. */
int qv_fi_core_info(const char *core, const struct fi_info *app, struct fi_info **info);

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

#define QV_FI_INJECT_SIZE 128u /* tx_attr->inject_size that we promise in layered mode */
#define QV_FI_IOV_LIMIT   4u   /* iov_limit that we promise, for both directions */
#define QV_FI_TX_SIZE     1024u
#define QV_FI_RX_SIZE     1024u

/* Objects. */

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
	struct qv_fi_srx_port *port; /* peer mode: a context that the core has, or NULL */
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

/* Opening of each object; the fi_ops tables point here. */
int qv_fi_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int qv_fi_util_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
int qv_fi_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		      void *context);
extern struct fi_ops_mr qv_fi_mr_ops; /* fabric_glue/objects/mr.c */
/* The domain's thread, if its application wants automatic progress. 0 or -FI_E*. */
int qv_fi_auto_start(struct qv_fi_domain *dom); /* fabric_glue/progress/auto.c */
void qv_fi_auto_stop(struct qv_fi_domain *dom);
void qv_fi_srx_port_close(
	struct qv_fi_srx_port *port); /* fabric_glue/peer/srx.c; NULL is allowed */
int qv_fi_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
		    struct fid_poll **pollset); /* fabric_glue/progress/pollset.c */
int qv_fi_query_atomic(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
		       struct fi_atomic_attr *attr,
		       uint64_t flags); /* fabric_glue/offer/atomic_valid.c */
int qv_fi_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		  void *context);
int qv_fi_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		  void *context);
int qv_fi_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		    void *context);
int qv_fi_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		  void *context);
/* fabric_glue/coll/set.c, fabric_glue/coll/coll.c: fi_av_set, fi_query_collective */
int qv_fi_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
		 void *context);
int qv_fi_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
			   struct fi_collective_attr *attr, uint64_t flags);
int qv_fi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq,
		  void *context); /* fabric_glue/objects/eq.c */
int qv_fi_trywait(struct fid_fabric *fabric, struct fid **fids,
		  int count); /* fabric_glue/progress/wait_set.c */

/* stub.c: what a call that we do not serve answers, -FI_ENOSYS. */
int qv_fi_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int qv_fi_no_control(struct fid *fid, int command, void *arg);
int qv_fi_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif /* QV_FI_H */
