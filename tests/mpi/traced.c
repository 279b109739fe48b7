/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traced.c - all ways to send, receive, look for and wait for messages, on three communicators. Which
 * message each receive gets is the same in every run, but for phases where all receives are alike. Tags
 * tell sender and communicator: tests/mpi/run/trace.py compares what two traces of it have.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 8, EACH = 6, COMMS = 3 };

static MPI_Comm comm; /* of the phase */
static int comm_number, rank, ranks, seed;

static void must(int good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "traced: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The tag of message i from a rank to another one; a few are the same. */
static int tag_of(int from, int to, int i)
{
	const unsigned mixed = (unsigned)(seed * 31 + from * 7 + to * 3 + i * i) * 2654435761u;

	return (comm_number * MOST + from) * 100 + (int)(mixed >> 29);
}

static int buffer[MOST * EACH * 2];
static MPI_Request requests[MOST * EACH * 2];

static int *place(int from, int i)
{
	return &buffer[from * EACH + i];
}

/* Sends all messages of this rank, by all calls there are. */
static int send_all(MPI_Request *at, int ready)
{
	static int value = 5;
	int n = 0;

	for (int i = 0; i < EACH; i++)
		for (int to = 0; to < ranks; to++) {
			const int tag = tag_of(rank, to, i);

			if (to == rank)
				continue;
			switch ((i + to) % (ready ? 6 : 4)) {
			case 0: MPI_Isend(&value, 1, MPI_INT, to, tag, comm, &at[n++]); break;
			case 1: MPI_Send(&value, 1, MPI_INT, to, tag, comm); break;
			case 2: MPI_Bsend(&value, 1, MPI_INT, to, tag, comm); break;
			case 3: MPI_Ibsend(&value, 1, MPI_INT, to, tag, comm, &at[n++]); break;
			case 4: MPI_Irsend(&value, 1, MPI_INT, to, tag, comm, &at[n++]); break;
			case 5: MPI_Issend(&value, 1, MPI_INT, to, tag, comm, &at[n++]); break;
			}
		}
	return n;
}

/* Receives are posted before anything is sent: exact ones, or from any source, or all alike. */
static void posted(int wild)
{
	const int any = wild == 2;
	int n = 0, done, indices[MOST * EACH * 2];

	for (int from = ranks - 1; from >= 0; from--)
		for (int i = 0; i < EACH; i++)
			if (from != rank)
				MPI_Irecv(place(from, i), 1, MPI_INT, wild ? MPI_ANY_SOURCE : from,
					  any ? MPI_ANY_TAG : tag_of(from, rank, i), comm,
					  &requests[n++]);
	MPI_Barrier(comm);
	n += send_all(requests + n, 1);
	if (wild == 0) {
		MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	} else if (wild == 1) {
		for (int left = n; left; left--)
			MPI_Waitany(n, requests, &done, MPI_STATUS_IGNORE);
	} else {
		for (int left = n; left; left -= done)
			MPI_Waitsome(n, requests, &done, indices, MPI_STATUSES_IGNORE);
	}
	MPI_Barrier(comm);
}

/* All messages are there before a receive is: of any tag, or exact ones. */
static void unexpected(void)
{
	MPI_Status status;
	int n = send_all(requests, 0), flag = 0;

	MPI_Barrier(comm);
	for (int from = 0; from < ranks; from++)
		for (int i = 0; i < EACH && from != rank; i++) {
			MPI_Request *at = &requests[n];

			switch ((from + i) % 3) {
			case 0:
				MPI_Recv(place(from, i), 1, MPI_INT, from, MPI_ANY_TAG, comm,
					 &status);
				must(status.MPI_TAG == tag_of(from, rank, i), "overtaken");
				break;
			case 1:
				MPI_Irecv(place(from, i), 1, MPI_INT, from, tag_of(from, rank, i),
					  comm, at);
				while (!flag)
					MPI_Test(at, &flag, MPI_STATUS_IGNORE);
				flag = 0;
				break;
			case 2:
				MPI_Irecv(place(from, i), 1, MPI_INT, from, MPI_ANY_TAG, comm, at);
				MPI_Wait(at, MPI_STATUS_IGNORE);
				break;
			}
			must(*place(from, i) == 5, "another value");
		}
	while (!flag)
		MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
	MPI_Barrier(comm);
}

/* Message i of a rank is looked for, and then received, or taken out. */
static void probe_one(int from, int i)
{
	const int tag = tag_of(from, rank, i);
	int value = 0, flag = 0;
	MPI_Message message;
	MPI_Status status;
	MPI_Request r;

	switch (i % 4) {
	case 0: MPI_Probe(MPI_ANY_SOURCE, tag, comm, &status); break;
	case 1:
		while (!flag)
			MPI_Iprobe(from, MPI_ANY_TAG, comm, &flag, &status);
		break;
	case 2:
		MPI_Mprobe(from, MPI_ANY_TAG, comm, &message, MPI_STATUS_IGNORE);
		MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
		break;
	case 3:
		while (!flag)
			MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &flag, &message, &status);
		MPI_Imrecv(&value, 1, MPI_INT, &message, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
		break;
	}
	if (i % 4 < 2)
		MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm,
			 MPI_STATUS_IGNORE);
	must(value == 5, "another value was found");
}

static void probed(void)
{
	const int n = send_all(requests, 0);

	for (int from = 0; from < ranks; from++)
		for (int i = 0; i < EACH && from != rank; i++)
			probe_one(from, i);
	MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
	MPI_Barrier(comm);
}

/* Requests that are started again; and the calls that do both. */
static void persistent(void)
{
	const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
	int out = 5, n = 0, flag, index;

	for (int i = 0; i < EACH; i++) {
		MPI_Recv_init(place(before, i), 1, MPI_INT, before, tag_of(before, rank, i), comm,
			      &requests[n++]);
		MPI_Ssend_init(&out, 1, MPI_INT, next, tag_of(rank, next, i), comm, &requests[n++]);
	}
	for (int turn = 0; turn < 3; turn++) {
		MPI_Start(&requests[0]);
		MPI_Startall(n - 1, requests + 1);
		if (turn == 0)
			MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
		for (int left = turn ? n : 0; left;) {
			MPI_Testany(n, requests, &index, &flag, MPI_STATUS_IGNORE);
			left -= flag && index != MPI_UNDEFINED;
		}
	}
	for (int i = 0; i < n; i++)
		MPI_Request_free(&requests[i]);
	MPI_Sendrecv(&out, 1, MPI_INT, next, tag_of(rank, next, 0), place(before, 0), 1, MPI_INT,
		     before, tag_of(before, rank, 0), comm, MPI_STATUS_IGNORE);
	MPI_Sendrecv_replace(place(before, 0), 1, MPI_INT, next, tag_of(rank, next, 1), before,
			     MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
	MPI_Sendrecv_replace(&out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, comm,
			     MPI_STATUS_IGNORE);
}

/* Receives that get nothing. */
static void cancelled(void)
{
	MPI_Status status;
	MPI_Request r;
	int flag, value;

	for (int i = 0; i < 4; i++) {
		MPI_Irecv(&value, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : rank, 99, comm, &r);
		MPI_Cancel(&r);
		MPI_Wait(&r, &status);
		MPI_Test_cancelled(&status, &flag);
		must(flag, "not cancelled");
	}
}

static void run(void)
{
	void (*const phases[])(void) = {unexpected, probed, persistent, cancelled};

	for (int phase = 0; phase < 4; phase++, seed++) {
		if (phase < 3)
			posted(phase);
		phases[phase]();
	}
}

int main(int argc, char **argv)
{
	static char room[1 << 16];
	MPI_Comm comms[COMMS];
	MPI_Request made;
	void *gone;
	int n;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	must(ranks >= 2 && ranks <= MOST, "takes 2 to 8 ranks");
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Buffer_attach(room, sizeof(room));
	comms[0] = MPI_COMM_WORLD;
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[1]); /* the other way round */
	MPI_Comm_idup(comms[1], &comms[2], &made);
	MPI_Wait(&made, MPI_STATUS_IGNORE);
	for (int turn = 0; turn < 2 * COMMS; turn++) {
		comm_number = turn % COMMS;
		comm = comms[comm_number];
		MPI_Comm_rank(comm, &rank);
		run();
	}
	MPI_Comm_dup(comms[1],
		     &comm); /* before others are free: an MPI may give it their numbers */
	MPI_Comm_free(&comms[1]);
	MPI_Comm_free(&comms[2]);
	comm_number = COMMS;
	run();
	MPI_Comm_free(&comm);
	MPI_Buffer_detach(&gone, &n);
	MPI_Finalize();
	return 0;
}
