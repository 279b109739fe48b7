/* SPDX-License-Identifier: BSD-2-Clause */
/* machine.c - what a figure was taken on: CPU, load, compiler, commit. */
#include "bench.h"
#include "qv_commit.h" /* made at build time */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <quiver/types.h>

#if defined(__clang__)
#define QV_BENCH_COMPILER "clang " __clang_version__
#else
#define QV_BENCH_COMPILER "gcc " __VERSION__
#endif

void qv_bench_fact_add(struct qv_bench *bench, const char *key, const char *format, ...)
{
	struct qv_bench_fact *fact = &bench->facts[bench->facts_n];
	va_list args;

	if (bench->facts_n == sizeof(bench->facts) / sizeof(bench->facts[0]))
		return;
	bench->facts_n++;
	snprintf(fact->key, sizeof(fact->key), "%s", key);
	va_start(args, format);
	vsnprintf(fact->value, sizeof(fact->value), format, args);
	va_end(args);
}

static void cpu_model(char *model, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256];

	snprintf(model, size, "unknown");
	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !colon)
			continue;
		colon[1 + strcspn(colon + 1, "\n")] = 0;
		snprintf(model, size, "%s", colon + 1 + strspn(colon + 1, " "));
		break;
	}
	if (f)
		fclose(f);
}

void qv_bench_machine(struct qv_bench *bench)
{
	char model[128];
	double load = 0;

	cpu_model(model, sizeof(model));
	qv_bench_fact_add(bench, "cpu", "%s", model);
	qv_bench_fact_add(bench, "cores", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	if (getloadavg(&load, 1) == 1)
		qv_bench_fact_add(bench, "load", "%.2f", load);
	qv_bench_fact_add(bench, "compiler", "%s", QV_BENCH_COMPILER);
	qv_bench_fact_add(bench, "build", "%s", QV_BUILD_TYPE);
	qv_bench_fact_add(bench, "quiver", "%s", QUIVER_VERSION);
	qv_bench_fact_add(bench, "commit", "%s", QV_COMMIT);
}

void qv_bench_machine_print(const struct qv_bench *bench, FILE *out)
{
	fprintf(out, "quiver bench %s\n", bench->name);
	for (size_t i = 0; i < bench->facts_n; i++)
		fprintf(out, "  %-10s %s\n", bench->facts[i].key, bench->facts[i].value);
	fflush(out);
}
