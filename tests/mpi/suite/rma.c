// SPDX-License-Identifier: BSD-2-Clause
/* rma.c - one-sided calls. Open MPI's osc pt2pt carries them as messages over the same
 * provider. */
#include <stdlib.h>
#include <string.h>

#include "suite.h"

enum { WORDS = 20000 };

static void put_get(void)
{
	int right = (suite.rank + 1) % suite.size,
	    left = (suite.rank + suite.size - 1) % suite.size;
	uint64_t *mem = suite_alloc(WORDS * 8), *out = suite_alloc(WORDS * 8);
	uint64_t *in = suite_alloc(WORDS * 8);
	MPI_Win win;

	MPI_Win_create(mem, WORDS * 8, 8, MPI_INFO_NULL, suite.comm, &win);
	for (int n = 1; n <= WORDS; n = n < WORDS && n * 11 > WORDS ? WORDS : n * 11) {
		suite_fill(out, (size_t)n * 8, (uint64_t)(n * 64 + suite.rank));
		MPI_Win_fence(0, win);
		MPI_Put(out, n, MPI_UINT64_T, right, 0, n, MPI_UINT64_T, win);
		MPI_Win_fence(0, win);
		suite_verify(mem, (size_t)n * 8, (uint64_t)(n * 64 + left));
		MPI_Win_fence(0, win);
		MPI_Get(in, n, MPI_UINT64_T, right, 0, n, MPI_UINT64_T, win);
		MPI_Win_fence(0, win);
		suite_verify(in, (size_t)n * 8, (uint64_t)(n * 64 + suite.rank));
	}
	MPI_Win_free(&win);
	free(mem);
	free(out);
	free(in);
}

/* Every rank adds to every word of rank 0, and counts with fetch-and-add under a lock. */
static void accumulate(void)
{
	enum { N = 1000, ROUNDS = 10 };
	uint64_t *mem = suite_alloc((N + 1) * 8), *out = suite_alloc(N * 8), one = 1, before;
	unsigned long long last = 0;
	MPI_Win win;

	MPI_Win_create(mem, (N + 1) * 8, 8, MPI_INFO_NULL, suite.comm, &win);
	for (uint64_t i = 0; i < N; i++)
		out[i] = i + (uint64_t)suite.rank;
	for (int r = 0; r < ROUNDS; r++) {
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Accumulate(out, N, MPI_UINT64_T, 0, 0, N, MPI_UINT64_T, MPI_SUM, win);
		MPI_Win_unlock(0, win);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, 0, N, MPI_SUM, win);
		MPI_Win_unlock(0, win);
		CHECK(r == 0 || before > last, "the counter went back");
		last = before;
	}
	suite_barrier();
	MPI_Win_lock(MPI_LOCK_SHARED, suite.rank, 0, win);
	for (uint64_t i = 0, p = (uint64_t)suite.size; suite.rank == 0 && i < N; i++)
		CHECK(mem[i] == ROUNDS * (i * p + p * (p - 1) / 2), "word %d is wrong", (int)i);
	CHECK(suite.rank || mem[N] == (uint64_t)(ROUNDS * suite.size), "the counter is wrong");
	MPI_Win_unlock(suite.rank, win);
	MPI_Win_free(&win);
	free(mem);
	free(out);
}

/* All ranks add to the same words of all, themselves included, again and again between two fences. */
static void accumulate_all(void)
{
	enum { N = 64, TIMES = 20, ROUNDS = 20 };
	int *mem = suite_alloc(N * sizeof *mem), *add = suite_alloc(N * sizeof *add);
	MPI_Win win;

	MPI_Win_create(mem, N * sizeof *mem, sizeof *mem, MPI_INFO_NULL, suite.comm, &win);
	for (int i = 0; i < N; i++)
		add[i] = i + suite.rank;
	for (int r = 0; r < ROUNDS; r++) {
		memset(mem, 0, N * sizeof *mem);
		MPI_Win_fence(0, win);
		for (int k = 0; k < TIMES * suite.size; k++)
			MPI_Accumulate(add, N, MPI_INT, k % suite.size, 0, N, MPI_INT, MPI_SUM,
				       win);
		MPI_Win_fence(0, win);
		for (int i = 0; i < N; i++)
			CHECK(mem[i] ==
				      TIMES * (suite.size * i + suite.size * (suite.size - 1) / 2),
			      "word %d is wrong in round %d", i, r);
	}
	MPI_Win_free(&win);
	free(mem);
	free(add);
}

const struct suite_case rma_cases[] = {
	{"rma.put_get", 2, 0, put_get},
	{"rma.accumulate", 2, 0, accumulate},
	{"rma.accumulate_all", 2, 0, accumulate_all},
	{NULL, 0, 0, NULL},
};
