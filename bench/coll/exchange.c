/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c - `quiver bench exchange`: what it has of its own. */
#include "coll.h"

static int is_exchange(enum qv_bl_operation operation)
{
	return operation > QV_BL_PAIR || operation == QV_BL_ALLGATHER ||
	       operation == QV_BL_ALLTOALL;
}

int qv_bench_exchange(int argc, char **argv)
{
	static const char *const impls[] = {"mpi",       "auto",      "direct", "ring",
					    "prefix",    "kprefix",   "kshift", "mesh2",
					    "mesh3",     "hypercube", "hybrid", "crystal",
					    "crystal:4", "friends",   "nodes",  NULL};
	static const char *const quick[] = {"mpi", "auto", "direct", NULL};
	static const struct qv_bl_front front = {
		.name = "exchange",
		.about =
			"All-to-all, allgather and neighbourhood exchanges of MPI programs by "
			"libquiver-mpi's\nschedules against the MPI's own, in the same processes, in "
			"turn.\n\n"
			"  <operation>/<ranks>/<bytes>/<pattern>   us from the first arrival to the "
			"last exit;\n"
			"                   <bytes>: of one block; <pattern>-messages, <pattern>-bytes: what\n"
			"                   the rank that sends most sends in one call by a schedule;\n"
			"                   of neighbours <pattern>-planning: us to make the plan;\n"
			"                   <pattern>-payback-mpi, <pattern>-payback-direct: after how\n"
			"                   many calls it has saved that, or never\n",
		.patterns =
			"pattern:  all: a block for each rank; uneven: of 0, 1 or 2 times the bytes\n"
			"          of alltoallv also partners<k>: only for k ranks each, spread over all;\n"
			"          near<k>: for the k nearest in number; near<k>-stride<s>: of every s-th\n"
			"          of neighbor_*: moore<r>: the ranks on a periodic square grid, up\n"
			"          to r away; random<d>: each rank with probability d\n"
			"          of spmm, a stripe of a sparse matrix times one of <bytes> of a dense\n"
			"          one for each rank: survey, structure, journals, genes; from all ranks,\n"
			"          not only those that are needed: <pattern>-allgather\n"
			"          of stream, tiny items in buckets, us an item: ring<n>: to the next\n"
			"          rank, n to a bucket; each<k>: k items for each rank, 500 to a bucket\n",
		.options = "",
		.impls = impls,
		.quick = quick,
		.is_own = is_exchange,
		.cases = qv_bx_case_list,
	};

	return qv_bl_main(&front, argc, argv);
}
