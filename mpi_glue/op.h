/* SPDX-License-Identifier: BSD-2-Clause */
/* op.h - a call of the program's, and the operation that runs it. */
#ifndef QV_MPI_OP_H
#define QV_MPI_OP_H

#include <quiver/schedule.h>

#include "mpi_glue/comm.h"

/* mpi_glue/run/op.c: one operation. */

struct qv_mpi_call {
	enum qv_mpi_name name;
	enum qv_coll coll;
	enum qv_mpi_form form;
	const void *in; /* may be MPI_IN_PLACE */
	void *out;
	size_t count; /* elements of the whole vector */
	MPI_Datatype type;
	MPI_Op op;
	int root;
	MPI_Comm comm;
	const struct qv_mpi_args *args; /* or NULL: not to be known again */
	/* Where blocks go from rank to rank: of one block; the count above is in bytes. What is not
	 * significant on this rank is NULL, 0 and MPI_DATATYPE_NULL. */
	int in_count, out_count;
	MPI_Datatype in_type, out_type;
	bool poor;    /* there was no memory to look at it */
	bool unequal; /* the blocks of a reduce_scatter have different lengths */
	bool misfit;  /* this rank's place for a block is shorter or longer than what is sent */
	bool by_mpi;  /* out: the MPI runs it */
	struct qv_mpi_trial *trial;   /* out: if it is to be timed, of which */
	struct qv_mpi_comm *observed; /* out: by when ranks come to it, or NULL */
};

enum qv_mpi_state {
	QV_MPI_OP_WAITS, /* for one long before it */
	QV_MPI_OP_RUNS,
	QV_MPI_OP_DONE,
};

struct qv_mpi_op {
	struct qv_mpi_op *next; /* among those under way, or among spare ones */
	struct qv_mpi_comm *c;
	struct qv_mpi_plan *plan;
	struct qv_run *run;
	struct qv_mpi_reduce reduce;
	struct qv_run_data data;
	void *room; /* for the work vector, where the caller has none, and for what comes in */
	size_t room_bytes;
	const void *result; /* copied to out at the end, or unpacked; NULL: it is there */
	void *out;
	size_t out_bytes;
	MPI_Datatype packed;       /* the result is packed: of what at out, else null */
	int out_count, out_blocks; /* there: of each of so many blocks */
	bool is_root;      /* of a broadcast: what is at out is packed before, and not unpacked */
	MPI_Datatype sent; /* of a contribution that is packed: of what at from, else null */
	const void *from;
	int from_count;
	void *to; /* in room */
	size_t to_bytes;
	MPI_Request *requests; /* messages under way */
	uint32_t *steps;       /* of which step each is */
	int *indices;
	MPI_Status *statuses;
	int n, room_n;                /* and for how many there is room */
	struct qv_mpi_blocks *blocks; /* of variable-length ones, else NULL */
	enum qv_mpi_state state;
	enum qv_mpi_form form;
	uint64_t number; /* among the operations of the communicator, or among persistent ones */
	int tag;         /* of its first message */
	int error;       /* an MPI error code */
	bool told;       /* to the communicator's error handler */
	bool cut;        /* a message was longer than its place */
	bool over;       /* it came to its end, with an error or not: no message is under way */
	MPI_Comm comm;   /* of one that has failed before it began */
	MPI_Request handle;
	struct qv_mpi_persistent *persistent;
};

/* mpi_glue/run/memory.c: blocking calls through memory of a node, or of several. */

bool qv_mpi_memory_has(enum qv_coll coll);
/* Make the memory, where that was not tried yet. Whether all ranks have it, the same on all;
 * collective. */
bool qv_mpi_memory_open(struct qv_mpi_comm *c);
void qv_mpi_memory_close(struct qv_mpi_comm *c);
/* Where it is open: whether it is for such a call. On several nodes it is for some. */
bool qv_mpi_memory_serves(const struct qv_mpi_comm *c, const struct qv_mpi_call *call,
			  const struct qv_mpi_reduce *r);
/* The call, which is ours, and its end: an operation that is over. */
struct qv_mpi_op *qv_mpi_memory_run(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
				    const struct qv_mpi_reduce *r);
/* The same of a blocking call like one before; NULL: there was none. */
struct qv_mpi_op *qv_mpi_memory_again(const struct qv_mpi_call *call);

/* mpi_glue/calls/arrange.c: where the data of an operation are, and room for what the program does not
 * have; an MPI error code. */
int qv_mpi_arrange(struct qv_mpi_op *op, const struct qv_mpi_call *call);
/* Whether elements lie as they travel. */
bool qv_mpi_is_plain(MPI_Datatype type);
/* So many blocks of bytes become count elements each; MPI_ERR_TRUNCATE: there was more. */
int qv_mpi_unpack_blocks(const void *from, size_t block, int blocks, void *out, int count,
			 MPI_Datatype type, MPI_Comm comm);
/* mpi_glue/calls/pack.c: as MPI_Pack and MPI_Unpack, also at MPI_BOTTOM. */
int qv_mpi_pack(const void *from, int count, MPI_Datatype type, void *to, int bytes, MPI_Comm comm);
int qv_mpi_unpack(const void *from, int bytes, void *to, int count, MPI_Datatype type,
		  MPI_Comm comm);
/* A type of the program's, which may free it, to be freed by us; an MPI error code. */
int qv_mpi_keep_type(MPI_Datatype type, MPI_Datatype *kept);
/* mpi_glue/run/room.c: room for so many bytes, what was in it is gone; an MPI error code. */
int qv_mpi_make_room(struct qv_mpi_op *op, size_t bytes);
/* The operation is over: if its room is long, the communicator has it. Returns what is to be freed; the lock
 * is held. */
void *qv_mpi_leave_room(struct qv_mpi_comm *c, struct qv_mpi_op *op);

/* Its blocks go from rank to rank, and none is combined. */
static inline bool qv_mpi_is_exchange(const struct qv_mpi_call *call)
{
	return call->coll >= QV_COLL_GATHER && call->coll <= QV_COLL_ALLTOALL;
}

/* mpi_glue/calls/pass.c: `auto` leaves the call to the MPI for good; see calls/pass.h. */
void qv_mpi_pass(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
		 const struct qv_mpi_reduce *r);
/* mpi_glue/calls/take.c: an operation for this call, which has started unless it is persistent;
 * NULL: let the MPI do it. Collective. */
struct qv_mpi_op *qv_mpi_take(struct qv_mpi_call *call);
/* It has failed here before it began, or the MPI has refused its arguments, while other ranks may be in it: the
 * program's next try is that call, too. What was timed or observed is not over. */
void qv_mpi_comes_again(struct qv_mpi_call *call);
/* Arguments that are wrong, or that only the MPI can judge, are the MPI's. */
enum qv_mpi_reason qv_mpi_judge(const struct qv_mpi_call *call, const struct qv_mpi_comm *c);
/* Whether this form can be ours. */
enum qv_mpi_reason qv_mpi_judge_form(const struct qv_mpi_comm *c, enum qv_mpi_form form);
/* Take the form; one that is persistent gets its tags, and any other is started, but one that has failed. */
void qv_mpi_op_open(struct qv_mpi_op *op, enum qv_mpi_form form);
/* One that runs plan, which it then holds; NULL, and plan is given back: no memory. */
struct qv_mpi_op *qv_mpi_op_get(struct qv_mpi_comm *c, struct qv_mpi_plan *plan);
/* Why it has failed before it began, an MPI error code; then it is given back, and its number is that of the
 * program's next try. */
int qv_mpi_op_dropped(struct qv_mpi_op *op);
/* Instead of one: the call ends with this error, which the communicator's error handler has been
 * told or not. The other ranks may run the call by messages of ours, so the MPI's own would wait for
 * them in vain. Of the calling thread, and to be given to the next of qv_mpi_finish,
 * qv_mpi_nonblocking and qv_mpi_persist, which tell the error handler and return the error. */
struct qv_mpi_op *qv_mpi_op_failed(MPI_Comm comm, int error, bool told);
/* That of such an operation, after the error handler has been told; MPI_SUCCESS: it is none. */
int qv_mpi_op_refused(const struct qv_mpi_op *op);
/* Run what was started to its end; an MPI error code, which the communicator's error handler has seen. */
int qv_mpi_finish(struct qv_mpi_op *op);
/* Start it, again if it is persistent. An error of another one means that it has not begun. */
void qv_mpi_op_start(struct qv_mpi_op *op);
/* Whether messages can be sent; the lock is held. An error ends the operation. */
bool qv_mpi_op_begin(struct qv_mpi_op *op);
/* Do what can be done, after that. */
void qv_mpi_op_progress(struct qv_mpi_op *op);
/* It is not needed any more, and none of its messages is under way. */
void qv_mpi_op_release(struct qv_mpi_op *op);
void qv_mpi_op_free(struct qv_mpi_op *op);

/* From mpi_glue/run/port.c. */

/* The MPI error code of what the engine returns, other than QV_EAGAIN. */
int qv_mpi_error_of(int rc);
/* The same error of an operation that has begun: MPI_ERR_NO_MEM tells the program that it may try again. */
int qv_mpi_error_under_way(int error);
/* A count and a type for so many bytes: more than an int can count are one element of a type, to be
 * freed. */
int qv_mpi_port_type(size_t bytes, int *count, MPI_Datatype *type);
/* Room for what an operation of this plan sends and receives; an MPI error code. */
int qv_mpi_port_open(struct qv_mpi_op *op, const struct qv_mpi_comm *c,
		     const struct qv_mpi_plan *plan);
/* A network as engines know it; port is an operation. */
int qv_mpi_port_send(void *port, uint32_t step, uint32_t peer, uint32_t tag, const void *buf,
		     size_t bytes);
int qv_mpi_port_receive(void *port, uint32_t step, uint32_t peer, uint32_t tag, void *buf,
			size_t bytes);

/* mpi_glue/run/blocks.c, mpi_glue/plans/pattern.c, mpi_glue/plans/made.c: see mpi_glue/run/blocks.h. */

void qv_mpi_made_free(struct qv_mpi_made *made);
void qv_mpi_pattern_free(struct qv_mpi_pattern *pattern);
/* Of an operation by a rule's plan; QV_ENOMEM. */
int qv_mpi_blocks_open(struct qv_mpi_op *op, const struct qv_mpi_comm *c,
		       const struct qv_mpi_plan *plan);
void qv_mpi_blocks_free(struct qv_mpi_blocks *blocks);
/* Pack, and begin; an MPI error code. */
int qv_mpi_blocks_start(struct qv_mpi_op *op);
/* As qv_run_progress. */
int qv_mpi_blocks_progress(struct qv_mpi_op *op);
/* A message is over. */
void qv_mpi_blocks_done(struct qv_mpi_op *op, uint32_t id, const MPI_Status *status);
/* Unpack; an MPI error code. */
int qv_mpi_blocks_finish(struct qv_mpi_op *op);
/* Give back types. */
void qv_mpi_blocks_release(struct qv_mpi_op *op);

/* mpi_glue/calls/nonblocking.c: operations that run while the program does something else. */

/* Return while it runs; *request is the MPI's own and can be waited for by any of its functions. */
int qv_mpi_nonblocking(struct qv_mpi_op *op, MPI_Request *request);
/* It was started: let it run from inside of the MPI's calls. */
void qv_mpi_nonblocking_go_on(struct qv_mpi_op *op);
/* The oldest operation of c under way, or the number that the next one would get; the
 * lock is held. */
uint64_t qv_mpi_nonblocking_oldest(const struct qv_mpi_comm *c);
/* Run all of c but persistent ones, or all of all communicators if c is NULL, to their ends. */
void qv_mpi_nonblocking_drain(const struct qv_mpi_comm *c);
/* Do what can be done for all of them. */
int qv_mpi_nonblocking_poll(void);
/* MPI_Waitall of the program. Open MPI 4.1 waits for ever in its own where a request has ended with an error
 * before. */
int qv_mpi_wait_all(int n, MPI_Request *requests, MPI_Status *statuses);
/* Whether this MPI lets us run from inside of its calls. */
bool qv_mpi_nonblocking_possible(void);

/* From mpi_glue/calls/persist.c. */

/* Make *request, inactive, of an operation that was not started. */
int qv_mpi_persist(struct qv_mpi_op *op, MPI_Request *request);
/* The operation is over. */
void qv_mpi_persist_done(struct qv_mpi_op *op);
void qv_mpi_persist_close_all(void);
/* In MPI_Init: a communicator made later could wait for one that the program is making. */
void qv_mpi_persist_open(void);
/* MPI_Reduce_init, say, and MPIX_Reduce_init: the arguments are the same. */
#define QV_MPI_DEFINE_INIT(name, call_of, parameters, arguments)                 \
	QV_API int QV_MPI_PERSIST(name) parameters                               \
	{                                                                        \
		struct qv_mpi_call call = call_of;                               \
		struct qv_mpi_op *o = qv_mpi_take(&call);                        \
                                                                                 \
		return o ? qv_mpi_persist(o, request) : QV_REAL(name) arguments; \
	}                                                                        \
	QV_MPI_ALL_PERSIST(name)

#endif /* QV_MPI_OP_H */
