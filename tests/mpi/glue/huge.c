/* SPDX-License-Identifier: BSD-2-Clause */
/* huge.c - one element of more than 2 GiB, whose bytes are more than an int counts, on some ranks, and small
 * ones on the others: who gives which type is each rank's own affair. */
#include "poison.h"

#define N (2049 * (1 << 18)) /* ints: 2 GiB and a megabyte */

static MPI_Datatype make_huge(void)
{
	MPI_Datatype type;

	MPI_Type_contiguous(N, MPI_INT, &type);
	MPI_Type_commit(&type);
	return type;
}

static MPI_Comm make_ring(void)
{
	const int yes = 1;
	MPI_Comm ring;

	MPI_Cart_create(MPI_COMM_WORLD, 1, &glue_ranks, &yes, 0, &ring);
	return ring;
}

/* No elements, of the huge type on the last rank. */
void glue_huge(void)
{
	static int none[64];
	MPI_Datatype huge = make_huge();
	const MPI_Datatype type = glue_rank == glue_ranks - 1 ? huge : MPI_INT;
	MPI_Comm ring = make_ring();
	uint64_t before;

	CHECK(!qv_mpi_set("allgatherv=ring,alltoallv=crystal,gatherv=binomial,scatterv=direct,"
			  "neighbor_allgatherv=direct,neighbor_alltoallv=direct"),
	      "refused");
	for (int kind = POISON_ALLGATHERV; kind < POISON_KINDS; kind++) {
		struct poison_call call = {
			.kind = (enum poison_kind)kind,
			.in = {none, 0, none, none, type},
			.out = {none, 0, none, none, type},
			.comm = ring,
		};

		if (kind == POISON_NEIGHBOR_ALLGATHER || kind == POISON_NEIGHBOR_ALLTOALL)
			continue;
		before = qv_mpi_taken();
		poison_begin(&call);
		CHECK(qv_mpi_taken() == before + 1, "kind %d: not taken", kind);
	}
	before = qv_mpi_taken();
	MPI_Gatherv(none, 0, type, none, none, none, type, 0, ring);
	MPI_Scatterv(none, none, none, type, none, 0, type, 0, ring);
	CHECK(qv_mpi_taken() == before + 2, "not taken");
	MPI_Comm_free(&ring);
	MPI_Type_free(&huge);
}

/* Where the words are that are not 0: what is only read takes no memory. */
static const int marks[] = {0, 4711, N / 2, N - 1};

#define MARKS (sizeof(marks) / sizeof(marks[0]))

static int *make_words(int marked)
{
	int *words = calloc(N, sizeof(*words));

	CHECK(words, "no memory");
	for (size_t i = 0; marked && i < MARKS; i++)
		words[marks[i]] = marks[i] + 1;
	return words;
}

static void check(const int *words)
{
	size_t m = 0;

	for (int i = 0; i < N; i++) {
		const int want = m < MARKS && i == marks[m] ? marks[m++] + 1 : 0;

		CHECK(words[i] == want, "word %d is %d, not %d", i, words[i], want);
	}
}

/* From the last rank to rank 0, or the other way: there one huge element, at rank 0 words. */
static void move(int gathers, enum glue_form form)
{
	const int last = glue_ranks - 1, sends = glue_rank == (gathers ? last : 0);
	int *words = glue_rank == 0 || glue_rank == last ? make_words(sends) : NULL;
	const int mine = glue_rank == last;
	int counts[64] = {0}, displs[64] = {0};
	MPI_Datatype huge = make_huge();
	MPI_Request request;
	MPI_Comm comm;
	uint64_t before;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* with it goes what the library keeps */
	before = qv_mpi_taken();
	counts[last] = N;
	if (form == GLUE_BLOCKING && gathers)
		MPI_Gatherv(words, mine, huge, words, counts, displs, MPI_INT, 0, comm);
	else if (form == GLUE_BLOCKING)
		MPI_Scatterv(words, counts, displs, MPI_INT, words, mine, huge, 0, comm);
	else if (gathers)
		MPI_Igatherv(words, mine, huge, words, counts, displs, MPI_INT, 0, comm, &request);
	else
		MPI_Iscatterv(words, counts, displs, MPI_INT, words, mine, huge, 0, comm, &request);
	MPI_Type_free(&huge);
	if (form != GLUE_BLOCKING)
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(!GLUE_TAKES(form) || qv_mpi_taken() == before + 1, "not taken");
	if (words && !sends)
		check(words);
	free(words);
	MPI_Comm_free(&comm);
}

void glue_huge_data(void)
{
	CHECK(!qv_mpi_set("gatherv=direct,scatterv=direct"), "refused");
	for (int form = GLUE_BLOCKING; form <= GLUE_NONBLOCKING; form++) {
		move(1, (enum glue_form)form);
		move(0, (enum glue_form)form);
	}
}
