/* SPDX-License-Identifier: BSD-2-Clause */
/* table.c - the patterns, and how one is played. */
#include "patterns.h"

#define THESIS "M. Ghazimirsaeed, PhD thesis, Queen's University, 2019"

const struct qv_pattern qv_patterns[] = {
	{"fds",
	 "Fire Dynamics Simulator: all ranks send eight arrays to rank 0 in each step, half of them "
	 "before it asks; long queues there, none elsewhere (" THESIS ")",
	 qv_pattern_fds, 128, 4, true},
	{"amg",
	 "AMG2006, algebraic multigrid: many short messages, from more neighbours on each coarser "
	 "level (" THESIS ")",
	 qv_pattern_amg, 64, 2, true},
	{"minife",
	 "MiniFE, finite elements by conjugate gradients: six neighbours and two reductions in each "
	 "step; short queues (Mantevo)",
	 qv_pattern_minife, 27, 50, true},
	{"miniamr",
	 "MiniAMR, adaptive mesh refinement: a receive for each face of each block, from neighbours "
	 "that change, and reductions (Mantevo; " THESIS ")",
	 qv_pattern_miniamr, 32, 12, true},
	{"radix",
	 "Radix sort: keys from everybody to everybody, received from any source, after histograms "
	 "are gathered (" THESIS ")",
	 qv_pattern_radix, 32, 4, true},
	{"nbody",
	 "N-body in a ring: each rank passes bodies on to the next, two receives ahead; then an "
	 "allgather (" THESIS ")",
	 qv_pattern_nbody, 32, 10, true},
	{"cholesky",
	 "Tiled Cholesky factorisation with tasks: a tag for each tile, receives in the order that "
	 "tasks come, most messages before them (M. Moraru and others, SBAC-PAD 2022)",
	 qv_pattern_cholesky, 16, 1, false},
	{"stencil26",
	 "A stencil in three dimensions: four fields from 26 neighbours, whose messages come in any "
	 "order",
	 qv_pattern_stencil, 27, 10, false},
	{"quicksilver",
	 "Particles as in Quicksilver: any number of messages from any neighbour, found by probes, "
	 "and receives that are cancelled (Monte Carlo transport; M. Moraru and others, 2022)",
	 qv_pattern_quicksilver, 27, 10, true},
	{"shuffle",
	 "No application: receives of as many tags as there are ranks, times 16, and their messages in "
	 "any other order (M. Moraru and others, 2022)",
	 qv_pattern_shuffle, 16, 10, false},
	{.name = NULL},
};

int qv_pattern_play(const struct qv_pattern *pattern, uint32_t ranks, uint32_t iterations,
		    uint64_t seed, uint32_t any_source, struct qv_trace_file *file)
{
	struct qv_job job;

	qv_job_init(&job, file, pattern->name, ranks, pattern->collective, seed);
	job.any_source = any_source;
	for (; job.iteration < iterations && !job.error; job.iteration++)
		pattern->iterate(&job);
	qv_job_fini(&job);
	return job.error;
}
