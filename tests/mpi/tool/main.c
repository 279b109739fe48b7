/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - two ranks that read variables by MPI_T: before MPI_Init, between, and after MPI_Finalize. */
#include "tool.h"

int rank, checks, counted;

static void not_begun(void)
{
	int num;

	CHECK_EQ(MPI_T_pvar_get_num(&num), MPI_T_ERR_NOT_INITIALIZED);
	CHECK_EQ(MPI_T_cvar_get_num(&num), MPI_T_ERR_NOT_INITIALIZED);
	CHECK_EQ(MPI_T_category_get_num(&num), MPI_T_ERR_NOT_INITIALIZED);
	CHECK_EQ(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
}

int main(int argc, char **argv)
{
	struct known known;
	int provided;

	counted = argc > 1 && !strcmp(argv[1], "counted");
	rank = -1;
	not_begun();
	OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
	OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
	list_all(&known);
	set_too_early();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	list_again(&known);
	begin_late();
	figures();
	threads();
	collectives();
	bad_arguments();
	list_again(&known);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	end_late();
	list_again(&known);
	OK(MPI_T_finalize());
#ifndef OPEN_MPI /* 4.1 crashes where the last end comes after MPI_Finalize */
	OK(MPI_T_finalize());
	not_begun();
#endif
	free(known.names);
	printf("rank %d passed %d checks\n", rank, checks);
	return 0;
}
