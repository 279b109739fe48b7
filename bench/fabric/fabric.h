/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fabric.h - native providers against quiver over them, by libfabric's tagged calls, and
 * against UCX by its own (ucx.h).
 *
 * libfabric reads FI_PROVIDER once per process, so each implementation is a pair of processes of
 * its own. The parent lives without libfabric: it forks the pairs, tells them over socket pairs
 * what to run next, and collects samples. A pair that has nothing to do sleeps in read().
 */
#ifndef BENCH_FABRIC_H
#define BENCH_FABRIC_H

#include "bench/common/bench.h"

#include <sys/types.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#define QV_FB_PAIRS         16      /* implementations in one run */
#define QV_FB_BEAT          16      /* words from one process's counter to the other's */
#define QV_FB_TEXT          96      /* reason of a failure */
#define QV_FB_ADDRESS       2048    /* bytes of an address */
#define QV_FB_WINDOW        1024    /* messages in flight at most */
#define QV_FB_DEPTH         1000000 /* queue depth at most */
#define QV_FB_START_SECONDS 20.0    /* for opening, beside whatever else the machine does */
#define QV_FB_SAMPLES       20000   /* samples of one block at most */
#define QV_FB_WINDOW_SIZE   ((size_t)8 << 20) /* bytes in flight at most, if more than one fits */

enum qv_fb_kind {
	QV_FB_LAT,  /* half a round trip, us */
	QV_FB_RATE, /* Mmsg/s */
	QV_FB_BW,   /* MB/s */
	QV_FB_SELF, /* a message to itself and its receive, ns/op */
};

enum qv_fb_queue {
	QV_FB_NONE,
	QV_FB_PRQ, /* receives posted before the one that is measured */
	QV_FB_UMQ, /* unexpected messages that wait meanwhile */
};

enum qv_fb_position { QV_FB_HEAD, QV_FB_TAIL, QV_FB_RAND, QV_FB_MISS }; /* of QV_FB_SELF */

/* From cases.c. */

struct qv_fb_case {
	char name[QV_BENCH_NAME];
	enum qv_fb_kind kind;
	enum qv_fb_queue queue;
	enum qv_fb_position position;
	uint32_t bytes, depth, window;
};

/* 0, or -1 if name is no case that can be run. */
int qv_fb_case_parse(const char *name, struct qv_fb_case *out);

/* Cases of a run in the order of the table; the caller frees *out. Returns how many. */
size_t qv_fb_case_list(const struct qv_bench_opts *opts, struct qv_fb_case **out);

extern const char *const qv_fb_unit[]; /* by kind */

/* ep.c: one endpoint, opened alike for every implementation. */

/* How to open: the same but for the provider. */
struct qv_fb_setup {
	char impl[QV_BENCH_NAME]; /* "shm", "quiver+shm", "other+shm", "ucx+shm" */
	char source[64];          /* name or address of the interface; "": any */
	bool no_inject, directed;
};

/* What an operation's context points to; libfabric may use the room at its start. */
struct qv_fb_op {
	struct fi_context2 room;
	uint64_t tag;
	uint32_t bytes;
	bool is_recv, busy;
};

#define QV_FB_SEND_OPS 256

struct qv_fb_ep {
	struct qv_fb_ucx *ucx; /* all that follows up to `from` is of libfabric; NULL: not UCX */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	fi_addr_t peer, from;
	fi_addr_t addr[2];   /* the other process, this one */
	bool knows_self;     /* addr[1] is there */
	size_t inject_below; /* shorter messages go by fi_tinject; 0 = none do */
	uint64_t sends_out;  /* sends without their completion */
	unsigned int next_op;
	bool yield;     /* both processes share one CPU */
	uint64_t *beat; /* the parent sees here that something completes */
	struct qv_fb_op send_ops[QV_FB_SEND_OPS];
	char error[QV_FB_TEXT]; /* of the first call that failed */
};

/* Sets the environment for setup and opens. 0, or -1 with ep->error set. */
int qv_fb_ep_open(struct qv_fb_ep *ep, const struct qv_fb_setup *setup);
int qv_fb_ep_connect(struct qv_fb_ep *ep, const void *address);
/* Send to, and receive from, itself (own: its address) from now on, or the other one again. */
int qv_fb_ep_turn(struct qv_fb_ep *ep, const void *own, bool self);
void qv_fb_ep_close(struct qv_fb_ep *ep);

/* All return 0, or -1 with ep->error set. A send or receive retries while the provider is busy. */
int qv_fb_send(struct qv_fb_ep *ep, const void *buf, size_t bytes, uint64_t tag);
int qv_fb_recv(struct qv_fb_ep *ep, void *buf, size_t bytes, uint64_t tag, struct qv_fb_op *op);
int qv_fb_poll(struct qv_fb_ep *ep);
/* Until every send has completed. */
int qv_fb_flush(struct qv_fb_ep *ep);
/* Until the operation has completed. */
int qv_fb_wait_op(struct qv_fb_ep *ep, const struct qv_fb_op *op);
/* Keeps the first failure as ep->error ("what: text of rc", or what alone if rc is 0); -1. */
int qv_fb_fail(struct qv_fb_ep *ep, const char *what, long rc);

/* run.c: what the two processes of a pair do. */

struct qv_fb_command {
	struct qv_fb_case what;
	uint32_t flat_n, deep_n; /* samples at depth 0 and at what.depth */
};

struct qv_fb_reply {
	int32_t status;
	uint32_t flat_n, deep_n; /* floats that follow */
	uint32_t address_n;      /* bytes of address that follow (the first reply only) */
	char text[QV_FB_TEXT];   /* why status is not 0; of the first reply, how it is opened */
};

struct qv_fb_run {
	struct qv_fb_ep ep;
	int rank;
	bool self;                             /* one process that sends to itself */
	char own[QV_FB_ADDRESS];               /* address */
	uint64_t nonce;                        /* makes payloads differ from block to block */
	uint64_t deep_base;                    /* first value of the queued messages */
	char *send_buf, *recv_buf;             /* window x bytes */
	struct qv_fb_op sync_op, ack_op, *ops; /* of barrier, acknowledgement and window */
	char *deep_buf;                        /* depth x 8 */
	struct qv_fb_op *deep_ops;
	size_t buf_room, deep_room; /* bytes in each window buffer; entries */
	float *flat, *deep;
};

int qv_fb_run_init(struct qv_fb_run *run);
/* Buffers for one case; they are kept for the next one. */
int qv_fb_run_reserve(struct qv_fb_run *run, const struct qv_fb_case *what);
void qv_fb_run_free(struct qv_fb_run *run);
/* Run one command; samples are in run->flat and run->deep (rank 0). */
int qv_fb_run(struct qv_fb_run *run, const struct qv_fb_command *command);
/* self.c: one process alone. */

#define QV_FB_SELF_OPS 8 /* in a sample: the clock's steps are as long as some operations */
int qv_fb_run_self(struct qv_fb_run *run, const struct qv_fb_command *command);

/* queue.c: other receives and messages in the way. */

int qv_fb_barrier(struct qv_fb_run *run);
int qv_fb_fill(struct qv_fb_run *run, const struct qv_fb_case *what);
/* Match every entry that qv_fb_fill made, checking each payload. */
int qv_fb_drain(struct qv_fb_run *run, const struct qv_fb_case *what);

#define QV_FB_TAG_PING   1u
#define QV_FB_TAG_STREAM 2u
#define QV_FB_TAG_ACK    3u
#define QV_FB_TAG_SYNC   4u
#define QV_FB_TAG_DEEP   ((uint64_t)1 << 40)

/* hosts.c: processes of a pair on other hosts. */

struct qv_fb_pair;

struct qv_fb_hosts {
	const char *launcher; /* runs `launcher name program arguments` on that host */
	const char *name[2];  /* of each rank's host; NULL: here */
	const char *connect;  /* HOST:PORT of who listens for rank 1, or NULL */
};

/* In a child: become the launcher, with fd as its input and output. Returns if it cannot. */
void qv_fb_launch(const struct qv_fb_hosts *hosts, int rank, int fd);
/* Connect to who listens for rank 1, and greet it. 0, or -1 (after a line on stderr). */
int qv_fb_reach(struct qv_fb_pair *pair);
/* Tell a process on another host what to open. 0 or -1. */
int qv_fb_send_setup(const struct qv_fb_pair *pair, int rank);
/* `--serve`: be one process, for the parent at the other end of the standard input and output. */
int qv_fb_serve(void);
/* `--listen`: one process for each connection. Returns 1 if the port cannot be had. */
int qv_fb_listen(long port);

/* pair.c: the two processes seen from the parent. */

struct qv_fb_pair {
	struct qv_fb_setup setup;
	const struct qv_fb_hosts *hosts; /* NULL: both processes are here */
	pid_t pid[2];                    /* 0: none of ours */
	int fd[2];
	bool alive;
	uint64_t *beat; /* shared with the processes: QV_FB_BEAT apart, completions so far */
	uint64_t seen;  /* sum of both when they moved last */
	double moved;   /* CPU time at which that was */
	double asked, patience;
	double deadline;          /* of qv_bench_seconds() for whatever is asked; 0 = none */
	const char *why;          /* it was given up */
	char how[QV_FB_TEXT];     /* provider name, inject size and so on, as the processes say */
	struct qv_fb_reply reply; /* of rank 0, or of the rank that failed */
	float *flat, *deep;
};

/* Start both processes and connect them. 0, or -1 with pair->reply.text set. */
int qv_fb_pair_start(struct qv_fb_pair *pair, double seconds);
/* Run a command. 0, or -1 with pair->reply.text set and the pair ended. */
int qv_fb_pair_ask(struct qv_fb_pair *pair, const struct qv_fb_command *command, double seconds);

/* From process.c. */

/* Fork the process of that rank, or start it on its host; pair->fd[rank] leads there. 0 or -1. */
int qv_fb_process_start(struct qv_fb_pair *pair, int rank);
/* fd leads to a process of another host: children that are forked later close it. */
void qv_fb_process_adopt(int fd);
/* Wait for a child's end. 0, or -1 if it lives after so many seconds. */
int qv_fb_process_reap(pid_t pid, double seconds, int *status);
void qv_fb_pair_stop(struct qv_fb_pair *pair);
/* If a signal has told this program to end: end all children, and end by that signal. */
void qv_fb_process_end_all(void);

/* From worker.c. */

/* Life of one process of a pair, asked at in and answering at out; returns when the parent closes
 * its ends. */
int qv_fb_worker(const struct qv_fb_setup *setup, int rank, int in, int out, uint64_t *beat);
/* n bytes, whole. 0, or -1 at an error or the end. */
int qv_fb_put(int fd, const void *data, size_t n);
int qv_fb_get(int fd, void *data, size_t n);
/* As fi_getname; *n: room, then length. */
int qv_fb_own_address(struct qv_fb_ep *ep, char *address, size_t *n);

/* From solo.c. */

/* n messages of a case in one process to itself; prints what was run. */
int qv_fb_solo(const struct qv_fb_setup *setup, const struct qv_fb_case *what, uint32_t n);

/* From impl.c. */

/* The provider under impl "quiver+<core>[/peer|/layered]", or "other+..."; the mode, "" if none is
 * named; NULL: it is no such name. */
const char *qv_fb_core(const char *impl, char *core, size_t size);
/* other+<core> is the quiver in this folder, for this process and those that it forks: who is served from
 * afar names none. -1: no quiver is there. */
int qv_fb_set_other(const char *folder);
/* Is the contender the same as impl, of the quiver of --other? */
bool qv_fb_is_same_of_other(const char *impl, const char *contender);
/* Set the environment of an implementation; the provider's name as it must come back goes to name. -1: it
 * needs --other. */
int qv_fb_environment(const struct qv_fb_setup *setup, char *name, size_t size);

/* From rounds.c. */

struct qv_fb_plan {
	struct qv_fb_case *cases;
	size_t cases_n;
	struct qv_fb_pair pairs[QV_FB_PAIRS];
	size_t pairs_n;
	uint32_t rounds;
	double block_us; /* time of one block */
	double hang;     /* seconds without an answer */
	double deadline; /* of qv_bench_seconds(); 0 = none */
};

/* Every case, implementations in turn; rows and ratios go to bench. */
void qv_fb_measure(struct qv_fb_plan *plan, struct qv_bench *bench);

/* From fabric.c. */

/* `quiver bench fabric`: argv[0] is "fabric". Exit status of the program. */
int qv_bench_fabric(int argc, char **argv);

#endif /* BENCH_FABRIC_H */
