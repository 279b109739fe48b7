/* SPDX-License-Identifier: BSD-2-Clause */
/* pvar.c - MPI_T_pvar_*: what is not about our variables and their handles goes to the MPI. */
#include "tool.h"

QV_API int MPI_T_pvar_get_num(int *num_pvar)
{
	return qv_tool_number(QV_TOOL_PVAR, num_pvar);
}
QV_MPI_BOTH(T_pvar_get_num)

QV_API int MPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity,
			       int *var_class, MPI_Datatype *datatype, MPI_T_enum *enumtype,
			       char *desc, int *desc_len, int *bind, int *readonly, int *continuous,
			       int *atomic)
{
	const struct qv_tool_pvar *pvar;
	struct qv_tool_place at;
	const int rc = qv_tool_find(QV_TOOL_PVAR, pvar_index, &at);

	if (rc)
		return rc;
	if (at.ours < 0)
		return QV_REAL(T_pvar_get_info)(at.theirs, name, name_len, verbosity, var_class,
						datatype, enumtype, desc, desc_len, bind, readonly,
						continuous, atomic);
	pvar = &qv_tool_pvars[at.ours];
	qv_tool_text(pvar->name, name, name_len);
	qv_tool_text(pvar->text, desc, desc_len);
	QV_TOOL_SET(verbosity, pvar->verbosity);
	QV_TOOL_SET(var_class, pvar->class);
	QV_TOOL_SET(datatype, MPI_UNSIGNED_LONG_LONG);
	QV_TOOL_SET(enumtype, MPI_T_ENUM_NULL);
	QV_TOOL_SET(bind, MPI_T_BIND_NO_OBJECT);
	QV_TOOL_SET(readonly, !qv_tool_counts(at.ours));
	QV_TOOL_SET(continuous, !qv_tool_counts(at.ours));
	QV_TOOL_SET(atomic, qv_tool_counts(at.ours));
	return MPI_SUCCESS;
}
QV_MPI_BOTH(T_pvar_get_info)

QV_API int MPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
	const int which = qv_tool_by_name(QV_TOOL_PVAR, name);
	int rc;

	if (which < 0) {
		rc = QV_REAL(T_pvar_get_index)(name, var_class, pvar_index);
		return rc ? rc : qv_tool_index_of_theirs(QV_TOOL_PVAR, *pvar_index, pvar_index);
	}
	rc = qv_tool_ready();
	if (rc)
		return rc;
	if (!pvar_index)
		return MPI_T_ERR_INVALID;
	if (var_class != qv_tool_pvars[which].class)
		return MPI_T_ERR_INVALID_NAME;
	return qv_tool_index_of_ours(QV_TOOL_PVAR, which, pvar_index);
}
QV_MPI_BOTH(T_pvar_get_index)

QV_API int MPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
	int rc = QV_REAL(T_pvar_session_create)(session);

	if (rc)
		return rc;
	rc = qv_tool_session_add(*session);
	if (rc)
		QV_REAL(T_pvar_session_free)(session);
	return rc;
}
QV_MPI_BOTH(T_pvar_session_create)

/* Ours ends first: then the MPI may give its address to another. */
QV_API int MPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
	const int rc = qv_tool_ready();

	if (rc)
		return rc;
	if (!session || !qv_tool_session_remove(*session))
		return MPI_T_ERR_INVALID_SESSION;
	return QV_REAL(T_pvar_session_free)(session);
}
QV_MPI_BOTH(T_pvar_session_free)

QV_API int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
				   MPI_T_pvar_handle *handle, int *count)
{
	struct qv_tool_place at;
	int rc = qv_tool_find(QV_TOOL_PVAR, pvar_index, &at);

	if (rc)
		return rc;
	if (at.ours < 0)
		return QV_REAL(T_pvar_handle_alloc)(session, at.theirs, obj_handle, handle, count);
	rc = handle ? qv_tool_handle_new(session, at.ours, handle) : MPI_T_ERR_INVALID;
	if (!rc)
		QV_TOOL_SET(count, 1);
	return rc;
}
QV_MPI_BOTH(T_pvar_handle_alloc)

QV_API int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
	int rc;

	if (!handle || *handle == MPI_T_PVAR_HANDLE_NULL)
		return MPI_T_ERR_INVALID_HANDLE;
	if (!qv_tool_handle_is_ours(*handle))
		return QV_REAL(T_pvar_handle_free)(session, handle);
	rc = qv_tool_ready();
	if (!rc)
		rc = qv_tool_handle_free(session, *handle);
	if (!rc)
		*handle = MPI_T_PVAR_HANDLE_NULL;
	return rc;
}
QV_MPI_BOTH(T_pvar_handle_free)

/* Those that take all handles of a session, too. */
#define DEFINE_FOR_ALL(name, what)                                                         \
	QV_API int MPI_T_pvar_##name(MPI_T_pvar_session session, MPI_T_pvar_handle handle) \
	{                                                                                  \
		if (handle == MPI_T_PVAR_HANDLE_NULL)                                      \
			return MPI_T_ERR_INVALID_HANDLE;                                   \
		if (handle == MPI_T_PVAR_ALL_HANDLES)                                      \
			qv_tool_act_on_all(session, what);                                 \
		else if (qv_tool_handle_is_ours(handle))                                   \
			return qv_tool_act(session, handle, what, NULL, 0);                \
		return QV_REAL(T_pvar_##name)(session, handle);                            \
	}                                                                                  \
	QV_MPI_BOTH(T_pvar_##name)

DEFINE_FOR_ALL(start, QV_TOOL_START)
DEFINE_FOR_ALL(stop, QV_TOOL_STOP)
DEFINE_FOR_ALL(reset, QV_TOOL_RESET)

QV_API int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
	if (handle == MPI_T_PVAR_HANDLE_NULL)
		return MPI_T_ERR_INVALID_HANDLE;
	if (!qv_tool_handle_is_ours(handle))
		return QV_REAL(T_pvar_read)(session, handle, buf);
	return buf ? qv_tool_act(session, handle, QV_TOOL_READ, buf, 0) : MPI_T_ERR_INVALID;
}
QV_MPI_BOTH(T_pvar_read)

QV_API int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
	if (handle == MPI_T_PVAR_HANDLE_NULL)
		return MPI_T_ERR_INVALID_HANDLE;
	if (!qv_tool_handle_is_ours(handle))
		return QV_REAL(T_pvar_readreset)(session, handle, buf);
	return buf ? qv_tool_act(session, handle, QV_TOOL_READRESET, buf, 0) : MPI_T_ERR_INVALID;
}
QV_MPI_BOTH(T_pvar_readreset)

QV_API int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
	if (handle == MPI_T_PVAR_HANDLE_NULL)
		return MPI_T_ERR_INVALID_HANDLE;
	if (!qv_tool_handle_is_ours(handle))
		return QV_REAL(T_pvar_write)(session, handle, buf);
	return buf ? qv_tool_act(session, handle, QV_TOOL_WRITE, NULL,
				 *(const unsigned long long *)buf)
		   : MPI_T_ERR_INVALID;
}
QV_MPI_BOTH(T_pvar_write)
