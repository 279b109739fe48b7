/* SPDX-License-Identifier: BSD-2-Clause */
/* machine.c - what a figure was taken on: CPU, load, compiler, commit. */
#include "bench.h"
#include "qv_commit.h" /* made at build time */

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

static const char *program_of(const struct qv_bench *bench)
{
	return bench->program ? bench->program : "quiver bench";
}

/* Arguments that a shell would take apart, in quotes. */
static void command_line(const struct qv_bench *bench, const struct qv_bench_opts *opts, char *text,
			 size_t size)
{
	size_t at = (size_t)snprintf(text, size, "%s", program_of(bench));

	for (int i = 0; i < opts->argc && at < size; i++) {
		const char *arg = opts->argv[i];
		const char *quote = strpbrk(arg, " ;*?[|&") ? "'" : "";

		at += (size_t)snprintf(text + at, size - at, " %s%s%s", quote, arg, quote);
	}
}

static void occasion(struct qv_bench *bench, const struct qv_bench_opts *opts)
{
	char text[sizeof(bench->facts->value)];
	time_t now = time(NULL);
	struct tm utc;

	strftime(text, sizeof(text), "%FT%TZ", gmtime_r(&now, &utc));
	qv_bench_fact_add(bench, "date", "%s", text);
	command_line(bench, opts, text, sizeof(text));
	qv_bench_fact_add(bench, "command", "%s", text);
}

void qv_bench_machine(struct qv_bench *bench, const struct qv_bench_opts *opts)
{
	char model[128];
	double load = 0;

	if (opts)
		occasion(bench, opts);
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

/* The load of the last minute is all that can be asked for without waiting. */
static void warn_if_busy(void)
{
	const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
	double load;

	if (getloadavg(&load, 1) == 1 && load > cores / 2)
		fprintf(stderr,
			"quiver: warning: load %.1f on %.0f processors: other programs run here, and "
			"figures taken\nbeside them differ from run to run; compare ratios only\n",
			load, cores);
}

void qv_bench_machine_print(const struct qv_bench *bench, FILE *out)
{
	fprintf(out, "%s %s\n", program_of(bench), bench->name);
	for (size_t i = 0; i < bench->facts_n; i++)
		fprintf(out, "  %-10s %s\n", bench->facts[i].key, bench->facts[i].value);
	fflush(out);
	warn_if_busy();
}
