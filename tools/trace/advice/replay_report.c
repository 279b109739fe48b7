/* SPDX-License-Identifier: BSD-2-Clause */
/* replay_report.c - the figures of a replay: the table, and the rows for JSON. */
#include "replay.h"

#include <math.h>
#include <string.h>

/* The process that takes longest with auto, or else with the first structure that has figures. */
static size_t slowest(const struct qv_measure *m)
{
	const struct qv_measure_figure *f = qv_measure_find(m, "auto");
	size_t slow = 0;

	for (size_t i = 0; (!f || !f->measured) && i < m->n; i++)
		f = &m->at[i];
	for (size_t p = 0; f && f->measured && p < m->processes_n; p++)
		if (f->process_ns[p] > f->process_ns[slow])
			slow = p;
	return slow;
}

static const char *process_name(const struct qv_load *load, size_t process, char *text, size_t size)
{
	const struct qv_trace_process *p = &load->processes[process];

	if (p->rank >= 0)
		snprintf(text, size, "rank %d", p->rank);
	else
		snprintf(text, size, "process %u", p->pid);
	return text;
}

static void put(double value, int wide)
{
	if (isnan(value))
		printf(" %*s", wide, "-");
	else
		printf(value < 100 ? " %*.2f" : " %*.0f", wide, value);
}

static void put_interval(struct qv_bench_interval i, int wide)
{
	char text[64];

	if (isnan(i.value))
		snprintf(text, sizeof(text), "-");
	else if (i.value < 100 || isnan(i.low))
		qv_bench_interval_text(i, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%.0f [%.0f, %.0f]", i.value, i.low, i.high);
	printf(" %*s", wide, text);
}

static void put_table(const struct qv_measure *m, const struct qv_load *load)
{
	const size_t slow = slowest(m);
	char who[48];

	process_name(load, slow, who, sizeof(who));
	strcat(who, " ms");
	printf("\n%-12s %26s %8s %8s %24s %10s %10s %10s", "structure", "ns/op [95 %]", "p50",
	       "p99", "x auto [95 %]", "hit sees", "miss sees", "bytes");
	printf(m->processes_n > 1 ? "  %12s\n" : "\n", who);
	for (size_t i = 0; i < m->n; i++) {
		const struct qv_measure_figure *f = &m->at[i];

		if (!f->measured)
			continue;
		printf("%-12s", f->name);
		put_interval(f->ns, 26);
		put(f->p50, 8);
		put(f->p99, 8);
		put_interval(f->ratio, 24);
		put(f->inspected_hit, 10);
		put(f->inspected_miss, 10);
		printf(" %10llu", (unsigned long long)f->memory);
		if (m->processes_n > 1)
			printf("  %12.3f", f->process_ns[slow] / 1e6);
		printf("\n");
	}
}

static void put_reasons(const struct qv_measure *m)
{
	bool any = false;

	for (size_t i = 0; i < m->n; i++) {
		if (m->at[i].measured)
			continue;
		printf("%s%s: %s\n", any ? "" : "\nwithout figures\n", m->at[i].name,
		       m->at[i].answer);
		any = true;
	}
}

/* What was asked for, and what a plain list says of it. */
static void put_trace(const struct qv_measure *m, const struct qv_load *load)
{
	const struct qv_plain *plain = &m->plain;
	uint64_t posted = 0, unexpected = 0;

	for (size_t i = 0; i < load->lanes_n; i++) {
		posted = load->lanes[i].posted_max > posted ? load->lanes[i].posted_max : posted;
		unexpected = load->lanes[i].unexpected_max > unexpected
				     ? load->lanes[i].unexpected_max
				     : unexpected;
	}
	printf("\nA plain list of this trace: %llu searches find an entry, half of them within %llu; "
	       "%llu find none.\nLongest queues: %llu posted, %llu unexpected. %llu of %llu answers "
	       "were compared with it, all with each structure's.\n",
	       (unsigned long long)plain->hits, (unsigned long long)plain->median_position,
	       (unsigned long long)plain->misses, (unsigned long long)posted,
	       (unsigned long long)unexpected, (unsigned long long)plain->checked,
	       (unsigned long long)load->operations);
}

void qv_replay_print(const struct qv_measure *m, const struct qv_load *load)
{
	put_table(m, load);
	put_reasons(m);
	put_trace(m, load);
}

/* What is written as JSON. */

static void add_row(struct qv_bench *bench, const struct qv_measure_figure *f, const char *name,
		    const char *unit, double value)
{
	struct qv_bench_row *row = qv_bench_row_add(bench, name, f->name, unit, false);

	snprintf(row->answer, sizeof(row->answer), "%s", f->answer);
	row->n = f->measured ? f->rounds : 0;
	row->p50 = row->p99 = row->mean = value;
}

/* What FI_QUIVER_STATS=json would have of these operations, by the names that it has. */
static void add_counters(struct qv_bench *bench, const struct qv_measure_figure *f)
{
	if (!f || !f->measured)
		return;
	qv_bench_verdict_add(bench, "posted", (double)f->stats.posted);
	qv_bench_verdict_add(bench, "arrived", (double)f->stats.arrived);
	qv_bench_verdict_add(bench, "unexpected", (double)f->stats.unexpected);
	qv_bench_verdict_add(bench, "inspected", (double)f->stats.inspected);
	qv_bench_verdict_add(bench, "posted_max", (double)f->stats.posted_max);
	qv_bench_verdict_add(bench, "unexpected_max", (double)f->stats.unexpected_max);
	qv_bench_verdict_add(bench, "mode_changes", (double)f->stats.mode_flips);
}

void qv_replay_rows(struct qv_bench *bench, const struct qv_measure *m, const struct qv_load *load)
{
	const size_t slow = slowest(m);
	char who[48];

	for (size_t i = 0; i < m->n; i++) {
		const struct qv_measure_figure *f = &m->at[i];
		struct qv_bench_row *row;

		add_row(bench, f, "trace", "ns/op", f->ns.value);
		row = &bench->rows[bench->rows_n - 1];
		row->p50 = f->p50;
		row->p99 = f->p99;
		row->low = f->ns.low;
		row->high = f->ns.high;
		if (!f->measured)
			continue;
		if (!isnan(f->ratio.value))
			qv_bench_ratio_add(bench, bench->rows_n - 1, "auto", f->ratio);
		add_row(bench, f, "inspected", "count", (double)f->inspected);
		add_row(bench, f, "inspected/hit", "count", f->inspected_hit);
		add_row(bench, f, "inspected/miss", "count", f->inspected_miss);
		add_row(bench, f, "memory", "bytes", (double)f->memory);
		add_row(bench, f, process_name(load, slow, who, sizeof(who)), "ns",
			f->process_ns[slow]);
	}
	add_counters(bench, qv_measure_find(m, "auto"));
	qv_bench_verdict_add(bench, "operations", (double)m->operations);
	qv_bench_verdict_add(bench, "left_out", (double)load->left_out);
	qv_bench_verdict_add(bench, "list_inspected",
			     (double)(m->plain.inspected_hit + m->plain.inspected_miss));
	qv_bench_verdict_add(bench, "list_checked", (double)m->plain.checked);
}
