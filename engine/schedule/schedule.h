/* SPDX-License-Identifier: BSD-2-Clause */
/* schedule.h - how schedules are built and looked at. Inside of engine/schedule only. */
#ifndef QV_SCHEDULE_H
#define QV_SCHEDULE_H

#include <quiver/schedule.h>

struct qv_schedule {
	uint32_t ranks, rank, blocks;
	uint32_t scratch; /* blocks beside the work vector, numbered behind its own */
	int whole;        /* all blocks are of one length */
	int single;       /* the count of a run is that of one block */
	enum qv_coll coll;
	/* Steps that a run does in another way, which is found while it goes; NULL: there are none. */
	const struct qv_live *live;
	uint32_t live_first;
	/* Of Local Redirect: the rank at the end of the line. */
	uint32_t end;
	int faithful;
	size_t n, room;
	struct qv_step *steps;
};

/* spec.c: what is asked. */

/* A caller's spec as this build has it. QV_EINVAL: it has fields that are not known here. */
int qv_schedule_read(struct qv_schedule_spec *to, const struct qv_schedule_spec *spec);
/* As qv_schedule_build: whether this rank's steps of it can be built. */
int qv_schedule_judge(const struct qv_schedule_spec *spec, uint32_t rank);

#define QV_MOST_FACTORS 32 /* of a number below 2^32 */
/* Prime factors, the largest first: the first exchange is of the shortest pieces. */
size_t qv_factors(uint32_t number, uint32_t *k);

/* schedule.c: building, step by step. */

struct qv_builder {
	const struct qv_schedule_spec *spec;
	struct qv_schedule *s;
	uint32_t rank;
	uint32_t *sent, *received; /* messages so far, by peer */
	uint32_t rounds;           /* so far, of a schedule that can be paced */
	int failed;                /* no memory: further steps are dropped */
};

/* To begin, and the schedule, or NULL. */
void qv_builder_open(struct qv_builder *b, const struct qv_schedule_spec *spec, uint32_t rank);
struct qv_schedule *qv_builder_close(struct qv_builder *b);

/* Each returns the index of the step. An empty range makes no step: QV_STEP_NONE. */
uint32_t qv_add_send(struct qv_builder *b, uint32_t peer, uint32_t first, uint32_t blocks,
		     uint32_t after);
uint32_t qv_add_receive(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t first,
			uint32_t blocks, uint32_t after);
/* Blocks low .. low+n-1 modulo the number of ranks, as one message or two. By QV_STEP_SEND or
 * QV_STEP_STORE; the steps wait for nothing. */
void qv_add_range(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t low,
		  uint32_t n);
/* The same of blocks that follow each other in any case. */
void qv_add_message(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer, uint32_t first,
		    uint32_t blocks);
/* A zero-byte token to a peer, or from it; it waits for nothing. */
void qv_add_signal(struct qv_builder *b, enum qv_step_kind kind, uint32_t peer);
/* Blocks within the rank: of the contribution or, QV_STEP_MOVE, of the work vector. */
uint32_t qv_add_copy(struct qv_builder *b, enum qv_step_kind kind, uint32_t from, uint32_t first,
		     uint32_t blocks, uint32_t after);
/* So many blocks of scratch; the number of the first. */
uint32_t qv_add_scratch(struct qv_builder *b, uint32_t blocks);
/* A step that does nothing. */
void qv_add_nothing(struct qv_builder *b);
/* Nothing is added where nothing could wait. */
void qv_add_fence(struct qv_builder *b);

/* A round of a schedule that can be paced has been added, of so many; the same on all ranks. Where one is
 * due, and more rounds follow, a barrier is added. */
void qv_add_round(struct qv_builder *b, uint32_t of);

/* names.c: whether a schedule can be paced. */
int qv_can_pace(enum qv_coll coll, enum qv_algorithm algorithm);

/* One function per family; the copy is there already. */

/* Of collectives that combine nothing, engine/schedule/families/move.c. */
void qv_build_move(struct qv_builder *b);
/* Through other ranks, engine/schedule/families/forward.c. */
void qv_build_forward(struct qv_builder *b);
/* Straight, in an order that suits a fat tree, engine/schedule/families/shift.c. */
void qv_build_prefix(struct qv_builder *b);
void qv_build_kprefix(struct qv_builder *b);
void qv_build_kshift(struct qv_builder *b);
/* Blocks that are their ranks' own, to the root; and from the root, to their ranks. */
void qv_build_gather(struct qv_builder *b);
void qv_build_scatter(struct qv_builder *b);
/* Each rank's own block to all others, once around. */
void qv_build_round_trip(struct qv_builder *b);
void qv_build_binomial(struct qv_builder *b);
void qv_build_clairvoyant(struct qv_builder *b);
/* For one rank, or for all: n builders, by rank. */
void qv_build_segmented(struct qv_builder *b, uint32_t n);
void qv_build_redirect(struct qv_builder *b);
#define QV_UNIT_WAYS      4  /* ranks of a group, where nothing else is asked for */
#define QV_UNIT_MOST_WAYS 32 /* that can be asked for */

/* A tree of combine units, engine/schedule/unit/tree.c. */
void qv_build_unit(struct qv_builder *b);
/* Whether a rank is the leader of others there: 1 or 0. */
int qv_unit_leads(const struct qv_schedule_spec *spec, uint32_t rank);
void qv_build_ring(struct qv_builder *b);
void qv_build_pipeline(struct qv_builder *b);
/* engine/schedule/families/scan.c. */
void qv_build_scan(struct qv_builder *b);
/* Groups of k[0], k[1], ...; ranks beyond their product fold first. */
void qv_build_exchange(struct qv_builder *b, const uint32_t *k, size_t n);
/* Rank `from` has the result of the whole vector: to whom it belongs. */
void qv_build_delivery(struct qv_builder *b, uint32_t from);

/* What a run does by itself in the place of some steps: as qv_run_create and the others of
 * schedule.h, but its messages have the numbers of slots, from live_first on. */
struct qv_live {
	int (*create)(const struct qv_schedule *schedule, const struct qv_port *calls, void *port,
		      void **live);
	void (*free)(void *live);
	void (*start)(void *live, const struct qv_run_data *data);
	int (*progress)(void *live);
	void (*done)(void *live, uint32_t slot, int status);
};

/* engine/schedule/families/blocks.c: variable-length blocks. */

/* Whether a run of them is possible; data->blocks is not NULL. */
int qv_blocks_fit(const struct qv_schedule *s, const struct qv_run_data *data);
/* Bytes of a step. */
size_t qv_blocks_bytes(const struct qv_run_blocks *blocks, const struct qv_step *step);

/* group.c: the schedules of a group together. */

/* Where steps stand in arrays over all ranks, and which two are the ends of a message. */
struct qv_group {
	struct qv_schedule *const *all;
	uint32_t ranks;
	size_t n;        /* steps of all ranks */
	size_t *base;    /* number of each rank's first step */
	uint32_t *rank;  /* by number */
	size_t *partner; /* by number: the other end; itself where there is no message */
	unsigned char *done;
	uint32_t *fence; /* by rank: the first fence that is not done yet, or the number of steps */
	uint32_t *before; /* by rank: steps before that fence that are not done */
};

/* QV_EINVAL: a message has one end only, or two that differ; *bad is a step of it. */
int qv_group_open(struct qv_group *g, struct qv_schedule *const *all, uint32_t ranks, size_t *bad);
void qv_group_close(struct qv_group *g);
const struct qv_step *qv_group_step(const struct qv_group *g, size_t number);
/* Whether the step, by its own rank, could run now. */
int qv_group_ready(const struct qv_group *g, size_t number);
/* Whether the end of each rank depends on the beginning of every rank; all steps have been run.
 * QV_EINVAL: not so, and why; QV_ENOMEM. */
int qv_check_barrier(const struct qv_group *g, char *why, size_t room);
/* A step of one rank that is out of range, or that races with an earlier one between the same
 * fences: *other, else QV_STEP_NONE. QV_STEP_NONE: there is no such step. */
uint32_t qv_check_order(const struct qv_schedule *s, uint32_t *other);
/* It is done; fences that nothing holds any more are passed. */
void qv_group_done(struct qv_group *g, size_t number);

/* Elements before block i of so many. */
static inline size_t qv_block_begin(uint32_t blocks, size_t count, uint32_t i)
{
	return (size_t)((uint64_t)count / blocks * i + (uint64_t)count % blocks * i / blocks);
}

/* Bytes of a block, where all are of one length. */
static inline size_t qv_whole_block(const struct qv_schedule *s, size_t count, size_t item)
{
	return (s->single ? count : count / s->blocks) * item;
}

/* Bytes before block i of the work vector, or before one of scratch from the beginning of that. */
static inline size_t qv_place(const struct qv_schedule *s, size_t count, size_t item, uint32_t i)
{
	if (!s->whole)
		return qv_block_begin(s->blocks, count, i) * item;
	return qv_whole_block(s, count, item) * (i < s->blocks ? i : i - s->blocks);
}

/* The same of the contribution. */
static inline size_t qv_place_in(const struct qv_schedule *s, size_t count, size_t item, uint32_t i)
{
	return s->single ? count * item * i : qv_place(s, count, item, i);
}

/* Of a step's blocks. */
static inline size_t qv_step_bytes(const struct qv_schedule *s, size_t count, size_t item,
				   const struct qv_step *step)
{
	return s->whole ? qv_whole_block(s, count, item) * step->blocks
			: (qv_block_begin(s->blocks, count, step->first + step->blocks) -
			   qv_block_begin(s->blocks, count, step->first)) *
				  item;
}

/* Whether the count of a run fits. */
static inline int qv_count_fits(const struct qv_schedule *s, size_t count)
{
	return s->single || (s->coll != QV_COLL_ALLTOALL && !s->whole) || count % s->ranks == 0;
}

static inline int qv_is_local(enum qv_step_kind kind)
{
	return kind == QV_STEP_COPY || kind == QV_STEP_MOVE;
}

static inline int qv_is_send(enum qv_step_kind kind)
{
	return kind == QV_STEP_SEND || kind == QV_STEP_SEND_IN;
}

static inline int qv_is_scan(enum qv_coll coll)
{
	return coll == QV_COLL_SCAN || coll == QV_COLL_EXSCAN;
}

static inline int qv_combines(enum qv_coll coll)
{
	return coll <= QV_COLL_REDUCE_SCATTER || qv_is_scan(coll);
}

static inline int qv_is_receive(enum qv_step_kind kind)
{
	return kind >= QV_STEP_STORE && kind <= QV_STEP_COMBINE_LEFT;
}

#endif /* QV_SCHEDULE_H */
