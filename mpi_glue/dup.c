/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dup.c - the communicators on which our messages travel: for each of the program's that needs one, another
 * context of the same ranks. Not by MPI_Comm_dup or MPI_Comm_idup, which call the program's functions that
 * copy attributes. All other calls that make a communicator block, so nonblocking calls of ours cannot make
 * one.
 *
 * Open MPI makes communicators one after the other. So one of ours would wait for one that the program has
 * begun to make, by MPI_Comm_idup or in another thread, and for which other ranks may come later only. All
 * ranks tell each other before whether that could be; then the call is the MPI's, and they ask again later.
 */
#include "glue.h"

#include "engine/base/proc.h"

#define MOST_DUPS     256  /* MPICH 4.0 has some 2000 communicators for the program and us */
#define FIRST_PAUSE   16   /* calls before ranks that had an objection are asked again, */
#define LONGEST_PAUSE 1024 /* and after many objections */

bool qv_mpi_agree(MPI_Comm comm, bool mine)
{
	int one = mine, all = 0;

	return !QV_REAL(Allreduce)(&one, &all, 1, MPI_INT, MPI_MIN, comm) && all;
}

/* Errors are told to the handler of the communicator that a new one is made from. So that this is none of the
 * program's, ours are made from one of our own, by the ranks of the new one. */
static int create(const struct qv_mpi_comm *c, MPI_Group group, int tag, MPI_Comm *dup)
{
#ifdef QV_MPI_SIMULATED
	return PMPI_Comm_create(c->comm, group, dup);
#else
	return QV_REAL(Comm_create_group)(qv_mpi.own, group, tag, dup);
#endif
}

static bool make(const struct qv_mpi_comm *c, MPI_Group group, int tag, MPI_Comm *made)
{
	if (create(c, group, tag, made)) {
		*made = MPI_COMM_NULL;
		return false;
	}
	atomic_fetch_add(&qv_mpi.dups, 1);
	return !PMPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN);
}

void qv_mpi_comm_unmake(MPI_Comm *made)
{
	if (*made == MPI_COMM_NULL)
		return;
	PMPI_Comm_free(made);
	atomic_fetch_sub(&qv_mpi.dups, 1);
}

static bool may_make(void)
{
	return qv_mpi.own != MPI_COMM_NULL && qv_mpi.dups < MOST_DUPS && !qv_mpi_idups();
}

enum objection {
	NOBODY_OBJECTS,
	NOT_NOW,
	NOT_AT_ALL, /* no memory for what is kept of it */
};

/* The greatest objection of all ranks, and a tag. Communicators that threads of the same ranks make at the same time
 * are told apart by it alone. It is drawn from all tags, so that two of them hardly ever have the same. */
static enum objection objection_of_all(MPI_Comm comm, int rank, enum objection mine, int *tag)
{
	const uint64_t tags = (uint64_t)qv_mpi.plan_tag + 1;
	int own[2] = {mine, rank ? 0 : (int)(qv_proc_random() % tags)}, most[2];

	if (QV_REAL(Allreduce)(own, most, 2, MPI_INT, MPI_MAX, comm))
		return NOT_NOW;
	*tag = most[1];
	return (enum objection)most[0];
}

static void put_off(struct qv_mpi_comm *c)
{
	c->paused = c->paused ? 2 * c->paused : FIRST_PAUSE;
	c->paused = c->paused < LONGEST_PAUSE ? c->paused : LONGEST_PAUSE;
	c->pause = c->paused;
}

static bool open_dup(struct qv_mpi_comm *c, bool may)
{
	MPI_Group group = MPI_GROUP_NULL;
	int tag;

	if (c->dup != MPI_COMM_NULL || c->no_dup)
		return !c->no_dup;
	if (c->pause) {
		c->pause--;
		return false;
	}
	may = !PMPI_Comm_group(c->comm, &group) && may && may_make();
	switch (objection_of_all(c->comm, c->rank, may ? NOBODY_OBJECTS : NOT_NOW, &tag)) {
	case NOBODY_OBJECTS:
		c->no_dup = !qv_mpi_agree(c->comm, make(c, group, tag, &c->dup));
		if (c->no_dup)
			qv_mpi_comm_unmake(&c->dup);
		break;
	case NOT_NOW: put_off(c); break;
	case NOT_AT_ALL: c->mixed = true; break;
	}
	if (group != MPI_GROUP_NULL)
		PMPI_Group_free(&group);
	return c->dup != MPI_COMM_NULL;
}

bool qv_mpi_comm_open(struct qv_mpi_comm *c)
{
	return open_dup(c, qv_mpi.one_thread);
}

bool qv_mpi_comm_open_early(struct qv_mpi_comm *c)
{
	return open_dup(c, true);
}

int qv_mpi_comm_refuse(MPI_Comm comm)
{
	int rank = 0, tag;

	PMPI_Comm_rank(comm, &rank);
	return objection_of_all(comm, rank, NOT_AT_ALL, &tag) == NOT_AT_ALL &&
			       qv_mpi_comm_leave(comm)
		       ? MPI_SUCCESS
		       : MPI_ERR_NO_MEM;
}

bool qv_mpi_comm_of_some(struct qv_mpi_comm *c, int n, const int *ranks, MPI_Comm *made)
{
	MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
	bool may = qv_mpi.one_thread && may_make(), ok = false;
	int tag, rank = MPI_UNDEFINED;

	*made = MPI_COMM_NULL;
	may = !PMPI_Comm_group(c->comm, &all) && !PMPI_Group_incl(all, n, ranks, &some) &&
	      !PMPI_Group_rank(some, &rank) && may;
	if (objection_of_all(c->comm, c->rank, may ? NOBODY_OBJECTS : NOT_NOW, &tag) ==
	    NOBODY_OBJECTS)
		ok = qv_mpi_agree(c->comm, rank == MPI_UNDEFINED || make(c, some, tag, made));
	if (!ok)
		qv_mpi_comm_unmake(made);
	if (some != MPI_GROUP_NULL)
		PMPI_Group_free(&some);
	if (all != MPI_GROUP_NULL)
		PMPI_Group_free(&all);
	return ok;
}

void qv_mpi_comm_twin(MPI_Comm comm, MPI_Comm *twin)
{
	MPI_Group group;
	int rc;

	PMPI_Comm_group(comm, &group);
	rc = QV_REAL(Comm_create)(comm, group, twin);
	PMPI_Group_free(&group);
	if (rc)
		*twin = MPI_COMM_NULL;
	else
		PMPI_Comm_set_errhandler(*twin, MPI_ERRORS_RETURN);
}
