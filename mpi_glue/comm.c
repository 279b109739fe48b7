/* SPDX-License-Identifier: BSD-2-Clause */
/* comm.c - what we keep per communicator, as an attribute of it. */
#include "glue.h"

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
	qv_mpi_expect_close(c);
	qv_mpi_memory_close(c);
	qv_mpi_comm_unmake(&c->dup);
	qv_mpi_autotune_free(c);
	qv_mpi_autotune_v_free(c);
	qv_mpi_pattern_free(c->pattern);
	free(c->arrive);
	free(c->room);
	free(c);
}

/* The attribute of a communicator of a session, of which nothing is kept. Duplicates inherit it. */
static char mark;
/* That of one for which there was no memory, and all its ranks know. Duplicates may have more luck. */
static char left;

/* Whether no operation holds it; else the last one destroys it. */
static bool unlink_comm(struct qv_mpi_comm *c)
{
	struct qv_mpi_comm **at = &qv_mpi.comms;
	bool last;

	pthread_mutex_lock(&qv_mpi.lock);
	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	c->comm = MPI_COMM_NULL;
	c->freed = true;
	last = !c->busy;
	pthread_mutex_unlock(&qv_mpi.lock);
	return last;
}

/* The program frees the communicator. What is under way ends first: to free it is collective, so
 * all its ranks come here, or to a call that lets them go on. */
static int on_free(MPI_Comm comm, int keyval, void *value, void *extra)
{
	struct qv_mpi_comm *c = value;

	if (value == &mark || value == &left)
		return MPI_SUCCESS;
	qv_mpi_nonblocking_drain(c);
	qv_mpi.last = NULL;
	/* A request that has ended and was not waited for yet, or a persistent one, which may be
	 * started later, still holds it. */
	if (unlink_comm(c))
		qv_mpi_comm_destroy(c);
	return MPI_SUCCESS;
}

static int on_copy(MPI_Comm comm, int keyval, void *extra, void *value, void *copy, int *copied)
{
	struct qv_mpi_comm *c = value;

	*copied = value == &mark || (value != &left && c->marked);
	if (*copied)
		*(void **)copy = &mark;
	return MPI_SUCCESS;
}

static int make_keyval(void)
{
	int rc = 0;

	pthread_mutex_lock(&qv_mpi.lock);
	if (qv_mpi.keyval == MPI_KEYVAL_INVALID)
		rc = PMPI_Comm_create_keyval(on_copy, on_free, &qv_mpi.keyval, NULL);
	pthread_mutex_unlock(&qv_mpi.lock);
	return rc;
}

/*
 * Whether some of its ranks are of another MPI_COMM_WORLD: processes that were spawned, or
 * connected to. What decides (settings, figures, tags) is the same within an MPI_COMM_WORLD only.
 * The other one may be without this library, and it would not answer a question. So each rank finds
 * out by itself, and all find the same: of two worlds, each has ranks that are not in the other.
 */
bool qv_mpi_comm_is_mixed(MPI_Comm comm, int ranks)
{
#ifdef QV_MPI_SIMULATED
	return false;
#else
	enum { AT_ONCE = 256 };
	int from[AT_ONCE], to[AT_ONCE];
	MPI_Group mine, world;
	bool mixed = false;

	if (comm == MPI_COMM_WORLD)
		return false;
	if (PMPI_Comm_group(comm, &mine))
		return true;
	if (PMPI_Comm_group(MPI_COMM_WORLD, &world)) {
		PMPI_Group_free(&mine);
		return true;
	}
	for (int first = 0, n; first < ranks && !mixed; first += n) {
		n = ranks - first < AT_ONCE ? ranks - first : AT_ONCE;
		for (int i = 0; i < n; i++)
			from[i] = first + i;
		mixed = PMPI_Group_translate_ranks(mine, n, from, world, to) != MPI_SUCCESS;
		for (int i = 0; i < n; i++)
			mixed = mixed || to[i] == MPI_UNDEFINED;
	}
	PMPI_Group_free(&mine);
	PMPI_Group_free(&world);
	return mixed;
#endif
}

static void look_at(MPI_Comm comm, bool marked, struct qv_mpi_comm *c)
{
	int inter = 0;

	c->comm = comm;
	c->dup = MPI_COMM_NULL;
	PMPI_Comm_rank(comm, &c->rank);
	PMPI_Comm_size(comm, &c->ranks);
	PMPI_Comm_test_inter(comm, &inter);
	c->inter = inter;
	c->marked = marked;
	c->mixed = marked || (!inter && qv_mpi_comm_is_mixed(comm, c->ranks));
}

static struct qv_mpi_comm *make(MPI_Comm comm, bool marked)
{
	struct qv_mpi_comm *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	look_at(comm, marked, c);
	if (PMPI_Comm_set_attr(comm, qv_mpi.keyval, c)) {
		free(c);
		return NULL;
	}
	qv_mpi_idup_over(comm);
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
	if (value == &left)
		return NULL;
	if (!found || value == &mark)
		value = make(comm, found);
	if (qv_mpi.one_thread)
		qv_mpi.last = value;
	return value;
}

bool qv_mpi_comm_is_poor(MPI_Comm comm)
{
	void *value = NULL;
	int found;

	return comm != MPI_COMM_NULL &&
	       (qv_mpi.keyval == MPI_KEYVAL_INVALID ||
		(PMPI_Comm_get_attr(comm, qv_mpi.keyval, &value, &found) == MPI_SUCCESS &&
		 value != &left));
}

bool qv_mpi_comm_leave(MPI_Comm comm)
{
	return (qv_mpi.keyval != MPI_KEYVAL_INVALID || !make_keyval()) &&
	       !PMPI_Comm_set_attr(comm, qv_mpi.keyval, &left);
}

void qv_mpi_comm_mark(MPI_Comm comm)
{
	if (qv_mpi.keyval != MPI_KEYVAL_INVALID || !make_keyval())
		PMPI_Comm_set_attr(comm, qv_mpi.keyval, &mark);
}

bool qv_mpi_comm_is_marked(MPI_Comm comm)
{
	void *value = NULL;
	int found = 0;

	if (qv_mpi.keyval == MPI_KEYVAL_INVALID || comm == MPI_COMM_NULL ||
	    PMPI_Comm_get_attr(comm, qv_mpi.keyval, &value, &found) || !found)
		return false;
	return value == &mark || (value != &left && ((struct qv_mpi_comm *)value)->marked);
}

enum qv_mpi_reason qv_mpi_comm_judge(const struct qv_mpi_comm *c)
{
	if (c->inter)
		return QV_MPI_INTER;
	if (c->ranks < 2)
		return QV_MPI_ALONE;
	return c->mixed ? QV_MPI_MIXED : QV_MPI_TAKEN;
}

enum qv_mpi_reason qv_mpi_comm_judge_poor(MPI_Comm comm)
{
	struct qv_mpi_comm c = {.next = NULL};

	look_at(comm, qv_mpi_comm_is_marked(comm), &c);
	return qv_mpi_comm_judge(&c);
}

void qv_mpi_comm_close_all(void)
{
	struct qv_mpi_comm *next;

	for (struct qv_mpi_comm *c = qv_mpi.comms; c; c = next) {
		next = c->next;
		PMPI_Comm_delete_attr(c->comm, qv_mpi.keyval); /* on_free */
	}
	if (qv_mpi.own != MPI_COMM_NULL)
		PMPI_Comm_free(&qv_mpi.own);
	if (qv_mpi.keyval != MPI_KEYVAL_INVALID)
		PMPI_Comm_free_keyval(&qv_mpi.keyval);
}
