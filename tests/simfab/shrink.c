/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shrink.c - runs in processes of their own, and a failing one made smaller: parts of it are
 * switched off, as long as it still fails.
 */
#include "shrink.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A run that does not end is a failure, too. This is processor time. */
#define SECONDS_MAX     60
#define PACKETS_PER_SEC 1000

static void limit(const struct sf_config *cfg)
{
	struct rlimit cpu = {.rlim_max = RLIM_INFINITY};

	cpu.rlim_cur = SECONDS_MAX + cfg->packets / PACKETS_PER_SEC;
	setrlimit(RLIMIT_CPU, &cpu);
}

bool sf_run_apart(const struct sf_config *cfg, bool quiet)
{
	struct sf_config c = *cfg;
	int status, null;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return false;
	if (!pid) {
		null = quiet ? open("/dev/null", O_WRONLY) : -1;
		if (null >= 0) {
			dup2(null, 1);
			dup2(null, 2);
		}
		limit(&c);
		sf_run(&c);
	}
	while (waitpid(pid, &status, 0) != pid)
		;
	if (!quiet && WIFSIGNALED(status))
		printf("BROKEN: seed %llu ends by signal %d (%s)\n", (unsigned long long)cfg->seed,
		       WTERMSIG(status), strsignal(WTERMSIG(status)));
	return status == 0;
}

static bool still_fails(const struct sf_config *cfg, struct sf_config *best)
{
	if (sf_run_apart(cfg, true))
		return false;
	*best = *cfg;
	return true;
}

static bool less(struct sf_config *best, unsigned *(*part)(struct sf_config *c), unsigned least)
{
	bool any = false;

	for (;;) {
		struct sf_config c = *best;
		unsigned *p = part(&c);

		if (*p <= least)
			return any;
		*p = *p / 2 < least ? least : *p / 2;
		if (still_fails(&c, best)) {
			any = true;
			continue;
		}
		c = *best;
		if (*part(&c) <= least)
			return any;
		--*part(&c);
		if (!still_fails(&c, best))
			return any;
		any = true;
	}
}

static unsigned *procs_of(struct sf_config *c)
{
	return &c->procs;
}

static unsigned *ops_of(struct sf_config *c)
{
	return &c->ops;
}

static unsigned *hosts_of(struct sf_config *c)
{
	return &c->hosts;
}

static bool fewer_faults(struct sf_config *best)
{
	bool any = false;

	for (unsigned f = 0; f < SF_FAULTS; f++) {
		struct sf_config c = *best;

		if (!(c.faults >> f & 1))
			continue;
		c.faults &= ~(1u << f);
		any |= still_fails(&c, best);
	}
	return any;
}

static bool fewer_rounds(struct sf_config *best)
{
	for (uint64_t rounds = 1; rounds <= 16 && rounds < best->rounds; rounds *= 2) {
		struct sf_config c = *best;

		c.rounds = rounds;
		if (still_fails(&c, best))
			return true;
	}
	return false;
}

/* Other operations are drawn when one of these changes, so that what fails may be another thing. */
void sf_shrink(struct sf_config *cfg)
{
	struct sf_config c = *cfg;
	bool any = true;

	c.verbose = false;
	for (unsigned i = 0; i < 3 && any; i++) {
		any = fewer_faults(&c);
		any |= fewer_rounds(&c);
		any |= less(&c, procs_of, 2);
		any |= less(&c, ops_of, 1);
		any |= less(&c, hosts_of, 1);
	}
	*cfg = c;
}
