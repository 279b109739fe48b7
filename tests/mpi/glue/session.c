/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * session.c only|both - communicators of a session, without MPI_Init; or beside it, and
 * used on behind MPI_Finalize. The library is there between the two only, so it may not touch them.
 */
#include "glue.h"

#include <string.h>

int glue_rank, glue_ranks;

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
static MPI_Comm open_comm(MPI_Session *session)
{
	MPI_Group group;
	MPI_Comm comm;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session);
	MPI_Group_from_session_pset(*session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(group, "quiver.session", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
				   &comm);
	MPI_Group_free(&group);
	return comm;
}

static void sum(MPI_Comm comm, const char *which)
{
	int in = 1, out = 0, ranks, rank;
	MPI_Request request;

	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &ranks);
	MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
	CHECK(out == ranks, "%s: the sum is %d, not %d", which, out, ranks);
	MPI_Reduce(rank ? &out : MPI_IN_PLACE, &out, 1, MPI_INT, MPI_SUM, 0, comm);
	CHECK(out == ranks * (rank ? 1 : ranks), "%s: the sum is %d", which, out);
	out = 0;
	MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	CHECK(out == ranks, "%s: the sum is %d, not %d", which, out, ranks);
}

static void all_sums(const MPI_Comm comms[5])
{
	static const char *const names[5] = {"it", "a duplicate", "one by MPI_Comm_idup", "a half",
					     "a copy of its group"};

	for (int i = 0; i < 5; i++)
		sum(comms[i], names[i]);
}

static void derive(MPI_Comm comms[5])
{
	MPI_Request request;
	MPI_Group group;

	MPI_Comm_dup(comms[0], &comms[1]);
	MPI_Comm_idup(comms[0], &comms[2], &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Comm_split(comms[1], glue_rank % 2, glue_rank, &comms[3]);
	MPI_Comm_group(comms[2], &group);
	MPI_Comm_create(comms[2], group, &comms[4]);
	MPI_Group_free(&group);
}

int main(int argc, char **argv)
{
	const int both = argc > 1 && !strcmp(argv[1], "both");
	MPI_Session session;
	MPI_Comm comms[5];
	uint64_t before;

	if (both)
		MPI_Init(&argc, &argv);
	comms[0] = open_comm(&session);
	MPI_Comm_rank(comms[0], &glue_rank);
	MPI_Comm_size(comms[0], &glue_ranks);
	derive(comms);
	CHECK(!both || !qv_mpi_set("allreduce=ring,reduce=binomial"), "refused");
	before = qv_mpi_taken();
	all_sums(comms);
	CHECK(qv_mpi_taken() == before, "calls on communicators of a session were taken");
	if (both) {
		sum(MPI_COMM_WORLD, "MPI_COMM_WORLD");
		CHECK(qv_mpi_taken() > before, "no call on MPI_COMM_WORLD was taken");
		MPI_Finalize();
		all_sums(comms);
	}
	for (int i = 4; i >= 0; i--)
		MPI_Comm_free(&comms[i]);
	if (!glue_rank)
		printf("passed %s\n", both ? "both" : "only");
	MPI_Session_finalize(&session);
	return 0;
}
#else
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	if (!glue_rank)
		printf("skipped: this MPI has no sessions\n");
	MPI_Finalize();
	return 77;
}
#endif
