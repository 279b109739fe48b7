/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ft.h - frame of the conformance tests that speak to a provider through libfabric alone.
 *
 * The driver (main.c) forks the ranks of a case, watches them against a time limit and says
 * where each rank stood when it ran out. Ranks exchange addresses and meet at barriers through
 * memory shared with the driver, so a lost message cannot lose the test's own control traffic.
 *
 * Environment: FI_PROVIDER, FI_PROVIDER_PATH as for every libfabric program; QV_TEST_PROVIDER names
 * the fi_info to take (default: FI_PROVIDER); QV_TEST_SCALE multiplies counts (default 1);
 * QV_TEST_TIMEOUT multiplies time limits (default 1); QV_TEST_NODES=split puts the last rank of
 * each case on a node of its own, as far as quiver knows (FI_QUIVER_NODE);
 * QV_TEST_NETNS=first:second names two network name spaces: the last rank is in the second one;
 * QV_TEST_HOSTS=first:second names two folders with all name spaces of a host: every other rank,
 * from rank 1 on, is on the second one (hosts.py); QV_TEST_REPEAT runs each case so many times.
 */
#ifndef FT_H
#define FT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define FT_API       FI_VERSION(1, 17)
#define FT_MAX_RANKS 16
#define FT_MAX_EPS   16
#define FT_MAX_NAME  512
#define FT_GUARD     64 /* bytes behind a receive buffer that must stay as they were */

/* The driver and the memory that it shares with the ranks. */

struct ft_rank {
	_Atomic pid_t pid;          /* as the driver counts */
	pid_t child;                /* of the driver; it ends as the rank does */
	_Atomic(const char *) file; /* where the rank is now; literals are valid in every fork */
	_Atomic int line;
	bool may_die; /* the case kills this rank */
	size_t namelen[FT_MAX_EPS];
	char name[FT_MAX_EPS][FT_MAX_NAME];
};

struct ft_shared {
	_Atomic uint32_t members; /* ranks that take part in barriers */
	_Atomic uint32_t arrived, generation;
	_Atomic uint64_t word[64];                   /* for the case itself; zero at start */
	_Atomic uint8_t outcome[FT_MAX_RANKS][4096]; /* of what each rank sent (stream.h) */
	struct ft_rank rank[FT_MAX_RANKS];
};

struct ft_case {
	const char *name;
	int ranks;
	int limit; /* seconds */
	void (*run)(void);
};

/* One table per topic, ended by an entry without name. */
extern const struct ft_case ft_cases_basic[], ft_cases_pingpong[], ft_cases_order[],
	ft_cases_random[], ft_cases_peek[], ft_cases_cancel[], ft_cases_trunc[],
	ft_cases_completion[], ft_cases_multi[], ft_cases_cntr[], ft_cases_wait[], ft_cases_rma[],
	ft_cases_queue[], ft_cases_flow[], ft_cases_large[], ft_cases_av[], ft_cases_close[],
	ft_cases_thread[], ft_cases_bad[], ft_cases_env[], ft_cases_kill[], ft_cases_kill_state[],
	ft_cases_kill_unknown[], ft_cases_fuzz[], ft_cases_assertion[], ft_cases_stats[],
	ft_cases_fork[], ft_cases_pair[], ft_cases_atomic[], ft_cases_onesided[],
	ft_cases_onesided_bad[], ft_cases_atomic_types[], ft_cases_coll[], ft_cases_coll_bad[],
	ft_cases_coll_local[], ft_cases_coll_memory[], ft_cases_auto[], ft_cases_sweep[],
	ft_cases_rows[], ft_cases_soak[], ft_cases_exchange[], ft_cases_stream[], ft_cases_many[],
	ft_cases_coll_habit[], ft_cases_errors[], ft_cases_names[], ft_cases_beside[],
	ft_cases_millions[], ft_cases_cut[], ft_cases_death[], ft_cases_stop[],
	ft_cases_cut_sweep[], ft_cases_restart[], ft_cases_churn[], ft_cases_eq[],
	ft_cases_any_interface[], ft_cases_rma_cntr[], ft_cases_fence[], ft_cases_atomic_own[],
	ft_cases_rails[], ft_cases_late[], ft_cases_stays[], ft_cases_totals[];

/* What a rank knows. */
struct ft {
	const char *name; /* of the case */
	const char *prov; /* prov_name to take */
	bool quiver;      /* it is ours: a missing capability is a failure, not a skip */
	bool peer;        /* FI_QUIVER_MODE=peer */
	int rank, n;
	int eps;         /* endpoints opened so far */
	double scale;    /* QV_TEST_SCALE */
	double patience; /* QV_TEST_TIMEOUT */
	struct ft_shared *sh;
};
extern struct ft ft;

void ft_here(const char *file, int line);
const char *ft_file(const struct ft_rank *r); /* without the folder */
void ft_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void ft_skip(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Skips the case in peer mode over a core that cannot do what it asks for; core: a part of its name,
 * NULL: over any. before: the first version of libfabric that can, 0: none. The list is in
 * docs/design.md. */
void ft_peer_limit(const char *core, uint32_t before, const char *why);
/* The provider below ours, as FI_QUIVER_CORE or the layered name say; a native one is its own. Of
 * two the one by which the first and the last rank reach each other. */
const char *ft_core(void);
double ft_notice(void);
bool ft_pair(void);              /* quiver over two cores */
const char *ft_local_core(void); /* of these, that for the node */
/* Each host has process numbers, a network and a /dev/shm of its own. */
bool ft_apart(void);
void ft_enter_host(void); /* in a child of the driver; comes back in the rank's process */
/* The cable of this rank's host: off, on. Skips the case where there is none. */
void ft_cable(bool on);
/* The same of another device of the host's. */
void ft_cable_of(const char *device, bool on);
/* As if this rank were on a node of its own. Before it asks for a provider. */
void ft_elsewhere(void);
/* An address over two cores without the local one, as fi_getinfo makes them of a name and a port. */
void ft_network_only(char *name);
size_t ft_scaled(size_t count); /* count times QV_TEST_SCALE, at least 1 */
bool ft_share(unsigned *turn);  /* true QV_TEST_SCALE times of 1; turn: 0 at first */
int ft_ms(int ms);              /* ms times QV_TEST_TIMEOUT: what is waited at most */

#define FT_HERE() ft_here(__FILE__, __LINE__)
#define CHECK(cond)                                     \
	do {                                            \
		FT_HERE();                              \
		if (!(cond))                            \
			ft_fail("not true: %s", #cond); \
	} while (0)
#define CHECK_EQ(got, want)                                                               \
	do {                                                                              \
		FT_HERE();                                                                \
		unsigned long long got_ = (unsigned long long)(got);                      \
		unsigned long long want_ = (unsigned long long)(want);                    \
		if (got_ != want_)                                                        \
			ft_fail("%s is %#llx, not %s = %#llx", #got, got_, #want, want_); \
	} while (0)
/* A libfabric call that must return 0. */
#define OK(call)                                                                       \
	do {                                                                           \
		FT_HERE();                                                             \
		long ret_ = (long)(call);                                              \
		if (ret_)                                                              \
			ft_fail("%s: %ld (%s)", #call, ret_, fi_strerror((int)-ret_)); \
	} while (0)
/* The same, repeated after progress while the provider says -FI_EAGAIN. */
#define POST(call)                                                                     \
	do {                                                                           \
		FT_HERE();                                                             \
		long ret_;                                                             \
		while ((ret_ = (long)(call)) == -FI_EAGAIN)                            \
			ft_progress();                                                 \
		if (ret_)                                                              \
			ft_fail("%s: %ld (%s)", #call, ret_, fi_strerror((int)-ret_)); \
	} while (0)

/* All ranks meet; with progress of every open endpoint, or without. */
#define ft_barrier()      (FT_HERE(), ft_meet(true))
#define ft_barrier_idle() (FT_HERE(), ft_meet(false))
void ft_meet(bool progress);
/* Make progress until word[i] >= value. */
#define ft_await_word(i, value) (FT_HERE(), ft_word_wait(i, value))
void ft_word_wait(int i, uint64_t value);

double ft_now(void); /* seconds */
void ft_msleep(int ms);
void ft_progress_for(double seconds);
uint64_t ft_random(uint64_t *state);
void ft_shuffle(uint32_t *index, size_t n, uint64_t seed); /* fills a permutation of 0..n-1 */
FILE *ft_catch_stderr(void); /* what the process writes to it from here on */
int ft_lines_with(FILE *file, const char *a, const char *b); /* lines so far that have both words */
size_t ft_vm_hwm(void);                                      /* peak resident set, bytes */
size_t ft_descriptors(void);                                 /* open; failures/churn.c */

/* Endpoints (ep.c). */

struct ft_op { /* one operation; its address is the context */
	struct fi_context2 ctx;
	_Atomic int done; /* completions seen, error or not */
	int err;          /* FI_E* of an error completion */
	int prov_errno;
	uint64_t flags, data, tag;
	size_t len, olen;
	void *buf;
	fi_addr_t src;
	void (*on)(struct ft_op *op); /* called at each completion; set after ft_fresh() */
	uint64_t id;
};

struct ft_conf {
	uint64_t caps;            /* beyond FI_MSG | FI_TAGGED */
	enum fi_cq_format format; /* FI_CQ_FORMAT_UNSPEC: tagged */
	enum fi_wait_obj wait;
	enum fi_threading threading; /* FI_THREAD_UNSPEC: domain */
	enum fi_progress progress;   /* FI_PROGRESS_UNSPEC: manual */
	uint64_t tx_flags;           /* default op_flags */
	bool split_cq;               /* one queue for transmits, one for receives */
	bool selective;              /* FI_SELECTIVE_COMPLETION on both directions */
	bool eq;                     /* an event queue */
	bool cntrs;                  /* counters for send, receive and (with FI_RMA) read, write */
	bool no_cq;                  /* with cntrs: bind no queue */
	bool av_map;                 /* FI_AV_MAP */
	bool in_band; /* addresses by a port and by messages (tests/fabric/messages/band.c) */
	bool lonely;  /* no exchange of addresses */
	struct ft_ep *beside; /* open in that endpoint's domain */
};

struct ft_ep {
	struct ft_conf conf;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *tx_cq, *rx_cq; /* the same unless split */
	struct fid_cntr *send_cntr, *recv_cntr, *rma_cntr;
	/* Set before ft_open_ep: what peers write, what they read; receives */
	struct fid_cntr *remote_cntr, *read_cntr, *recv_wait;
	struct fid_eq *eq; /* NULL unless asked for */
	struct fid_ep *ep;
	int index; /* of this endpoint within the rank */
	fi_addr_t peer[FT_MAX_RANKS];
	struct ft_ep *next; /* open endpoints of this process */
};

/* Hints as every case starts from; the caller frees. */
struct fi_info *ft_hints(const struct ft_conf *conf);
/* Take the fi_info of the provider under test. 0, or what fi_getinfo said. */
int ft_getinfo(struct fi_info *hints, struct fi_info **info);
/* Fabric, domain and queues; not yet an endpoint. */
void ft_open_domain(struct ft_ep *ep, const struct ft_conf *conf);
void ft_open_ep(struct ft_ep *ep);
/* Skip the case where the domain takes no further endpoint. */
void ft_needs_room(const struct ft_ep *ep);
void ft_exchange(struct ft_ep *ep);
/* All of it: endpoint i of every rank can reach endpoint i of every other. */
void ft_open(struct ft_ep *ep, const struct ft_conf *conf);
void ft_close_ep(struct ft_ep *ep);   /* the endpoint only */
void ft_close(struct ft_ep *ep);      /* after a barrier */
void ft_close_part(struct ft_ep *ep); /* without; NULL: nothing */

/* Read one queue once; returns the number of completions handled. */
int ft_poll_cq(struct ft_ep *ep, struct fid_cq *cq);
/* Take an error completion off the queue; false if there is none. */
bool ft_take_error(struct ft_ep *ep, struct fid_cq *cq);
/* Count the entry and store it into its operation. */
void ft_record(struct ft_ep *ep, const void *entry, fi_addr_t src);
int ft_progress(void); /* every queue of every open endpoint */

/* The operation is done, by its entry, or where there is no queue by the counter's nth. */
#define ft_told(ep, op, send, nth) (FT_HERE(), ft_tell(ep, op, send, nth))
void ft_tell(struct ft_ep *ep, struct ft_op *op, bool send, uint64_t nth);

/* Within so many seconds of a death all who wait for the dead are told. */
#define FT_TOLD ft_notice()

/* Addresses in band (tests/fabric/messages/band.c). */

bool ft_has_ports(void);
void ft_claim_ports(void);
uint32_t ft_port(void);    /* for the next endpoint: the same for every rank */
const char *ft_host(void); /* of rank 0: QV_TEST_HOST, or this one */
int ft_getinfo_port(struct fi_info *hints, struct fi_info **info);
void ft_exchange_in_band(struct ft_ep *ep);

/* Memory that peers reach (tests/fabric/objects/rma.c). */

#define FT_WINDOW (1u << 20) /* bytes */

struct ft_window {
	struct ft_ep ep;
	struct fid_mr *mr;
	char *target, *buf; /* registered; not registered */
	uint64_t addr, key; /* of rank 1's target on rank 0, and the other way round */
	uint64_t addrs[FT_MAX_RANKS], keys[FT_MAX_RANKS]; /* of every rank's */
};
void ft_open_window(struct ft_window *w, struct ft_conf conf); /* with FI_RMA */
void ft_register_window(struct ft_window *w);                  /* of an open endpoint */
void ft_close_window(struct ft_window *w);

/* Messages (tests/fabric/messages/ops.c). */

enum ft_form { /* of a send */
	       FT_SEND,
	       FT_SENDV,
	       FT_SENDMSG,
	       FT_SENDDATA,
	       FT_SENDMSG_DATA,
	       FT_INJECT,
	       FT_INJECTDATA,
	       FT_SENDMSG_INJECT,
	       FT_SEND_FORMS
};
enum ft_rform { FT_RECV, FT_RECVV, FT_RECVMSG, FT_RECV_FORMS };

struct ft_msg {
	bool tagged;
	fi_addr_t addr;
	uint64_t tag, ignore;
	void *buf;
	size_t len;
	size_t iovs; /* pieces to cut the buffer into, 0 as 1 */
	uint64_t data;
	uint64_t flags; /* for the msg forms */
};

bool ft_form_is_inject(enum ft_form form); /* by call: no completion, no context */
bool ft_form_has_data(enum ft_form form);
ssize_t ft_send_as(struct ft_ep *ep, enum ft_form form, const struct ft_msg *m, struct ft_op *op);
ssize_t ft_recv_as(struct ft_ep *ep, enum ft_rform form, const struct ft_msg *m, struct ft_op *op);

/* The plain forms, both tagged and untagged: post, retried on EAGAIN. */
#define ft_tsend(e, to, tag, buf, len, op) \
	POST(fi_tsend((e)->ep, buf, len, NULL, (e)->peer[to], tag, ft_fresh(op)))
#define ft_trecv(e, from, tag, ignore, buf, len, op) \
	POST(fi_trecv((e)->ep, buf, len, NULL, ft_addr(e, from), tag, ignore, ft_fresh(op)))
#define ft_send(e, to, buf, len, op) \
	POST(fi_send((e)->ep, buf, len, NULL, (e)->peer[to], ft_fresh(op)))
#define ft_recv(e, from, buf, len, op) \
	POST(fi_recv((e)->ep, buf, len, NULL, ft_addr(e, from), ft_fresh(op)))
#define FT_ANY (-1)
fi_addr_t ft_addr(struct ft_ep *ep, int rank); /* FT_ANY: FI_ADDR_UNSPEC */
struct ft_op *ft_fresh(struct ft_op *op);      /* forget earlier completions */

/* Wait for the completion of op: without error, or with exactly this one. */
#define ft_wait(op)            (FT_HERE(), ft_await(op, 0))
#define ft_wait_err(op, error) (FT_HERE(), ft_await(op, error))
void ft_await(struct ft_op *op, int error);
/* Wait for n operations. */
#define ft_wait_all(ops, n)                                          \
	do {                                                         \
		for (size_t wait_ = 0; wait_ < (size_t)(n); wait_++) \
			ft_wait(&(ops)[wait_]);                      \
	} while (0)

/* Probe with flags FI_PEEK | more: 0 found (op tells what), FI_ENOMSG, or another FI_E*. */
#define ft_peek(ep, tagged, from, tag, ignore, more, op) \
	(FT_HERE(), ft_probe(ep, tagged, from, tag, ignore, FI_PEEK | (more), op))
int ft_probe(struct ft_ep *ep, bool tagged, int from, uint64_t tag, uint64_t ignore, uint64_t flags,
	     struct ft_op *op);

/* Payload: a pattern chosen by seed; a buffer has FT_GUARD more bytes than len when received. */
void *ft_buf(size_t len); /* with the guard, all set to the guard byte; freed with free() */
void ft_guard(void *buf, size_t len);
void ft_fill(void *buf, size_t len, uint64_t seed);
#define ft_verify(buf, len, seed, room) (FT_HERE(), ft_compare(buf, len, seed, room))
/* The first len bytes are pattern seed; from there to room + FT_GUARD nothing was written. */
void ft_compare(const void *buf, size_t len, uint64_t seed, size_t room);

/* Attacks (attack.c), over a core endpoint; each returns how many packets it sent. */

enum { FT_TARGET = 0, FT_ATTACKER = 2 };    /* ranks */
size_t ft_attack_damaged(struct ft_ep *ep); /* each kind of damage once */
size_t ft_attack_random(struct ft_ep *ep);  /* anything, from nobody */
size_t ft_attack_known(struct ft_ep *ep);   /* well formed, after a HELLO, senseless */

#endif /* FT_H */
