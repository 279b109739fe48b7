/* SPDX-License-Identifier: BSD-2-Clause */
/* qv_mpi_comm.c - what we keep per communicator, as an attribute of it. */
#include "qv_mpi.h"

#include <stdlib.h>

/* Forget c; nothing of it is under way. */
void qv_mpi_comm_destroy(struct qv_mpi_comm *c)
{
	struct qv_mpi_plan *next;

	pthread_mutex_lock(&qv_mpi.lock);
	for (struct qv_mpi_plan *p = c->plans; p; p = next) {
		next = p->next;
		qv_mpi_plan_free(p);
	}
	if (qv_mpi.rules)
		qv_select_forget(qv_mpi.rules->select, c->number);
	pthread_mutex_unlock(&qv_mpi.lock);
	if (c->opening != MPI_REQUEST_NULL)
		PMPI_Wait(&c->opening, MPI_STATUS_IGNORE);
	qv_mpi_watch_close(c);
	if (c->shadow != MPI_COMM_NULL)
		PMPI_Comm_free(&c->shadow);
	qv_mpi_trials_free(c);
	qv_mpi_switches_free(c);
	qv_mpi_pattern_free(c->pattern);
	free(c->arrive);
	free(c);
}

static void unlink_comm(struct qv_mpi_comm *c)
{
	struct qv_mpi_comm **at = &qv_mpi.comms;

	pthread_mutex_lock(&qv_mpi.lock);
	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	pthread_mutex_unlock(&qv_mpi.lock);
}

/* The program frees the communicator. What is under way ends first: to free it is collective, so
 * all its ranks come here, or to a call that lets them go on. */
static int on_free(MPI_Comm comm, int keyval, void *value, void *extra)
{
	struct qv_mpi_comm *c = value;

	qv_mpi_later_drain(c);
	unlink_comm(c);
	c->comm = MPI_COMM_NULL;
	qv_mpi.last = NULL;
	c->freed = true;
	/* A request that has ended and was not waited for yet, or a persistent one, still holds it.
	 */
	if (!c->busy)
		qv_mpi_comm_destroy(c);
	return MPI_SUCCESS;
}

static int make_keyval(void)
{
	int rc = 0;

	pthread_mutex_lock(&qv_mpi.lock);
	if (qv_mpi.keyval == MPI_KEYVAL_INVALID)
		rc = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_free, &qv_mpi.keyval, NULL);
	pthread_mutex_unlock(&qv_mpi.lock);
	return rc;
}

static struct qv_mpi_comm *make(MPI_Comm comm)
{
	struct qv_mpi_comm *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->comm = comm;
	c->shadow = MPI_COMM_NULL;
	c->opening = MPI_REQUEST_NULL;
	PMPI_Comm_rank(comm, &c->rank);
	PMPI_Comm_size(comm, &c->ranks);
	int inter = 0;

	PMPI_Comm_test_inter(comm, &inter);
	c->inter = inter;
	if (PMPI_Comm_set_attr(comm, qv_mpi.keyval, c)) {
		free(c);
		return NULL;
	}
	pthread_mutex_lock(&qv_mpi.lock);
	c->number = qv_mpi.made++;
	c->next = qv_mpi.comms;
	qv_mpi.comms = c;
	pthread_mutex_unlock(&qv_mpi.lock);
	return c;
}

struct qv_mpi_comm *qv_mpi_comm_of(MPI_Comm comm)
{
	void *value = NULL;
	int found = 0;

	if (qv_mpi.last && qv_mpi.last->comm == comm)
		return qv_mpi.last;
	if (comm == MPI_COMM_NULL || (qv_mpi.keyval == MPI_KEYVAL_INVALID && make_keyval()))
		return NULL;
	if (PMPI_Comm_get_attr(comm, qv_mpi.keyval, &value, &found))
		return NULL;
	if (!found)
		value = make(comm);
	if (qv_mpi.alone)
		qv_mpi.last = value;
	return value;
}

int qv_mpi_comm_open(struct qv_mpi_comm *c)
{
	if (c->has_shadow)
		return MPI_SUCCESS;
	c->has_shadow = true;
#ifdef QV_MPI_SIMULATED
	return PMPI_Comm_dup(c->comm, &c->shadow); /* SMPI has no other */
#else
	return PMPI_Comm_idup(c->comm, &c->shadow, &c->opening);
#endif
}

bool qv_mpi_comm_ready(struct qv_mpi_comm *c, int *rc)
{
	int there = 1;

	*rc = MPI_SUCCESS;
	if (c->opening == MPI_REQUEST_NULL && c->shadow != MPI_COMM_NULL)
		return true;
	*rc = PMPI_Test(&c->opening, &there, MPI_STATUS_IGNORE);
	if (*rc || !there)
		return false;
	*rc = PMPI_Comm_set_errhandler(c->shadow, MPI_ERRORS_RETURN);
	return true;
}

void qv_mpi_comm_close_all(void)
{
	struct qv_mpi_comm *next;

	for (struct qv_mpi_comm *c = qv_mpi.comms; c; c = next) {
		next = c->next;
		PMPI_Comm_delete_attr(c->comm, qv_mpi.keyval); /* on_free */
	}
	if (qv_mpi.keyval != MPI_KEYVAL_INVALID)
		PMPI_Comm_free_keyval(&qv_mpi.keyval);
}
