/* SPDX-License-Identifier: BSD-2-Clause */
/* sim_fabric.c - the simulator's program: runs by seed, a file of seeds, a failing
 * run made small. */
#include "fab.h"
#include "shrink.h"

#include <getopt.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct job {
	struct sf_config cfg;
	uint64_t runs, total; /* packets of all of them; 0: runs are given */
	bool shrink, here, must_fail;
	const char *seeds;
};

static const char usage[] =
	"sim_fabric - the provider over simulated cores, networks, processes and clocks\n"
	"  --seed N         the first run; all that is not given is drawn from it (1)\n"
	"  --runs N         with the seeds behind it (1)\n"
	"  --total N        runs until so many packets have been carried\n"
	"  --packets N      a run ends when it has carried so many (50000)\n"
	"  --rounds N       or after so many rounds of storm and rest\n"
	"  --faults LIST    delay,eagain,nomem,... or all, none (delay,eagain,nopoll)\n"
	"  --core LIST      as FI_QUIVER_CORE: tcp, net, tcp;ofi_rxm, shm, shm,tcp ...\n"
	"  --version A.B    of libfabric\n"
	"  --procs N --hosts N --ops N --large PERCENT\n"
	"  --seeds FILE     run each line of it as options\n"
	"  --here           in this process, for a debugger\n"
	"  --no-shrink      leave a failing run as it is\n"
	"  --must-fail      0 if a run breaks a law: the simulator finds what it is to find\n"
	"  --verbose        the provider's log and what the applications are told\n";

enum {
	O_SEED = 256,
	O_RUNS,
	O_TOTAL,
	O_PACKETS,
	O_ROUNDS,
	O_FAULTS,
	O_CORE,
	O_VERSION,
	O_PROCS,
	O_HOSTS,
	O_OPS,
	O_LARGE,
	O_SEEDS,
	O_HERE,
	O_KEEP,
	O_FAIL,
	O_VERBOSE,
	O_HELP
};

static const struct option options[] = {
	{"seed", 1, NULL, O_SEED},
	{"runs", 1, NULL, O_RUNS},
	{"total", 1, NULL, O_TOTAL},
	{"packets", 1, NULL, O_PACKETS},
	{"rounds", 1, NULL, O_ROUNDS},
	{"faults", 1, NULL, O_FAULTS},
	{"core", 1, NULL, O_CORE},
	{"version", 1, NULL, O_VERSION},
	{"procs", 1, NULL, O_PROCS},
	{"hosts", 1, NULL, O_HOSTS},
	{"ops", 1, NULL, O_OPS},
	{"large", 1, NULL, O_LARGE},
	{"seeds", 1, NULL, O_SEEDS},
	{"here", 0, NULL, O_HERE},
	{"no-shrink", 0, NULL, O_KEEP},
	{"must-fail", 0, NULL, O_FAIL},
	{"verbose", 0, NULL, O_VERBOSE},
	{"help", 0, NULL, O_HELP},
	{NULL, 0, NULL, 0},
};

static void wrong(const char *what)
{
	fprintf(stderr, "sim_fabric: %s\n%s", what, usage);
	exit(2);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (!*text || *end)
		wrong("not a number");
	return n;
}

static uint32_t version_of(const char *text)
{
	unsigned major, minor;

	if (sscanf(text, "%u.%u", &major, &minor) != 2)
		wrong("--version is as in 2.1");
	return FI_VERSION(major, minor);
}

static void take(struct job *job, int option, const char *arg)
{
	struct sf_config *c = &job->cfg;

	switch (option) {
	case O_SEED: c->seed = number(arg); break;
	case O_RUNS: job->runs = number(arg); break;
	case O_TOTAL: job->total = number(arg); break;
	case O_PACKETS: c->packets = number(arg); break;
	case O_ROUNDS: c->rounds = number(arg); break;
	case O_FAULTS:
		if (!sf_faults_parse(arg, &c->faults))
			wrong("no such fault");
		break;
	case O_CORE: c->core = arg; break;
	case O_VERSION: c->version = version_of(arg); break;
	case O_PROCS: c->procs = (unsigned)number(arg); break;
	case O_HOSTS: c->hosts = (unsigned)number(arg); break;
	case O_OPS: c->ops = (unsigned)number(arg); break;
	case O_LARGE: c->large = (unsigned)number(arg); break;
	case O_SEEDS: job->seeds = arg; break;
	case O_HERE: job->here = true; break;
	case O_KEEP: job->shrink = false; break;
	case O_FAIL: job->must_fail = true; break;
	case O_VERBOSE: c->verbose = true; break;
	case O_HELP: fputs(usage, stdout); exit(0);
	default: wrong("no such option");
	}
}

static void parse(struct job *job, int argc, char **argv)
{
	int option;

	optind = 0;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		take(job, option, optarg);
	if (optind < argc)
		wrong("too many words");
	if (job->total)
		job->runs = (job->total + job->cfg.packets - 1) / job->cfg.packets;
}

/* True: the laws held. */
static bool run_one(const struct job *job, uint64_t seed)
{
	struct sf_config cfg = job->cfg;

	cfg.seed = seed;
	sf_config_draw(&cfg);
	if (job->here)
		sf_run(&cfg);
	if (sf_run_apart(&cfg, job->must_fail))
		return true;
	if (job->must_fail)
		return false;
	if (job->shrink) {
		printf("making it smaller\n");
		sf_shrink(&cfg);
		sf_run_apart(&cfg, false);
	}
	return false;
}

static int run_job(const struct job *job)
{
	for (uint64_t i = 0; i < job->runs; i++) {
		if (run_one(job, job->cfg.seed + i))
			continue;
		if (job->must_fail)
			printf("found by seed %llu\n", (unsigned long long)(job->cfg.seed + i));
		return !job->must_fail;
	}
	if (job->must_fail)
		printf("NOT FOUND by %llu runs\n", (unsigned long long)job->runs);
	return job->must_fail;
}

/* Lines of options; what follows a # is for the reader. */
static int run_seeds(const struct job *base)
{
	FILE *f = fopen(base->seeds, "r");
	char line[1024];
	int bad = 0, n = 0;

	if (!f)
		wrong("--seeds: the file cannot be read");
	while (fgets(line, sizeof line, f)) {
		struct job job = *base;
		char *argv[64], *state = NULL;
		int argc = 1;

		line[strcspn(line, "#\n")] = 0;
		argv[0] = line;
		for (char *w = strtok_r(line, " '", &state); w && argc < 63;
		     w = strtok_r(NULL, " '", &state))
			argv[argc++] = w;
		argv[argc] = NULL;
		if (argc == 1)
			continue;
		parse(&job, argc, argv);
		n++;
		bad += run_job(&job);
	}
	fclose(f);
	printf("%d lines of %s, %d of them fail\n", n, base->seeds, bad);
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct job job = {.cfg = {.seed = 1,
				  .packets = 50000,
				  .faults = 1u << SF_DELAY | 1u << SF_EAGAIN | 1u << SF_NOPOLL},
			  .runs = 1,
			  .shrink = true};

	/* Large buffers come and go all the time: without this the kernel clears each anew. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	unsetenv("FI_PROVIDER"); /* the core here is none of libfabric's */
	parse(&job, argc, argv);
	return job.seeds ? run_seeds(&job) : run_job(&job);
}
