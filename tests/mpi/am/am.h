/* SPDX-License-Identifier: BSD-2-Clause */
/* am.h - libquiver-am: what its cases share. */
#ifndef AM_H
#define AM_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <quiver/am.h>

extern int rank, ranks;

/* The next number below n, of this rank. */
uint32_t draw(uint32_t n);
/* A number that is the same on all ranks as long as all draw as often. */
uint32_t draw_alike(uint32_t n);
/* End all ranks. */
#define check(holds)                                                                              \
	do {                                                                                      \
		if (!(holds)) {                                                                   \
			fprintf(stderr, "FAILED: rank %d: %s:%d: %s\n", rank, __FILE__, __LINE__, \
				#holds);                                                          \
			MPI_Abort(MPI_COMM_WORLD, 1);                                             \
		}                                                                                 \
	} while (0)

void streams(void);
void answers(void);
void by_chance(void);
void two_at_a_time(void);
void waits(void);
void refused(void);
void vranks(void);
void vranks_refused(void);
void homes_by_others(void);

#endif /* AM_H */
