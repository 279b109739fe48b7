/* SPDX-License-Identifier: BSD-2-Clause */
/* refuse.h - the library gets no memory, while the program and the MPI do. */
#ifndef QV_MPI_REFUSE_H
#define QV_MPI_REFUSE_H

#include <limits.h>

#define REFUSE_ALL INT_MAX

/* So many times it still gets what it asks for, while refuse is not 0. */
extern int grant;
/* Behind them, so many of the next times that the library asks it gets nothing. */
extern int refuse;
/* How often that was. */
extern int refused;

#endif /* QV_MPI_REFUSE_H */
