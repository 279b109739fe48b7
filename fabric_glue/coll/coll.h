/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * coll.h - collectives: sets of addresses, groups that endpoints have joined, operations
 * under way. An operation is a run of a schedule of the engine whose network is the endpoint's mode,
 * with a match engine of its own.
 *
 * Each member of a group knows every other one by the number that the group has there (the join
 * tells them), so that the tags of two groups never meet: number of the group at the receiver (30
 * bits), operation (16), message (16) and for the join, with bit 62, a hash of the members in the
 * place of the number. Bit 63 is the mode's.
 */
#ifndef QV_FI_COLL_H
#define QV_FI_COLL_H

#include "engine/schedule/agree.h"
#include "engine/team/team.h"
#include "fabric_glue/calls.h"

#include <quiver/combine.h>
#include <quiver/exchange.h>
#include <quiver/select.h>

struct qv_fi_set { /* set.c */
	struct fid_av_set fid;
	struct qv_fi_av *av;
	size_t n, room;
	fi_addr_t *addrs; /* in order, each once */
};

struct qv_fi_coll_op;

/* A message under way, or a notice that a group is lost. */
struct qv_fi_coll_msg {
	struct qv_fi_coll_op *op;    /* NULL: a notice */
	struct qv_fi_group *group;   /* of the notice */
	struct qv_fi_coll_msg *next; /* of an exchange: the next one under way */
	uint32_t step;
	bool flying, receives;
	size_t bytes;
};

/* What members tell each other when they join. */
struct qv_fi_member {
	uint64_t hash;  /* of the group */
	uint64_t check; /* of what all must have in common to choose the same schedules */
	uint64_t id;    /* of the group at this member */
	uint64_t load;  /* combine units that it runs for other groups */
	/* memory.c; all 0: it cannot have memory with all others. */
	uint64_t host;   /* the same where memory can be in common */
	uint64_t kinds;  /* of collectives that it wants to go through memory, as bits */
	uint64_t random; /* that of rank 0 is the memory's name */
};

/* What the members of a group have in common on one node. */
struct qv_fi_memory {
	struct qv_team *team; /* NULL: nothing */
	unsigned kinds;       /* of collectives that go through it, as bits */
	unsigned step;        /* of making it */
	uint64_t *told;       /* by rank, while it is made: whether all is well */
	struct qv_fi_coll_op *running;
	uint64_t checked; /* ms: the call began, or others lived */
};

struct qv_fi_group { /* group.c */
	struct fid_mc mc;
	struct qv_fi_ep *ep; /* NULL: it has been closed */
	struct qv_fi_group *next;
	uint32_t id; /* here: slot and how often that was used */
	uint32_t rank, n;
	fi_addr_t *addrs;             /* by rank */
	struct qv_fi_member *members; /* by rank */
	uint64_t hash;
	uint32_t *load;                /* by rank, as they told */
	unsigned units;                /* combine units that this member runs for it */
	struct qv_select *select;      /* each group has a network of its own */
	struct qv_fi_measure *measure; /* of it, while the group is joined */
	struct qv_fi_memory memory;
	uint16_t seq;                  /* operations so far */
	unsigned ops;                  /* under way, */
	unsigned streams;              /* of which so many are streams */
	bool joined, listening, heard; /* heard: a member has lost the group */
	int failed;                    /* enum qv_status: the group is lost, */
	uint32_t untold;               /* and so many members could not be told yet */
	struct qv_fi_coll_msg notice;
	struct qv_expect *expect; /* expect.c; NULL: nobody wants expectations */
};

enum qv_fi_coll_kind {
	QV_FI_COLL_CALL,     /* of the application */
	QV_FI_COLL_JOIN,     /* has tags of its own */
	QV_FI_COLL_MEMORY,   /* whether all is well with it, in a join */
	QV_FI_COLL_MEASURE,  /* of the network, the end of a join */
	QV_FI_COLL_EXCHANGE, /* of expectations */
	QV_FI_COLL_STREAM,   /* open */
	QV_FI_COLL_SUMS,     /* of a fence of a stream */
};

struct qv_fi_coll_op { /* op.c */
	struct qv_fi_coll_op *next;
	struct qv_fi_coll *coll;
	struct qv_fi_group *group;
	enum qv_fi_coll_kind kind;
	const struct qv_plan *plan; /* of a call; the others have a schedule of their own */
	struct qv_schedule *schedule;
	struct qv_run *run;
	struct qv_run_data data;
	struct qv_run_blocks blocks;   /* what data points to, if they have their own lengths */
	struct qv_exchange *exchange;  /* in the place of a run; NULL: there is none */
	struct qv_fi_exchange *result; /* who gets it at the end */
	struct qv_fi_stream *stream;   /* in the place of a run; NULL: there is none */
	struct qv_fi_stream *sums;     /* who gets the result of a call */
	struct qv_expect *expect;      /* whose exchange it is, if the group was left meanwhile */
	struct qv_fi_coll_msg *loose;  /* its messages under way */
	struct qv_team_call call;      /* in the place of a run, by_memory */
	bool by_memory;
	enum qv_op op;
	enum qv_type type;
	uint64_t tag;     /* without number and message */
	void *memory;     /* scratch */
	const void *from; /* at the end, so many bytes are copied */
	void *to;
	size_t bytes;
	void *context;
	bool entry;           /* a completion is written */
	bool timed, together; /* its end is noted, and is so for all members; expect.c */
	int status;
	unsigned flying;
	struct qv_fi_coll_msg msgs[]; /* by step */
};

/* What an endpoint has of all this; made when it first joins a group. */
struct qv_fi_coll {
	struct qv_fi_ep *ep;
	const struct qv_combine *combine;
	struct qv_fi_coll_op *ops, **ops_tail; /* in the order of their calls */
	struct qv_fi_group *groups;
	/* Those that were lost, and closed by the program: id, hash, untold. */
	struct qv_fi_group *lost;
	struct qv_fi_group **slots; /* by the lower bits of id */
	uint32_t nslots, next_id;
	bool closing; /* the endpoint is being closed: groups do not listen any more */
	uint64_t check;
	struct qv_fi_joins *joins; /* how often each set has been joined */
	uint64_t units;            /* combine units of all groups */
	/* Of the application that are over; of these, through memory, and built from arrivals. */
	uint64_t calls, by_memory, by_arrival;
};

/* What a call asks for. */
struct qv_fi_coll_call {
	enum qv_coll coll;
	fi_addr_t group, root; /* root: FI_ADDR_NOTAVAIL where there is none */
	const void *buf;
	void *result;
	size_t count; /* elements that each rank has for, or gets from, each other */
	enum fi_datatype type;
	enum fi_op op;
	uint64_t flags;
	void *context;
};

/* The tag of a join, without number and message. */
static inline uint64_t qv_fi_join_tag(uint64_t hash)
{
	return UINT64_C(1) << 62 | (hash & UINT64_C(0x3fffffffffff)) << 16;
}

/* From set.c. */

struct qv_fi_set *qv_fi_set_of(const struct fid_av_set *fid);
fi_addr_t qv_fi_set_addr(const struct qv_fi_set *set);

/* group.c; lock held. */

/* The group with this address at an endpoint, NULL: there is none. */
struct qv_fi_group *qv_fi_group_find(struct qv_fi_coll *coll, fi_addr_t addr);
/* Give it a place and a number; 0 or -FI_E*. */
int qv_fi_group_take_slot(struct qv_fi_coll *coll, struct qv_fi_group *group);
/* The tag of its next operation. */
uint64_t qv_fi_group_tag(struct qv_fi_group *group);
void qv_fi_group_leave_slot(struct qv_fi_coll *coll, struct qv_fi_group *group);
/* Take a notice that a member has lost the group, or no more. */
void qv_fi_group_listen(struct qv_fi_group *group);
void qv_fi_group_stop_listening(struct qv_fi_group *group);
/* A member cannot be reached: operations fail, here and, by notices, at the other members. */
void qv_fi_group_fail(struct qv_fi_group *group, int status);
/* Move groups that are lost on. One that is well listens again if it could not. */
void qv_fi_group_progress(struct qv_fi_group *group);
void qv_fi_group_progress_lost(struct qv_fi_coll *coll);
void qv_fi_group_free_lost(struct qv_fi_coll *coll);
void qv_fi_group_free(struct qv_fi_group *group);
extern struct fi_ops qv_fi_group_ops;

/* open.c; lock held. */

/* Make ep->coll; 0 or -FI_E*. */
int qv_fi_coll_open(struct qv_fi_ep *ep);
uint64_t qv_fi_coll_mix(uint64_t hash, const void *data, size_t len);

/* join.c; lock held. */

/* The members of a group know each other; status: enum qv_status. */
void qv_fi_group_joined(struct qv_fi_group *group, int status);
/* It is settled whether they have memory in common. */
void qv_fi_group_shared(struct qv_fi_group *group, int status);
/* The join of a group is over. */
void qv_fi_group_ready(struct qv_fi_group *group, int status);
void qv_fi_coll_forget_joins(struct qv_fi_coll *coll);

/* op.c; lock held. */

/* An operation that runs a schedule, whose owner it does not become; NULL: no memory. */
struct qv_fi_coll_op *qv_fi_coll_op_new(struct qv_fi_coll *coll, struct qv_fi_group *group,
					const struct qv_schedule *schedule);
/* One that runs an exchange, not started. QV_EINVAL, QV_ENOMEM. */
int qv_fi_coll_op_new_exchange(struct qv_fi_coll *coll, struct qv_fi_group *group,
			       const struct qv_exchange_spec *spec, struct qv_fi_coll_op **op);
/* One that a stream is, in the place of a run, with a tag; NULL: no memory. */
struct qv_fi_coll_op *qv_fi_coll_op_new_stream(struct qv_fi_coll *coll, struct qv_fi_group *group,
					       struct qv_fi_stream *stream);
/* message.c: a message of it, as in struct qv_exchange_port. port: struct qv_fi_coll_op. */
int qv_fi_coll_op_send(void *port, uint32_t step, uint32_t rank, uint32_t tag, const void *buf,
		       size_t bytes);
int qv_fi_coll_op_receive(void *port, uint32_t step, uint32_t rank, uint32_t tag, void *buf,
			  size_t bytes);
/* Its receives are taken back; sends end when their peers have them, or are gone. */
void qv_fi_coll_take_back(struct qv_fi_coll_op *op);
/* It ends with this status, unless it has one, when nothing of it is under way any more. */
void qv_fi_coll_op_end(struct qv_fi_coll_op *op, int status);
void qv_fi_coll_op_start(struct qv_fi_coll_op *op);
/* Not started, or over. */
void qv_fi_coll_op_free(struct qv_fi_coll_op *op);
/* All operations of a group end with this status. */
void qv_fi_coll_abort(struct qv_fi_coll *coll, struct qv_fi_group *group, int status);
/* The group is left by its owner: an exchange of expectations under way keeps what it works on. */
void qv_fi_coll_leave(struct qv_fi_coll *coll, struct qv_fi_group *group);
/* Free all operations, without a word; nothing is under way any more. */
void qv_fi_coll_drop(struct qv_fi_coll *coll);

/* start.c; lock held. */

int qv_fi_coll_start_join(struct qv_fi_coll *coll, struct qv_fi_group *group);
/* A barrier or an allgather of so many bytes from each, in the own place of memory. */
int qv_fi_coll_start_measure(struct qv_fi_coll *coll, struct qv_fi_group *group, enum qv_coll what,
			     void *memory, size_t item);
/* An allgather of a word of each, in the own place. */
int qv_fi_coll_start_telling(struct qv_fi_coll *coll, struct qv_fi_group *group, uint64_t *words);
/* An allgather of what members tell for group->expect. */
int qv_fi_coll_start_exchange(struct qv_fi_coll *coll, struct qv_fi_group *group);
/* 0 or -FI_E*. */
int qv_fi_coll_start(struct qv_fi_coll *coll, const struct qv_fi_coll_call *call);
/* The same for a stream, which is told of the end in the place of a completion. */
int qv_fi_coll_start_sums(struct qv_fi_coll *coll, const struct qv_fi_coll_call *call,
			  struct qv_fi_stream *stream);

/* From exchange.c. */

/* The endpoint of an extension's call: 0 or -FI_E*. */
int qv_fi_coll_endpoint(struct fid *fid, uint64_t flags, struct qv_fi_ep **ep);

/* exchange.c; lock held. */

/* A group that is joined and has not failed; 0 or -FI_E*. */
int qv_fi_coll_group(struct qv_fi_ep *ep, uint64_t addr, struct qv_fi_group **group);
/* An exchange is over, or dropped: who asked for it has what came. */
void qv_fi_exchange_over(struct qv_fi_coll_op *op);

/* stream.c; lock held. */

/* A message of it is over: of step, or from the member with that rank. */
void qv_fi_stream_done(struct qv_fi_stream *stream, uint32_t step, bool receives, size_t bytes,
		       int status);
/* QV_EAGAIN, or why its group is lost. */
int qv_fi_stream_step(const struct qv_fi_stream *stream);
/* Its owner closes it. */
bool qv_fi_stream_closes(const struct qv_fi_stream *stream);
/* Its operation is no more. */
void qv_fi_stream_gone(struct qv_fi_stream *stream);
/* The sums of its fence are there, or have failed, as its operation has. */
void qv_fi_stream_summed(struct qv_fi_stream *stream, int status);

/* memory.c; lock held. */

/* What this member tells the others in the join. */
void qv_fi_memory_offer(const struct qv_fi_group *group, struct qv_fi_member *own);
/* Members are known; qv_fi_group_shared is called at the end. QV_ENOMEM; QV_ENOSYS: it is not to be
 * had, which all members see. */
int qv_fi_memory_begin(struct qv_fi_group *group);
/* Members have told each other whether all is well. */
void qv_fi_memory_next(struct qv_fi_group *group, int status);
/* No more of it; no call of it is stepped again. */
void qv_fi_memory_close(struct qv_fi_group *group);
/* Does a call with a vector of so many bytes go through it? The same for all members. */
bool qv_fi_memory_takes(const struct qv_fi_group *group, enum qv_coll coll, size_t bytes);
/* An operation that does; NULL: no memory for it. */
struct qv_fi_coll_op *qv_fi_memory_op(const struct qv_fi_coll_op *ask,
				      const struct qv_fi_coll_call *call, uint32_t root);
/* As qv_team_step. */
int qv_fi_memory_step(struct qv_fi_coll_op *op);

/* measure.c; lock held. */

/* For a group of two or more; qv_fi_group_ready is called at the end. 0 or -FI_E*. */
int qv_fi_measure_begin(struct qv_fi_group *group);
/* An operation of it is over. */
void qv_fi_measure_next(struct qv_fi_group *group, int status);
void qv_fi_measure_free(struct qv_fi_group *group);

/* expect.c; lock held. */

/* A reduction is called: when each rank is expected in it, NULL if nothing is known or wanted.
 * 0, -FI_ENOMEM, or -FI_EAGAIN: what the others expect has not come yet. */
int qv_fi_coll_expect(struct qv_fi_coll *coll, struct qv_fi_group *group, enum qv_coll kind,
		      const uint64_t **arrive);
/* The call begins, whatever it was told. Whether its end is to be noted. */
bool qv_fi_coll_expected(struct qv_fi_group *group, enum qv_coll kind);
/* That call is over here; together: for all members. */
void qv_fi_coll_ended(struct qv_fi_group *group, bool together);

#endif /* QV_FI_COLL_H */
