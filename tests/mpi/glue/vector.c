/* SPDX-License-Identifier: BSD-2-Clause */
/* vector.c - MPI_Allgatherv and MPI_Alltoallv against the MPI's own. */
#include "blocks.h"

#include <string.h>

/* Pairs that one rank has for another: none, few, or as many as `most`. */
static int pairs(int seed, int from, int to, int most)
{
	const int d = glue_draw(seed, from, to, 4);

	return d == 0 ? 0 : d == 1 ? most : glue_draw(seed + 1, from, to, 9);
}

static void gather(const char *algorithm, enum glue_form form, int seed, int most)
{
	struct glue_blocks b = {.kind = GLUE_ALLGATHERV, .comm = MPI_COMM_WORLD};
	int counts[64], mine, ranks = glue_ranks;

	for (int r = 0; r < ranks; r++)
		counts[r] = pairs(seed, r, 0, most);
	mine = counts[glue_rank];
	b.in_place = seed % 4 == 2;
	/* Open MPI chooses its own algorithm by counts of elements, and waits for ever where these
	 * differ: so all ranks have the same types. Each places blocks as it likes. */
	glue_side_open(&b.in, 1, &mine, 0, glue_draw(seed, 0, 1, 3) == 0);
	glue_side_open(&b.out, ranks, counts, glue_draw(seed, glue_rank, 2, 2),
		       glue_draw(seed, 0, 3, 3) == 0);
	glue_blocks_compare(&b, algorithm, form, 2, glue_takes(form));
	glue_side_close(&b.in);
	glue_side_close(&b.out);
}

static void alltoall(const char *algorithm, enum glue_form form, int seed, int most)
{
	struct glue_blocks b = {.kind = GLUE_ALLTOALLV, .comm = MPI_COMM_WORLD};
	int in[64], out[64], ranks = glue_ranks;

	b.in_place = seed % 4 == 2;
	for (int r = 0; r < ranks; r++) {
		/* In place, a rank sends as much as it receives. */
		const int x = b.in_place && r < glue_rank ? r : glue_rank;
		const int y = b.in_place && r < glue_rank ? glue_rank : r;

		in[r] = pairs(seed, x, y, most);
		out[r] = b.in_place ? in[r] : pairs(seed, r, glue_rank, most);
	}
	glue_side_open(&b.in, ranks, in, glue_draw(seed, glue_rank, 1, 2),
		       glue_draw(seed, glue_rank, 2, 3) == 0);
	glue_side_open(&b.out, ranks, out, glue_draw(seed, glue_rank, 3, 2),
		       glue_draw(seed, glue_rank, 4, 3) == 0);
	glue_blocks_compare(&b, algorithm, form, 2, glue_takes(form));
	glue_side_close(&b.in);
	glue_side_close(&b.out);
}

static void all_forms(void (*one)(const char *, enum glue_form, int, int), const char *algorithm)
{
	static const int most[] = {3, 3000, 40, 20000};

	for (int form = 0; form < GLUE_FORMS; form++)
		for (int seed = 0; seed < 4 && glue_has((enum glue_form)form); seed++)
			one(algorithm, (enum glue_form)form, seed, most[seed]);
}

/* Settings that are wrong, one of them with the names of what is right. */
static void refused(void)
{
	static const char *const wrong[] = {"alltoallv",
					    "alltoallv=",
					    "alltoallv=ring",
					    "alltoallv=friends",
					    "alltoallv=crystal:1",
					    "alltoallv=crystal:",
					    "alltoallv=mesh2:3",
					    "allgatherv=crystal",
					    "alltoallv=direct,alltoallv=direct",
					    "alltoallv=crystals",
					    "scanv=direct",
					    "neighbor_allgather=crystal",
					    "neighbor_alltoallv=crystal:1"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(qv_mpi_set(wrong[i]), "%s: not refused", wrong[i]);
	CHECK(!qv_mpi_set("alltoallv=mpi,allgatherv=mpi,alltoall=mesh2"), "refused");
}

/* Two at a time, and other traffic between them. */
static void overlap(void)
{
	int in[64], out[2][64], counts[64], displs[64];
	MPI_Request r[2];

	CHECK(!qv_mpi_set("alltoallv=crystal"), "refused");
	for (int i = 0; i < glue_ranks; i++) {
		in[i] = 100 * glue_rank + i;
		counts[i] = 1;
		displs[i] = i;
	}
	for (int k = 0; k < 2; k++)
		MPI_Ialltoallv(in, counts, displs, MPI_INT, out[k], counts, displs, MPI_INT,
			       MPI_COMM_WORLD, &r[k]);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int k = 0; k < 2; k++)
		MPI_Wait(&r[k], MPI_STATUS_IGNORE);
	for (int i = 0; i < 2 * glue_ranks; i++)
		CHECK(out[i % 2][i / 2] == 100 * (i / 2) + glue_rank, "%d: wrong", i);
}

void glue_vector(void)
{
	static const char *const gathers[] = {"ring",      "dissemination", "direct", "prefix",
					      "kprefix",   "kshift",        "mesh2",  "mesh3",
					      "hypercube", "hybrid"};
	static const char *const alltoalls[] = {"direct", "prefix", "crystal",  "crystal:3",
						"mesh2",  "mesh3",  "hypercube"};

	CHECK(glue_ranks <= 64, "too many ranks for this test");
	for (size_t i = 0; i < sizeof(gathers) / sizeof(gathers[0]); i++)
		all_forms(gather, gathers[i]);
	for (size_t i = 0; i < sizeof(alltoalls) / sizeof(alltoalls[0]); i++)
		all_forms(alltoall, alltoalls[i]);
	overlap();
	refused();
}
