// SPDX-License-Identifier: BSD-2-Clause
/*
 * suite.h - what the cases of the MPI conformance suite share.
 *
 * A case is a function that every rank runs. It ends the whole job through CHECK at the first wrong
 * payload, envelope or return code. Between two cases all ranks meet in a barrier.
 */
#ifndef QV_MPI_SUITE_H
#define QV_MPI_SUITE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Needs MPI_THREAD_MULTIPLE. */
#define CASE_THREADS 1u
/* Runs only when it is named in full: too large for a run of the whole group. */
#define CASE_SLOW 2u

struct suite_case {
	const char *name; /* "group.case" */
	int ranks;        /* least number of ranks; those beyond take part in barriers only */
	unsigned flags;
	void (*run)(void);
};

/* Each array ends with a case without a name. */
extern const struct suite_case order_cases[];
extern const struct suite_case random_cases[];
extern const struct suite_case probe_cases[];
extern const struct suite_case cancel_cases[];
extern const struct suite_case mode_cases[];
extern const struct suite_case size_cases[];
extern const struct suite_case trunc_cases[];
extern const struct suite_case deep_cases[];
extern const struct suite_case thread_cases[];
extern const struct suite_case comm_cases[];
extern const struct suite_case type_cases[];
extern const struct suite_case ranks_cases[];
extern const struct suite_case crowd_cases[];
extern const struct suite_case coll_cases[];
extern const struct suite_case rma_cases[];

struct suite {
	int rank, size;
	MPI_Comm comm; /* the messages of the cases */
	MPI_Comm ctl;  /* hand-shakes of the cases, never mixed up with their wildcards */
	uint64_t seed; /* QV_SEED, printed with every failure */
	double scale;  /* QV_TEST_SCALE */
};

extern struct suite suite;

#define CHECK(cond, ...)                                             \
	do {                                                         \
		if (!(cond))                                         \
			suite_fail(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)

/* Prints the case, the rank, the place and the message, and ends the whole job. */
void suite_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 3, 4)));

/* n scaled by QV_TEST_SCALE, at least `least`. */
int suite_scaled(int n, int least);

void *suite_alloc(size_t bytes);

/* Deterministic payload of `bytes` bytes, another one for every key. */
void suite_fill(void *buf, size_t bytes, uint64_t key);

/* Fails unless buf holds exactly what suite_fill wrote for this key. */
void suite_verify(const void *buf, size_t bytes, uint64_t key);

/* Fails unless the status carries this envelope and length. */
void suite_envelope(const MPI_Status *st, int source, int tag, int bytes);

/* All ranks of the job meet. */
void suite_barrier(void);

/* Two ranks meet: both name each other. Returns only when the other one is there too. */
void suite_meet(int other);

/* One way: what `to` receives with suite_await after this was sent after all that
 * was sent before. */
void suite_signal(int to);
void suite_await(int from);

/* Next value of a 64-bit generator; *state is the whole state. */
uint64_t suite_random(uint64_t *state);

/* 0..n-1 in an order drawn from the seed; the caller frees it. */
int *suite_permutation(int n, uint64_t seed);

#endif
