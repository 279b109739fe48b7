/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - rows of a bench: collected, summed up, printed, written as JSON. */
#include "bench.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A bench that runs out of memory has no figures to save. */
static void *grown(void *array, size_t n, size_t *room, size_t item)
{
	if (n < *room)
		return array;
	*room = *room ? *room * 2 : 64;
	while (*room <= n)
		*room *= 2;
	array = realloc(array, *room * item);
	if (!array)
		abort();
	return array;
}

struct qv_bench_row *qv_bench_row_add(struct qv_bench *bench, const char *name, const char *impl,
				      const char *unit, bool more_is_better)
{
	struct qv_bench_row *row;

	bench->rows = grown(bench->rows, bench->rows_n, &bench->rows_room, sizeof(*row));
	row = &bench->rows[bench->rows_n++];
	memset(row, 0, sizeof(*row));
	snprintf(row->name, sizeof(row->name), "%s", name);
	snprintf(row->impl, sizeof(row->impl), "%s", impl);
	snprintf(row->unit, sizeof(row->unit), "%s", unit);
	snprintf(row->answer, sizeof(row->answer), "not run");
	row->more_is_better = more_is_better;
	return row;
}

void qv_bench_row_round(struct qv_bench_row *row, const float *samples, size_t n)
{
	float *mine;

	if (!n)
		return;
	row->samples = grown(row->samples, row->n + n, &row->room, sizeof(*row->samples));
	row->medians = realloc(row->medians, (row->rounds + 1) * sizeof(*row->medians));
	if (!row->medians)
		abort();
	mine = row->samples + row->n;
	memcpy(mine, samples, n * sizeof(*mine));
	row->medians[row->rounds++] = qv_bench_percentile(mine, n, 0.5);
	row->n += n;
}

void qv_bench_row_mean(struct qv_bench_row *row, double mean)
{
	row->means = realloc(row->means, row->rounds * sizeof(*row->means));
	if (!row->means)
		abort();
	row->means[row->rounds - 1] = mean;
}

void qv_bench_ratio_add(struct qv_bench *bench, size_t row, const char *of,
			struct qv_bench_interval ratio)
{
	struct qv_bench_ratio_line *line;

	bench->ratios = grown(bench->ratios, bench->ratios_n, &bench->ratios_room, sizeof(*line));
	line = &bench->ratios[bench->ratios_n++];
	line->row = row;
	line->ratio = ratio;
	snprintf(line->of, sizeof(line->of), "%s", of);
}

void qv_bench_verdict_add(struct qv_bench *bench, const char *key, double value)
{
	struct qv_bench_verdict *v;

	bench->verdict = grown(bench->verdict, bench->verdict_n, &bench->verdict_room, sizeof(*v));
	v = &bench->verdict[bench->verdict_n++];
	snprintf(v->key, sizeof(v->key), "%s", key);
	v->value = value;
}

void qv_bench_finish(struct qv_bench *bench)
{
	for (struct qv_bench_row *row = bench->rows; row < bench->rows + bench->rows_n; row++) {
		double sum = 0;

		if (!row->n)
			continue;
		for (size_t i = 0; i < row->n; i++)
			sum += (double)row->samples[i];
		row->mean = row->means ? qv_bench_median(row->means, row->rounds)
				       : sum / (double)row->n;
		row->p50 = qv_bench_percentile(row->samples, row->n, 0.5);
		row->p99 = qv_bench_percentile(row->samples, row->n,
					       row->more_is_better ? 0.01 : 0.99);
	}
}

static void print_ratios(const struct qv_bench *bench, size_t row, FILE *out)
{
	for (size_t i = 0; i < bench->ratios_n; i++) {
		const struct qv_bench_ratio_line *r = &bench->ratios[i];
		char text[64];

		if (r->row != row)
			continue;
		qv_bench_interval_text(r->ratio, text, sizeof(text));
		fprintf(out, "  %s x %s", text, r->of);
	}
}

void qv_bench_print(const struct qv_bench *bench, FILE *out)
{
	int wide_name = 4, wide_impl = 4;

	for (size_t i = 0; i < bench->rows_n; i++) {
		const struct qv_bench_row *row = &bench->rows[i];
		int name = (int)strlen(row->name), impl = (int)strlen(row->impl);

		wide_name = name > wide_name ? name : wide_name;
		wide_impl = impl > wide_impl ? impl : wide_impl;
	}
	fprintf(out, "\n%-*s  %-*s %10s %10s %10s  %-6s %8s  %-8s  ratio [95 %% interval]\n",
		wide_name, "case", wide_impl, "impl", "p50", "p99", "mean", "unit", "n", "answer");
	for (size_t i = 0; i < bench->rows_n; i++) {
		const struct qv_bench_row *row = &bench->rows[i];

		fprintf(out, "%-*s  %-*s ", wide_name, row->name, wide_impl, row->impl);
		if (row->n)
			fprintf(out, "%10.4g %10.4g %10.4g", row->p50, row->p99, row->mean);
		else
			fprintf(out, "%10s %10s %10s", "-", "-", "-");
		fprintf(out, "  %-6s %8zu  %-8s", row->unit, row->n, row->answer);
		print_ratios(bench, i, out);
		fputc('\n', out);
	}
}

static json_t *json_figure(double value)
{
	return isnan(value) ? json_null() : json_real(value);
}

/* A row without samples has null figures and an answer that says why. */
static json_t *json_row(const struct qv_bench_row *row)
{
	const bool none = !row->n;
	json_t *json = json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:I, s:s}", "case", row->name, "impl", row->impl,
		"unit", row->unit, "p50", json_figure(none ? NAN : row->p50), "p99",
		json_figure(none ? NAN : row->p99), "mean", json_figure(none ? NAN : row->mean),
		"n", (json_int_t)row->n, "answer", row->answer);
	if (!none && row->high > 0) {
		json_object_set_new(json, "low", json_figure(row->low));
		json_object_set_new(json, "high", json_figure(row->high));
	}
	return json;
}

static json_t *json_ratio(const struct qv_bench *bench, const struct qv_bench_ratio_line *line)
{
	const struct qv_bench_row *row = &bench->rows[line->row];

	/* one round has no interval: null */
	return json_pack("{s:s, s:s, s:s, s:f, s:o, s:o}", "case", row->name, "impl", row->impl,
			 "of", line->of, "ratio", line->ratio.value, "low",
			 json_figure(line->ratio.low), "high", json_figure(line->ratio.high));
}

int qv_bench_write_json(const struct qv_bench *bench, FILE *out)
{
	json_t *machine = json_object(), *rows = json_array(), *ratios = json_array();
	json_t *verdict = json_object(), *root;
	int rc;

	for (size_t i = 0; i < bench->facts_n; i++)
		json_object_set_new(machine, bench->facts[i].key,
				    json_string(bench->facts[i].value));
	for (size_t i = 0; i < bench->rows_n; i++)
		json_array_append_new(rows, json_row(&bench->rows[i]));
	for (size_t i = 0; i < bench->ratios_n; i++)
		json_array_append_new(ratios, json_ratio(bench, &bench->ratios[i]));
	for (size_t i = 0; i < bench->verdict_n; i++)
		json_object_set_new(verdict, bench->verdict[i].key,
				    json_real(bench->verdict[i].value));
	root = json_pack("{s:s, s:o, s:o, s:o}", "bench", bench->name, "machine", machine, "rows",
			 rows, "ratios", ratios);
	if (bench->verdict_n)
		json_object_set(root, "verdict", verdict);
	json_decref(verdict);
	rc = json_dumpf(root, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
	json_decref(root);
	return rc || fputc('\n', out) == EOF || fflush(out) ? -1 : 0;
}

int qv_bench_save(const struct qv_bench *bench, const struct qv_bench_opts *opts)
{
	int status = 0;

	if (opts->json && qv_bench_write_json(bench, opts->json_file)) {
		fprintf(stderr, "quiver: cannot write %s\n", opts->json);
		status = 1;
	}
	if (opts->plot && qv_bench_plot(bench, opts->plot))
		status = 1;
	for (size_t i = 0; i < bench->rows_n; i++)
		if (strncmp(bench->rows[i].answer, "wrong", 5) == 0)
			status = 1;
	return status;
}

void qv_bench_free(struct qv_bench *bench)
{
	for (size_t i = 0; i < bench->rows_n; i++) {
		free(bench->rows[i].samples);
		free(bench->rows[i].medians);
		free(bench->rows[i].means);
	}
	free(bench->rows);
	free(bench->ratios);
	free(bench->verdict);
}

void qv_bench_progress(const char *format, ...)
{
	va_list args;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	if (!format)
		return;
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
}
