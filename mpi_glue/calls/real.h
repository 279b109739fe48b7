/* SPDX-License-Identifier: BSD-2-Clause */
/* real.h - the MPI's own functions, behind those of ours that have their names. */
#ifndef QV_MPI_REAL_H
#define QV_MPI_REAL_H

#include <mpi.h>

#include <quiver/types.h>

/* Persistent collectives: an extension in Open MPI 4, part of MPI in 5, where the old names are
 * gone. A library built with one meets programs and libraries of the other, so it
 * has both names. */
#ifdef OPEN_MPI
#if OMPI_MAJOR_VERSION >= 5
#define QV_MPI_PERSISTENT     1
#define QV_MPI_PERSIST(name)  MPI_##name
#define QV_MPI_PPERSIST(name) PMPI_##name
#define QV_MPI_OTHER(name)    MPIX_##name
#define QV_MPI_POTHER(name)   PMPIX_##name
#else
#include <mpi-ext.h>
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define QV_MPI_PERSISTENT     1
#define QV_MPI_PERSIST(name)  MPIX_##name
#define QV_MPI_PPERSIST(name) PMPIX_##name
#define QV_MPI_OTHER(name)    MPI_##name
#define QV_MPI_POTHER(name)   PMPI_##name
#endif
#endif
#endif

/* Open MPI has them before it calls itself 4. */
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define QV_MPI_SESSIONS 1
#endif

/* Counts that are more than an int. */
#if MPI_VERSION >= 4 && !defined(QV_MPI_SIMULATED)
#define QV_MPI_LARGE 1
#endif

/* Both names of a function, MPI_Wait and PMPI_Wait, lead to ours: the Fortran layers of Open MPI
 * call the second one. So what lies behind is looked up. In a simulation, where we are part of the
 * program, PMPI_ is what lies behind. */
#ifdef QV_MPI_SIMULATED
#define QV_REAL(name) PMPI_##name
#define QV_MPI_BOTH(name)
#else
/* Of MPI 4; not every mpi.h declares them. */
int MPI_T_category_get_num_events(int cat_index, int *num_events);
int MPI_T_category_get_events(int cat_index, int len, int indices[]);
int PMPI_T_category_get_num_events(int cat_index, int *num_events);
int PMPI_T_category_get_events(int cat_index, int len, int indices[]);
int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request);
int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request);

struct qv_mpi_real {
#define QV_MPI_CALL(name)     __typeof__(&PMPI_##name) name
#define QV_MPI_CALL_EXT(name) __typeof__(&QV_MPI_PPERSIST(name)) name
#include "calls.h"
};
extern struct qv_mpi_real qv_mpi_real;
#define QV_REAL(name) qv_mpi_real.name
/* Let the PMPI_ name lead to the function that was just defined. */
#define QV_MPI_ALIAS(name, of) \
	QV_API extern __typeof__(of) name __attribute__((alias(QV_MPI_TEXT(of))));
#define QV_MPI_TEXT(name)  QV_MPI_TEXT_(name)
#define QV_MPI_TEXT_(name) #name
#define QV_MPI_BOTH(name)  QV_MPI_ALIAS(PMPI_##name, MPI_##name)
#define QV_MPI_ALL_PERSIST(name)                                  \
	QV_MPI_ALIAS(QV_MPI_PPERSIST(name), QV_MPI_PERSIST(name)) \
	QV_MPI_ALIAS(QV_MPI_OTHER(name), QV_MPI_PERSIST(name))    \
	QV_MPI_ALIAS(QV_MPI_POTHER(name), QV_MPI_PERSIST(name))
#endif

#endif /* QV_MPI_REAL_H */
