/* SPDX-License-Identifier: BSD-2-Clause */
/* file.c - the file of this rank, and what goes into it. */
#include "trace.h"

#ifndef QV_MPI_SIMULATED
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <quiver/types.h>

#include "engine/base/file_name.h"
#include "engine/trace/record.h"
#include "engine/trace/setting.h"

bool qv_mpi_trace_on;
_Thread_local int qv_mpi_trace_inside QV_MPI_TRACE_FAST;

/* MPI_ANY_TAG does not ask for tags below 0, which are the MPI's own. */
#define ANY_TAG 0x7fffffffu

static struct {
	pthread_mutex_t lock;
	struct qv_trace_file *file;
	struct qv_trace_recording *lane;
	pid_t pid; /* whose they are */
	uint64_t calls, lost;
	uint32_t comms;
	bool follows; /* communicators, as all ranks do */
	bool threads; /* may call at the same time */
	char path[4096];
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

void qv_mpi_trace_lock(void)
{
	if (trace.threads)
		pthread_mutex_lock(&trace.lock);
}

void qv_mpi_trace_unlock(void)
{
	if (trace.threads)
		pthread_mutex_unlock(&trace.lock);
}

void qv_mpi_trace_lose(uint64_t n)
{
	__atomic_fetch_add(&trace.lost, n, __ATOMIC_RELAXED);
}

/* The file. */

static void cannot(const char *why)
{
	fprintf(stderr, "quiver: QUIVER_MPI_TRACE: no trace is written: %s\n", why);
}

static bool name_file(const struct qv_trace_setting *setting)
{
	const char *why = "";

	if (setting->ring)
		return cannot("ring= is not for calls, of which the first ones are needed"), false;
	if (!qv_file_name(setting->out, trace.path, sizeof trace.path, &why))
		return cannot(why), false;
	return true;
}

static bool open_file(const char *text, int rank)
{
	struct qv_trace_process me = {.rank = rank, .pid = (uint32_t)getpid()};
	struct qv_trace_lane lane = {.queue = QV_TRACE_TAGGED, .structure = "mpi"};
	struct qv_trace_setting setting;
	char why[512];
	bool named;

	if (!qv_trace_setting_parse(text, &setting, why, sizeof why))
		return cannot(why), false;
	named = name_file(&setting);
	free(setting.out);
	if (!named)
		return false;
	trace.file = qv_trace_create_calls(trace.path, setting.most);
	if (!trace.file)
		return cannot(errno == EWOULDBLOCK ? "another process writes this file"
						   : strerror(errno)),
		       false;
	trace.pid = me.pid;
	gethostname(me.host, sizeof me.host - 1);
	strncpy(me.program, program_invocation_short_name, sizeof me.program - 1);
	qv_trace_add_process(trace.file, &me); /* where that fails, the lane does */
	trace.lane = qv_trace_record_calls(trace.file, &lane);
	if (!trace.lane)
		cannot("no memory, or a full disk");
	return trace.lane != NULL;
}

/* What was recorded goes into the file. */
static void close_file(void)
{
	uint64_t lost;
	int error;

	qv_mpi_trace_on = false;
	qv_mpi_trace_lock();
	qv_trace_record_end(trace.lane);
	trace.lane = NULL;
	if (trace.file) {
		qv_trace_count_lost(trace.file, trace.lost);
		error = qv_trace_finish(trace.file, &lost);
		if (error)
			fprintf(stderr, "quiver: the trace %s lacks %llu events: %s\n", trace.path,
				(unsigned long long)lost,
				error == EFBIG ? "it has reached its limit (max= of "
						 "QUIVER_MPI_TRACE, or ulimit -f)"
					       : strerror(error));
	}
	trace.file = NULL;
	qv_mpi_trace_unlock();
}

void qv_mpi_trace_begin(const char *setting)
{
	int rank, level;
	bool has_file, opened;

	if (!*setting)
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Query_thread(&level);
	trace.threads = level == MPI_THREAD_MULTIPLE;
	has_file = open_file(setting, rank);
	/* Communicators are followed without a file, too: to do so is collective. */
	opened = qv_mpi_trace_comms_open();
	trace.follows = qv_mpi_agree(MPI_COMM_WORLD, opened);
	if (opened && !trace.follows)
		qv_mpi_trace_comms_close();
	qv_mpi_trace_on = has_file && trace.follows;
	if (has_file && !trace.follows)
		cannot("no memory for an attribute of communicators");
}

void qv_mpi_trace_end(void)
{
	uint64_t lost = trace.lost, all = 0;
	int rank;

	if (!trace.follows)
		return;
	trace.follows = false;
	if (qv_mpi_trace_on)
		close_file();
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	QV_REAL(Reduce)(&lost, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank && all)
		fprintf(stderr,
			"quiver: QUIVER_MPI_TRACE: %llu calls are not recorded: on "
			"intercommunicators, with processes of other jobs, or of sessions, or for want "
			"of memory\n",
			(unsigned long long)all);
	qv_mpi_trace_comms_close();
}

/* A program that ends without MPI_Finalize, but not one that it has forked. */
__attribute__((destructor)) static void leave(void)
{
	if (qv_mpi_trace_on && trace.pid == getpid())
		close_file();
}

/* Calls. The lock is held. */

static void put(const struct qv_trace_event *call)
{
	if (trace.lane)
		qv_trace_record_call(trace.lane, call);
}

static uint64_t tag_of(const struct qv_mpi_traced *c, int tag)
{
	return (uint64_t)c->number << 32 | (tag == MPI_ANY_TAG ? 0 : (uint32_t)tag);
}

/* Number of a new call; 0: there is no such rank or tag. */
static uint64_t put_call(enum qv_trace_kind kind, const struct qv_mpi_traced *c, int peer, int tag,
			 bool matched)
{
	const bool any_source = kind != QV_TRACE_SEND && peer == MPI_ANY_SOURCE;
	const bool any_tag = kind != QV_TRACE_SEND && tag == MPI_ANY_TAG;

	if (!(any_source || (peer >= 0 && peer < c->ranks)) || !(any_tag || tag >= 0))
		return 0;
	put(&(struct qv_trace_event){.kind = kind,
				     .src = any_source ? QV_SRC_ANY : (uint32_t)c->world[peer],
				     .tag = tag_of(c, tag),
				     .ignore = any_tag ? ANY_TAG : 0,
				     .node = ++trace.calls,
				     .matched = matched});
	return trace.calls;
}

/* By the message of the status, if there is one that can be. */
static void put_done(const struct qv_mpi_traced *c, uint64_t number, const MPI_Status *status)
{
	const bool has = status && status->MPI_SOURCE >= 0 && status->MPI_SOURCE < c->ranks &&
			 status->MPI_TAG >= 0;

	put(&(struct qv_trace_event){.kind = QV_TRACE_DONE,
				     .node = number,
				     .src = has ? (uint32_t)c->world[status->MPI_SOURCE] : 0,
				     .tag = has ? tag_of(c, status->MPI_TAG) : 0,
				     .matched = has});
}

void qv_mpi_trace_comm(struct qv_mpi_traced *c)
{
	c->number = trace.comms++;
	put(&(struct qv_trace_event){.kind = QV_TRACE_COMM, .node = c->number, .tag = c->id});
}

/* From here on the lock is taken. */

uint64_t qv_mpi_trace_send(struct qv_mpi_traced *c, int dest, int tag)
{
	uint64_t number;

	if (!c)
		return 0;
	qv_mpi_trace_lock();
	number = put_call(QV_TRACE_SEND, c, dest, tag, false);
	qv_mpi_trace_unlock();
	return number;
}

void qv_mpi_trace_not_sent(uint64_t number)
{
	qv_mpi_trace_lock();
	if (number)
		put(&(struct qv_trace_event){.kind = QV_TRACE_DONE, .node = number});
	qv_mpi_trace_unlock();
}

struct qv_mpi_wanted qv_mpi_trace_want(struct qv_mpi_traced *c, int source, int tag)
{
	struct qv_mpi_wanted w = {.c = NULL};

	if (!c)
		return w;
	qv_mpi_trace_lock();
	if ((w.number = put_call(QV_TRACE_WANT, c, source, tag, false))) {
		w.c = c;
		c->users++;
	}
	qv_mpi_trace_unlock();
	return w;
}

void qv_mpi_trace_done(struct qv_mpi_wanted *w, const MPI_Status *status)
{
	if (!w->c)
		return;
	qv_mpi_trace_lock();
	put_done(w->c, w->number, status);
	qv_mpi_traced_put(w->c);
	qv_mpi_trace_unlock();
	w->c = NULL;
}

void qv_mpi_trace_probe(MPI_Comm comm, int source, int tag, const MPI_Status *status, bool claims)
{
	const struct qv_mpi_traced *c;
	uint64_t number;

	c = qv_mpi_traced_of(comm);
	if (!c)
		return;
	qv_mpi_trace_lock();
	number = put_call(claims ? QV_TRACE_CLAIM : QV_TRACE_PROBE, c, source, tag, status != NULL);
	if (number && status)
		put_done(c, number, status);
	qv_mpi_trace_unlock();
}
#endif
