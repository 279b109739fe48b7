/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tool.h - MPI_T, the interface for tools: our variables beside those of the MPI.
 *
 * The MPI may get more variables at any time, and an index that was given to a tool stays. So ours begin
 * where the MPI's ended when somebody first asked, and those that the MPI has got since are behind ours.
 */
#ifndef QV_MPI_TOOL_H
#define QV_MPI_TOOL_H

#include "mpi_glue/glue.h"

struct qv_fi_stats; /* <quiver/fi_ext.h> */

/* From index.c. */

enum qv_tool_kind { QV_TOOL_CVAR, QV_TOOL_PVAR, QV_TOOL_CATEGORY, QV_TOOL_N_KINDS };

/* Which one an index means; MPI_SUCCESS, or an error of the MPI. */
struct qv_tool_place {
	int ours;   /* -1: it is the MPI's */
	int theirs; /* as the MPI numbers them */
};
int qv_tool_find(enum qv_tool_kind kind, int index, struct qv_tool_place *at);
/* How many there are, for MPI_T_..._get_num. */
int qv_tool_number(enum qv_tool_kind kind, int *num);
/* The index of one of ours, or of the MPI's. */
int qv_tool_index_of_ours(enum qv_tool_kind kind, int ours, int *index);
int qv_tool_index_of_theirs(enum qv_tool_kind kind, int theirs, int *index);
/* Of ours, that of this name; -1: there is none, or there are none at all in this process. */
int qv_tool_by_name(enum qv_tool_kind kind, const char *name);
/* Whether tools may use the interface now; MPI_SUCCESS, or an error of the MPI. */
int qv_tool_ready(void);
/* As the standard returns strings; each of out and room may be NULL. */
void qv_tool_text(const char *text, char *out, int *room);
/* For results that a tool need not want. */
#define QV_TOOL_SET(out, value)         \
	do {                            \
		if (out)                \
			*(out) = value; \
	} while (0)

/* From values.c: what our performance variables are, and their values. */

enum {
	QV_TOOL_POSTED,
	QV_TOOL_ARRIVED,
	QV_TOOL_MATCHED,
	QV_TOOL_UNEXPECTED,
	QV_TOOL_INSPECTED,
	QV_TOOL_MODE_CHANGES,
	QV_TOOL_EAGER,
	QV_TOOL_RENDEZVOUS,
	QV_TOOL_POSTED_LENGTH,
	QV_TOOL_UNEXPECTED_LENGTH,
	QV_TOOL_UNEXPECTED_BYTES,
	QV_TOOL_POSTED_LENGTH_MAX,
	QV_TOOL_UNEXPECTED_LENGTH_MAX,
	QV_TOOL_UNEXPECTED_BYTES_MAX,
	QV_TOOL_ENDPOINTS,
	QV_TOOL_OF_PROVIDER, /* so many are the provider's */
	QV_TOOL_COLLECTIVES = QV_TOOL_OF_PROVIDER,
	QV_TOOL_COLLECTIVE_MESSAGES,
	QV_TOOL_COLLECTIVE_BYTES,
	QV_TOOL_N_PVARS,
};

struct qv_tool_pvar {
	const char *name, *text;
	int class, verbosity;
};
extern const struct qv_tool_pvar qv_tool_pvars[QV_TOOL_N_PVARS];

/* It only grows, and each handle counts from where it was started. Any other is read as it is. */
static inline bool qv_tool_counts(int pvar)
{
	return qv_tool_pvars[pvar].class == MPI_T_PVAR_CLASS_COUNTER ||
	       qv_tool_pvars[pvar].class == MPI_T_PVAR_CLASS_AGGREGATE;
}

/* The provider, where it is in this process, kept there until it is let go. */
struct qv_tool_provider {
	void *object;
	int (*stats)(struct qv_fi_stats *stats, size_t size);
};
void qv_tool_provider_hold(struct qv_tool_provider *provider);
void qv_tool_provider_let_go(struct qv_tool_provider *provider);
/* All values. One thread at a time: what counts never goes back from one call to the next. */
void qv_tool_values(const struct qv_tool_provider *provider, uint64_t values[QV_TOOL_N_PVARS]);

/* From handle.c: sessions of the MPI, and handles of our performance variables in them. The results are
 * MPI_SUCCESS or errors of the MPI. */

int qv_tool_session_add(MPI_T_pvar_session session);
/* With its handles. False: there is no such session. */
bool qv_tool_session_remove(MPI_T_pvar_session session);
int qv_tool_handle_new(MPI_T_pvar_session session, int pvar, MPI_T_pvar_handle *handle);
/* Freed or not. */
bool qv_tool_handle_is_ours(MPI_T_pvar_handle handle);
/* One of ours. */
int qv_tool_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle handle);

enum qv_tool_act {
	QV_TOOL_START,
	QV_TOOL_STOP,
	QV_TOOL_READ,
	QV_TOOL_WRITE,
	QV_TOOL_RESET, /* a write of 0 */
	QV_TOOL_READRESET,
};

/* With a handle of ours; out is for reading, in for writing. */
int qv_tool_act(MPI_T_pvar_session session, MPI_T_pvar_handle handle, enum qv_tool_act what,
		unsigned long long *out, unsigned long long in);
/* With all of ours that can; start, stop or reset. */
void qv_tool_act_on_all(MPI_T_pvar_session session, enum qv_tool_act what);

/* From cvar.c. */

enum { QV_TOOL_COLL, QV_TOOL_NETWORK, QV_TOOL_STATS, QV_TOOL_OFFLOAD, QV_TOOL_N_CVARS };

const char *qv_tool_cvar_name(int cvar);

/* From category.c: that of all our variables. */

#define QV_TOOL_CATEGORY_NAME "quiver"

#endif /* QV_MPI_TOOL_H */
