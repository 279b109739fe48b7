/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * blocks.h - collectives whose blocks are of variable length, or are neighbours': each
 * rank knows the lengths of what it sends and receives, and no others.
 */
#ifndef QV_MPI_BLOCKS_H
#define QV_MPI_BLOCKS_H

#include <quiver/choose.h>

#include "mpi_glue/glue.h"

/* From blocks_take.c. */

/* What a program says of what it sends, or receives. */
struct qv_mpi_blocks_arg {
	const void *buf;
	bool varies;                /* the program gives an array of counts, and one of places */
	const int *counts, *displs; /* NULL: of each block count elements, one behind the other */
	MPI_Count count;
	MPI_Datatype type;
	/* Instead of the former two, where the program calls MPI_Alltoallv_c, say. */
	const MPI_Count *wide_counts;
	const MPI_Aint *wide_displs;
};

static inline MPI_Count qv_mpi_blocks_count(const struct qv_mpi_blocks_arg *arg, int slot)
{
	if (arg->wide_counts)
		return arg->wide_counts[slot];
	return arg->counts ? arg->counts[slot] : arg->count;
}

/* In elements, from the beginning. */
static inline ptrdiff_t qv_mpi_blocks_displ(const struct qv_mpi_blocks_arg *arg, int slot)
{
	if (arg->wide_displs)
		return arg->wide_displs[slot];
	return arg->displs ? arg->displs[slot] : (ptrdiff_t)slot * arg->count;
}

struct qv_mpi_blocks_call {
	enum qv_mpi_name name;
	enum qv_mpi_form form;
	struct qv_mpi_blocks_arg in, out; /* in.buf may be MPI_IN_PLACE */
	int root;                         /* of MPI_Gatherv and MPI_Scatterv */
	MPI_Comm comm;
	/* By qv_mpi_autotune_v_turn, if the call is timed: */
	struct qv_mpi_autotune_v *timed, *turned; /* out: what has counted it */
	double bytes;
	int error;   /* its own, which the MPI's error handler has seen; 0: none */
	bool by_mpi; /* out: the MPI runs it */
};

/* As qv_mpi_take. */
struct qv_mpi_op *qv_mpi_blocks_take(struct qv_mpi_blocks_call *call);

/* mpi_glue/plans/autotune_v.c: `auto`. */

/* The rule by which the call is run; or the MPI's, and why; or QV_MPI_FAILED, with call->error if the
 * MPI has said what. Collective, if it is blocking. */
const struct qv_mpi_rule *qv_mpi_autotune_v_turn(struct qv_mpi_comm *c,
						 struct qv_mpi_blocks_call *call,
						 enum qv_mpi_reason *why);
/* As qv_mpi_comes_again: the call that it has counted last. */
void qv_mpi_blocks_come_again(struct qv_mpi_blocks_call *call);
/* A call that was timed is over, with this error code; the same, or another one. Collective. */
int qv_mpi_autotune_v_end(struct qv_mpi_blocks_call *call, int rc);

/* The end of a blocking call. */
static inline int qv_mpi_blocks_return(struct qv_mpi_blocks_call *call, int rc)
{
	if (QV_UNLIKELY(rc) && call->by_mpi && qv_mpi_is_of_arguments(rc))
		qv_mpi_blocks_come_again(call);
	return call->timed ? qv_mpi_autotune_v_end(call, rc) : rc;
}

/* mpi_glue/plans/model.c: what is fastest. */

/* Between two ranks travel all blocks of an allgatherv by a ring, one by one, and a few messages by any other
 * schedule. The pieces of an exchange are as long as its tags suffice for. */
static inline bool qv_mpi_has_tags(const struct qv_mpi_comm *c, enum qv_mpi_name name,
				   const struct qv_mpi_rule *rule)
{
	return name != QV_MPI_ALLGATHERV || rule->by != QV_MPI_BY_SCHEDULE ||
	       rule->algorithm != QV_ALG_RING || c->ranks <= qv_mpi.slot;
}

/* The rule, and its seconds by the model. */
struct qv_mpi_guess {
	struct qv_mpi_rule rule;
	double seconds;
};

/* Of what all ranks have agreed on; QV_ENOMEM. Both are collective. */
int qv_mpi_model_best(struct qv_mpi_comm *c, enum qv_mpi_name name,
		      const struct qv_traffic *traffic, struct qv_mpi_guess *best);
/* Seconds of one rule. */
int qv_mpi_model_seconds(struct qv_mpi_comm *c, enum qv_mpi_name name,
			 const struct qv_traffic *traffic, const struct qv_mpi_rule *rule,
			 double *seconds);

/* layout.c: the blocks that a rank sends, or those that it receives. */

struct qv_mpi_layout {
	char *buf;
	uint32_t n;
	MPI_Count *counts;
	ptrdiff_t *places; /* in buf */
	size_t *at;        /* where they are while they travel, from base */
	size_t *bytes;
	size_t room; /* arrays are so long */
	char *base;
	bool plain;        /* elements lie as they travel */
	bool packed;       /* base is in room of ours */
	MPI_Datatype type; /* ours, if elements are not plain */
	MPI_Aint extent;
	MPI_Count size;
};

/* Blocks 0 .. n-1 are those of the numbers in slots, if that is not NULL; arrays get room for
 * `more` blocks behind them. An MPI error code. */
int qv_mpi_layout_set(struct qv_mpi_layout *layout, const struct qv_mpi_blocks_arg *arg, uint32_t n,
		      const int *slots, size_t more);
/* Whether the MPI must judge it. */
bool qv_mpi_layout_odd(const struct qv_mpi_blocks_arg *arg, uint32_t n);
bool qv_mpi_layout_in_a_row(const struct qv_mpi_layout *layout);
/* Bytes of all blocks. */
size_t qv_mpi_layout_sum(const struct qv_mpi_layout *layout);
/* They travel from where they are, or by way of room. */
void qv_mpi_layout_stay(struct qv_mpi_layout *layout);
void qv_mpi_layout_pack_at(struct qv_mpi_layout *layout, char *room);
int qv_mpi_layout_pack(struct qv_mpi_layout *layout, const struct qv_mpi_op *op);
/* Block i is at from. */
int qv_mpi_layout_unpack(struct qv_mpi_layout *layout, uint32_t i, const char *from,
			 const struct qv_mpi_op *op);
void qv_mpi_layout_release(struct qv_mpi_layout *layout);
void qv_mpi_layout_free(struct qv_mpi_layout *layout);

/* blocks.c: what one operation has. */

struct qv_mpi_blocks {
	struct qv_mpi_layout in, out;
	struct qv_exchange *exchange; /* NULL: a schedule */
	struct qv_exchange_item *items;
	uint32_t *from;   /* with neighbours: which block comes from each rank */
	uint32_t passing; /* blocks of scratch */
	size_t *bytes; /* of the blocks of out, and of scratch; by rank, of a gather or scatter */
	struct qv_run_blocks lengths;
	size_t *places; /* of a gather or scatter, off the root: where each rank's block is */
	char *scratch;
	size_t scratch_bytes;
	bool asks;   /* the lengths must be asked for before */
	bool asking; /* that is under way */
	bool asked;  /* the answer holds for all starts to come */
};

/* Room for so many bytes in scratch; NULL: no memory. */
char *qv_mpi_blocks_scratch(struct qv_mpi_blocks *blocks, size_t bytes);

/* rooted.c: of a gather or scatter. */

/* The lengths that this rank knows without having asked. */
void qv_mpi_rooted_know(struct qv_mpi_op *op);
/* Whether those that it was told are those that it expects. */
bool qv_mpi_rooted_agrees(const struct qv_mpi_op *op);
/* Where each rank's block is, from *work, when all lengths are known; NULL: no memory. */
const size_t *qv_mpi_rooted_place(struct qv_mpi_op *op, char **work);
/* Of a scatter: the own block goes where the program wants it; an MPI error code. */
int qv_mpi_rooted_take_own(struct qv_mpi_op *op);

/* mpi_glue/plans/pattern.c: who is whose neighbour. */

/* Neighbours of this rank, and the places of their blocks in the program's arrays. */
struct qv_mpi_edges {
	uint32_t *ranks;
	int *slots;
	uint32_t n;
};

struct qv_mpi_pattern {
	bool there;                  /* this rank has had memory for it */
	bool odd;                    /* not for us: the same on all ranks */
	struct qv_mpi_edges in, out; /* who sends to this rank, and to whom it sends */
	int degree;                  /* the most neighbours of any rank, on one side */
	struct qv_mpi_friends *friends;
};

/* How many blocks the program has of its neighbours, those that are not there and all. */
void qv_mpi_degrees(const struct qv_mpi_comm *c, int *in_n, int *out_n);
/* QV_MPI_TAKEN, and c->pattern is there; or why not, or QV_MPI_FAILED. Collective, unless it is
 * nonblocking. */
enum qv_mpi_reason qv_mpi_pattern_of(struct qv_mpi_comm *c, enum qv_mpi_form form);

/* mpi_glue/plans/friends.c: what is sent to whom, by a rule. */

#define QV_MPI_FRIENDS_TRIED 4 /* in a group, by `auto` */

struct qv_mpi_friends {
	struct qv_mpi_friends *next;
	struct qv_mpi_rule rule;
	struct qv_neighbor_plan *plan; /* this rank's part */
	bool combines;                 /* some rank is in a group: the same on all ranks */
};

/* QV_MPI_TAKEN, and *friends, which live as long as the communicator; or why not, or QV_MPI_FAILED.
 * c->pattern is there. Collective, unless it is nonblocking. */
enum qv_mpi_reason qv_mpi_friends_of(struct qv_mpi_comm *c, const struct qv_mpi_rule *rule,
				     enum qv_mpi_form form, const struct qv_mpi_friends **friends);
/* What a planner of this rank is told. */
struct qv_planner_spec qv_mpi_planner_spec(const struct qv_mpi_comm *c,
					   const struct qv_mpi_pattern *p,
					   const struct qv_mpi_rule *rule);

/* mpi_glue/plans/made.c: plans of rules. */

struct qv_mpi_made {
	enum qv_coll coll;
	struct qv_mpi_rule rule;
	uint32_t root;  /* of a gather or scatter */
	bool neighbors; /* blocks are neighbours' */
	struct qv_schedule *schedule;
	bool combines;      /* blocks go through ranks that do not know their lengths */
	bool wide, wide_in; /* some step is of several blocks of the work vector, or contribution */
};

bool qv_mpi_rule_equal(const struct qv_mpi_rule *a, const struct qv_mpi_rule *b);
/* The plan of a call, held once; friends are those of the rule, if it is of friends. NULL: no memory. */
struct qv_mpi_plan *qv_mpi_made_plan(struct qv_mpi_comm *c, const struct qv_mpi_blocks_call *call,
				     const struct qv_mpi_rule *rule,
				     const struct qv_mpi_friends *friends);

static inline bool qv_mpi_made_is_rooted(const struct qv_mpi_made *made)
{
	return made->coll == QV_COLL_GATHER || made->coll == QV_COLL_SCATTER;
}

static inline bool qv_mpi_is_neighbor(enum qv_mpi_name name)
{
	return name >= QV_MPI_NEIGHBOR_ALLGATHER;
}

/* One block goes to all. */
static inline bool qv_mpi_is_allgather(enum qv_mpi_name name)
{
	return name == QV_MPI_ALLGATHERV || name == QV_MPI_NEIGHBOR_ALLGATHER ||
	       name == QV_MPI_NEIGHBOR_ALLGATHERV;
}

static inline enum qv_coll qv_mpi_coll_of(enum qv_mpi_name name)
{
	if (qv_mpi_is_rooted_v(name))
		return name == QV_MPI_GATHERV ? QV_COLL_GATHER : QV_COLL_SCATTER;
	return qv_mpi_is_allgather(name) ? QV_COLL_ALLGATHER : QV_COLL_ALLTOALL;
}

#endif /* QV_MPI_BLOCKS_H */
