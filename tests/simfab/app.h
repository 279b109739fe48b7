/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * app.h - simulated applications over the provider, what they have asked for, and the laws that
 * all of it must keep.
 */
#ifndef SF_APP_H
#define SF_APP_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "sf.h"

#define SF_RECVS   24u /* outstanding receives of an application */
#define SF_SENDS   24u /* outstanding sends */
#define SF_CLASSES 8u  /* of messages; the low bits of a tag */
#define SF_CLASS   ((uint64_t)0xff)
#define SF_TELLS   ((uint64_t)1 << 63) /* the tag tells which message it is, in the bits between */

enum sf_kind { SF_OP_SEND, SF_OP_RECV };

/* What fi_context points to. */
struct sf_op {
	struct fi_context2 fi; /* first */
	enum sf_kind kind;
};

struct sf_msg {
	struct sf_op op; /* first */
	uint64_t id;     /* in the order of their sending, over all */
	unsigned from, to;
	uint32_t from_life, to_life;
	uint32_t from_home;
	bool tagged, has_data, inject, ack;
	uint64_t tag;
	size_t len;
	uint64_t sent_at;
	bool done, failed; /* what the sender was told of it */
	bool arrived;
	bool lost;                 /* it was excused for not having arrived */
	bool orphan;               /* one of the two has ended: it need not arrive */
	uint64_t before;           /* whoever takes it must be older than this receive */
	char *buf;                 /* the sender's, until the send is over */
	struct sf_msg *next, **at; /* those not arrived, of the receiver, oldest first */
};

struct sf_recv {
	struct sf_op op; /* first */
	uint64_t seq;    /* in the order of posting, over all; 0: free */
	bool tagged, cancelled;
	bool nameless; /* the address that it names was removed since */
	uint64_t look; /* FI_PEEK, with FI_CLAIM or FI_DISCARD; FI_CLAIM: it has been */
	int from;      /* -1: any */
	uint32_t from_home;
	uint64_t tag, ignore;
	char *buf;
	size_t room;
	uint64_t posted_at;
	/* What it takes from these senders must be older than these messages. */
	unsigned npassed;
	struct {
		unsigned from;
		uint32_t life;
		uint64_t id;
	} passed[8];
};

enum sf_state { SF_DOWN, SF_UP, SF_CLOSING };

struct sf_app {
	unsigned slot;
	uint32_t life;  /* number of this process here; others take its place */
	uint64_t first; /* message that can have been sent to this life */
	uint32_t home;  /* the first of its lives that had the address that it has */
	enum sf_state state;
	struct sf_proc *proc;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	char name[256]; /* its address */
	size_t namelen;
	fi_addr_t *peers;     /* what it calls the others, by slot */
	uint32_t *peer_lives; /* which of their lives that means; 0: none */
	uint64_t *told;       /* by slot: messages that there were when it heard of a failure */
	uint64_t recv_failed; /* when a receive failed last */
	struct sf_recv recvs[SF_RECVS];
	unsigned nrecvs, nsends;
	unsigned nclaims;      /* receives that are to take what they have claimed */
	struct sf_msg *coming; /* messages to it that have not arrived */
	struct sf_msg **coming_tail;
	unsigned ncoming;
	unsigned todo;         /* operations to begin in this round */
	uint64_t asleep_until; /* does not look */
	uint64_t down_until;   /* comes back then */
	unsigned rests;        /* in this life */
	size_t rest_bytes;     /* that its process held at the second of them */
	struct sf_fiber *closing;
	bool closed_well; /* it was not killed */
	bool same;        /* comes back at the same address */
};
extern struct sf_app *sf_apps;

/* app.c: life. */

void sf_app_init(unsigned slots);
void sf_app_open(struct sf_app *a);
/* Begin to close it as a good program does; sf_app_go_on until it is down. */
void sf_app_close(struct sf_app *a);
void sf_app_kill(struct sf_app *a, bool silent);
/* Closing goes on. */
void sf_app_go_on(struct sf_app *a);
/* It learns the addresses that the others have now. */
void sf_app_meet(struct sf_app *a);
void sf_app_churn(struct sf_app *a, unsigned slot);

/* work.c: operations. */

void sf_work_some(struct sf_app *a);
void sf_work_claim_later(struct sf_app *a, struct sf_recv *r);
/* Something for each message that waits; probes where some are missing. */
void sf_work_drain(struct sf_app *a);
bool sf_work_send(struct sf_app *a, unsigned to, bool probe);
void sf_work_cancel_all(struct sf_app *a);

/* poll.c: completions. */

/* True: there were some. */
bool sf_poll(struct sf_app *a);

/* law.c: what must hold. */

struct sf_msg *sf_law_send(struct sf_app *from, unsigned to);
/* It was refused: there is no such message. */
void sf_law_unsend(struct sf_msg *m);
void sf_law_sent(struct sf_msg *m, int err);
/* A life begins; did the one before it at its address take this message already? */
void sf_law_begins(struct sf_app *a);
bool sf_law_was_anothers(const struct sf_app *a, uint64_t id);
/* A receive took a message: which one its word says. */
struct sf_msg *sf_law_find(struct sf_app *a, const struct sf_recv *r, uint64_t id);
void sf_law_took(struct sf_app *a, struct sf_recv *r, struct sf_msg *m);
void sf_law_cancelled(struct sf_app *a, const struct sf_recv *r);
void sf_law_told(struct sf_app *a, unsigned slot, uint32_t life, int err, const char *what);
void sf_law_recv_failed(struct sf_app *a, int err);
/* Is everything over that must be? */
bool sf_law_at_rest(void);
/* Time is up: what is not over should be. */
void sf_law_judge(void);
void sf_law_ended(struct sf_app *a);
bool sf_law_accepts(const struct sf_recv *r, const struct sf_msg *m);

/* buf.c: buffers that nobody may touch when they are not in use. */

#define SF_POISON 0xa5
char *sf_buf_get(size_t len);
/* Poisoned from now on; whoever writes to it later is found out. The first `used` bytes were to be
 * written until now. */
void sf_buf_put(char *buf, size_t used);
void sf_buf_check_all(void);
/* The payload of message id. */
void sf_buf_fill(char *buf, size_t len, uint64_t id);
bool sf_buf_is(const char *buf, size_t len, uint64_t id);
/* Is all behind the first len bytes as it was? */
bool sf_buf_is_clean(const char *buf, size_t len);

#endif /* SF_APP_H */
