/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comms.c - communicators of a trace, each with an id that all its ranks know, as an attribute. A copy
 * gets one from its original without a word, since all ranks copy a communicator in the same order;
 * of any other new one its rank 0 tells it to all.
 */
#include "trace.h"

#ifndef QV_MPI_SIMULATED
#include <stdlib.h>

#include "engine/base/hash.h"
#include "mpi_glue/glue.h"

static struct {
	int keyval;
	bool open;
	uint64_t made;  /* the id that this rank tells next, if it is the one that tells */
	uint64_t epoch; /* communicators that were freed */
} comms = {.keyval = MPI_KEYVAL_INVALID};

/* Of what is not recorded, for want of memory. */
static struct qv_mpi_traced nobody = {.users = 1};

/* Ids that copies get have this bit, those that ranks tell have not. */
#define COPIED (UINT64_C(1) << 63)

/* The attribute. */

static struct qv_mpi_traced *make(int ranks, uint64_t id)
{
	struct qv_mpi_traced *c = calloc(1, sizeof *c + (size_t)ranks * sizeof *c->world);

	if (!c)
		return &nobody;
	c->users = 1;
	c->id = id;
	c->ranks = ranks;
	return c;
}

void qv_mpi_traced_put(struct qv_mpi_traced *c)
{
	if (c != &nobody && --c->users == 0)
		free(c);
}

static int on_free(MPI_Comm comm, int keyval, void *value, void *extra)
{
	__atomic_fetch_add(&comms.epoch, 1, __ATOMIC_RELEASE);
	qv_mpi_trace_lock();
	qv_mpi_traced_put(value);
	qv_mpi_trace_unlock();
	return MPI_SUCCESS;
}

static int on_copy(MPI_Comm comm, int keyval, void *extra, void *value, void *copy, int *copied)
{
	struct qv_mpi_traced *old = value, *c = &nobody;

	qv_mpi_trace_lock();
	if (old != &nobody) {
		const uint64_t from[2] = {old->id, ++old->copies};

		c = make(old->ranks, qv_fnv(QV_FNV_START, from, sizeof from) | COPIED);
	}
	if (c != &nobody) {
		for (int i = 0; i < c->ranks; i++)
			c->world[i] = old->world[i];
		qv_mpi_trace_comm(c);
	}
	qv_mpi_trace_unlock();
	*(void **)copy = c;
	*copied = 1;
	return MPI_SUCCESS;
}

/* Which ranks of MPI_COMM_WORLD they are. */
static bool translate(MPI_Comm comm, struct qv_mpi_traced *c)
{
	MPI_Group mine, world;
	bool done = true;

	if (PMPI_Comm_group(comm, &mine))
		return false;
	if (PMPI_Comm_group(MPI_COMM_WORLD, &world)) {
		PMPI_Group_free(&mine);
		return false;
	}
	for (int i = 0; i < c->ranks && done; i++)
		done = !PMPI_Group_translate_ranks(mine, 1, &i, world, &c->world[i]);
	PMPI_Group_free(&mine);
	PMPI_Group_free(&world);
	return done;
}

static bool attach(MPI_Comm comm, int ranks, uint64_t id)
{
	struct qv_mpi_traced *c = make(ranks, id);

	if (c != &nobody && !translate(comm, c)) {
		free(c);
		c = &nobody;
	}
	if (c != &nobody) {
		qv_mpi_trace_lock();
		qv_mpi_trace_comm(c);
		qv_mpi_trace_unlock();
	}
	return !PMPI_Comm_set_attr(comm, comms.keyval, c) && c != &nobody;
}

/* What others ask. */

bool qv_mpi_trace_comms_open(void)
{
	int ranks, rank;

	if (comms.open)
		return true;
	if (PMPI_Comm_create_keyval(on_copy, on_free, &comms.keyval, NULL))
		return false;
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	comms.open = true;
	(void)attach(MPI_COMM_WORLD, ranks, 0);
	(void)attach(MPI_COMM_SELF, 1, 1);
	comms.made = (uint64_t)rank << 32 | 2;
	return true;
}

/* The program's own communicators keep theirs until it frees them; the MPI itself deletes that of
 * MPI_COMM_SELF. */
void qv_mpi_trace_comms_close(void)
{
	comms.open = false;
	PMPI_Comm_delete_attr(MPI_COMM_WORLD, comms.keyval);
	PMPI_Comm_free_keyval(&comms.keyval);
}

void qv_mpi_trace_comm_made(MPI_Comm comm, bool of_session)
{
	int inter = 0, found = 0, ranks;
	uint64_t id;
	void *value;

	if (!comms.open || of_session)
		return;
	if (PMPI_Comm_test_inter(comm, &inter) || inter ||
	    PMPI_Comm_get_attr(comm, comms.keyval, &value, &found) || found)
		return;
	PMPI_Comm_size(comm, &ranks);
	if (qv_mpi_comm_is_mixed(comm, ranks))
		return;
	id = __atomic_fetch_add(&comms.made, 1, __ATOMIC_RELAXED);
	if (QV_REAL(Bcast)(&id, 1, MPI_UINT64_T, 0, comm))
		return;
	(void)attach(comm, ranks, id);
}

struct qv_mpi_traced *qv_mpi_traced_of(MPI_Comm comm)
{
	static _Thread_local struct {
		MPI_Comm comm;
		uint64_t epoch;
		struct qv_mpi_traced *c;
	} last QV_MPI_TRACE_FAST;
	const uint64_t epoch = __atomic_load_n(&comms.epoch, __ATOMIC_ACQUIRE);
	void *value = NULL;
	int found = 0;

	if (last.c && last.comm == comm && last.epoch == epoch)
		return last.c;
	if (comm == MPI_COMM_NULL)
		return NULL;
	if (PMPI_Comm_get_attr(comm, comms.keyval, &value, &found) || !found || value == &nobody) {
		qv_mpi_trace_lose(1);
		return NULL;
	}
	last.comm = comm;
	last.epoch = epoch;
	last.c = value;
	return value;
}
#endif
