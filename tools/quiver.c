/* SPDX-License-Identifier: BSD-2-Clause */
/* quiver.c - the program `quiver`: finds the subcommand and runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <quiver/types.h>

#include "cmd.h"
#include "trace/commands.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the name */
	const char *what;
};

static int bench(int argc, char **argv);
static int trace(int argc, char **argv);
static int version(int argc, char **argv);
static int help(int argc, char **argv);

static const struct command commands[] = {
	{"info", qv_cmd_info, "what was built, what this machine has, what would be chosen"},
	{"stats", qv_cmd_stats, "counters of a job, from files of its processes"},
	{"top", qv_cmd_top, "what matching does in a process that runs: quiver top PID"},
	{"bench", bench, "measure: quiver bench <name>"},
	{"trace", trace, "what matching was asked for, from a file: quiver trace <command>"},
	{"version", version, "the version"},
	{"help", help, "quiver help <command>: what its options are"},
	{NULL, NULL, NULL},
};

static const struct command benches[] = {
	{"match", qv_bench_match, "matching engines: all structures side by side"},
#ifdef QV_HAVE_FABRIC
	{"fabric", qv_bench_fabric, "native libfabric providers against quiver over them"},
#endif
	{"coll", qv_bench_coll, "collectives of MPI programs, with ranks that come late"},
	{"exchange", qv_bench_exchange, "all-to-all and neighbourhood exchanges of MPI programs"},
	{"combine", qv_bench_combine, "reductions of arrays against a plain loop and Open MPI's"},
	{"offload", qv_bench_offload, "matching and reductions on an OpenCL device beside the CPU"},
	{"distance", qv_bench_distance, "how far the first two processors are from each other"},
	{NULL, NULL, NULL},
};

static const struct command traces[] = {
	{"dump", qv_trace_cmd_dump, "a trace as text, or as JSON"},
	{"cut", qv_trace_cmd_cut, "a part of a trace: a time, lanes, ranks"},
	{"merge", qv_trace_cmd_merge, "the traces of a job in one file"},
	{"anonymise", qv_trace_cmd_anonymise, "numbers for hosts, programs, tags and sources"},
	{"arrivals", qv_trace_cmd_arrivals, "the calls of a job's ranks, as matching"},
	{"generate", qv_trace_cmd_generate, "the trace of an application that has not run"},
	{"report", qv_trace_cmd_report, "a page that says whether quiver would help"},
	{"replay", qv_trace_cmd_replay, "every matching structure on a trace, side by side"},
	{"advise", qv_trace_cmd_advise, "would quiver help this program, and how"},
	{NULL, NULL, NULL},
};

static void usage(const char *prefix, const struct command *table, FILE *out)
{
	fprintf(out, "usage: %s <command> [options]\n\n", prefix);
	for (; table->name; table++)
		fprintf(out, "  %-9s %s\n", table->name, table->what);
	fprintf(out, "\n'%s <command> --help' tells more.\n", prefix);
}

/* Run the entry of table that argv[1] names. */
static int dispatch(const char *prefix, const struct command *table, int argc, char **argv)
{
	if (argc < 2) {
		usage(prefix, table, stderr);
		return 2;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		usage(prefix, table, stdout);
		return 0;
	}
	for (const struct command *c = table; c->name; c++)
		if (strcmp(argv[1], c->name) == 0)
			return c->run(argc - 1, argv + 1);
	fprintf(stderr, "quiver: unknown %s '%s'; '%s --help' lists them\n",
		argv[1][0] == '-' ? "option" : "command", argv[1], prefix);
	return 2;
}

static int bench(int argc, char **argv)
{
	return dispatch("quiver bench", benches, argc, argv);
}

static int trace(int argc, char **argv)
{
	return dispatch("quiver trace", traces, argc, argv);
}

static int version(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("quiver %s\n", qv_version());
	return 0;
}

/* `help a b` is `a b --help`. */
static int help(int argc, char **argv)
{
	static char name[] = "quiver", option[] = "--help";
	char *args[] = {name, option, option, option};

	for (int i = 1; i < argc && i < 3; i++)
		args[i] = argv[i];
	return dispatch(name, commands, argc < 3 ? argc + 1 : 4, args);
}

/* What was printed must have come out; a command that has failed has said why. */
static int finish(int status)
{
	int error = fflush(stdout) ? errno : ferror(stdout) ? EIO : 0;

	if (!error || status)
		return status;
	fprintf(stderr, "quiver: standard output cannot be written: %s\n", strerror(error));
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return finish(version(argc, argv));
	return finish(dispatch("quiver", commands, argc, argv));
}
