// SPDX-License-Identifier: BSD-2-Clause
/* comms.c - communicators keep their messages apart. */
#include <stdlib.h>

#include "suite.h"

static void send_word(uint64_t v, int to, int tag, MPI_Comm comm)
{
	MPI_Send(&v, 8, MPI_BYTE, to, tag, comm);
}

static void recv_word(uint64_t v, int source, int tag, MPI_Comm comm, int from, int got_tag)
{
	uint64_t got = 0;
	MPI_Status st;

	MPI_Recv(&got, 8, MPI_BYTE, source, tag, comm, &st);
	suite_envelope(&st, from, got_tag, 8);
	CHECK(got == v, "%llu instead of %llu", (unsigned long long)got, (unsigned long long)v);
}

/* Same source and tag in two communicators: the message of one never lands in the other. */
static void apart(void)
{
	uint64_t got[2] = {0, 0};
	MPI_Request reqs[2];
	MPI_Comm dup;

	MPI_Comm_dup(suite.comm, &dup);
	if (suite.rank == 0) {
		MPI_Irecv(&got[0], 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, suite.comm, &reqs[0]);
		MPI_Irecv(&got[1], 8, MPI_BYTE, 1, 1, dup, &reqs[1]);
		suite_signal(1);
		MPI_Wait(&reqs[1], MPI_STATUS_IGNORE);
		CHECK(got[1] == 22 && got[0] == 0, "the wrong communicator got the message");
		suite_signal(1);
		MPI_Wait(&reqs[0], MPI_STATUS_IGNORE);
		CHECK(got[0] == 11, "wrong payload");
	} else if (suite.rank == 1) {
		suite_await(0);
		send_word(22, 0, 1, dup);
		suite_await(0);
		send_word(11, 0, 1, suite.comm);
	}
	MPI_Comm_free(&dup);
}

/* Halves with reversed ranks; a ring in each, with wildcards. */
static void split(void)
{
	MPI_Comm half;
	int rank, size;

	MPI_Comm_split(suite.comm, suite.rank % 2, -suite.rank, &half);
	MPI_Comm_rank(half, &rank);
	MPI_Comm_size(half, &size);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t out = i * 100 + (uint64_t)rank, in = 0;
		int left = (rank + size - 1) % size;
		MPI_Status st;

		MPI_Sendrecv(&out, 8, MPI_BYTE, (rank + 1) % size, 3, &in, 8, MPI_BYTE,
			     i % 2 ? left : MPI_ANY_SOURCE, 3, half, &st);
		suite_envelope(&st, left, 3, 8);
		CHECK(in == i * 100 + (uint64_t)left, "wrong payload");
	}
	MPI_Comm_free(&half);
}

/* An intercommunicator between even and odd ranks. */
static void inter(void)
{
	int side = suite.rank % 2, rank, remote;
	MPI_Comm half, bridge;

	MPI_Comm_split(suite.comm, side, suite.rank, &half);
	MPI_Intercomm_create(half, 0, suite.comm, 1 - side, 77, &bridge);
	MPI_Comm_rank(bridge, &rank);
	MPI_Comm_remote_size(bridge, &remote);
	if (rank < remote) {
		for (uint64_t i = 0; i < 50; i++) {
			uint64_t out = i * 2 + (uint64_t)side, in = 0;
			MPI_Status st;

			MPI_Sendrecv(&out, 8, MPI_BYTE, rank, (int)i, &in, 8, MPI_BYTE,
				     MPI_ANY_SOURCE, MPI_ANY_TAG, bridge, &st);
			suite_envelope(&st, rank, (int)i, 8);
			CHECK(in == i * 2 + (uint64_t)(1 - side), "wrong payload");
		}
	}
	MPI_Comm_free(&bridge);
	MPI_Comm_free(&half);
}

/*
 * Many communicators at once, with a receive of the same key posted in each, twice over so that
 * context ids are used again.
 */
static void many(void)
{
	int n = suite_scaled(120, 20);
	MPI_Comm *comms = suite_alloc((size_t)n * sizeof(*comms));
	MPI_Request *reqs = suite_alloc((size_t)n * sizeof(*reqs));
	uint64_t *got = suite_alloc((size_t)n * sizeof(*got));

	for (uint64_t round = 0; round < 2; round++) {
		int *order = suite_permutation(n, suite.seed + round);

		for (int i = 0; i < n; i++)
			MPI_Comm_dup(i ? comms[i - 1] : suite.comm, &comms[i]);
		for (int i = 0; suite.rank == 0 && i < n; i++)
			MPI_Irecv(&got[i], 8, MPI_BYTE, i % 2 ? 1 : MPI_ANY_SOURCE,
				  i % 3 ? 4 : MPI_ANY_TAG, comms[i], &reqs[i]);
		if (suite.rank < 2)
			suite_meet(1 - suite.rank);
		for (int i = 0; suite.rank == 1 && i < n; i++)
			send_word(1000 * round + (uint64_t)order[i], 0, 4, comms[order[i]]);
		for (int i = 0; suite.rank == 0 && i < n; i++) {
			MPI_Wait(&reqs[i], MPI_STATUS_IGNORE);
			CHECK(got[i] == 1000 * round + (uint64_t)i,
			      "communicator %d got the message of another", i);
		}
		for (int i = 0; suite.rank == 1 && i < n; i++)
			send_word((uint64_t)i, 0, 5, comms[i]);
		for (int i = n - 1; suite.rank == 0 && i >= 0; i--)
			recv_word((uint64_t)i, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], 1, 5);
		for (int i = 0; i < n; i++)
			MPI_Comm_free(&comms[i]);
		free(order);
	}
	free(comms);
	free(reqs);
	free(got);
}

/* Tags from 0 to the largest that MPI promises to carry. */
static void tag_range(void)
{
	int found = 0, *ub = NULL;

	MPI_Comm_get_attr(suite.comm, MPI_TAG_UB, &ub, &found);
	CHECK(found && *ub >= 32767, "MPI_TAG_UB");
	for (int shift = 0; suite.rank < 2 && shift < 31; shift++) {
		int tag = *ub >> shift;

		if (suite.rank == 1) {
			send_word((uint64_t)shift, 0, tag, suite.comm);
			send_word((uint64_t)shift + 100, 0, tag ? tag - 1 : 1, suite.comm);
		} else {
			recv_word((uint64_t)shift, 1, tag, suite.comm, 1, tag);
			recv_word((uint64_t)shift + 100, 1, MPI_ANY_TAG, suite.comm, 1,
				  tag ? tag - 1 : 1);
		}
	}
}

const struct suite_case comm_cases[] = {
	{"comms.apart", 2, 0, apart},         {"comms.split", 2, 0, split},
	{"comms.inter", 2, 0, inter},         {"comms.many", 2, 0, many},
	{"comms.tag_range", 2, 0, tag_range}, {NULL, 0, 0, NULL},
};
