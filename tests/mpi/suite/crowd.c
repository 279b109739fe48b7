// SPDX-License-Identifier: BSD-2-Clause
/* crowd.c - more ranks than processors: all to all at once, and all to one. */
#include <stdlib.h>

#include "suite.h"

enum { FAN_IN = 20, LONGEST = 3000 };

static int size_of(int i)
{
	return i % 3 ? 8 : LONGEST;
}

static uint64_t key_of(int from, int to, int i)
{
	return ((uint64_t)from << 32 | (uint64_t)to << 16) + (uint64_t)i;
}

/* A message from each to each, short or long by turns. */
static void all_to_all(void)
{
	const size_t all = (size_t)suite.size;
	MPI_Request *req = suite_alloc(2 * all * sizeof *req);
	char *out = suite_alloc(all * LONGEST), *in = suite_alloc(all * LONGEST);

	for (int i = 0; i < suite.size; i++)
		MPI_Irecv(in + (size_t)i * LONGEST, LONGEST, MPI_BYTE, i, 7, suite.comm, &req[i]);
	for (int k = 0; k < suite.size; k++) {
		int to = (suite.rank + k) % suite.size, len = size_of(suite.rank + to);
		char *buf = out + (size_t)to * LONGEST;

		suite_fill(buf, (size_t)len, key_of(suite.rank, to, 0));
		MPI_Isend(buf, len, MPI_BYTE, to, 7, suite.comm, &req[suite.size + k]);
	}
	MPI_Waitall(2 * suite.size, req, MPI_STATUSES_IGNORE);
	for (int i = 0; i < suite.size; i++)
		suite_verify(in + (size_t)i * LONGEST, (size_t)size_of(suite.rank + i),
			     key_of(i, suite.rank, 0));
	free(in);
	free(out);
	free(req);
}

/* All others send to rank 0, which takes what comes: each source in its order. */
static void fan_in(void)
{
	int *next = suite_alloc((size_t)suite.size * sizeof *next);
	char *buf = suite_alloc(LONGEST);

	for (int i = 0; i < suite.size; i++)
		next[i] = 0;
	for (int i = 0; suite.rank && i < FAN_IN; i++) {
		suite_fill(buf, (size_t)size_of(i), key_of(suite.rank, 0, i));
		MPI_Send(buf, size_of(i), MPI_BYTE, 0, i, suite.comm);
	}
	for (int i = 0; !suite.rank && i < FAN_IN * (suite.size - 1); i++) {
		MPI_Status st;
		int serial;

		MPI_Recv(buf, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &st);
		CHECK(st.MPI_SOURCE > 0 && st.MPI_SOURCE < suite.size, "source %d", st.MPI_SOURCE);
		serial = next[st.MPI_SOURCE]++;
		suite_envelope(&st, st.MPI_SOURCE, serial, size_of(serial));
		suite_verify(buf, (size_t)size_of(serial), key_of(st.MPI_SOURCE, 0, serial));
	}
	free(buf);
	free(next);
}

const struct suite_case crowd_cases[] = {
	{"crowd.all_to_all", 2, 0, all_to_all},
	{"crowd.fan_in", 2, 0, fan_in},
	{0},
};
