/* SPDX-License-Identifier: BSD-2-Clause */
/* calls.h - operations on the memory of others: what their files know of each other. */
#ifndef QV_NODE_CALLS_H
#define QV_NODE_CALLS_H

#include "onesided.h"
#include "ring.h"

struct qv_node_peer;
struct qv_node_call;
struct qv_node_answer;

/* Where a packet goes: put.h. */
struct qv_node_room {
	struct qv_slot *slot;
	char *body;
	uint32_t low; /* of the slot's word, but for the kind */
};

/* Requests to one peer whose answers are awaited: so many answers may wait for room there. */
#define QV_NODE_ASKED 256u

/* Of an endpoint. */
struct qv_node_onesided {
	const struct qv_memory_ops *memory; /* NULL: nobody reaches ours */
	struct qv_node_call **calls;        /* by number; ncalls of them were made */
	uint32_t ncalls, cap, active;
	uint64_t looked; /* when those who are to answer were looked for; ns */
	struct qv_node_call *free;
	struct qv_node_call *stuck, **stuck_tail; /* found no room for more of theirs */
	struct qv_node_peer *waiting;             /* peers with answers that wait */
};

/* Of a peer. */
struct qv_node_answers {
	struct qv_node_answer *first, **last; /* answers that found no room */
	uint32_t count;
	struct qv_node_peer *next; /* of the waiting */
	uint32_t asked;            /* requests that it has not answered */
	uint32_t stuck;            /* calls that found no room for more of theirs */
	bool cannot_read;          /* our memory */
};

/* A request (struct qv_ask): 40 bytes with 16 of payload are in the slot. Its tag there is the number of
 * who wants an answer, 0: nobody; its data there is what is told. */
#define QV_NODE_DIRECT ((size_t)4 << 20) /* bytes of such a request at most */

/* Memory of the process that says so. */
struct qv_node_place {
	uint64_t addr, len;
};

/* An answer: its tag is the number in the request. Its data: */
#define QV_ANSWER_STATUS 0xffffffffu         /* minus a status */
#define QV_ANSWER_TELL   (UINT64_C(1) << 32) /* say when you have read it */

/* post.c: room for a packet, with a connection made if there is none; QV_EAGAIN, QV_ENOMEM or
 * QV_EPEER. */
int qv_node_room(struct qv_node *n, struct qv_node_peer *peer, size_t len,
		 struct qv_node_room *room);
/* Is there room for so many requests with so many bytes of operands in all, at most 2 * QV_NODE_INJECT? */
bool qv_node_room_for(struct qv_node *n, struct qv_node_peer *peer, unsigned packets, size_t bytes);
void qv_node_post(struct qv_node *n, struct qv_node_peer *peer, const struct qv_node_room *room,
		  enum qv_slot_kind kind, uint64_t tag, uint64_t data);

/* post.c: room for a packet that must not be refused: in the ring, or in memory of ours until there
 * is some. QV_ENOMEM; QV_EPROTO: the peer has asked for more than it may. */
struct qv_node_answer_room {
	struct qv_node_room packet;
	struct qv_node_answer *later; /* NULL: in the ring */
	char *body;
};
int qv_node_get_room(struct qv_node *n, struct qv_node_peer *peer, size_t len,
		     struct qv_node_answer_room *room);
void qv_node_answer(struct qv_node *n, struct qv_node_peer *peer,
		    const struct qv_node_answer_room *room, enum qv_slot_kind kind, uint64_t tag,
		    uint64_t data);
/* What has found no room: try again. */
void qv_node_pay(struct qv_node *n);
/* And calls that have found none. */
void qv_node_unblock(struct qv_node *n);
void qv_node_answers_free(struct qv_node *n, struct qv_node_peer *peer);

/* execute.c, calls.c: QV_OK, or QV_ENOMEM: nothing has changed. */
int qv_node_execute(struct qv_node *n, struct qv_node_peer *peer, uint64_t tag, uint64_t data,
		    const char *body, size_t len);
int qv_node_answered(struct qv_node *n, struct qv_node_peer *peer, uint64_t tag, uint64_t data,
		     const char *body, size_t len);

struct qv_node_call {
	struct qv_node_call *next; /* free, or stuck */
	struct qv_xfer *xfer;      /* NULL: free */
	uint64_t to, data;
	uint32_t number, turn; /* its place in `calls`, how often that was used */
	enum qv_remote_kind kind;
	uint16_t what;
	bool has_data, direct, stuck;
	int status;            /* the first that was not QV_OK */
	unsigned flying;       /* requests that are not answered */
	size_t len, sent, got; /* bytes: in all, asked for, answered */
	bool begun;            /* something was asked for: with no bytes one request does */
	uint8_t nthere, nhere, nother, nbefore;
	struct qv_span there[QV_SPANS];
	struct iovec here[QV_SPANS], other[QV_SPANS], before[QV_SPANS];
};

/* calls.c: NULL: no memory. */
struct qv_node_call *qv_node_call_new(struct qv_node_onesided *o);
void qv_node_call_free(struct qv_node_onesided *o, struct qv_node_call *call);
uint64_t qv_node_call_id(const struct qv_node_call *call);
void qv_node_call_end(struct qv_node *n, struct qv_node_call *call, int status);
/* begin.c */
struct qv_part qv_node_part(const struct qv_node_call *call, size_t at);
/* Ask for more, or end it. */
void qv_node_call_go_on(struct qv_node *n, struct qv_node_peer *peer, struct qv_node_call *call);
void qv_node_calls_go_on(struct qv_node *n);

/* calls.c */
/* Those end that wait for somebody who will not answer. */
void qv_node_calls_check(struct qv_node *n);
void qv_node_calls_end(struct qv_node *n, struct qv_node_peer *peer);
void qv_node_calls_free(struct qv_node *n);

#endif /* QV_NODE_CALLS_H */
