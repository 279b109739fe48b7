/* SPDX-License-Identifier: BSD-2-Clause */
/* requests.c - which receive a request is: a hash table by handle, whose slots are chains. */
#include "trace.h"

#ifndef QV_MPI_SIMULATED
#include <stdlib.h>

#define FIRST_SLOTS 256

static struct {
	struct qv_mpi_traced_request **slots;
	size_t slots_n, n; /* n: read without the lock, too */
	struct qv_mpi_traced_request *spare;
} all;

/* All here hold the lock. */

/* Handles are pointers in Open MPI, and numbers in MPICH. */
static struct qv_mpi_traced_request **slot_of(MPI_Request handle)
{
	const uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u;

	return &all.slots[(hash >> 32) & (all.slots_n - 1)];
}

static void enter(struct qv_mpi_traced_request *r)
{
	struct qv_mpi_traced_request **slot = slot_of(r->handle);

	r->next = *slot;
	*slot = r;
}

static bool make_slots(void)
{
	const size_t before = all.slots_n, n = before ? 2 * before : FIRST_SLOTS;
	struct qv_mpi_traced_request **old = all.slots, **more;

	if (all.n < before)
		return true;
	more = calloc(n, sizeof(*more));
	if (!more)
		return before > 0; /* chains become longer */
	all.slots = more;
	all.slots_n = n;
	for (size_t i = 0; i < before; i++)
		while (old[i]) {
			struct qv_mpi_traced_request *r = old[i];

			old[i] = r->next;
			enter(r);
		}
	free(old);
	return true;
}

static void leave(struct qv_mpi_traced_request *r)
{
	struct qv_mpi_traced_request **at = slot_of(r->handle);

	while (*at && *at != r)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = r->next;
	r->next = all.spare;
	all.spare = r;
	__atomic_store_n(&all.n, all.n - 1, __ATOMIC_RELAXED);
}

/* A busy one may have ended already, in another thread: the handle is of another request then. */
static struct qv_mpi_traced_request *look_up(MPI_Request handle)
{
	struct qv_mpi_traced_request *r = all.slots_n ? *slot_of(handle) : NULL;

	while (r && (r->handle != handle || r->busy))
		r = r->next;
	return r;
}

/* It is a user of the communicators that it names. */
static void keep(const struct qv_mpi_traced_request *request)
{
	struct qv_mpi_traced_request *r = NULL;

	if (make_slots() && (r = all.spare ? all.spare : malloc(sizeof(*r)))) {
		if (r == all.spare)
			all.spare = r->next;
		*r = *request;
		enter(r);
		__atomic_store_n(&all.n, all.n + 1, __ATOMIC_RELAXED);
		return;
	}
	if (request->wanted.c)
		qv_mpi_traced_put(request->wanted.c);
	if (request->of)
		qv_mpi_traced_put(request->of);
	qv_mpi_trace_lose(1);
}

/* From here on the lock is taken. */

void qv_mpi_trace_keep(MPI_Request handle, struct qv_mpi_wanted wanted)
{
	if (!wanted.c)
		return;
	qv_mpi_trace_lock();
	keep(&(struct qv_mpi_traced_request){.handle = handle, .wanted = wanted});
	qv_mpi_trace_unlock();
}

void qv_mpi_trace_keep_persistent(MPI_Request handle, MPI_Comm comm, int peer, int tag, bool sends)
{
	struct qv_mpi_traced *of = qv_mpi_traced_of(comm);

	if (!of)
		return;
	qv_mpi_trace_lock();
	of->users++;
	keep(&(struct qv_mpi_traced_request){
		.handle = handle, .of = of, .peer = peer, .tag = tag, .sends = sends});
	qv_mpi_trace_unlock();
}

bool qv_mpi_trace_find(int n, const MPI_Request *requests, struct qv_mpi_traced_request **of)
{
	bool any = false;

	if (!__atomic_load_n(&all.n, __ATOMIC_RELAXED))
		return false;
	qv_mpi_trace_lock();
	for (int i = 0; i < n; i++) {
		of[i] = requests[i] == MPI_REQUEST_NULL ? NULL : look_up(requests[i]);
		if (of[i] && (of[i]->sends || !of[i]->wanted.c))
			of[i] = NULL;
		if (of[i])
			any = of[i]->busy = true;
	}
	qv_mpi_trace_unlock();
	return any;
}

void qv_mpi_trace_not_over(int n, struct qv_mpi_traced_request *const *of)
{
	qv_mpi_trace_lock();
	for (int i = 0; i < n; i++)
		if (of[i])
			of[i]->busy = false;
	qv_mpi_trace_unlock();
}

void qv_mpi_trace_over(struct qv_mpi_traced_request *r, const MPI_Status *status)
{
	int cancelled = 0;

	if (status)
		PMPI_Test_cancelled(status, &cancelled);
	qv_mpi_trace_done(&r->wanted, cancelled ? NULL : status);
	qv_mpi_trace_lock();
	r->busy = false;
	if (!r->of)
		leave(r);
	qv_mpi_trace_unlock();
}

/* What is under way of it. */
static void drop(struct qv_mpi_traced_request *r)
{
	if (r->wanted.c)
		qv_mpi_traced_put(r->wanted.c);
	r->wanted.c = NULL;
}

void qv_mpi_trace_forget(MPI_Request request)
{
	struct qv_mpi_traced_request *r;

	if (!__atomic_load_n(&all.n, __ATOMIC_RELAXED))
		return;
	qv_mpi_trace_lock();
	r = look_up(request);
	if (r) {
		drop(r);
		if (r->of)
			qv_mpi_traced_put(r->of);
		leave(r);
	}
	qv_mpi_trace_unlock();
}

void qv_mpi_trace_lose_all(int n, const MPI_Request *requests)
{
	if (!__atomic_load_n(&all.n, __ATOMIC_RELAXED))
		return;
	qv_mpi_trace_lock();
	for (int i = 0; i < n; i++) {
		struct qv_mpi_traced_request *r = look_up(requests[i]);

		if (!r || !r->wanted.c)
			continue;
		drop(r);
		qv_mpi_trace_lose(1);
		if (!r->of)
			leave(r);
	}
	qv_mpi_trace_unlock();
}

static struct qv_mpi_traced_request *persistent(MPI_Request request)
{
	struct qv_mpi_traced_request *r;

	qv_mpi_trace_lock();
	r = look_up(request);
	qv_mpi_trace_unlock();
	return r && r->of ? r : NULL;
}

void qv_mpi_trace_start(int n, const MPI_Request *requests)
{
	if (!__atomic_load_n(&all.n, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < n; i++) {
		struct qv_mpi_traced_request *r = persistent(requests[i]);

		if (r && r->sends) {
			r->wanted.number = qv_mpi_trace_send(r->of, r->peer, r->tag);
		} else if (r) {
			r->fresh = !r->wanted.c;
			if (r->fresh)
				r->wanted = qv_mpi_trace_want(r->of, r->peer, r->tag);
		}
	}
}

void qv_mpi_trace_not_started(int n, const MPI_Request *requests)
{
	for (int i = 0; i < n; i++) {
		struct qv_mpi_traced_request *r = persistent(requests[i]);

		if (r && r->sends)
			qv_mpi_trace_not_sent(r->wanted.number);
		else if (r && r->fresh)
			qv_mpi_trace_done(&r->wanted, NULL);
	}
}
#endif
