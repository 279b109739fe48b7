/* SPDX-License-Identifier: BSD-2-Clause */
/* tool.h - a tool inside of an MPI program, which knows MPI_T and nothing else. */
#ifndef QV_TEST_TOOL_H
#define QV_TEST_TOOL_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX    "quiver_" /* of the variables that are looked at */
#define NAME_ROOM 256

extern int rank, checks;

/* The program ends at the first that does not hold. */
#define CHECK(holds)                                                                              \
	do {                                                                                      \
		checks++;                                                                         \
		if (!(holds)) {                                                                   \
			fprintf(stderr, "%s:%d: rank %d: not so: %s\n", __FILE__, __LINE__, rank, \
				#holds);                                                          \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)
#define CHECK_EQ(a, b)                                                                      \
	do {                                                                                \
		const unsigned long long a_ = (unsigned long long)(a);                      \
		const unsigned long long b_ = (unsigned long long)(b);                      \
                                                                                            \
		checks++;                                                                   \
		if (a_ != b_) {                                                             \
			fprintf(stderr, "%s:%d: rank %d: %s is %llu, not %llu\n", __FILE__, \
				__LINE__, rank, #a, a_, b_);                                \
			exit(1);                                                            \
		}                                                                           \
	} while (0)
#define OK(call) CHECK_EQ(call, MPI_SUCCESS)

/* Whether the program's messages go through what counts them: an argument of the program. */
extern int counted;

/* list.c: what there is, and where. */

struct known {
	char (*names)[NAME_ROOM]; /* of all performance variables, by index */
	int num;
	int cvars, coll; /* how many control variables, and where quiver_coll is */
};
/* All variables and categories; the names of ours are printed. */
void list_all(struct known *known);
/* What was known is where it was, if it is still there; ours is. */
void list_again(const struct known *known);
int pvar_of(const char *name);
int cvar_of(const char *name);
int is_of_prefix(const char *name);

/* figures.c: what is read. */

void figures(void);
void threads(void);
/* Begun after MPI_Init, and ended after MPI_Finalize. */
void begin_late(void);
void end_late(void);

/* settings.c: what is written, and what is wrong. */

void set_too_early(void);
void collectives(void);
void bad_arguments(void);

#endif /* QV_TEST_TOOL_H */
