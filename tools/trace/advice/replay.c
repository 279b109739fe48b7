/* SPDX-License-Identifier: BSD-2-Clause */
/* replay.c - `quiver trace replay`: every structure on a trace, side by side. */
#include "command.h"
#include "tools/trace/commands.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#include <quiver/isa.h>

#include "bench/match/match.h"
#include "engine/base/tag_bits.h"

struct options {
	struct qv_bench_opts common;
	struct qv_advice_choice choice;
	long rounds, seconds;
	struct qv_tag_bits collective;
	struct qv_bm_plugins plugins;
};

static void help(void)
{
	printf("usage: quiver trace replay [options] FILE...\n\n"
	       "What was recorded is asked of every matching structure again: answers compared, then\n"
	       "timed, side by side. Several files, lanes and processes are added up.\n\n"
	       "  --impl LIST        only these structures (comma between), as in quiver bench match\n"
	       "  --plugin FILE.so   implementations of others, see <quiver/contender.h>; repeatable\n"
	       "  --rank N           only this rank\n"
	       "  --lane N           only this lane, counted from 0 through all files\n"
	       "  --rounds N         rounds at most (11)\n"
	       "  --seconds N        end after so many seconds, with fewer rounds (60)\n"
	       "  --collective BITS  of the tags of collective messages, as FI_QUIVER_COLLECTIVE\n"
	       "                     has it: ompi, mpich or MASK[:OPERATION] (for col*)\n"
	       "  --max-events N     refuse more events than these (%d)\n"
	       "  --json FILE        write the figures as JSON\n"
	       "  --help             this text\n",
	       QV_LOAD_EVENTS);
}

static int take_bits(void *ctx, const char *text)
{
	if (qv_tag_bits_parse(text, ctx))
		return 0;
	fprintf(stderr,
		"quiver: --collective takes ompi, mpich or bits of a tag in hexadecimal, not '%s'\n",
		text);
	return -1;
}

/* The command. */

static void announce(struct qv_bench *bench, const struct options *o, const struct qv_load *load)
{
	char missing[96] = "", parts[32] = "";

	if (load->left_out)
		snprintf(parts, sizeof(parts), ", %llu left out",
			 (unsigned long long)load->left_out);
	qv_bench_machine(bench, &o->common);
	qv_bench_fact_add(bench, "isa", "%s", qv_isa_name(qv_isa_best()));
	qv_bench_fact_add(bench, "trace",
			  "%zu lanes of %zu processes: %llu events, %llu operations%s",
			  load->lanes_n, load->processes_n, (unsigned long long)load->events,
			  (unsigned long long)load->operations, parts);
	if (load->lost)
		snprintf(missing, sizeof(missing), "%llu events are not in it",
			 (unsigned long long)load->lost);
	if (!load->whole)
		snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), "%s%s",
			 load->lost ? "; " : "", "a process did not end it");
	if (*missing)
		qv_bench_fact_add(bench, "missing", "%s", missing);
	qv_bench_machine_print(bench, stdout);
	if (load->left_out)
		printf("  left out: operations on entries that waited before the trace began\n");
}

static int replay(const void *ctx, const struct qv_load *load)
{
	const struct options *o = ctx;
	const struct qv_measure_options options = {.impls = o->common.impls,
						   .plugins = o->plugins.at,
						   .plugins_n = o->plugins.n,
						   .rounds = (uint32_t)o->rounds,
						   .seconds = (double)o->seconds,
						   .collective = o->collective};
	struct qv_bench bench = {.program = "quiver trace", .name = "replay"};
	struct qv_measure m;
	int status;

	announce(&bench, o, load);
	status = qv_measure(&m, load, &options);
	if (!status) {
		qv_replay_print(&m, load);
		qv_replay_rows(&bench, &m, load);
		status = qv_bench_save(&bench, &o->common);
	}
	qv_measure_free(&m);
	qv_bench_free(&bench);
	return status;
}

int qv_trace_cmd_replay(int argc, char **argv)
{
	struct options o = {.choice = QV_ADVICE_ALL,
			    .rounds = 11,
			    .seconds = 60,
			    .common = {.argc = argc, .argv = argv}};
	const struct qv_bench_option all[] = {
		{"impl", .text = &o.common.impls},
		{"plugin", .take = qv_bm_take_plugin, .ctx = &o.plugins},
		{"rounds", .number = &o.rounds, .low = 1, .high = 1000},
		{"seconds", .number = &o.seconds, .low = 1, .high = 100000},
		{"collective", .take = take_bits, .ctx = &o.collective},
		QV_ADVICE_CHOICES(&o.choice),
		{"json", .take = qv_bench_take_json, .ctx = &o.common},
		{.name = NULL},
	};
	const int status =
		qv_advice_command("trace replay", argc, argv, all, &o.choice, help, replay, &o);

	qv_bench_opts_close(&o.common);
	return status;
}
