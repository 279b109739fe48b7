/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - QUIVER_MPI_TRACE: the messages of a program, over whatever its MPI sends them. Each rank
 * writes a file of calls (engine/trace/trace.h): what it sends, what it wants to receive, and what it
 * got. `quiver trace arrivals` makes a trace of matching of these.
 *
 * Not seen: messages inside of the MPI's collectives, and those of our own schedules.
 */
#ifndef QV_MPI_TRACE_H
#define QV_MPI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi_glue/calls/real.h"

#ifdef QV_MPI_SIMULATED
static inline void qv_mpi_trace_begin(const char *setting)
{
}

static inline void qv_mpi_trace_end(void)
{
}

static inline void qv_mpi_trace_comm_made(MPI_Comm comm, bool of_session)
{
}
#else
#include "engine/base/compiler.h"
#include "mpi_glue/comm.h"

/* file.c: what all calls go through. */

/* A variable of a thread that is found without a call; for a few bytes there is room in any process. */
#define QV_MPI_TRACE_FAST __attribute__((tls_model("initial-exec")))

/* Between qv_mpi_trace_begin and _end, if there is a file. */
extern bool qv_mpi_trace_on;
/* This thread is inside of a call that is recorded: what the MPI calls in there is its own. */
extern _Thread_local int qv_mpi_trace_inside QV_MPI_TRACE_FAST;

/* Whether a call that comes now is to be recorded. */
static inline bool qv_mpi_traces(void)
{
	return QV_UNLIKELY(qv_mpi_trace_on) && !qv_mpi_trace_inside;
}

/* The same of a message on a communicator, which uses it. */
static inline bool qv_mpi_traces_on(MPI_Comm comm)
{
	qv_mpi_comm_used(comm);
	return qv_mpi_traces();
}

/* rc = what the MPI's own function returns, of a call that is recorded. */
#define QV_TRACED(rc, call)            \
	do {                           \
		qv_mpi_trace_inside++; \
		rc = call;             \
		qv_mpi_trace_inside--; \
	} while (0)

/* Collective over MPI_COMM_WORLD, with the same setting on all ranks. "": nothing is recorded. */
void qv_mpi_trace_begin(const char *setting);
void qv_mpi_trace_end(void);

/* comms.c: communicators. */

struct qv_mpi_traced {
	uint32_t number; /* QV_TRACE_COMM */
	int users;       /* the communicator, and receives */
	uint64_t id;     /* the same on all its ranks */
	uint64_t copies;
	int ranks;
	int world[]; /* of its ranks in MPI_COMM_WORLD */
};

/* Collective: a communicator has been made, but not of one of sessions. */
void qv_mpi_trace_comm_made(MPI_Comm comm, bool of_session);
/* NULL: not all of its ranks record, or no memory; that is counted. */
struct qv_mpi_traced *qv_mpi_traced_of(MPI_Comm comm);
void qv_mpi_traced_put(struct qv_mpi_traced *c); /* one user less; the lock is held */
bool qv_mpi_trace_comms_open(void);
void qv_mpi_trace_comms_close(void);

/* file.c: one call. */

void qv_mpi_trace_lock(void);
void qv_mpi_trace_unlock(void);
/* Nobody will know of so many calls. */
void qv_mpi_trace_lose(uint64_t n);
/* The communicator has its number in this file from now on. The lock is held. */
void qv_mpi_trace_comm(struct qv_mpi_traced *c);

/* Who waits for what. */
struct qv_mpi_wanted {
	struct qv_mpi_traced *c; /* of which it is a user; NULL: not recorded */
	uint64_t number;         /* of the call */
};

/* A message is sent; 0, or its number. MPI_PROC_NULL and what is wrong are no messages; c may be NULL. */
uint64_t qv_mpi_trace_send(struct qv_mpi_traced *c, int dest, int tag);
/* A receive is posted. */
struct qv_mpi_wanted qv_mpi_trace_want(struct qv_mpi_traced *c, int source, int tag);
/* It is over, by a message or (NULL) without. */
void qv_mpi_trace_done(struct qv_mpi_wanted *w, const MPI_Status *status);
/* That message was not sent. */
void qv_mpi_trace_not_sent(uint64_t number);
/* A message was looked for, and found or (NULL) not; `claims`: it is taken out. */
void qv_mpi_trace_probe(MPI_Comm comm, int source, int tag, const MPI_Status *status, bool claims);

/* receive.c: an error may have a message, too: one that is too long. */
bool qv_mpi_trace_has_message(int rc);

/* requests.c: requests that are receives, or persistent. */

struct qv_mpi_traced_request {
	struct qv_mpi_traced_request *next; /* of its slot */
	MPI_Request handle;
	struct qv_mpi_wanted wanted; /* by what is under way */
	struct qv_mpi_traced *of;    /* of a persistent one, of which it is a user; else NULL */
	int peer, tag;               /* of a persistent one, as the program says them */
	bool sends;
	bool fresh; /* a persistent receive that the last call that starts has begun */
	bool busy;  /* a call has it, and nobody else finds it */
};

/* A request is a receive, or persistent. Where there is no memory the program goes on. */
void qv_mpi_trace_keep(MPI_Request handle, struct qv_mpi_wanted wanted);
void qv_mpi_trace_keep_persistent(MPI_Request handle, MPI_Comm comm, int peer, int tag, bool sends);
/* The receives under way among n requests: of[i], or NULL. False: there is none. Each is this call's until
 * it says that it is over, or not. */
bool qv_mpi_trace_find(int n, const MPI_Request *requests, struct qv_mpi_traced_request **of);
/* It is over, as qv_mpi_trace_done; one that is not persistent is forgotten. */
void qv_mpi_trace_over(struct qv_mpi_traced_request *request, const MPI_Status *status);
void qv_mpi_trace_not_over(int n, struct qv_mpi_traced_request *const *of);
/* Nobody will know what becomes of these: no memory. */
void qv_mpi_trace_lose_all(int n, const MPI_Request *requests);
/* The program frees it: what becomes of a receive nobody will know. */
void qv_mpi_trace_forget(MPI_Request request);
/* Persistent ones begin; or they have not, after all. */
void qv_mpi_trace_start(int n, const MPI_Request *requests);
void qv_mpi_trace_not_started(int n, const MPI_Request *requests);
#endif

#endif /* QV_MPI_TRACE_H */
