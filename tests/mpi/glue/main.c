/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c CASE... - libquiver-mpi against the MPI's own answers; all ranks
 * run all cases. */
#include "glue.h"

#include <string.h>

int glue_rank, glue_ranks;

const char *const glue_algorithms[] = {"binomial",    "butterfly", "radix", "pipeline",
				       "direct",      "redirect",  "ring",  "segmented",
				       "clairvoyant", "unit",      NULL};

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"values", glue_values},
	{"sizes", glue_sizes},
	{"big", glue_big},
	{"forms", glue_forms},
	{"overlap", glue_overlap},
	{"user", glue_user},
	{"persistent", glue_persistent},
	{"comms", glue_comms},
	{"errors", glue_errors},
	{"through", glue_through},
	{"move", glue_move},
	{"exchange", glue_exchange},
	{"rooted", glue_rooted},
	{"trial", glue_trial},
	{"late", glue_late},
	{"untold", glue_untold},
	{"vector", glue_vector},
	{"neighbor", glue_neighbor},
	{"switch", glue_switch},
	{"poison", glue_poison},
	{"attributes", glue_attributes},
	{"large", glue_large},
	{"memory", glue_memory},
	{"huge", glue_huge},
	{"huge_data", glue_huge_data},
	{"outlive", glue_outlive},
	{"many", glue_many},
	{"local", glue_local},
	{"room", glue_room},
	{"idup", glue_idup},
	{"contexts", glue_contexts},
	{"thread", glue_thread},
	{"derived", glue_derived},
	{"unused", glue_unused},
	{"retried", glue_retried},
	{"uneven", glue_uneven},
	{"wrong", glue_wrong},
	{"wrong_buffer", glue_wrong_buffer},
	{"info", glue_info},
	{"misfit", glue_misfit},
	{"bottom", glue_bottom},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static void run(const char *name)
{
	for (size_t i = 0; i < CASES; i++) {
		if (strcmp(cases[i].name, name) != 0)
			continue;
		MPI_Barrier(MPI_COMM_WORLD);
		cases[i].run();
		CHECK(!qv_mpi_set(NULL), "the settings of the environment are gone");
		if (!glue_rank)
			printf("%s: ok, %llu calls taken\n", name,
			       (unsigned long long)qv_mpi_taken());
		return;
	}
	CHECK(0, "no case \"%s\"", name);
}

int main(int argc, char **argv)
{
	int required = MPI_THREAD_FUNNELED, provided;

	if (argc > 1 && !strcmp(argv[1], "thread"))
		required = MPI_THREAD_MULTIPLE;
	MPI_Init_thread(&argc, &argv, required, &provided);
	CHECK(provided >= required, "this MPI lets one thread call at a time only");
	MPI_Comm_rank(MPI_COMM_WORLD, &glue_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &glue_ranks);
	for (int i = 1; i < argc; i++)
		run(argv[i]);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!glue_rank)
		printf("passed %d cases on %d ranks\n", argc - 1, glue_ranks);
	MPI_Finalize();
	return 0;
}
