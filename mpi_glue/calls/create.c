/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * create.c - communicators while they are made. All their ranks are here and may wait for
 * each other. A nonblocking call may not, so if it is the first one on a communicator, and shall be
 * ours, there must be a duplicate of it before.
 */
#include "mpi_glue/glue.h"
#include "mpi_glue/trace/trace.h"

int qv_mpi_idups_begun;

#ifdef QV_MPI_SIMULATED
int qv_mpi_comm_made(MPI_Comm old, MPI_Comm *comm, int rc)
{
	return rc; /* no nonblocking call is ours there */
}

int qv_mpi_idups(void)
{
	return 0;
}

void qv_mpi_idup_over(MPI_Comm comm)
{
}
#else
/* Communicators of MPI_Comm_idup that have not been used yet. */
static struct {
	MPI_Comm comms[64]; /* qv_mpi_idups_begun of them */
	int lost;           /* more than there is room for: never over */
} idups;

int qv_mpi_idups(void)
{
	int n;

	pthread_mutex_lock(&qv_mpi.lock);
	n = qv_mpi_idups_begun + idups.lost;
	pthread_mutex_unlock(&qv_mpi.lock);
	return n;
}

/* With this error code, the same. The MPIs set the handle at once. */
static int idup_begun(const MPI_Comm *comm, int rc)
{
	if (rc || !qv_mpi.on)
		return rc;
	pthread_mutex_lock(&qv_mpi.lock);
	if (qv_mpi_idups_begun < (int)(sizeof(idups.comms) / sizeof(idups.comms[0]))) {
		__atomic_store_n(&idups.comms[qv_mpi_idups_begun], *comm, __ATOMIC_RELAXED);
		__atomic_store_n(&qv_mpi_idups_begun, qv_mpi_idups_begun + 1, __ATOMIC_RELAXED);
	} else {
		idups.lost++;
	}
	pthread_mutex_unlock(&qv_mpi.lock);
	return rc;
}

/* Looked up without the lock: who uses a communicator has made it. */
static bool is_idup(MPI_Comm comm)
{
	const int n = __atomic_load_n(&qv_mpi_idups_begun, __ATOMIC_RELAXED);

	for (int i = 0; i < n; i++)
		if (__atomic_load_n(&idups.comms[i], __ATOMIC_RELAXED) == comm)
			return true;
	return false;
}

void qv_mpi_idup_over(MPI_Comm comm)
{
	int n;

	if (!is_idup(comm))
		return;
	pthread_mutex_lock(&qv_mpi.lock);
	n = qv_mpi_idups_begun;
	for (int i = 0; i < n; i++)
		if (idups.comms[i] == comm)
			__atomic_store_n(&idups.comms[i--], idups.comms[--n], __ATOMIC_RELAXED);
	__atomic_store_n(&qv_mpi_idups_begun, n, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&qv_mpi.lock);
}

/* Whether the first call may be nonblocking and ours, or there are several threads (see dup.c). Not so with
 * `auto` and one thread, which takes nonblocking calls only after blocking ones, which make the duplicate. */
static bool is_wanted(void)
{
	const struct qv_mpi_rules *r = qv_mpi.rules;
	const bool alone = qv_mpi.one_thread_each;

	if (!qv_mpi.on || (alone && !qv_mpi.hook_here))
		return false;
	for (int coll = 0; coll < QV_MPI_N_COLLS; coll++)
		if (r->ours[coll] && !r->memory[coll] && !(alone && r->automatic[coll]))
			return true;
	for (int name = QV_MPI_ALLGATHERV; name < QV_MPI_N_NAMES; name++)
		if (r->rule[name].by != QV_MPI_BY_MPI &&
		    !(alone && r->rule[name].by == QV_MPI_BY_AUTO))
			return true;
	return false;
}

int qv_mpi_comm_made(MPI_Comm old, MPI_Comm *comm, int rc)
{
	struct qv_mpi_comm *c;
	enum qv_mpi_reason why;

	if (rc || *comm == MPI_COMM_NULL)
		return rc;
	qv_mpi_idup_over(old);
	if (qv_mpi_comm_is_marked(old))
		qv_mpi_comm_mark(*comm);
	qv_mpi_trace_comm_made(*comm, qv_mpi_comm_is_marked(*comm));
	if (!is_wanted())
		return rc;
	c = qv_mpi_comm_of(*comm);
	why = c ? qv_mpi_comm_judge(c) : qv_mpi_comm_judge_poor(*comm);
	if (why == QV_MPI_TAKEN && c)
		(void)qv_mpi_comm_open_early(c);
	else if (why == QV_MPI_TAKEN && (rc = qv_mpi_comm_refuse(*comm)))
		PMPI_Comm_call_errhandler(old, rc);
	return rc;
}

QV_API int MPI_Comm_dup(MPI_Comm old, MPI_Comm *comm)
{
	return qv_mpi_topology_made(old, comm, QV_REAL(Comm_dup)(old, comm));
}
QV_MPI_BOTH(Comm_dup)

QV_API int MPI_Comm_dup_with_info(MPI_Comm old, MPI_Info info, MPI_Comm *comm)
{
	return qv_mpi_topology_made(old, comm, QV_REAL(Comm_dup_with_info)(old, info, comm));
}
QV_MPI_BOTH(Comm_dup_with_info)

QV_API int MPI_Comm_idup(MPI_Comm old, MPI_Comm *comm, MPI_Request *request)
{
	return idup_begun(comm, QV_REAL(Comm_idup)(old, comm, request));
}
QV_MPI_BOTH(Comm_idup)

/* Open MPI 4 has none of its own. */
QV_API int MPI_Comm_idup_with_info(MPI_Comm old, MPI_Info info, MPI_Comm *comm,
				   MPI_Request *request)
{
	if (!QV_REAL(Comm_idup_with_info))
		return MPI_Comm_idup(old, comm, request);
	return idup_begun(comm, QV_REAL(Comm_idup_with_info)(old, info, comm, request));
}
QV_MPI_BOTH(Comm_idup_with_info)

/* One that was never used is over, too. */
QV_API int MPI_Comm_free(MPI_Comm *comm)
{
	if (comm)
		qv_mpi_idup_over(*comm);
	return QV_REAL(Comm_free)(comm);
}
QV_MPI_BOTH(Comm_free)

QV_API int MPI_Comm_disconnect(MPI_Comm *comm)
{
	if (comm)
		qv_mpi_idup_over(*comm);
	return QV_REAL(Comm_disconnect)(comm);
}
QV_MPI_BOTH(Comm_disconnect)

QV_API int MPI_Comm_create(MPI_Comm old, MPI_Group group, MPI_Comm *comm)
{
	return qv_mpi_comm_made(old, comm, QV_REAL(Comm_create)(old, group, comm));
}
QV_MPI_BOTH(Comm_create)

QV_API int MPI_Comm_create_group(MPI_Comm old, MPI_Group group, int tag, MPI_Comm *comm)
{
	return qv_mpi_comm_made(old, comm, QV_REAL(Comm_create_group)(old, group, tag, comm));
}
QV_MPI_BOTH(Comm_create_group)

QV_API int MPI_Comm_split(MPI_Comm old, int color, int key, MPI_Comm *comm)
{
	return qv_mpi_comm_made(old, comm, QV_REAL(Comm_split)(old, color, key, comm));
}
QV_MPI_BOTH(Comm_split)

QV_API int MPI_Comm_split_type(MPI_Comm old, int type, int key, MPI_Info info, MPI_Comm *comm)
{
	return qv_mpi_comm_made(old, comm, QV_REAL(Comm_split_type)(old, type, key, info, comm));
}
QV_MPI_BOTH(Comm_split_type)

QV_API int MPI_Intercomm_merge(MPI_Comm old, int high, MPI_Comm *comm)
{
	return qv_mpi_comm_made(old, comm, QV_REAL(Intercomm_merge)(old, high, comm));
}
QV_MPI_BOTH(Intercomm_merge)

QV_API int MPI_Intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader,
				int tag, MPI_Comm *comm)
{
	return qv_mpi_comm_made(
		local, comm,
		QV_REAL(Intercomm_create)(local, local_leader, peer, remote_leader, tag, comm));
}
QV_MPI_BOTH(Intercomm_create)

#ifdef QV_MPI_SESSIONS
QV_API int MPI_Comm_create_from_group(MPI_Group group, const char *tag, MPI_Info info,
				      MPI_Errhandler handler, MPI_Comm *comm)
{
	const int rc = QV_REAL(Comm_create_from_group)(group, tag, info, handler, comm);

	if (!rc && *comm != MPI_COMM_NULL)
		qv_mpi_comm_mark(*comm);
	return rc;
}
QV_MPI_BOTH(Comm_create_from_group)

QV_API int MPI_Intercomm_create_from_groups(MPI_Group local, int local_leader, MPI_Group remote,
					    int remote_leader, const char *tag, MPI_Info info,
					    MPI_Errhandler handler, MPI_Comm *comm)
{
	const int rc = QV_REAL(Intercomm_create_from_groups)(
		local, local_leader, remote, remote_leader, tag, info, handler, comm);

	if (!rc && *comm != MPI_COMM_NULL)
		qv_mpi_comm_mark(*comm);
	return rc;
}
QV_MPI_BOTH(Intercomm_create_from_groups)
#endif
#endif
