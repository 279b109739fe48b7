/* SPDX-License-Identifier: BSD-2-Clause */
/* comm.h - what is kept for a communicator: its plans, and what `auto` and others have found out. */
#ifndef QV_MPI_COMM_H
#define QV_MPI_COMM_H

#include "engine/base/compiler.h"
#include "mpi_glue/calls/real.h"
#include "mpi_glue/reduce.h"
#include "mpi_glue/rules.h"

struct qv_mpi_call;
struct qv_mpi_nodes;
struct qv_team;

/* From comm.c. */

/* One plan of a communicator, held, and the operations that run it. */
struct qv_mpi_plan {
	struct qv_mpi_plan *next;
	const struct qv_plan *plan;         /* NULL: of a rule, not of the selection */
	struct qv_mpi_rules *rules;         /* whose plan it is */
	const struct qv_schedule *schedule; /* NULL: an exchange */
	unsigned int way;                   /* as qv_mpi_count knows it */
	bool sends, receives, combines;
	struct qv_mpi_made *made; /* what a rule's plan is of */
	struct qv_mpi_op *spare;  /* finished operations, to be used again */
	int busy;                 /* operations that hold it */
};

#define QV_MPI_BYPASSES 8

/* What a blocking call is known by: arguments as the program gives them. */
struct qv_mpi_args {
	MPI_Datatype type, type2; /* of what is sent, and what is received */
	MPI_Op op;
	int count, count2;
	int root; /* where it tells which of them counts: of a gather and a scatter */
};

struct qv_mpi_comm {
	struct qv_mpi_comm *next;
	MPI_Comm comm;
	MPI_Comm dup;      /* where our messages travel; MPI_COMM_NULL: none yet */
	bool no_dup;       /* it could not be made: for good */
	int pause, paused; /* calls before one is asked for again; the last time so many */
	bool inter, freed;
	bool marked;   /* of a session */
	bool no_plans; /* one of its ranks has failed while they made one together: plans/friends.c */
	bool mixed;    /* not all its ranks are known to have what ours have */
	int rank, ranks;
	int busy;         /* operations that have not been released */
	uint64_t started; /* operations so far, persistent ones aside */
	int persistent;   /* persistent ones so far */
	uint64_t number;  /* among the communicators of this process */
	uint64_t *arrive; /* what the program has said: by rank, or NULL */
	bool told;        /* it has said something */
	uint32_t said;    /* how often that was that ranks are late, others each time */
	/* When its ranks come to reductions, and to broadcasts: who is late for the ones may be in time for the
	 * others. */
	struct qv_mpi_habit {
		struct qv_expect *expect; /* what they observe of each other; NULL: nothing */
		/* 0: nobody is late, by that or as said; else a number for those who are. */
		uint32_t late;
		bool timed; /* the call under way, for that */
		bool again; /* it has failed before it began, or was refused, and comes again */
	} habits[2];
	struct qv_mpi_plan *plans;
	struct qv_mpi_autotune *autotune;
	struct qv_mpi_autotune_v *autotune_v;
	/* So many blocking calls go to the MPI before `auto` looks at one again. */
	struct qv_mpi_passing {
		uint64_t left, rules;
	} passing[QV_MPI_N_NAMES];
	struct qv_mpi_pattern *pattern; /* of the neighbours; NULL: not asked for yet */
	/* Calls that `auto` has left to the MPI for good. */
	struct qv_mpi_bypass {
		struct qv_mpi_args args;
		uint64_t rules;
		uint32_t late;
		bool observed;
	} bypass[QV_MPI_REDUCE_LOCAL][QV_MPI_BYPASSES];
	const struct qv_mpi_bypass *bypassed; /* the last of them */
	/* Long, of an operation that is over: for the next one. */
	void *room;
	size_t room_bytes;
	/* Through memory of a node: NULL where nobody has asked yet, or some rank does not have it. With
	 * several nodes, team is of the ranks of ours; NULL: there are no others. */
	struct qv_team *team;
	struct qv_mpi_nodes *nodes; /* NULL: all ranks are on one */
	bool asked_for_memory;
	/* Calls that went there: the next ones like them, under the same rules, do so at once. */
	struct qv_mpi_quick {
		uint64_t rules;
		size_t count;
		MPI_Datatype type, in_type, out_type;
		MPI_Op op;
		uint32_t late;
		struct qv_mpi_reduce reduce;
	} quick[QV_MPI_N_COLLS][QV_MPI_BYPASSES];
};

static inline struct qv_mpi_habit *qv_mpi_habit(struct qv_mpi_comm *c, enum qv_coll coll)
{
	return &c->habits[coll == QV_COLL_BROADCAST];
}

static inline const struct qv_mpi_habit *qv_mpi_habit_seen(const struct qv_mpi_comm *c,
							   enum qv_coll coll)
{
	return &c->habits[coll == QV_COLL_BROADCAST];
}

/* Whether some ranks are late by habit for such a call: 0, or a number for those who are. */
static inline uint32_t qv_mpi_late(const struct qv_mpi_comm *c, enum qv_coll coll)
{
	return qv_mpi_habit_seen(c, coll)->late;
}

/* Which of the QV_MPI_BYPASSES a call is kept in. */
static inline unsigned int qv_mpi_bypass_index(MPI_Op op, uint64_t count)
{
	return (unsigned int)(((uint64_t)(uintptr_t)op + count) * 0x9E3779B97F4A7C15u >> 61);
}

/* The state of a communicator, made when first asked for. NULL: no memory, or no communicator. */
struct qv_mpi_comm *qv_mpi_comm_of(MPI_Comm comm);
/* Where that gave NULL: whether it was for want of memory. */
bool qv_mpi_comm_is_poor(MPI_Comm comm);
/* Whether calls on it can be ours at all; the same on all its ranks. */
enum qv_mpi_reason qv_mpi_comm_judge(const struct qv_mpi_comm *c);
/* The same on a rank that has no memory for its state. */
enum qv_mpi_reason qv_mpi_comm_judge_poor(MPI_Comm comm);
/* Whether a call of this form then must end with an error: other ranks have memory, maybe. A nonblocking one is
 * the MPI's on all ranks. */
static inline bool qv_mpi_comm_is_missing(const struct qv_mpi_comm *c, MPI_Comm comm,
					  enum qv_mpi_form form)
{
	return !c && form != QV_MPI_NONBLOCKING && qv_mpi_comm_is_poor(comm) &&
	       qv_mpi_comm_judge_poor(comm) == QV_MPI_TAKEN;
}
/* All its ranks know that calls on it are the MPI's; qv_mpi_comm_of gives NULL, and it is not poor. False:
 * the MPI has no memory to remember it. */
bool qv_mpi_comm_leave(MPI_Comm comm);
/* Whether some of its ranks are of another MPI_COMM_WORLD. */
bool qv_mpi_comm_is_mixed(MPI_Comm comm, int ranks);
/* It is of a session: whoever else is in it need not be between MPI_Init and MPI_Finalize. */
void qv_mpi_comm_mark(MPI_Comm comm);
bool qv_mpi_comm_is_marked(MPI_Comm comm);
/* Free it; nothing of it is under way. */
void qv_mpi_comm_destroy(struct qv_mpi_comm *c);
/* At MPI_Finalize. */
void qv_mpi_comm_close_all(void);

/* From dup.c. */

/* Whether `mine` holds on all ranks; collective. The same on all. */
bool qv_mpi_agree(MPI_Comm comm, bool mine);
/* Duplicate the communicator, where it has no duplicate; collective, in a call that may wait for other ranks,
 * and that is ours on all of them. Whether it has one: the same on all ranks. */
bool qv_mpi_comm_open(struct qv_mpi_comm *c);
/* The same where the program makes communicators itself, so several threads may. */
bool qv_mpi_comm_open_early(struct qv_mpi_comm *c);
/* In place of that on a rank where qv_mpi_comm_of gave NULL for want of memory: calls on it are the MPI's on all
 * its ranks, for good. Collective. An MPI error code: others think so, and this rank cannot. */
int qv_mpi_comm_refuse(MPI_Comm comm);
/* A communicator of n ranks of c, *made, MPI_COMM_NULL on the others; collective over c, in a call that may
 * wait for other ranks. Whether there is one: the same on all ranks. */
bool qv_mpi_comm_of_some(struct qv_mpi_comm *c, int n, const int *ranks, MPI_Comm *made);
/* Free a duplicate, or one of some ranks; MPI_COMM_NULL: nothing. */
void qv_mpi_comm_unmake(MPI_Comm *made);
/* Another context for the ranks of comm, or MPI_COMM_NULL; collective, in MPI_Init. */
void qv_mpi_comm_twin(MPI_Comm comm, MPI_Comm *twin);

/* From mpi_glue/calls/create.c. */

/* A communicator was made from an old one, with this error code; the same, or another one.
 * Collective. */
int qv_mpi_comm_made(MPI_Comm old, MPI_Comm *comm, int rc);
/* plans/topology.c: the same of one that has the neighbours of the old one, or others. */
int qv_mpi_topology_made(MPI_Comm old, MPI_Comm *comm, int rc);
/* How many MPI_Comm_idup may be under way. One is over when its communicator is in a collective, a message, or freed. */
int qv_mpi_idups(void);
extern int qv_mpi_idups_begun; /* 0: it is none; read by any thread */
void qv_mpi_idup_over(MPI_Comm comm);

/* A call on it has begun. */
static inline void qv_mpi_comm_used(MPI_Comm comm)
{
	if (QV_UNLIKELY(__atomic_load_n(&qv_mpi_idups_begun, __ATOMIC_RELAXED)))
		qv_mpi_idup_over(comm);
}

#endif /* QV_MPI_COMM_H */
