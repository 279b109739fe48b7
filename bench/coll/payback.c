/* SPDX-License-Identifier: BSD-2-Clause */
/* payback.c - after how many calls with neighbours a plan has saved as much time as it took. */
#include "coll.h"

#include <math.h>
#include <string.h>

static const struct qv_bench_row *find(const struct qv_bench *bench, const char *name, size_t n,
				       const char *impl)
{
	for (size_t i = 0; i < bench->rows_n; i++) {
		const struct qv_bench_row *row = &bench->rows[i];

		if (!strncmp(row->name, name, n) && !row->name[n] && !strcmp(row->impl, impl))
			return row->n ? row : NULL;
	}
	return NULL;
}

/* Of the plan in row i, whose case has a name of n characters, against another implementation. */
static void add(struct qv_bench *bench, size_t i, size_t n, const char *standard)
{
	const struct qv_bench_row *plan = &bench->rows[i];
	const struct qv_bench_row *own = find(bench, plan->name, n, plan->impl);
	const struct qv_bench_row *other = find(bench, plan->name, n, standard);
	struct qv_bench_row *row;
	char name[QV_BENCH_NAME], impl[QV_BENCH_NAME];
	float calls;
	bool wins;

	if (!own || !other || !strcmp(plan->impl, standard) ||
	    snprintf(name, sizeof(name), "%.*s-payback-%s", (int)n, plan->name, standard) >=
		    (int)sizeof(name))
		return;
	wins = own->p50 < other->p50;
	calls = wins ? (float)ceil(plan->p50 / (other->p50 - own->p50)) : 0;
	snprintf(impl, sizeof(impl), "%s", plan->impl); /* rows may move */
	row = qv_bench_row_add(bench, name, impl, "calls", false);
	snprintf(row->answer, sizeof(row->answer), "%s", wins ? "checked" : "never");
	if (wins)
		qv_bench_row_round(row, &calls, 1);
}

void qv_bx_payback(struct qv_bench *bench)
{
	const size_t rows = bench->rows_n, ending = strlen(QV_BX_PLANNING);

	for (size_t i = 0; i < rows; i++) {
		const size_t n = strlen(bench->rows[i].name);

		if (n < ending || strcmp(bench->rows[i].name + n - ending, QV_BX_PLANNING) != 0)
			continue;
		add(bench, i, n - ending, "mpi");
		add(bench, i, n - ending, "direct");
	}
}
