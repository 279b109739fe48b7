/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * glue.h - libquiver-mpi: collectives of an MPI program, run by schedules over its own messages. What all
 * files share. One stands on the other:
 *
 *   rules.h   what settings name
 *   reduce.h  how elements are combined
 *   comm.h    what is kept for a communicator
 *   op.h      a call, and the operation that runs it
 *   plans.h   by what it is run
 */
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
#include "mpi_glue/plans.h"

/* From stats.c. */

/* One that is run was built from expected arrivals. */
void qv_mpi_count_by_arrival(void);
void qv_mpi_count_sent(size_t bytes); /* a message of a schedule */
/* Print the sums over all ranks; collective over MPI_COMM_WORLD. */
void qv_mpi_report(void);

/* From init.c. */

/* Whether the program's MPI is the one that this library was built for. */
bool qv_mpi_is_of_this_mpi(void);
/* Whether this environment variable says yes: anything but nothing, 0, no, off and false. */
bool qv_mpi_is_set(const char *name);

/* From end.c: when MPI_Finalize has run the last function of the program, what the library keeps goes. */
void qv_mpi_end_last(void);

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
	bool primes_said;
	atomic_bool failed; /* a persistent operation has ended with an error */
	const struct qv_combine *combine;
	char text[QV_MPI_TEXT_ROOM]; /* QUIVER_MPI_COLL of rank 0 */
	struct qv_mpi_rules *rules;
	struct qv_network network; /* measured, or what the program said; alpha 0: nothing */
	struct qv_network bursts;  /* measured: of several messages at once; alpha 0: nothing */
	uint64_t rules_made;
	uint64_t made;   /* communicators so far */
	atomic_int dups; /* of the program's communicators */
	MPI_Comm own;    /* what these are made from */
	uint32_t node;   /* the lowest rank of MPI_COMM_WORLD on this one */
	int keyval;      /* of struct qv_mpi_comm */
	int slot;        /* tags for one operation */
	int persistent;  /* operations of a communicator that can be made */
	int plan_tag;    /* of messages about plans: the last one that all ranks have */
	/* What several threads touch: communicators, plans, lists of operations. Never held in a
	 * call that may wait. */
	pthread_mutex_t lock;
	struct qv_mpi_comm *comms;
	struct qv_mpi_comm *last; /* looked up; NULL where several threads call */
	bool one_thread;          /* at a time calls here, */
	bool one_thread_each;     /* and on each other rank of MPI_COMM_WORLD */
	void (*turn)(void);       /* lets the MPI go on; NULL: it has no such function */
	atomic_uint_fast64_t by_arrival;
	atomic_uint_fast64_t sent, sent_bytes;
	atomic_uint_fast64_t judged, changed, refuted; /* choices of mpi_glue/plans/autotune_v.c */
	atomic_uint_fast64_t planned, planned_ns;      /* plans of neighbours */
	atomic_uint_fast64_t counts[QV_MPI_N_NAMES][QV_MPI_N_FORMS][QV_MPI_N_WAYS];
};

extern struct qv_mpi qv_mpi;

/* One call went this way: a reason, or QV_MPI_TAKEN + algorithm. */
static inline void qv_mpi_count(enum qv_mpi_name name, enum qv_mpi_form form, unsigned int way)
{
	atomic_uint_fast64_t *count = &qv_mpi.counts[name][form][way];

	if (qv_mpi.one_thread) /* cheaper, and nobody else counts */
		atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
				      memory_order_relaxed);
	else
		atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

/* So many operations of a communicator may be under way: each has tags of its own. */
#define QV_MPI_SLOTS 64

#endif /* QV_MPI_H */
