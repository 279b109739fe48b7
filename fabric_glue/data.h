/* SPDX-License-Identifier: BSD-2-Clause */
/* data.h - objects of the data path: endpoint, completion queue, counter. */
#ifndef QV_FI_DATA_H
#define QV_FI_DATA_H

#include <quiver/combine.h>
#include <quiver/fi_ext.h>

#include "engine/base/compiler.h"
#include "engine/match/live.h"
#include "engine/proto/proto.h"
#include "mode.h"
#include "provider.h"
#include "fabric_glue/progress/wait_set.h"

struct qv_fi_comp {
	struct fi_cq_tagged_entry e;
	fi_addr_t src;
};

struct qv_fi_err {
	struct qv_fi_err *next;
	size_t at; /* place in the ring of the first entry that came behind it */
	struct fi_cq_err_entry e;
	fi_addr_t src;
};

#define QV_FI_ERR_RESERVE 32

struct qv_fi_cq {
	struct fid_cq fid;
	size_t entry_size;       /* of the format that the application reads */
	size_t head, tail, mask; /* ring: entries tail-head, free running */
	struct qv_fi_comp *ring;
	/* The array of a reader who waits for entries, and room in it; 0: there is none. The ring
	 * is empty and no error waits while there is. */
	struct fi_cq_tagged_entry *into;
	size_t room;
	struct qv_fi_err *err_head, **err_tail;
	struct qv_fi_err *spare; /* of these, for when there is no memory */
	struct qv_fi_err reserve[QV_FI_ERR_RESERVE];
	struct qv_fi_wait_set wait_set; /* endpoints that report here */
};

/* The last two only the cores count. */
enum {
	QV_FI_CNTR_SEND,
	QV_FI_CNTR_RECV,
	QV_FI_CNTR_READ,
	QV_FI_CNTR_WRITE,
	QV_FI_CNTR_REMOTE_READ,
	QV_FI_CNTR_REMOTE_WRITE,
	QV_FI_CNTRS
};

struct qv_fi_cntr {
	struct fid_cntr fid;
	/* What peers do to our memory; NULL until so bound. */
	struct fid_cntr *core[QV_FI_CORES];
	uint64_t value, errors;
	uint64_t core_base, core_err_base; /* what of core's value was there at fi_cntr_set */
	uint64_t told;                  /* value and errors together, at the last look for news */
	struct qv_fi_wait_set wait_set; /* endpoints that are counted */
};

/* One buffer always posted to the core. xfer.done is NULL: that is how the poll loop knows it. */
struct qv_fi_rxbuf {
	struct qv_xfer xfer; /* first */
	struct qv_fi_rxbuf *next;
	/* what has come, kept while stalled */
	size_t len;
	fi_addr_t from;
	bool headerless; /* the payload of a plain message, its tag beside it */
	uint64_t tag;
	char data[];
};

#define QV_FI_RAIL_NAME 64 /* longest address of a second one */

/* One of the cores under an endpoint. */
struct qv_fi_rail {
	struct qv_xport xport;
	struct qv_fi_ep *ep;
	unsigned which;            /* QV_FI_MAIN, QV_FI_LOCAL or QV_FI_SECOND */
	bool used;                 /* something was sent since the last poll that looked */
	uint64_t seen;             /* entries that its queue has had */
	uint64_t packets;          /* that the core has taken, and reads */
	unsigned flying;           /* transfers that the core holds for us */
	uint64_t polled, busy_end; /* ticks of fabric_glue/progress/poll.c */
	bool one_lock;             /* senders and we take the same for each message */
	uint64_t found;            /* one_lock: ticks of the last poll, if it found something */
	struct fid_ep *core;
	struct qv_node *node; /* core node: it is spoken to itself; else NULL */
	struct fid_cq *cq;
	struct fid_cq *bell;      /* sleepers look at its descriptor; NULL: at that of cq */
	struct qv_peer **by_core; /* peers by the core's address, as far as it is small */
	size_t nby_core;
	struct qv_fi_rxbuf *unposted; /* receive buffers that the core does not have now */
	size_t nunposted;
	struct qv_fi_rxbuf *stalled, **stalled_tail; /* packets that wait for memory, in order */
	char *rx_memory;
	size_t rx_count, rx_stride;
	int mark_fd;                   /* fabric_glue/layered/presence.h; -1: none */
	struct qv_fi_tcp *tcp;         /* NULL until asked for */
	char address[QV_FI_RAIL_NAME]; /* QV_FI_SECOND: of the core endpoint */
};

struct qv_fi_pass;
struct qv_fi_srx; /* fabric_glue/peer/srx.h */

struct qv_fi_ep {
	struct fid_ep fid;
	struct qv_fi_domain *dom;
	const struct qv_fi_mode *mode;
	struct qv_proto *proto; /* NULL until enabled, and in peer mode */
	struct qv_fi_srx *srx;  /* peer mode, NULL until it is being enabled */
	bool enabled;           /* read without the lock, too */
	unsigned rails;         /* a bit for each that is in use */
	struct qv_fi_rail rail[QV_FI_RAILS];
	struct qv_fi_cq *tx_cq, *rx_cq;
	bool tx_selective, rx_selective;
	bool directed; /* FI_DIRECTED_RECV: src_addr of receives counts */
	uint64_t tx_op_flags, rx_op_flags;
	uint64_t caps;
	struct qv_fi_cntr *cntrs[QV_FI_CNTRS];
	struct qv_peer **peers; /* by index in the AV */
	size_t npeers;
	uint32_t polls;
	uint64_t ticked; /* ms */
	size_t multi_min;
	size_t anonymous; /* peers that the application has not named */
	struct qv_fi_av *av;
	struct qv_fi_ep *next_av;
	struct fid_eq *eq;
	struct qv_fi_coll *coll;   /* fabric_glue/coll/coll.h; NULL: it has not joined a group */
	struct qv_fi_pass *passes; /* operations that the cores have in hand */
	bool leaving;              /* its end waits for peers, unlocked: no new work */
	bool closing;
	struct qv_live live; /* fabric_glue/objects/live.h: in the list of all of the process */
	pid_t pid;           /* of that */
	bool offload;        /* FI_QUIVER_OFFLOAD is not off */
	bool reports;        /* FI_QUIVER_STATS, and it has not yet */
	struct qv_fi_trace *trace; /* FI_QUIVER_TRACE, or NULL */
	/* FI_QUIVER_STATS=detail, of the engines of tagged and untagged messages, or NULL */
	struct qv_match_detail *detail[2];
	struct qv_fi_stats
		counted; /* for readers who cannot have the domain: fabric_glue/objects/totals.c */
	bool copied;     /* there are some */
};

static inline bool qv_fi_ep_has(const struct qv_fi_ep *ep, unsigned which)
{
	return ep->rails >> which & 1;
}

/* From fabric_glue/objects/ep.c. */

int qv_fi_ep_close(struct fid *fid); /* fabric_glue/objects/ep_close.c */
/* Whatever looks at this endpoint; some may be called twice. */
void qv_fi_ep_each_wait_set(struct qv_fi_ep *ep,
			    void (*each)(struct qv_fi_wait_set *wait_set, void *arg), void *arg);

/* From fabric_glue/objects/beside.c. */

/* No other endpoint of its domain is enabled. */
bool qv_fi_beside_alone(const struct qv_fi_ep *ep);
/* Progress of the process's endpoints: those of the domain, whose lock is held; those of others, as
 * far as nobody is in a call there, with no lock held. */
void qv_fi_beside_own(const struct qv_fi_domain *dom);
void qv_fi_beside_gone(const struct qv_fi_ep *closing); /* tells those of its domain */
void qv_fi_beside_others(const struct qv_fi_domain *dom);
/* Have the domain, whose lock is then held, without waiting. False: another thread has it. */
bool qv_fi_enter(struct qv_fi_domain *dom);

/* From fabric_glue/cores/rail.c. */

/* One more core for an endpoint, at the address that the application's info names. */
int qv_fi_rail_open(struct qv_fi_ep *ep, unsigned which, const struct fi_info *info);
int qv_fi_rail_enable(struct qv_fi_rail *rail);
void qv_fi_rail_close(struct qv_fi_rail *rail);
/* What the cores of an endpoint are called; the text lives as long as the fabric. */
const char *qv_fi_rail_name(const struct qv_fi_rail *rail);
const char *qv_fi_ep_cores(const struct qv_fi_ep *ep);
/* As fi_getname. */
int qv_fi_ep_name(struct qv_fi_ep *ep, void *addr, size_t *len);
/* fabric_glue/objects/av_mode.c: the mode of the domain into a name, as far as there is room. */
void qv_fi_mode_sign(const struct qv_fi_domain *dom, void *addr, size_t len);

/* Cookie of a request: how its completion is to be reported. */
#define QV_CK_ENTRY 1u /* write a CQ entry on success (errors are always written) */
#define QV_CK_PEEK  2u /* not a transfer: no counter */
#define QV_CK_COLL  8u /* of a collective: qv_fi_coll_comp */
#define QV_CK_NONE  4u /* fi_inject: no entry even on error of the peer; the next send tells */

/* From fabric_glue/objects/cq.c, fabric_glue/progress/cq_wait.c. */

void qv_fi_cq_grow(struct qv_fi_cq *cq);
void qv_fi_cq_error(struct qv_fi_cq *cq, const struct fi_cq_err_entry *e, fi_addr_t src);
ssize_t qv_fi_cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src);
int qv_fi_cq_control(struct fid *fid, int command, void *arg);
ssize_t qv_fi_cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout);
ssize_t qv_fi_cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
			   const void *cond, int timeout);
int qv_fi_cq_signal(struct fid_cq *fid);

static inline bool qv_fi_cq_empty(const struct qv_fi_cq *cq)
{
	return cq->head == cq->tail && !cq->err_head;
}

/* The place of the next entry in the array of a reader who waits for it and does not want to know
 * sources; NULL: there is none. The ring is empty then. */
static inline struct fi_cq_tagged_entry *qv_fi_cq_direct(struct qv_fi_cq *cq)
{
	if (!cq->room)
		return NULL;
	cq->room--;
	return cq->into++;
}

/* The same in the ring. */
static inline struct fi_cq_tagged_entry *qv_fi_cq_append(struct qv_fi_cq *cq, fi_addr_t src)
{
	struct qv_fi_comp *comp;

	if (QV_UNLIKELY(cq->tail - cq->head > cq->mask))
		qv_fi_cq_grow(cq);
	qv_fi_wait_set_wake(&cq->wait_set);
	comp = &cq->ring[cq->tail++ & cq->mask];
	comp->src = src;
	return &comp->e;
}

/* One or the other; the caller fills all of it. */
static inline struct fi_cq_tagged_entry *qv_fi_cq_push(struct qv_fi_cq *cq, fi_addr_t src)
{
	struct fi_cq_tagged_entry *e = qv_fi_cq_direct(cq);

	return e ? e : qv_fi_cq_append(cq, src);
}

/* From fabric_glue/objects/eq.c. */

/* An object is bound, or no longer; NULL can be released. */
void qv_fi_eq_hold(struct fid_eq *eq);
void qv_fi_eq_release(struct fid_eq *eq);
/* An event, or an error. 0 or -FI_ENOMEM. */
int qv_fi_eq_tell(struct fid_eq *eq, uint32_t event, const struct fi_eq_entry *entry);
int qv_fi_eq_tell_error(struct fid_eq *eq, const struct fi_eq_err_entry *entry);
/* fi_trywait of one. */
int qv_fi_eq_may_sleep(struct fid *eq);

/* From fabric_glue/objects/cntr.c. */

int qv_fi_cntr_bind(struct qv_fi_cntr *cntr, struct qv_fi_ep *ep, uint64_t flags);
/* What counts for it in one of the cores. */
int qv_fi_cntr_core(struct qv_fi_cntr *cntr, unsigned core, struct fid **fid);

/* From fabric_glue/layered/peers.c. */

struct qv_peer *qv_fi_peer_slow(struct qv_fi_ep *ep, fi_addr_t addr);
struct qv_peer *qv_fi_identify(void *owner, struct qv_xport *x, uint64_t from, const void *name,
			       size_t len);

/* qv_proto_owner_ops.ended */
void qv_fi_peer_ended(void *owner, struct qv_peer *peer);
bool qv_fi_ep_knows(const struct qv_fi_ep *ep, struct qv_fi_way way);

/* The peer at an application address; NULL: no such address, or no memory. */
static inline struct qv_peer *qv_fi_peer(struct qv_fi_ep *ep, fi_addr_t addr)
{
	if (QV_LIKELY(addr < ep->npeers && ep->peers[addr]))
		return ep->peers[addr];
	return qv_fi_peer_slow(ep, addr);
}

/* The peer that the core calls so, NULL: none that we have dealt with. */
static inline struct qv_peer *qv_fi_peer_by_core(const struct qv_fi_rail *rail, fi_addr_t core)
{
	return QV_LIKELY(core < rail->nby_core) ? rail->by_core[core] : NULL;
}

/* From fabric_glue/layered/xport.c. */

void qv_fi_xport_init(struct qv_fi_rail *rail);
/* fabric_glue/layered/presence.c: struct qv_xport_ops.presence of a rail, from enabled to closed.
 * Before it is enabled: 0 or -FI_E*. */
int qv_fi_presence_prepare(struct qv_fi_rail *rail);
void qv_fi_presence_begin(struct qv_fi_rail *rail);
void qv_fi_presence_end(struct qv_fi_rail *rail);
/* The mode that the endpoint of shm with this name is marked with. */
enum qv_fi_said qv_fi_shm_says(const char *name);
enum qv_presence qv_fi_presence(struct qv_xport *x, uint64_t addr, uint64_t *silent);
void qv_fi_reconnect(struct qv_xport *x, uint64_t addr, bool others);
/* Is something for that address still on its way, as far as the kernel knows? */
bool qv_fi_unacked(struct qv_xport *x, uint64_t addr);
/* 0 or -FI_E* of the core as enum qv_status. */
int qv_fi_status_slow(ssize_t rc);
static inline int qv_fi_status(ssize_t rc)
{
	return QV_LIKELY(rc == 0) ? QV_OK : qv_fi_status_slow(rc);
}

/* fabric_glue/objects/offload.c: batches of messages that a device matches. */

/* An endpoint of this process is enabled: it has a device to ask, if the user wants that. */
void qv_fi_offload_begin(struct qv_fi_ep *ep);
/* n entries are about to be handled. True: call qv_fi_offload_done behind them. */
bool qv_fi_offload_entries(struct qv_fi_rail *rail, const struct fi_cq_data_entry *e,
			   const fi_addr_t *from, size_t n);
void qv_fi_offload_done(struct qv_fi_ep *ep);
/* As qv_combine_to with arguments that are right, by the device if the array is long enough. */
void qv_fi_offload_combine(const struct qv_fi_ep *ep, const struct qv_combine *cpu, enum qv_op op,
			   enum qv_type type, void *dst, const void *a, const void *b,
			   size_t count);
/* A line of counters for the user, on stderr. */
void qv_fi_offload_print(void);

/* From fabric_glue/progress/poll.c. */

/* What the core reports of something else than our receives: the entry's context means nothing. shm
 * of libfabric 2.x says so by what it leaves out, and sockets puts the data's flag on our own
 * writes. */
static inline bool qv_fi_is_remote(uint64_t flags)
{
	return flags & (FI_REMOTE_WRITE | FI_REMOTE_READ) ||
	       (flags & (FI_REMOTE_CQ_DATA | FI_RECV | FI_WRITE)) == FI_REMOTE_CQ_DATA;
}

int qv_fi_rx_post_all(struct qv_fi_rail *rail);
void qv_fi_layered_progress(struct qv_fi_ep *ep);
/* Move everything of this endpoint on. Lock held. */
static inline void qv_fi_ep_progress(struct qv_fi_ep *ep)
{
	ep->mode->progress(ep);
}
/* Look after its peers, if it is time. The progress of who polls does it, who sleeps calls it. */
void qv_fi_ep_tick(struct qv_fi_ep *ep);
/* Each poll calls it, once in so many of which it looks at the clock. */
static inline void qv_fi_ep_polled(struct qv_fi_ep *ep)
{
	if (QV_UNLIKELY(++ep->polls % 64 == 0))
		qv_fi_ep_tick(ep);
}
#define QV_FI_TICK_MS 100u

/* From fabric_glue/layered/comp.c. */

/* One more in a counter, if there is one. */
void qv_fi_count(struct qv_fi_ep *ep, int which, bool error);
void qv_fi_complete_recv(struct qv_fi_ep *ep, const struct qv_comp *c);
extern const struct qv_proto_owner_ops qv_fi_owner_ops;
/* An operation that a core did for the application is done (err: positive FI_E*). */
void qv_fi_pass_complete(struct qv_fi_ep *ep, const struct qv_fi_pass *pass, int err);
void qv_fi_remote_event(struct qv_fi_rail *rail, uint64_t flags, size_t len, uint64_t data,
			fi_addr_t src);
int qv_fi_errno(int status); /* enum qv_status to a positive FI_E*, 0 for QV_OK */

/* From fabric_glue/calls/update.c: what peers do to our memory by our own protocol. */
extern const struct qv_memory_ops qv_fi_own_memory_ops;

/* From fabric_glue/objects/stats.c. */

int qv_fi_ep_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);
/* fabric_glue/coll/exchange.c */
struct qv_fi_exchange_ops;
extern struct qv_fi_exchange_ops qv_fi_exchange_ops;
/* FI_QUIVER_STATS: an endpoint is enabled; it closes, or else the process ends. */
void qv_fi_stats_begin(struct qv_fi_ep *ep);
void qv_fi_stats_end(struct qv_fi_ep *ep);
/* With interval= or signal=: write the file, if it is time. */
void qv_fi_stats_tick(const struct qv_fi_ep *ep, uint64_t now);
/* With signal=: it has come, and nothing is written yet (fabric_glue/objects/stats_signal.c). */
bool qv_fi_stats_asked(void);

/* From fabric_glue/objects/totals.c: its tick. Lock held. */
void qv_fi_totals_tick(struct qv_fi_ep *ep);

/* From fabric_glue/objects/trace.c: FI_QUIVER_TRACE, the same. */
void qv_fi_trace_begin(struct qv_fi_ep *ep);
void qv_fi_trace_end(struct qv_fi_ep *ep);

/* From fabric_glue/settings/profile.c. */

/* Add what the endpoint received to what earlier ones did, and write all of it. */
void qv_fi_profile_add(const struct qv_fi_ep *ep, const char *pattern);

/* From fabric_glue/settings/assertion.c. */

void qv_fi_assertions_apply(const struct qv_fi_ep *ep, struct qv_match_settings *match);
/* Is this receive ruled out? Says so, if it is. req: QV_REQ_*; src: QV_SRC_ANY or another; flags:
 * FI_PEEK, FI_CLAIM. */
bool qv_fi_breaks_assertion(struct qv_fi_ep *ep, unsigned req, uint64_t ignore, uint32_t src,
			    uint64_t flags);

/* fabric_glue/words.c: the engine's names of libfabric's types and operations; false: there is none. */
bool qv_fi_type(enum fi_datatype type, enum qv_type *out);
bool qv_fi_op(enum fi_op op, enum qv_op *out);

/* From fabric_glue/coll: join.c, op.c, open.c. */

int qv_fi_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc,
	       void *context);
/* Move operations on. The endpoint has some: ep->coll. */
void qv_fi_coll_progress(struct qv_fi_ep *ep);
/* A message of a collective is over. */
void qv_fi_coll_sent(void *context);
void qv_fi_coll_comp(const struct qv_comp *comp);
/* What it has done, for the endpoint's statistics. */
void qv_fi_coll_collect(const struct qv_fi_ep *ep, struct qv_fi_stats *stats);
/* The endpoint closes: members hear of it, while it can still send; and when nothing
 * is under way. */
void qv_fi_coll_shutdown(struct qv_fi_ep *ep);
void qv_fi_coll_close(struct qv_fi_ep *ep);

/* From fabric_glue/peer/srx.c: peer mode, the domain's `peer` is set. */

/* The mode's part of enabling an endpoint, after its objects are bound. */
int qv_fi_srx_enable(struct qv_fi_ep *ep);
/* Before the endpoint closes: the core takes what is for others, or time is up. Lock held, but not
 * while we wait. */
void qv_fi_srx_leave(struct qv_fi_ep *ep);
/* Behind the closing of the core's endpoint. */
void qv_fi_srx_close(struct qv_fi_ep *ep);
/* fabric_glue/peer/death.c: look after peers that owe something. Lock held. */
void qv_fi_srx_tick(struct qv_fi_srx *srx);

#endif /* QV_FI_DATA_H */
