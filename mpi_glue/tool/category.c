/* SPDX-License-Identifier: BSD-2-Clause */
/* category.c - MPI_T_category_*: one category of ours, with all our variables. */
#include "tool.h"

static const char text[] =
	"matching of messages by quiver's provider, collectives by libquiver-mpi";

QV_API int MPI_T_category_get_num(int *num_cat)
{
	return qv_tool_number(QV_TOOL_CATEGORY, num_cat);
}
QV_MPI_BOTH(T_category_get_num)

QV_API int MPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc,
				   int *desc_len, int *num_cvars, int *num_pvars,
				   int *num_categories)
{
	struct qv_tool_place at;
	const int rc = qv_tool_find(QV_TOOL_CATEGORY, cat_index, &at);

	if (rc)
		return rc;
	if (at.ours < 0)
		return QV_REAL(T_category_get_info)(at.theirs, name, name_len, desc, desc_len,
						    num_cvars, num_pvars, num_categories);
	qv_tool_text(QV_TOOL_CATEGORY_NAME, name, name_len);
	qv_tool_text(text, desc, desc_len);
	QV_TOOL_SET(num_cvars, QV_TOOL_N_CVARS);
	QV_TOOL_SET(num_pvars, QV_TOOL_N_PVARS);
	QV_TOOL_SET(num_categories, 0);
	return MPI_SUCCESS;
}
QV_MPI_BOTH(T_category_get_info)

QV_API int MPI_T_category_get_index(const char *name, int *cat_index)
{
	int rc;

	if (qv_tool_by_name(QV_TOOL_CATEGORY, name) < 0) {
		rc = QV_REAL(T_category_get_index)(name, cat_index);
		return rc ? rc : qv_tool_index_of_theirs(QV_TOOL_CATEGORY, *cat_index, cat_index);
	}
	rc = qv_tool_ready();
	if (rc)
		return rc;
	return cat_index ? qv_tool_index_of_ours(QV_TOOL_CATEGORY, 0, cat_index)
			 : MPI_T_ERR_INVALID;
}
QV_MPI_BOTH(T_category_get_index)

/* What a category of the MPI has, of one kind. */
static int number_in(enum qv_tool_kind kind, int theirs, int *num)
{
	int cvars, pvars, categories, none = 0;
	const int rc = QV_REAL(T_category_get_info)(theirs, NULL, &none, NULL, &none, &cvars,
						    &pvars, &categories);

	if (!rc)
		*num = kind == QV_TOOL_CVAR ? cvars : kind == QV_TOOL_PVAR ? pvars : categories;
	return rc;
}

static int get(enum qv_tool_kind kind, int cat_index, int len, int *indices)
{
	static const int ours[] = {
		[QV_TOOL_CVAR] = QV_TOOL_N_CVARS,
		[QV_TOOL_PVAR] = QV_TOOL_N_PVARS,
		[QV_TOOL_CATEGORY] = 0,
	};
	int (*const real[])(int, int, int *) = {
		[QV_TOOL_CVAR] = QV_REAL(T_category_get_cvars),
		[QV_TOOL_PVAR] = QV_REAL(T_category_get_pvars),
		[QV_TOOL_CATEGORY] = QV_REAL(T_category_get_categories),
	};
	struct qv_tool_place at;
	int num = 0, rc = qv_tool_find(QV_TOOL_CATEGORY, cat_index, &at);

	if (!rc && at.ours < 0) {
		rc = number_in(kind, at.theirs, &num);
		if (!rc)
			rc = real[kind](at.theirs, len, indices);
		for (int i = 0; !rc && i < num && i < len; i++)
			rc = qv_tool_index_of_theirs(kind, indices[i], &indices[i]);
		return rc;
	}
	if (!rc && len > 0 && !indices)
		return MPI_T_ERR_INVALID;
	for (int i = 0; i < ours[kind] && i < len && !rc; i++)
		rc = qv_tool_index_of_ours(kind, i, &indices[i]);
	return rc;
}

QV_API int MPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
	return get(QV_TOOL_CVAR, cat_index, len, indices);
}
QV_MPI_BOTH(T_category_get_cvars)

QV_API int MPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
	return get(QV_TOOL_PVAR, cat_index, len, indices);
}
QV_MPI_BOTH(T_category_get_pvars)

QV_API int MPI_T_category_get_categories(int cat_index, int len, int indices[])
{
	return get(QV_TOOL_CATEGORY, cat_index, len, indices);
}
QV_MPI_BOTH(T_category_get_categories)

/* Ours has no events, and an MPI of before has no such calls. */

QV_API int MPI_T_category_get_num_events(int cat_index, int *num_events)
{
	struct qv_tool_place at;
	const int rc = qv_tool_find(QV_TOOL_CATEGORY, cat_index, &at);

	if (!rc && at.ours < 0 && QV_REAL(T_category_get_num_events))
		return QV_REAL(T_category_get_num_events)(at.theirs, num_events);
	if (!rc)
		QV_TOOL_SET(num_events, 0);
	return rc;
}
QV_MPI_BOTH(T_category_get_num_events)

QV_API int MPI_T_category_get_events(int cat_index, int len, int indices[])
{
	struct qv_tool_place at;
	const int rc = qv_tool_find(QV_TOOL_CATEGORY, cat_index, &at);

	if (!rc && at.ours < 0 && QV_REAL(T_category_get_events))
		return QV_REAL(T_category_get_events)(at.theirs, len, indices);
	return rc;
}
QV_MPI_BOTH(T_category_get_events)
