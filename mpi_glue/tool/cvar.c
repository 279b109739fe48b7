/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cvar.c - MPI_T_cvar_*: what mpi_control.h can set, and settings of the environment. A handle is the
 * address of the variable's description.
 */
#include "tool.h"

#include <stdio.h>
#include <string.h>

#define EQUAL " (to be set to the same on all ranks, at the same place among their collectives)"

static const struct cvar {
	const char *name, *text;
	int count, verbosity, scope;
} cvars[QV_TOOL_N_CVARS] = {
	[QV_TOOL_COLL] = {"quiver_coll", "algorithms of collectives, as in QUIVER_MPI_COLL" EQUAL,
			  QV_MPI_TEXT_ROOM, MPI_T_VERBOSITY_TUNER_BASIC, MPI_T_SCOPE_ALL_EQ},
	[QV_TOOL_NETWORK] = {"quiver_network",
			     "what a message costs: seconds, seconds of a byte, seconds to combine "
			     "a byte; all 0: not known" EQUAL,
			     3, MPI_T_VERBOSITY_TUNER_DETAIL, MPI_T_SCOPE_ALL_EQ},
	[QV_TOOL_STATS] = {"quiver_stats", "1: QUIVER_MPI_STATS, a report at MPI_Finalize", 1,
			   MPI_T_VERBOSITY_USER_BASIC, MPI_T_SCOPE_READONLY},
	[QV_TOOL_OFFLOAD] = {"quiver_offload",
			     "1: QUIVER_MPI_OFFLOAD, a device may combine long arrays", 1,
			     MPI_T_VERBOSITY_TUNER_DETAIL, MPI_T_SCOPE_READONLY},
};

const char *qv_tool_cvar_name(int cvar)
{
	return cvars[cvar].name;
}

static MPI_Datatype type_of(int cvar)
{
	switch (cvar) {
	case QV_TOOL_COLL: return MPI_CHAR;
	case QV_TOOL_NETWORK: return MPI_DOUBLE;
	default: return MPI_INT;
	}
}

/* That of a handle; -1: it is the MPI's. */
static int which(MPI_T_cvar_handle handle)
{
	for (int i = 0; i < QV_TOOL_N_CVARS; i++)
		if (handle == (MPI_T_cvar_handle)&cvars[i])
			return i;
	return -1;
}

static bool is_on(void)
{
	return __atomic_load_n(&qv_mpi.on, __ATOMIC_ACQUIRE);
}

/* What the library does now: outside of MPI_Init and MPI_Finalize nothing. */
static void read_now(int cvar, void *buf)
{
	const bool on = is_on();

	pthread_mutex_lock(&qv_mpi.lock);
	switch (cvar) {
	case QV_TOOL_COLL:
		snprintf(buf, QV_MPI_TEXT_ROOM, "%s", on && qv_mpi.rules ? qv_mpi.rules->text : "");
		break;
	case QV_TOOL_NETWORK:
		memset(buf, 0, 3 * sizeof(double));
		if (on && qv_mpi.network.alpha > 0)
			memcpy(buf,
			       (double[]){qv_mpi.network.alpha, qv_mpi.network.beta,
					  qv_mpi.network.gamma},
			       3 * sizeof(double));
		break;
	case QV_TOOL_STATS: *(int *)buf = on && qv_mpi.stats; break;
	default: *(int *)buf = on && qv_mpi_offload_wanted(); break;
	}
	pthread_mutex_unlock(&qv_mpi.lock);
}

static int write_now(int cvar, const void *buf)
{
	const double *figures = buf;
	int rc;

	if (cvars[cvar].scope == MPI_T_SCOPE_READONLY)
		return MPI_T_ERR_CVAR_SET_NEVER;
	if (!is_on())
		return MPI_T_ERR_CVAR_SET_NOT_NOW;
	if (cvar == QV_TOOL_NETWORK)
		rc = qv_mpi_network(figures[0], figures[1], figures[2]);
	else if (strnlen(buf, QV_MPI_TEXT_ROOM) == QV_MPI_TEXT_ROOM)
		return MPI_T_ERR_INVALID;
	else
		rc = qv_mpi_set(buf);
	switch (rc) {
	case QV_OK: return MPI_SUCCESS;
	case QV_ENOSYS: return MPI_T_ERR_CVAR_SET_NOT_NOW;
	case QV_ENOMEM: return MPI_T_ERR_MEMORY;
	default: return MPI_T_ERR_INVALID;
	}
}

QV_API int MPI_T_cvar_get_num(int *num_cvar)
{
	return qv_tool_number(QV_TOOL_CVAR, num_cvar);
}
QV_MPI_BOTH(T_cvar_get_num)

QV_API int MPI_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
			       MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc,
			       int *desc_len, int *bind, int *scope)
{
	const struct cvar *cvar;
	struct qv_tool_place at;
	const int rc = qv_tool_find(QV_TOOL_CVAR, cvar_index, &at);

	if (rc)
		return rc;
	if (at.ours < 0)
		return QV_REAL(T_cvar_get_info)(at.theirs, name, name_len, verbosity, datatype,
						enumtype, desc, desc_len, bind, scope);
	cvar = &cvars[at.ours];
	qv_tool_text(cvar->name, name, name_len);
	qv_tool_text(cvar->text, desc, desc_len);
	QV_TOOL_SET(verbosity, cvar->verbosity);
	QV_TOOL_SET(datatype, type_of(at.ours));
	QV_TOOL_SET(enumtype, MPI_T_ENUM_NULL);
	QV_TOOL_SET(bind, MPI_T_BIND_NO_OBJECT);
	QV_TOOL_SET(scope, cvar->scope);
	return MPI_SUCCESS;
}
QV_MPI_BOTH(T_cvar_get_info)

QV_API int MPI_T_cvar_get_index(const char *name, int *cvar_index)
{
	const int found = qv_tool_by_name(QV_TOOL_CVAR, name);
	int rc;

	if (found < 0) {
		rc = QV_REAL(T_cvar_get_index)(name, cvar_index);
		return rc ? rc : qv_tool_index_of_theirs(QV_TOOL_CVAR, *cvar_index, cvar_index);
	}
	rc = qv_tool_ready();
	if (rc)
		return rc;
	return cvar_index ? qv_tool_index_of_ours(QV_TOOL_CVAR, found, cvar_index)
			  : MPI_T_ERR_INVALID;
}
QV_MPI_BOTH(T_cvar_get_index)

QV_API int MPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle,
				   int *count)
{
	struct qv_tool_place at;
	const int rc = qv_tool_find(QV_TOOL_CVAR, cvar_index, &at);

	if (rc)
		return rc;
	if (at.ours < 0)
		return QV_REAL(T_cvar_handle_alloc)(at.theirs, obj_handle, handle, count);
	if (!handle)
		return MPI_T_ERR_INVALID;
	*handle = (MPI_T_cvar_handle)&cvars[at.ours];
	QV_TOOL_SET(count, cvars[at.ours].count);
	return MPI_SUCCESS;
}
QV_MPI_BOTH(T_cvar_handle_alloc)

QV_API int MPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
	int rc;

	if (!handle || *handle == MPI_T_CVAR_HANDLE_NULL)
		return MPI_T_ERR_INVALID_HANDLE;
	if (which(*handle) < 0)
		return QV_REAL(T_cvar_handle_free)(handle);
	rc = qv_tool_ready();
	if (!rc)
		*handle = MPI_T_CVAR_HANDLE_NULL;
	return rc;
}
QV_MPI_BOTH(T_cvar_handle_free)

QV_API int MPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
	const int cvar = which(handle);
	int rc;

	if (handle == MPI_T_CVAR_HANDLE_NULL)
		return MPI_T_ERR_INVALID_HANDLE;
	if (cvar < 0)
		return QV_REAL(T_cvar_read)(handle, buf);
	rc = qv_tool_ready();
	if (rc)
		return rc;
	if (!buf)
		return MPI_T_ERR_INVALID;
	read_now(cvar, buf);
	return MPI_SUCCESS;
}
QV_MPI_BOTH(T_cvar_read)

QV_API int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
	const int cvar = which(handle);
	int rc;

	if (handle == MPI_T_CVAR_HANDLE_NULL)
		return MPI_T_ERR_INVALID_HANDLE;
	if (cvar < 0)
		return QV_REAL(T_cvar_write)(handle, buf);
	rc = qv_tool_ready();
	if (rc)
		return rc;
	return buf ? write_now(cvar, buf) : MPI_T_ERR_INVALID;
}
QV_MPI_BOTH(T_cvar_write)
