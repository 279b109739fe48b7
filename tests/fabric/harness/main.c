/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - driver of the conformance tests: forks the ranks of each case and
 * watches the clock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ft.h"

#include <execinfo.h>
#include <fnmatch.h>
#include <glob.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

static const struct ft_case *const tables[] = {
	ft_cases_basic,      ft_cases_pingpong,     ft_cases_order,        ft_cases_random,
	ft_cases_peek,       ft_cases_cancel,       ft_cases_trunc,        ft_cases_completion,
	ft_cases_many,       ft_cases_errors,       ft_cases_names,        ft_cases_beside,
	ft_cases_multi,      ft_cases_cntr,         ft_cases_wait,         ft_cases_rma,
	ft_cases_queue,      ft_cases_flow,         ft_cases_large,        ft_cases_av,
	ft_cases_close,      ft_cases_thread,       ft_cases_bad,          ft_cases_env,
	ft_cases_kill,       ft_cases_kill_state,   ft_cases_kill_unknown, ft_cases_fuzz,
	ft_cases_assertion,  ft_cases_stats,        ft_cases_fork,         ft_cases_coll,
	ft_cases_coll_bad,   ft_cases_coll_local,   ft_cases_pair,         ft_cases_atomic,
	ft_cases_onesided,   ft_cases_onesided_bad, ft_cases_atomic_types, ft_cases_atomic_own,
	ft_cases_auto,       ft_cases_sweep,        ft_cases_rows,         ft_cases_soak,
	ft_cases_exchange,   ft_cases_stream,       ft_cases_cut,          ft_cases_death,
	ft_cases_stop,       ft_cases_cut_sweep,    ft_cases_restart,      ft_cases_millions,
	ft_cases_churn,      ft_cases_coll_memory,  ft_cases_eq,           ft_cases_any_interface,
	ft_cases_rma_cntr,   ft_cases_fence,        ft_cases_rails,        ft_cases_stays,
	ft_cases_coll_habit, ft_cases_totals,       ft_cases_late,
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

static double env_number(const char *name)
{
	const char *text = getenv(name);
	double value = text ? atof(text) : 1.0;

	return value > 0 ? value : 1.0;
}

/* The driver asks a rank that hangs for its stack. */
static void on_usr1(int sig)
{
	void *frame[48];

	(void)sig;
	backtrace_symbols_fd(frame, backtrace(frame, 48), STDERR_FILENO);
}

/* A killed process leaves its shared memory behind: libfabric's shm names it PID:UID:INDEX. */
static void sweep_shm(pid_t pid)
{
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "/dev/shm/%d:*", pid);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t f = 0; f < found.gl_pathc; f++)
		unlink(found.gl_pathv[f]);
	globfree(&found);
}

/* What a launcher tells its processes. */
static void launch_env(const struct ft_case *c, int rank)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", rank);
	setenv("PMI_RANK", number, 1);
	snprintf(number, sizeof(number), "%d", c->ranks);
	setenv("PMI_SIZE", number, 1);
}

static void rank_main(const struct ft_case *c, int rank)
{
	void *frame[1];

	backtrace(frame, 1); /* loads libgcc now, not inside the handler */
	signal(SIGUSR1, on_usr1);
	signal(SIGPIPE, SIG_IGN);
	sweep_shm(getpid()); /* of an earlier process with this number */
	launch_env(c, rank);
	if (!ft_apart() && getenv("QV_TEST_NODES") && rank == c->ranks - 1)
		ft_elsewhere();
	c->run();
	fflush(NULL);
	exit(0); /* not _exit: destructors and the leak check belong to the test */
}

static void stop_ranks(const struct ft_case *c, const bool *gone, int sig)
{
	for (int i = 0; i < c->ranks; i++) {
		const struct ft_rank *r = &ft.sh->rank[i];

		if (!gone[i])
			kill(r->pid > 0 ? r->pid : r->child, sig);
	}
}

static void say_where(const struct ft_case *c, const bool *gone)
{
	for (int i = 0; i < c->ranks; i++) {
		const struct ft_rank *r = &ft.sh->rank[i];

		if (gone[i]) {
			printf("  rank %d has ended\n", i);
			continue;
		}
		printf("  rank %d hangs at %s:%d, stack:\n", i, ft_file(r), r->line);
		fflush(stdout);
		if (r->pid > 0)
			kill(r->pid, SIGUSR1);
		usleep(100000);
	}
}

/* Why the rank ended badly; NULL if it did not. */
static const char *verdict(int i, int status, bool *skip)
{
	static char text[80];

	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		*skip = true;
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		snprintf(text, sizeof(text), "rank %d ended with status %d", i,
			 WEXITSTATUS(status));
	else if (WIFSIGNALED(status) && !ft.sh->rank[i].may_die)
		snprintf(text, sizeof(text), "rank %d: %s", i, strsignal(WTERMSIG(status)));
	else
		return NULL;
	return *skip ? NULL : text;
}

/* 0 passed, 1 failed, 77 skipped. */
static int watch(const struct ft_case *c)
{
	double limit = c->limit * ft.patience;
	double start = ft_now(), deadline = start + limit;
	bool gone[FT_MAX_RANKS] = {false}, skip = false, stopped = false;
	const char *why = NULL;

	for (int left = c->ranks; left > 0;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		for (int i = 0; pid > 0 && i < c->ranks; i++) {
			if (ft.sh->rank[i].child != pid)
				continue;
			gone[i] = true;
			left--;
			if (!why)
				why = verdict(i, status, &skip);
			if ((why || skip) && !stopped) {
				usleep(200000); /* a moment for the others to say what they saw */
				stop_ranks(c, gone, SIGKILL);
				stopped = true;
			}
		}
		if (pid <= 0 && ft_now() > deadline && !why) {
			printf("  %s: no end after %.0f s\n", c->name, limit);
			say_where(c, gone);
			why = "hang";
			stop_ranks(c, gone, SIGKILL);
		}
		if (pid <= 0)
			usleep(500);
	}
	for (int i = 0; i < c->ranks; i++)
		sweep_shm(ft.sh->rank[i].pid);
	printf("%s %s %.2f s%s%s\n",
	       why    ? "FAIL"
	       : skip ? "skip"
		      : "ok  ",
	       c->name, ft_now() - start, why ? ": " : "", why ? why : "");
	fflush(stdout);
	return why ? 1 : skip ? SKIPPED : 0;
}

static int run_case(const struct ft_case *c)
{
	memset(ft.sh, 0, sizeof(*ft.sh));
	ft.sh->members = (uint32_t)c->ranks;
	ft.name = c->name;
	ft.n = c->ranks;
	fflush(NULL);
	for (int i = 0; i < c->ranks; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			ft.rank = i;
			ft_enter_host();
			rank_main(c, i);
		}
		ft.sh->rank[i].child = pid;
		if (!ft_apart())
			ft.sh->rank[i].pid = pid;
	}
	return watch(c);
}

static int usage(void)
{
	printf("usage: test_fabric [--list] [NAME...]\n"
	       "Runs the cases whose names match (shell patterns; default: all) over FI_PROVIDER.\n"
	       "Exit: 0 passed, 1 failed, 77 every case was skipped.\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *filter = getenv("FI_PROVIDER");
	const char *prov = getenv("QV_TEST_PROVIDER"), *mode = getenv("FI_QUIVER_MODE");
	int failed = 0, passed = 0, chosen = 0, repeat;
	bool list = argc == 2 && !strcmp(argv[1], "--list");

	if (argc > 1 && argv[1][0] == '-' && !list)
		return usage();
	ft.prov = prov ? prov : filter;
	if (!ft.prov && !list) {
		printf("name the provider in FI_PROVIDER or QV_TEST_PROVIDER\n");
		return 2;
	}
	ft.quiver = ft.prov && strstr(ft.prov, "quiver");
	ft.peer = ft.quiver && mode && !strcmp(mode, "peer");
	if (ft.peer && !list && FI_VERSION_LT(fi_version(), FI_VERSION(2, 0))) {
		printf("FI_QUIVER_MODE=peer needs libfabric 2.0, this is %u.%u: not run\n",
		       FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
		return SKIPPED;
	}
	ft.scale = env_number("QV_TEST_SCALE");
	ft.patience = env_number("QV_TEST_TIMEOUT");
	repeat = (int)env_number("QV_TEST_REPEAT");
	ft.sh = mmap(NULL, sizeof(*ft.sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (ft.sh == MAP_FAILED)
		return 1;
	ft_claim_ports();
	for (size_t i = 0; i < TABLES; i++) {
		for (const struct ft_case *c = tables[i]; c->name; c++) {
			bool wanted = argc == 1 || list;
			int result = 0;

			for (int a = 1; a < argc; a++)
				wanted = wanted || fnmatch(argv[a], c->name, 0) == 0;
			if (!wanted)
				continue;
			chosen++;
			if (list) {
				printf("%s\n", c->name);
				continue;
			}
			for (int r = 0; r < repeat && (!r || !result); r++)
				result = run_case(c);
			failed += result == 1;
			passed += result == 0;
		}
	}
	if (!chosen)
		printf("no case of that name\n");
	return failed || !chosen ? 1 : passed || list ? 0 : SKIPPED;
}
