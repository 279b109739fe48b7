/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - libquiver-am over an MPI: all cases, or those that are named. */
#include "am.h"

#include <string.h>

int rank, ranks;

static uint64_t mine, common = 88172645463325252u;

static uint32_t next(uint64_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)((*state >> 20) % n);
}

uint32_t draw(uint32_t n)
{
	return next(&mine, n);
}

uint32_t draw_alike(uint32_t n)
{
	return next(&common, n);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"streams", streams},
	{"answers", answers},
	{"by_chance", by_chance},
	{"two_at_a_time", two_at_a_time},
	{"waits", waits},
	{"refused", refused},
	{"vranks", vranks},
	{"vranks_refused", vranks_refused},
	{"homes_by_others", homes_by_others},
};

int main(int argc, char **argv)
{
	struct qv_stream_spec spec = {.way = QV_WAY_DIRECT};
	struct qv_am_stream *s;
	int n = 0;

	check(qv_am_stream_create(0, &spec, NULL, NULL, &s) == QV_EINVAL); /* no MPI yet */
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	mine = 1000003u * (uint64_t)(rank + 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc < 2 || !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			n++;
		}
	check(n);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		printf("passed %d cases with %d ranks\n", n, ranks);
	MPI_Finalize();
	return 0;
}
