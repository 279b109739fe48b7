/* SPDX-License-Identifier: BSD-2-Clause */
/* glue.h - libquiver-mpi: collectives of an MPI program, run by schedules over
 * its own messages. */
#ifndef QV_MPI_H
#define QV_MPI_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <quiver/combine.h>
#include <quiver/exchange.h>
#include <quiver/mpi_control.h>
#include <quiver/select.h>

#include "engine/schedule/agree.h"
#include "mpi_glue/calls/real.h"

/* From settings.c. */

/* Operations that settings name: of enum qv_coll, less gather and scatter. */
#define QV_MPI_N_COLLS (QV_COLL_ALLTOALL + 1)

/* Whose calls: as settings name them, but for reduce_scatter_block. */
enum qv_mpi_name {
	QV_MPI_REDUCE,
	QV_MPI_ALLREDUCE,
	QV_MPI_REDUCE_SCATTER,
	QV_MPI_REDUCE_SCATTER_BLOCK,
	QV_MPI_BARRIER,
	QV_MPI_BCAST,
	QV_MPI_ALLGATHER,
	QV_MPI_ALLTOALL,
	/* Of variable-length blocks, or of neighbours' ones; see mpi_glue/run/blocks.h. */
	QV_MPI_ALLGATHERV,
	QV_MPI_ALLTOALLV,
	QV_MPI_NEIGHBOR_ALLGATHER,
	QV_MPI_NEIGHBOR_ALLGATHERV,
	QV_MPI_NEIGHBOR_ALLTOALL,
	QV_MPI_NEIGHBOR_ALLTOALLV,
	QV_MPI_N_NAMES,
};

/* By what a call of variable-length or neighbours' blocks is run. */
enum qv_mpi_by {
	QV_MPI_BY_MPI,
	QV_MPI_BY_SCHEDULE,
	QV_MPI_BY_WAY,     /* of a sparse exchange */
	QV_MPI_BY_FRIENDS, /* of neighbours: plans of neighbor.h */
	QV_MPI_BY_AUTO,    /* what is fastest, the MPI included */
};

struct qv_mpi_rule {
	enum qv_mpi_by by;
	enum qv_algorithm algorithm;
	enum qv_way way;
	uint32_t k; /* friends, 1: nobody has any; or the radix of a router */
	bool nodes; /* friends on one node only */
	bool cumulative;
};

/* What was asked for; kept until the last plan that was made by it is gone. */
struct qv_mpi_rules {
	struct qv_select *select;
	bool ours[QV_MPI_N_COLLS];               /* named, and not `mpi` */
	bool automatic[QV_MPI_N_COLLS];          /* `auto`: where it is faster than the MPI */
	bool memory[QV_MPI_N_COLLS];             /* `memory`: within a node */
	struct qv_mpi_rule rule[QV_MPI_N_NAMES]; /* from QV_MPI_ALLGATHERV on */
	bool named[QV_MPI_N_NAMES];              /* the same */
	uint64_t number;                         /* no others of this process have it */
	char *text;                              /* that they were made of */
	int users;
};

/* QV_EINVAL with one line of text that names what is known; QV_ENOMEM. */
int qv_mpi_rules_open(const char *text, struct qv_mpi_rules **rules, char *why, size_t room);
/* One user less; the lock is held. */
void qv_mpi_rules_put(struct qv_mpi_rules *rules);

/* From mpi_glue/plans/rule.c. */

/* The operation of so many characters, from QV_MPI_ALLGATHERV on; QV_MPI_N_NAMES: none of these. */
enum qv_mpi_name qv_mpi_rule_find(const char *text, size_t length);
/* NULL before QV_MPI_ALLGATHERV. */
const char *qv_mpi_rule_name(enum qv_mpi_name name);
/* Whether schedules of the algorithm move blocks of any length, and each rank knows them. */
bool qv_mpi_rule_has(enum qv_mpi_name name, int algorithm);
/* What stands behind the '='; QV_EINVAL with one line that names what is known. */
int qv_mpi_rule_parse(enum qv_mpi_name name, const char *text, size_t length,
		      struct qv_mpi_rule *rule, char *why, size_t room);

/* From stats.c. */

enum qv_mpi_form {
	QV_MPI_BLOCKING,
	QV_MPI_NONBLOCKING,
	QV_MPI_INIT,
	QV_MPI_N_FORMS,
};

/* Why a call goes to the MPI. */
enum qv_mpi_reason {
	QV_MPI_NOT_CHOSEN,
	QV_MPI_ODD_ARGUMENT,
	QV_MPI_INTER,
	QV_MPI_ALONE,
	QV_MPI_EMPTY,
	QV_MPI_DERIVED,
	QV_MPI_ODD_OP,
	QV_MPI_USER_OP,
	QV_MPI_ORDER,
	QV_MPI_UNEQUAL,
	QV_MPI_TOO_LONG,
	QV_MPI_TOO_MANY,
	QV_MPI_NO_HOOK,
	QV_MPI_TRIED,
	QV_MPI_SLOWER,
	QV_MPI_NO_TOPOLOGY,
	QV_MPI_NOT_KNOWN,
	QV_MPI_TWICE,
	QV_MPI_MIXED,
	QV_MPI_NO_DUP,
	QV_MPI_APART,
	QV_MPI_NOT_BLOCKING,
	QV_MPI_N_REASONS,
	QV_MPI_TAKEN = QV_MPI_N_REASONS, /* no reason: algorithms follow */
	QV_MPI_CRYSTAL = QV_MPI_TAKEN + QV_N_ALGORITHMS,
	QV_MPI_FRIENDS,
	QV_MPI_FRIENDS_OF_NODE,
	QV_MPI_MEMORY,
	QV_MPI_N_WAYS,
	QV_MPI_FAILED =
		QV_MPI_N_WAYS, /* neither: no memory, which no other rank knows; not counted */
};

/* One call went this way: a reason, or QV_MPI_TAKEN + algorithm. */
void qv_mpi_count(enum qv_mpi_name name, enum qv_mpi_form form, unsigned int way);
/* One that is run was built from expected arrivals. */
void qv_mpi_count_by_arrival(void);
void qv_mpi_count_sent(size_t bytes); /* a message of a schedule */
/* Print the sums over all ranks; collective over MPI_COMM_WORLD. */
void qv_mpi_report(void);

/* From type.c. */

/* How elements are combined. */
struct qv_mpi_reduce {
	size_t item; /* bytes of an element */
	bool local;  /* by MPI_Reduce_local, else by our kernels */
	bool ordered;
	bool user; /* the operation is the program's, which may free it at any time */
	enum qv_op op;
	enum qv_type type;
	MPI_Op mpi_op;
	MPI_Datatype mpi_type;
};

/* QV_MPI_TAKEN with *r, or why not. */
enum qv_mpi_reason qv_mpi_reduce_of(MPI_Op op, MPI_Datatype type, struct qv_mpi_reduce *r);
/* A qv_reduce_fn; context is a struct qv_mpi_reduce. */
void qv_mpi_combine(void *context, void *dst, const void *a, const void *b, size_t count);

struct qv_mpi_call;
struct qv_team;

/* offload.c: long arrays combined by a device. */

#define QV_MPI_DEVICE_ROOM 128

/* QUIVER_MPI_OFFLOAD and what belongs to it, as rank 0 has them. */
struct qv_mpi_offload_told {
	int on, calibrate;
	unsigned long long min_bytes; /* ULLONG_MAX: not given */
	char device[QV_MPI_DEVICE_ROOM];
};

/* From the environment. What is wrong is said, and the CPU combines. */
void qv_mpi_offload_read(struct qv_mpi_offload_told *told);
/* In every process, before the first collective. */
void qv_mpi_offload_begin(const struct qv_mpi_offload_told *told);
/* As qv_combine_to. */
void qv_mpi_offload_combine(const struct qv_mpi_reduce *r, void *dst, const void *a, const void *b,
			    size_t count);
/* Print the counters of all ranks; collective over MPI_COMM_WORLD. */
/* A device is asked for, on all ranks alike, whether or not this one has it. */
bool qv_mpi_offload_wanted(void);
void qv_mpi_offload_report(void);
void qv_mpi_offload_end(void);

/* From comm.c. */

/* One plan of a communicator, held, and the operations that run it. */
struct qv_mpi_plan {
	struct qv_mpi_plan *next;
	const struct qv_plan *plan;         /* NULL: of a rule, not of the selection */
	struct qv_mpi_rules *rules;         /* whose plan it is */
	const struct qv_schedule *schedule; /* NULL: an exchange */
	unsigned int way;                   /* as qv_mpi_count knows it */
	bool receives, combines;
	struct qv_mpi_made *made; /* what a rule's plan is of */
	struct qv_mpi_op *spare;  /* finished operations, to be used again */
	int busy;                 /* operations that hold it */
};

#define QV_MPI_BYPASSES 8

struct qv_mpi_comm {
	struct qv_mpi_comm *next;
	MPI_Comm comm;
	MPI_Comm dup; /* where our messages travel; MPI_COMM_NULL: none yet */
	bool inter, freed;
	bool marked; /* of a session */
	bool mixed;  /* not all its ranks are known to have what ours have */
	int rank, ranks;
	int busy;         /* operations that have not been released */
	uint64_t started; /* operations so far, persistent ones aside */
	int persistent;   /* persistent ones so far */
	uint64_t number;  /* among the communicators of this process */
	uint64_t *arrive; /* what the program has said: by rank, or NULL */
	bool told;        /* it has said something */
	/* What its ranks observe of each other, NULL: nothing; and the exchange of that. */
	struct qv_expect *expect;
	MPI_Request exchange;
	struct qv_mpi_plan *plans;
	struct qv_mpi_autotune *autotune;
	struct qv_mpi_autotune_v *autotune_v;
	/* So many blocking calls go to the MPI before `auto` looks at one again. */
	struct qv_mpi_passing {
		uint64_t left, rules;
	} passing[QV_MPI_N_NAMES];
	struct qv_mpi_pattern *pattern; /* of the neighbours; NULL: not asked for yet */
	/* Calls that `auto` has left to the MPI for good: the next ones like them go there at once.
	 * Operations are MPI's own, whose handles are never given to others. */
	struct qv_mpi_bypass {
		size_t count;
		MPI_Datatype type;
		MPI_Op op;
		bool expects;
	} bypass[QV_MPI_N_COLLS][QV_MPI_BYPASSES];
	/* Through memory of a node: NULL where not all ranks have it, or nobody has asked yet. */
	struct qv_team *team;
	bool asked_for_memory;
	/* Calls that went there: the next ones like them, under the same rules, do so at once. */
	struct qv_mpi_quick {
		uint64_t rules;
		size_t count;
		MPI_Datatype type, in_type, out_type;
		MPI_Op op;
		bool expects;
		struct qv_mpi_reduce reduce;
	} quick[QV_MPI_N_COLLS][QV_MPI_BYPASSES];
};

/* The state of a communicator, made when first asked for. NULL: no memory, or no communicator. */
struct qv_mpi_comm *qv_mpi_comm_of(MPI_Comm comm);
/* Duplicate the communicator, where that was not done yet; collective, in a call that may wait for
 * other ranks. An MPI error code. */
int qv_mpi_comm_open(struct qv_mpi_comm *c);
/* Another context for the ranks of comm, without what the program has attached to it; collective.
 * An MPI error code. */
int qv_mpi_comm_twin(MPI_Comm comm, MPI_Comm *twin);
/* Whether calls on it can be ours at all; the same on all its ranks. */
enum qv_mpi_reason qv_mpi_comm_judge(const struct qv_mpi_comm *c);
/* Whether some of its ranks are of another MPI_COMM_WORLD. */
bool qv_mpi_comm_is_mixed(MPI_Comm comm, int ranks);
/* It is of a session: whoever else is in it need not be between MPI_Init and MPI_Finalize. */
void qv_mpi_comm_mark(MPI_Comm comm);
bool qv_mpi_comm_is_marked(MPI_Comm comm);
/* Free it; nothing of it is under way. */
void qv_mpi_comm_destroy(struct qv_mpi_comm *c);
/* At MPI_Finalize. */
void qv_mpi_comm_close_all(void);

/* From mpi_glue/calls/create.c. */

/* A communicator was made from an old one, with this error code; the same, or another one.
 * Collective. */
int qv_mpi_comm_made(MPI_Comm old, MPI_Comm *comm, int rc);

/* From mpi_glue/plans/expect.c. */

/* When each rank is expected in this call, which is ours to run; *arrive is NULL: all at once.
 * Collective. QV_ENOMEM. */
int qv_mpi_arrivals(struct qv_mpi_comm *c, const struct qv_mpi_call *call, const uint64_t **arrive);
/* A blocking call is over. */
void qv_mpi_expect_ended(struct qv_mpi_comm *c);
void qv_mpi_expect_close(struct qv_mpi_comm *c);

/* From mpi_glue/plans/measure.c. */

/* Let the rules know the network, with bursts if these are asked for; collective over
 * MPI_COMM_WORLD. */
void qv_mpi_measure(bool bursts);

/* From mpi_glue/plans/plan.c. */

/* The plan by which a call for so many bytes is run, held once; or NULL and why not. */
struct qv_mpi_plan *qv_mpi_plan_of(struct qv_mpi_comm *c, const struct qv_mpi_call *call,
				   size_t bytes, bool ordered, enum qv_mpi_reason *why);
/* One that was made by a rule; the lock is held. */
void qv_mpi_plan_keep(struct qv_mpi_comm *c, struct qv_mpi_plan *plan);
/* The lock is held. */
void qv_mpi_plan_free(struct qv_mpi_plan *plan);

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
	/* Of an allgather and alltoall: of one block; the count above is in bytes. */
	int in_count, out_count;
	MPI_Datatype in_type, out_type;
	bool unequal;               /* the blocks of a reduce_scatter have different lengths */
	struct qv_mpi_trial *trial; /* out: if it is to be timed, of which */
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
	const void *result; /* copied to out at the end, if not NULL */
	void *out;
	size_t out_bytes;
	MPI_Datatype packed; /* of a broadcast whose data is packed: of what at out, else null */
	int out_count;
	bool is_root;
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
	MPI_Request handle;
	struct qv_mpi_persistent *persistent;
};

/* mpi_glue/run/memory.c: blocking calls of ranks on one node. */

bool qv_mpi_memory_has(enum qv_coll coll);
/* Make the memory, where that was not tried yet. Whether all ranks have it, the same on all;
 * collective. */
bool qv_mpi_memory_open(struct qv_mpi_comm *c);
void qv_mpi_memory_close(struct qv_mpi_comm *c);
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
/* A type of the program's, which may free it, to be freed by us; an MPI error code. */
int qv_mpi_keep_type(MPI_Datatype type, MPI_Datatype *kept);
/* Room for so many bytes, what was in it is gone; an MPI error code. */
int qv_mpi_make_room(struct qv_mpi_op *op, size_t bytes);

/* Its blocks go from rank to rank, and none is combined. */
static inline bool qv_mpi_is_exchange(const struct qv_mpi_call *call)
{
	return call->coll == QV_COLL_ALLGATHER || call->coll == QV_COLL_ALLTOALL;
}

/* mpi_glue/calls/take.c: an operation for this call, not started yet; NULL: let the MPI
 * do it. Collective. */
struct qv_mpi_op *qv_mpi_take(struct qv_mpi_call *call);
/* Arguments that are wrong, or that only the MPI can judge, are the MPI's. */
enum qv_mpi_reason qv_mpi_judge(const struct qv_mpi_call *call, const struct qv_mpi_comm *c);
/* Whether this form can be ours. */
enum qv_mpi_reason qv_mpi_judge_form(const struct qv_mpi_comm *c, enum qv_mpi_form form);
/* Take the form, and the tags of a persistent one; the communicator is duplicated, if it is not
 * yet. An MPI error code. */
int qv_mpi_op_open(struct qv_mpi_op *op, enum qv_mpi_form form);
/* One that runs plan, which it then holds; NULL, and plan is given back: no memory. */
struct qv_mpi_op *qv_mpi_op_get(struct qv_mpi_comm *c, struct qv_mpi_plan *plan);
/* Instead of one: the call ends with this error, which the communicator's error handler has been
 * told or not. The other ranks may run the call by messages of ours, so the MPI's own would wait for
 * them in vain. Of the calling thread, and to be given to the next of qv_mpi_finish,
 * qv_mpi_nonblocking and qv_mpi_persist, which tell the error handler and return the error. */
struct qv_mpi_op *qv_mpi_op_failed(struct qv_mpi_comm *c, int error, bool told);
/* That of such an operation, after the error handler has been told; MPI_SUCCESS: it is none. */
int qv_mpi_op_refused(const struct qv_mpi_op *op);
/* Run it to its end; an MPI error code, which the communicator's error handler has seen. */
int qv_mpi_finish(struct qv_mpi_op *op);
/* Start it, again if it is persistent. */
void qv_mpi_op_start(struct qv_mpi_op *op);
/* Whether messages can be sent; the lock is held. An error ends the operation. */
bool qv_mpi_op_begin(struct qv_mpi_op *op);
/* Do what can be done, after that. */
void qv_mpi_op_progress(struct qv_mpi_op *op);
/* It is not needed any more, and none of its messages is under way. */
void qv_mpi_op_release(struct qv_mpi_op *op);
void qv_mpi_op_free(struct qv_mpi_op *op);

/* From mpi_glue/run/port.c. */

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

/* From mpi_glue/plans/autotune.c. */

/* Calls that go to the MPI and to us in turn, until it is decided which is faster. */
struct qv_mpi_trial {
	bool varies; /* the calls are of different lengths */
	bool decided, ours;
	bool stubborn;    /* ours is given up only if it was slower twice */
	bool won, lost;   /* ours, in the turns before */
	int turns, tries; /* tries: those that told nothing */
	double began;
	double shortest[2], bytes[2]; /* the MPI's, ours; seconds */
};

/* A call is timed, which begins on all ranks together. Whether it is ours. */
bool qv_mpi_trial_begin(struct qv_mpi_trial *t, MPI_Comm comm);
/* It is over, with this error code; the same, or another one. This rank sent so many bytes in it.
 * Collective. */
int qv_mpi_trial_end(struct qv_mpi_trial *t, MPI_Comm comm, double bytes, int rc);

/* Whether `auto` takes the call, by memory or by a schedule; if not, why. Times it where that is not
 * known yet. */
bool qv_mpi_autotune_turn(struct qv_mpi_comm *c, struct qv_mpi_call *call, size_t bytes,
			  const struct qv_mpi_reduce *r, bool memory, enum qv_mpi_reason *why);
void qv_mpi_autotune_free(struct qv_mpi_comm *c);
void qv_mpi_autotune_v_free(struct qv_mpi_comm *c);

/* The end of a blocking call. */
static inline int qv_mpi_return(struct qv_mpi_call *call, int rc)
{
	return call->trial ? qv_mpi_trial_end(call->trial, call->comm, 0, rc) : rc;
}

/* mpi_glue/calls/nonblocking.c: operations that run while the program does something else. */

/* Start and return; *request is the MPI's own and can be waited for by any of its functions. */
int qv_mpi_nonblocking(struct qv_mpi_op *op, MPI_Request *request);
/* Start it, or start it again, among those that run from inside of the MPI's calls. */
void qv_mpi_nonblocking_start(struct qv_mpi_op *op);
/* The oldest operation of c under way, or the number that the next one would get; the
 * lock is held. */
uint64_t qv_mpi_nonblocking_oldest(const struct qv_mpi_comm *c);
/* Run all of c, or of all communicators if c is NULL, to their ends. */
void qv_mpi_nonblocking_drain(const struct qv_mpi_comm *c);
/* Do what can be done for all of them. */
int qv_mpi_nonblocking_poll(void);
/* Whether this MPI lets us run from inside of its calls. */
bool qv_mpi_nonblocking_possible(void);

/* From mpi_glue/calls/persist.c. */

/* Make *request, inactive, of an operation that was not started. */
int qv_mpi_persist(struct qv_mpi_op *op, MPI_Request *request);
/* The operation is over. */
void qv_mpi_persist_done(struct qv_mpi_op *op);
void qv_mpi_persist_close_all(void);
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

/* From init.c: whether the program's MPI is the one that this library was built for. */
bool qv_mpi_is_of_this_mpi(void);

/* From mpi_glue/tool/handle.c: MPI_Finalize is about to end the provider; keep what it has counted, for
 * tools that look later. */
#ifdef QV_MPI_SIMULATED
static inline void qv_mpi_tool_before_end(void)
{
}
#else
void qv_mpi_tool_before_end(void);
#endif

/* What all share. */

#define QV_MPI_TEXT_ROOM 1024 /* for the longest QUIVER_MPI_COLL */

struct qv_mpi {
	bool on;        /* between MPI_Init and MPI_Finalize, and not switched off */
	bool stats;     /* report at the end */
	bool crowded;   /* more ranks than cores here: sleep between tests */
	bool hook_here; /* this MPI runs us from inside of its calls */
	bool offload;   /* a device may combine */
	const struct qv_combine *combine;
	char text[QV_MPI_TEXT_ROOM]; /* QUIVER_MPI_COLL of rank 0 */
	struct qv_mpi_rules *rules;
	struct qv_network network; /* measured, or what the program said; alpha 0: nothing */
	struct qv_network bursts;  /* measured: of several messages at once; alpha 0: nothing */
	uint64_t rules_made;
	uint64_t made;  /* communicators so far */
	int keyval;     /* of struct qv_mpi_comm */
	int slot;       /* tags for one operation */
	int persistent; /* operations of a communicator that can be made */
	int plan_tag;   /* of messages about plans */
	/* What several threads touch: communicators, plans, lists of operations. Never held in a
	 * call that may wait. */
	pthread_mutex_t lock;
	struct qv_mpi_comm *comms;
	struct qv_mpi_comm *last; /* looked up; NULL where several threads call */
	bool alone;               /* one thread at a time calls */
	void (*turn)(void);       /* lets the MPI go on; NULL: it has no such function */
	atomic_uint_fast64_t by_arrival;
	atomic_uint_fast64_t sent, sent_bytes;
	atomic_uint_fast64_t judged, changed, refuted; /* choices of mpi_glue/plans/autotune_v.c */
	atomic_uint_fast64_t counts[QV_MPI_N_NAMES][QV_MPI_N_FORMS][QV_MPI_N_WAYS];
};

extern struct qv_mpi qv_mpi;

/* So many operations of a communicator may be under way: each has tags of its own. */
#define QV_MPI_SLOTS 64

#endif /* QV_MPI_H */
