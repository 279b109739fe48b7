/* SPDX-License-Identifier: BSD-2-Clause */
/* index.c - numbers of our variables and of the MPI's, as tools see them; strings. */
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int ours[QV_TOOL_N_KINDS] = {
	[QV_TOOL_CVAR] = QV_TOOL_N_CVARS,
	[QV_TOOL_PVAR] = QV_TOOL_N_PVARS,
	[QV_TOOL_CATEGORY] = 1,
};

/* How many the MPI had when somebody first asked, plus one; 0: nobody has. */
static int begins[QV_TOOL_N_KINDS];

/* QUIVER_MPI_OFF holds here for this process: rank 0 can tell the others in MPI_Init only. */
static bool are_here(void)
{
	static atomic_int known; /* 1: yes, 2: no */
	int here = atomic_load_explicit(&known, memory_order_relaxed);

	if (!here) {
		here = qv_mpi_is_set("QUIVER_MPI_OFF") || !qv_mpi_is_of_this_mpi() ? 2 : 1;
		atomic_store_explicit(&known, here, memory_order_relaxed);
	}
	return here == 1;
}

/* How often the interface was begun and not ended: not every MPI knows what to answer where it is not. */
static atomic_int begun;

int qv_tool_ready(void)
{
	return are_here() && atomic_load(&begun) <= 0 ? MPI_T_ERR_NOT_INITIALIZED : MPI_SUCCESS;
}

QV_API int MPI_T_init_thread(int required, int *provided)
{
	const int rc = QV_REAL(T_init_thread)(required, provided);

	if (!rc)
		atomic_fetch_add(&begun, 1);
	return rc;
}
QV_MPI_BOTH(T_init_thread)

QV_API int MPI_T_finalize(void)
{
	const int rc = qv_tool_ready();

	if (rc)
		return rc;
	atomic_fetch_sub(&begun, 1);
	return QV_REAL(T_finalize)();
}
QV_MPI_BOTH(T_finalize)

static int ask(enum qv_tool_kind kind, int *num)
{
	const int rc = qv_tool_ready();

	if (rc)
		return rc;
	switch (kind) {
	case QV_TOOL_CVAR: return QV_REAL(T_cvar_get_num)(num);
	case QV_TOOL_PVAR: return QV_REAL(T_pvar_get_num)(num);
	default: return QV_REAL(T_category_get_num)(num);
	}
}

/* Ours are from *begin to *end. */
static int look(enum qv_tool_kind kind, int *begin, int *end, int *theirs)
{
	int first = 0; /* and what it was, unless it was that */
	const int rc = ask(kind, theirs);

	if (rc)
		return rc;
	if (__atomic_compare_exchange_n(&begins[kind], &first, *theirs + 1, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		first = *theirs + 1;
	*begin = first - 1;
	*end = *begin + (are_here() ? ours[kind] : 0);
	return MPI_SUCCESS;
}

int qv_tool_find(enum qv_tool_kind kind, int index, struct qv_tool_place *at)
{
	int begin, end, theirs;
	const int rc = look(kind, &begin, &end, &theirs);

	if (rc)
		return rc;
	at->ours = index >= begin && index < end ? index - begin : -1;
	at->theirs = index < end ? index : index - (end - begin);
	/* Not every MPI looks before it reads its table. */
	if (begin < end && at->ours < 0 && (at->theirs < 0 || at->theirs >= theirs))
		return MPI_T_ERR_INVALID_INDEX;
	return MPI_SUCCESS;
}

int qv_tool_number(enum qv_tool_kind kind, int *num)
{
	int begin, end, theirs;
	const int rc = look(kind, &begin, &end, &theirs);

	if (!rc && !num)
		return MPI_T_ERR_INVALID;
	if (!rc) /* an MPI that was ended and begun again may have fewer than at first */
		*num = (theirs > begin ? theirs : begin) + end - begin;
	return rc;
}

int qv_tool_index_of_ours(enum qv_tool_kind kind, int which, int *index)
{
	int begin, end, theirs;
	const int rc = look(kind, &begin, &end, &theirs);

	if (!rc)
		*index = begin + which;
	return rc;
}

int qv_tool_index_of_theirs(enum qv_tool_kind kind, int which, int *index)
{
	int begin, end, theirs;
	const int rc = look(kind, &begin, &end, &theirs);

	if (!rc)
		*index = which < begin ? which : which + (end - begin);
	return rc;
}

static const char *name_of(enum qv_tool_kind kind, int which)
{
	switch (kind) {
	case QV_TOOL_CVAR: return qv_tool_cvar_name(which);
	case QV_TOOL_PVAR: return qv_tool_pvars[which].name;
	default: return QV_TOOL_CATEGORY_NAME;
	}
}

int qv_tool_by_name(enum qv_tool_kind kind, const char *name)
{
	if (!name || !are_here())
		return -1;
	for (int i = 0; i < ours[kind]; i++)
		if (!strcmp(name, name_of(kind, i)))
			return i;
	return -1;
}

void qv_tool_text(const char *text, char *out, int *room)
{
	if (!room)
		return;
	if (out && *room > 0)
		snprintf(out, (size_t)*room, "%s", text);
	*room = (int)strlen(text) + 1;
}
