/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * schedule.h - collectives of a group as schedules: what each rank sends, receives and combines,
 * and what must be done before what. A schedule is built once for a group and an algorithm, and run
 * any number of times, for any operation and any length. Which algorithm to take: select.h.
 *
 * The vector is cut into blocks of about equal length (qv_schedule_blocks). Each rank has a work
 * vector, which first becomes its contribution. A step works on a range of blocks of it. Steps of a
 * rank may run in any order that respects `after` and fences; a message runs when both its ends
 * can.
 *
 * No locks, no threads; a built schedule does not change, and may be shared.
 */
#ifndef QUIVER_SCHEDULE_H
#define QUIVER_SCHEDULE_H

#include <quiver/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum qv_coll {
	QV_COLL_REDUCE = 0,         /* the root gets the result */
	QV_COLL_ALLREDUCE = 1,      /* every rank gets it */
	QV_COLL_REDUCE_SCATTER = 2, /* rank r gets block r; there are as many blocks as ranks */
	QV_COLL_BARRIER = 3,        /* nobody is done before all have begun; there is no vector */
	QV_COLL_BROADCAST = 4,      /* every rank gets the root's vector */
	/* As many blocks as ranks: */
	QV_COLL_GATHER = 5,    /* rank r contributes block r only; the root gets all */
	QV_COLL_ALLGATHER = 6, /* the same, every rank gets all */
	QV_COLL_SCATTER = 7,   /* rank r gets block r of the root's vector */
	QV_COLL_ALLTOALL = 8,  /* rank r gets block r of rank s's contribution as its block s */
	/* Reductions of which each rank gets its own, in order of rank: */
	QV_COLL_SCAN = 9,    /* rank r gets that of ranks 0 to r */
	QV_COLL_EXSCAN = 10, /* rank r gets that of ranks 0 to r-1; rank 0 gets nothing */
};

#define QV_N_COLLS 11

enum qv_algorithm {
	QV_ALG_BINOMIAL = 0,  /* tree; whole vectors */
	QV_ALG_RING = 1,      /* ring of P blocks, then what is missing; commutative only */
	QV_ALG_BUTTERFLY = 2, /* halving and doubling; what is beyond a power of two folds first */
	QV_ALG_RADIX = 3,     /* the same in groups of k1, k2, ... whose product is P */
	QV_ALG_PIPELINE = 4,  /* chain of all ranks, segment by segment */
	QV_ALG_DIRECT = 5,    /* everyone sends each block to the rank that combines it */
	/* tree from expected arrivals: the ranks that are ready first combine; of a broadcast, who has the
	 * data first sends to who comes first */
	QV_ALG_CLAIRVOYANT = 6,
	/* rounds of segments, each rank sends and receives one; from the same */
	QV_ALG_SEGMENTED = 7,
	QV_ALG_DISSEMINATION = 8, /* round i reaches 2^i ranks away; barrier and allgather */
	/* Every block goes straight to its rank, in an order that suits fat trees: */
	QV_ALG_PREFIX = 9,   /* in round i with the rank that differs in the bits of i */
	QV_ALG_KPREFIX = 10, /* so within k neighbours, from them to those k further on */
	QV_ALG_KSHIFT = 11,  /* to the k nearest on both sides, then k further on */
	/* Blocks are forwarded by other ranks, in fewer and longer messages: */
	QV_ALG_MESH2 = 12,     /* along the rows, then the columns of a square */
	QV_ALG_MESH3 = 13,     /* the same of a cube */
	QV_ALG_HYPERCUBE = 14, /* one message for each dimension */
	QV_ALG_HYBRID = 15,    /* the last dimensions of a hypercube at once */
	QV_ALG_REDIRECT = 16,  /* Local Redirect, redirect.h: who combines is found in the run */
	/* Tree of combine units, unit.h, run by ranks: operands combine in the order in which they
	 * come, packet by packet; commutative only */
	QV_ALG_UNIT = 17,
	QV_ALG_BINARY = 18, /* tree with two children each, segment by segment; broadcast only */
};

#define QV_N_ALGORITHMS 19

enum qv_step_kind {
	QV_STEP_COPY = 0,         /* blocks of the contribution, those that begin with `from`,
				     become blocks of the work vector */
	QV_STEP_SEND = 1,         /* send blocks to the peer */
	QV_STEP_STORE = 2,        /* receive blocks from the peer, over what was there */
	QV_STEP_COMBINE = 3,      /* receive them and combine: work = work op received */
	QV_STEP_COMBINE_LEFT = 4, /* the same with the operands exchanged: received op work */
	QV_STEP_FENCE = 5,        /* steps behind it wait for all that are before it */
	QV_STEP_SEND_IN = 6,      /* send blocks of the contribution, not of the work vector */
	QV_STEP_MOVE = 7,         /* blocks of the work vector, those that begin with `from`,
				     become other ones of it */
};

#define QV_STEP_NONE UINT32_MAX

struct qv_step {
	enum qv_step_kind kind;
	uint32_t peer; /* of messages */
	uint32_t tag;  /* of messages: how many go before it from the sender to the receiver */
	/* Range of blocks; those of scratch come behind those of the work vector. A message of 0
	 * blocks is a zero-byte token: it carries nothing, but is sent. */
	uint32_t first, blocks;
	uint32_t after; /* index of a step that must be done before, or QV_STEP_NONE */
	uint32_t from;  /* of a copy or move: the first block there */
};

/* What is to be built; the same on all ranks. */
struct qv_schedule_spec {
	size_t size; /* of this structure, see types.h */
	enum qv_coll coll;
	enum qv_algorithm algorithm;
	uint32_t ranks; /* of the group, 1 or more */
	uint32_t root;  /* of a reduce, broadcast, gather or scatter, else 0 */
	/* QV_ALG_PIPELINE, QV_ALG_SEGMENTED, QV_ALG_BINARY, not reduce_scatter: blocks; 0: 1 */
	uint32_t segments;
	const uint32_t *radix; /* QV_ALG_RADIX: group sizes, each 2 or more, read during the call */
	size_t radix_n;        /* how many; 0: the prime factors of ranks, the largest first */
	/* QV_ALG_CLAIRVOYANT, QV_ALG_SEGMENTED: when each rank is expected, in any unit, read
	 * during the call; NULL: all at once. Integers, so that all ranks come to the same tree. */
	const uint64_t *arrive;
	uint64_t round; /* the same: how long a message, and combining it, takes; 1 or more */
	/* not 0: the operation is not commutative, ranks combine in order. Reductions only. */
	int ordered;
	/* QV_ALG_KPREFIX: at most so many, a power of two that divides ranks is taken;
	 * QV_ALG_KSHIFT: so many; 0: 8. QV_ALG_HYBRID: dimensions; 0: 3. QV_ALG_UNIT: ranks of a
	 * group, whose leader has a unit, 2 to 32; 0: 4. */
	uint32_t k;
	int faithful; /* QV_ALG_REDIRECT: not 0: QV_REDIRECT_FAITHFUL, else QV_REDIRECT_EXTENDED */
	/* QV_ALG_DIRECT of an allgather or alltoall, QV_ALG_PREFIX, QV_ALG_KPREFIX, QV_ALG_KSHIFT: each
	 * time that a rank has sent and got so many blocks, or, by prefix, so many rounds are over, all
	 * ranks wait for each other. 0: never. */
	uint32_t pace;
	/* QV_ALG_UNIT: by rank, how many units it runs for other groups, read during the call: of a
	 * group, the one that runs the fewest is the leader. NULL: none do. */
	const uint32_t *load;
};

struct qv_schedule; /* of one rank, opaque */

/* "binomial", "ring", "butterfly", "radix", "pipeline", "direct", "clairvoyant", "segmented",
 * "dissemination", "prefix", "kprefix", "kshift", "mesh2", "mesh3", "hypercube", "hybrid",
 * "redirect", "unit", "binary"; static storage. NULL if there is no such algorithm. */
QV_API const char *qv_algorithm_name(enum qv_algorithm algorithm);

/* "reduce", "allreduce", "reduce_scatter", "barrier", "broadcast", "gather", "allgather",
 * "scatter", "alltoall", "scan", "exscan"; static storage. NULL if there is no such collective. */
QV_API const char *qv_coll_name(enum qv_coll coll);

/*
 * Whether a collective can be had by an algorithm:
 *     reduce, allreduce, reduce_scatter   the first eight, redirect, and unit but for
 *                                         reduce_scatter; the ring, unit and those from expected
 *                                         arrivals only if the operation commutes
 *     barrier      dissemination, binomial, unit
 *     broadcast    binomial, ring (a scatter, then blocks go around), pipeline, clairvoyant, unit,
 *                  binary
 *     gather       binomial, direct
 *     allgather    ring, dissemination, direct, and those from prefix to hybrid
 *     scatter      binomial, direct
 *     alltoall     direct, prefix, and mesh2, mesh3, hypercube, hybrid
 *     scan, exscan binomial, pipeline
 *   coll, algorithm  any numbers
 *   ordered          not 0: the operation does not commute
 * Returns 1 or 0.
 */
QV_API int qv_schedule_exists(enum qv_coll coll, enum qv_algorithm algorithm, int ordered);

/*
 * Build the schedule of one rank.
 *   spec      what; read during the call, with its arrays
 *   rank      whose, less than spec->ranks
 *   schedule  out: to be given to qv_schedule_free
 * QV_EINVAL: rank, root or an enum is out of range, arrivals without a round, the product of radix is
 * not ranks, or a pace of another algorithm;
 * QV_ENOSYS: the collective cannot be had by the algorithm, or not in the order that spec asks for;
 * QV_ENOMEM.
 */
QV_API int qv_schedule_build(const struct qv_schedule_spec *spec, uint32_t rank,
			     struct qv_schedule **schedule);

/*
 * Build those of all ranks, in one go where that is cheaper.
 *   spec  what; read during the call, with its arrays
 *   all   out: spec->ranks schedules, by rank, each to be given to qv_schedule_free
 * Errors as qv_schedule_build; then nothing has been written.
 */
QV_API int qv_schedule_build_all(const struct qv_schedule_spec *spec, struct qv_schedule **all);

/* Free it; NULL is allowed. */
QV_API void qv_schedule_free(struct qv_schedule *schedule);

/* Into how many blocks the vector is cut: block i is elements i*count/blocks up to the next. */
QV_API uint32_t qv_schedule_blocks(const struct qv_schedule *schedule);

/* How many blocks of scratch a run of it needs, beside the work vector; all of one length, but
 * where blocks are of variable length: qv_schedule_lengths. */
QV_API uint32_t qv_schedule_scratch(const struct qv_schedule *schedule);

/*
 * Find how long blocks of scratch are, where blocks are of variable length.
 *   schedule  which
 *   in_bytes  by block of the contribution: its bytes; of those that steps copy from
 *   unknown   bytes of blocks that only pass through this rank on their way between others
 *   bytes     in: by block of the work vector, its bytes; out: behind them, qv_schedule_scratch of
 *             them, those of scratch
 * Returns how many blocks of scratch are unknown.
 */
QV_API uint32_t qv_schedule_lengths(const struct qv_schedule *schedule, const size_t *in_bytes,
				    size_t unknown, size_t *bytes);

/*
 * The steps of a schedule, in the order of their indexes.
 *   schedule  which
 *   n         out: how many
 * Returns n steps, which live as long as the schedule.
 */
QV_API const struct qv_step *qv_schedule_steps(const struct qv_schedule *schedule, size_t *n);

/*
 * Prove that the schedules of a group do what they are for: each send meets one receive of the same
 * blocks, every run ends, no two steps of a rank touch a block in an order that is left open unless
 * both read, and every result holds every contribution once (in order of rank, if spec->ordered);
 * or what else the collective is to give.
 *   spec       from which they were built
 *   all        spec->ranks schedules, by rank
 *   why, room  out, on QV_EINVAL: what is wrong, as text in room bytes; may be NULL, 0
 * QV_OK: it is so; QV_EINVAL: it is not; QV_ENOMEM.
 */
QV_API int qv_schedule_check(const struct qv_schedule_spec *spec, struct qv_schedule *const *all,
			     char *why, size_t room);

/*
 * The operation of a reduction: dst[i] = a[i] op b[i].
 *   context  as in struct qv_run_data
 *   dst      out: a or b
 *   a, b     left and right operand
 *   count    elements
 */
typedef void (*qv_reduce_fn)(void *context, void *dst, const void *a, const void *b, size_t count);

/* What all ranks of a run in one process share. */
struct qv_local_run {
	qv_reduce_fn reduce;
	void *context;
	size_t item; /* bytes of an element */
	/* elements of the whole vector, or of one block if the schedule is of neighbor.h; a
	 * multiple of ranks of an alltoall, and where blocks are
	 * forwarded (mesh2, mesh3, hypercube, hybrid) */
	size_t count;
	uint64_t seed; /* which of the steps that can run is next: any number gives another order */
};

/*
 * Run the schedules of a group in this process, all ranks in turn: for tests, and for ranks that
 * share an address space.
 *   run       what is reduced
 *   all       ranks schedules that fit each other, by rank
 *   ranks     how many
 *   in        by rank: the contribution, as in struct qv_run_data
 *   work      out: by rank, the work vector, of the whole length, which holds the rank's result at
 *             the end
 * QV_ENOMEM; QV_EINVAL: the schedules do not fit each other, or the count is no multiple where it
 * must be.
 */
QV_API int qv_schedule_run_local(const struct qv_local_run *run, struct qv_schedule *const *all,
				 uint32_t ranks, const void *const *in, void *const *work);

/* A run of one rank over any network. */

/* What a run asks of a network. */
struct qv_port {
	/*
	 * Start a message and return at once; when it is over, the caller of the run calls
	 * qv_run_done, from inside of this call or later.
	 *   port   as given to qv_run_create
	 *   step   to be named in qv_run_done
	 *   peer   rank of the other end
	 *   tag    counts the messages from the sender to the receiver in one run, from 0
	 *   buf    of the run's arrays; the run does not touch it until the message is done
	 *   bytes  the same at both ends; 0 of a zero-byte token, which must come nevertheless
	 * QV_OK; QV_EAGAIN: not now, the run asks again at the next qv_run_progress; another value
	 * ends the run.
	 */
	int (*send)(void *port, uint32_t step, uint32_t peer, uint32_t tag, const void *buf,
		    size_t bytes);
	int (*receive)(void *port, uint32_t step, uint32_t peer, uint32_t tag, void *buf,
		       size_t bytes);
};

/* Variable-length blocks: of a collective that combines nothing. A step on several blocks needs
 * them one behind the other; but the root of a scatter copies nothing, and so needs them nowhere by
 * `direct`, where `in` is `work` and `in_at` is `at`. */
struct qv_run_blocks {
	/* By block of the work vector and behind those of scratch: where it begins, in bytes from
	 * work or temp, and its bytes. */
	const size_t *at, *bytes;
	const size_t *in_at, *in_bytes; /* the same of the contribution, from in */
};

/* What is reduced in one run. */
struct qv_run_data {
	qv_reduce_fn reduce;
	void *context; /* of reduce */
	size_t item;   /* bytes of an element */
	size_t count;  /* elements of the whole vector; as in struct qv_local_run */
	/* Contribution: the whole vector; of a gather and allgather, the own block alone; of a
	 * broadcast and scatter, looked at by the root only. May be where it goes to in work (its
	 * beginning, or the own block), but for an alltoall and an exscan. */
	const void *in;
	void *work; /* work vector, of the whole length; holds the result at the end */
	void *temp; /* room for another vector, or, where nothing is combined, for
		     * qv_schedule_scratch blocks; not looked at if there are none */
	/* NULL: all blocks are of one length; else item and count are not looked at, and the arrays
	 * must stay until the end. Both ends of a message must know its length. */
	const struct qv_run_blocks *blocks;
};

struct qv_run; /* opaque */

/*
 * Make a run of one rank's schedule, to be started any number of times.
 *   schedule     must live as long as the run
 *   calls, port  the network, both functions of it, and what they get; calls are copied
 *   run          out: to be given to qv_run_free
 * QV_ENOMEM.
 */
QV_API int qv_run_create(const struct qv_schedule *schedule, const struct qv_port *calls,
			 void *port, struct qv_run **run);

/* Free it, while no message of it is under way. NULL is allowed. */
QV_API void qv_run_free(struct qv_run *run);

/*
 * Begin, or begin again after the end. Messages start with the next qv_run_progress.
 *   run   from qv_run_create
 *   data  what is reduced; copied, its arrays must stay until the end
 * QV_EAGAIN: the run before is not over; QV_EINVAL: the count is no multiple where it must be, or
 * variable-length blocks are of a reduction, or do not lie one behind the other where they must.
 * Then nothing has changed.
 */
QV_API int qv_run_start(struct qv_run *run, const struct qv_run_data *data);

/*
 * Start what can be started. QV_OK: the run is over; QV_EAGAIN: messages are under way; another
 * value is that of the port or of qv_run_done: nothing more will be started, and messages that are
 * under way are for the caller to take back before the arrays are used again.
 */
QV_API int qv_run_progress(struct qv_run *run);

/*
 * A message is over; what was received is combined here.
 *   run     from qv_run_create
 *   step    as given to the port; one that is not under way is ignored
 *   status  QV_OK, or why the message failed, which ends the run: qv_run_progress returns it
 */
QV_API void qv_run_done(struct qv_run *run, uint32_t step, int status);

/* How many ranges of lengths beyond the first a network may have. */
#define QV_NETWORK_LONGER 2

/*
 * A network on which a message of s bytes takes alpha + s*beta while both ports are busy, and
 * combining them, or copying them into a message or out of it, s*gamma. Each rank can send one and
 * receive one message at a time, and do neither while it combines. Transports send short messages
 * in another way than long ones: those of `from` bytes and more have figures of their own.
 */
struct qv_network {
	double alpha, beta, gamma;
	struct {
		double from, alpha, beta; /* from: more than in the one before; 0: there is none */
	} longer[QV_NETWORK_LONGER];
};

/*
 * Predict a message: alpha + bytes*beta, by the figures for that length.
 *   network  on which
 *   bytes    of the message, 0 or more
 * Returns seconds.
 */
QV_API double qv_network_seconds(const struct qv_network *network, double bytes);

/*
 * Predict a run: when each rank would be done.
 *   network   on which
 *   all       ranks schedules that fit each other, by rank
 *   ranks     how many
 *   bytes     length of the vector; of a block if the schedules are of neighbor.h
 *   arrive    by rank: when it begins, in seconds; NULL: all at 0
 *   leave     out: by rank, when it has done its last step, in seconds
 * QV_ENOMEM; QV_EINVAL: the schedules do not fit each other.
 */
QV_API int qv_schedule_time(const struct qv_network *network, struct qv_schedule *const *all,
			    uint32_t ranks, double bytes, const double *arrive, double *leave);

#ifdef __cplusplus
}
#endif
#endif /* QUIVER_SCHEDULE_H */
