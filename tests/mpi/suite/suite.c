// SPDX-License-Identifier: BSD-2-Clause
/*
 * suite.c - runs named cases of the MPI conformance suite.
 *
 * usage: mpirun -np N mpi_suite [--limit SECONDS] [--provider] GROUP|GROUP.CASE...
 * The line printed before a case names it, so a job that hangs or dies still tells where.
 */
#include <execinfo.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"
#include "engine/base/random.h"

struct suite suite;

static const char *running = "(none)";
static unsigned limit_s = 60;

static const struct suite_case *const all_cases[] = {
	order_cases, random_cases, probe_cases, cancel_cases, mode_cases,
	size_cases,  trunc_cases,  deep_cases,  thread_cases, comm_cases,
	type_cases,  ranks_cases,  crowd_cases, coll_cases,   rma_cases,
};

void suite_fail(const char *file, int line, const char *fmt, ...)
{
	const char *base = strrchr(file, '/');
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "FAILED %s: rank %d of %d: %s:%d: %s (QV_SEED=%llu)\n", running, suite.rank,
		suite.size, base ? base + 1 : file, line, text, (unsigned long long)suite.seed);
	fflush(stderr);
	MPI_Abort(MPI_COMM_WORLD, 1);
	_exit(1);
}

/* No stdio here: the case may hang inside of it. */
static void on_alarm(int sig)
{
	static const char head[] = "FAILED (time limit) ";
	void *frames[48];
	int n = backtrace(frames, 48);

	if (write(STDERR_FILENO, head, sizeof(head) - 1) < 0 ||
	    write(STDERR_FILENO, running, strlen(running)) < 0 ||
	    write(STDERR_FILENO, ", stack:\n", 9) < 0)
		_exit(3);
	backtrace_symbols_fd(frames, n, STDERR_FILENO);
	usleep(500000); /* the other ranks print theirs before mpirun ends them */
	_exit(3);
}

int suite_scaled(int n, int least)
{
	double v = n * suite.scale;

	return v < least ? least : (int)v;
}

void *suite_alloc(size_t bytes)
{
	void *p = calloc(1, bytes ? bytes : 1);

	CHECK(p, "out of memory (%zu bytes)", bytes);
	return p;
}

uint64_t suite_random(uint64_t *state)
{
	return qv_random(state);
}

int *suite_permutation(int n, uint64_t seed)
{
	int *p = suite_alloc((size_t)n * sizeof(*p));

	for (int i = 0; i < n; i++)
		p[i] = i;
	for (int i = n - 1; i > 0; i--) {
		int j = (int)(suite_random(&seed) % (uint64_t)(i + 1)), t = p[i];

		p[i] = p[j];
		p[j] = t;
	}
	return p;
}

static uint64_t payload_word(uint64_t key, size_t i)
{
	uint64_t z = (key + 1) * 0x9e3779b97f4a7c15u + i * 0xd1342543de82ef95u;

	return z ^ (z >> 29);
}

void suite_fill(void *buf, size_t bytes, uint64_t key)
{
	unsigned char *p = buf;
	uint64_t word;
	size_t i;

	for (i = 0; i < bytes / 8; i++) {
		word = payload_word(key, i);
		memcpy(p + 8 * i, &word, 8);
	}
	word = payload_word(key, i);
	if (bytes % 8)
		memcpy(p + 8 * i, &word, bytes % 8);
}

void suite_verify(const void *buf, size_t bytes, uint64_t key)
{
	const unsigned char *p = buf;
	uint64_t word, got;

	for (size_t i = 0; i < (bytes + 7) / 8; i++) {
		size_t n = bytes - 8 * i < 8 ? bytes - 8 * i : 8;

		word = payload_word(key, i);
		got = word;
		memcpy(&got, p + 8 * i, n);
		CHECK(got == word, "payload %llu of %zu bytes is wrong at byte %zu",
		      (unsigned long long)key, bytes, 8 * i);
	}
}

void suite_envelope(const MPI_Status *st, int source, int tag, int bytes)
{
	int count = -1;

	MPI_Get_count(st, MPI_BYTE, &count);
	CHECK(st->MPI_SOURCE == source && st->MPI_TAG == tag && count == bytes,
	      "envelope is source %d tag %d bytes %d, expected source %d tag %d bytes %d",
	      st->MPI_SOURCE, st->MPI_TAG, count, source, tag, bytes);
}

void suite_barrier(void)
{
	MPI_Barrier(suite.ctl);
}

void suite_signal(int to)
{
	MPI_Send(NULL, 0, MPI_BYTE, to, 1, suite.ctl);
}

void suite_await(int from)
{
	MPI_Recv(NULL, 0, MPI_BYTE, from, 1, suite.ctl, MPI_STATUS_IGNORE);
}

void suite_meet(int other)
{
	MPI_Sendrecv(NULL, 0, MPI_BYTE, other, 2, NULL, 0, MPI_BYTE, other, 2, suite.ctl,
		     MPI_STATUS_IGNORE);
}

/* A word names a case, or all of a group but its slow cases. */
static int word_wants(const char *word, const struct suite_case *c)
{
	size_t n = strlen(word);

	if (!strcmp(word, c->name))
		return 1;
	return !strncmp(word, c->name, n) && c->name[n] == '.' && !(c->flags & CASE_SLOW);
}

static void run_case(const struct suite_case *c)
{
	double start;

	running = c->name;
	if (suite.rank == 0) {
		printf("run    %s\n", c->name);
		fflush(stdout);
	}
	CHECK(suite.size >= c->ranks, "needs %d ranks", c->ranks);
	alarm(limit_s);
	suite_barrier();
	start = MPI_Wtime();
	c->run();
	suite_barrier();
	alarm(0);
	if (suite.rank == 0) {
		printf("ok     %s %.2f s\n", c->name, MPI_Wtime() - start);
		fflush(stdout);
	}
	running = "(between cases)";
}

/* Calls run_case for all that the words ask for, or only counts them and ors their flags. */
static int for_cases(char **words, int n, int run, unsigned *flags)
{
	int found = 0;

	for (int w = 0; w < n; w++) {
		int before = found;

		for (size_t a = 0; a < sizeof(all_cases) / sizeof(all_cases[0]); a++) {
			for (const struct suite_case *c = all_cases[a]; c->name; c++) {
				if (!word_wants(words[w], c))
					continue;
				found++;
				*flags |= c->flags;
				if (run)
					run_case(c);
			}
		}
		if (found == before) {
			fprintf(stderr, "mpi_suite: no case is named '%s'\n", words[w]);
			return -1;
		}
	}
	return found;
}

/*
 * Open MPI was told to use pml cm and mtl ofi with our provider only, so it cannot fall back; MPICH
 * with ch4:ofi has no other way, if there is one provider and it may not use shared memory. That
 * they were told so, and that the provider is in the process, is checked here.
 */
#ifdef MPICH
static void check_settings(void)
{
	const char *provider = getenv("FI_PROVIDER"), *local = getenv("MPIR_CVAR_NOLOCAL");

	CHECK(provider && strstr(provider, "quiver") && !strchr(provider, ','),
	      "FI_PROVIDER leaves MPICH more than our provider");
	CHECK(local && atoi(local), "MPICH may use shared memory of its own");
}
#else
static void check_settings(void)
{
	const char *include = getenv("OMPI_MCA_mtl_ofi_provider_include");
	const char *pml = getenv("OMPI_MCA_pml"), *mtl = getenv("OMPI_MCA_mtl");
	const char *btl = getenv("OMPI_MCA_btl");
	/* All that "^ucx" leaves besides cm is ob1, and that reaches nobody by btl ofi. */
	int cm = pml &&
		 (!strcmp(pml, "cm") || (!strcmp(pml, "^ucx") && btl && !strcmp(btl, "ofi,self")));

	CHECK(cm && mtl && !strcmp(mtl, "ofi"), "Open MPI was not told to use pml cm and mtl ofi");
	CHECK(include && strstr(include, "quiver"), "Open MPI was not told to use our provider");
}
#endif

static void check_provider(void)
{
	char line[4096];
	int seen = 0;
	FILE *f;

	check_settings();
	f = fopen("/proc/self/maps", "r");
	CHECK(f, "cannot read /proc/self/maps");
	while (fgets(line, sizeof(line), f))
		seen |= strstr(line, "libquiver-fi.so") != NULL;
	fclose(f);
	CHECK(seen, "libquiver-fi.so is not in this process");
}

static void init(int *argc, char ***argv, unsigned flags)
{
	int want = flags & CASE_THREADS ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, have;
	const char *seed = getenv("QV_SEED"), *scale = getenv("QV_TEST_SCALE");
	sigset_t wake;
	void *frame;

	/* For ranks.sleeper, in the threads of the MPI as well, and before it comes to wait. */
	sigemptyset(&wake);
	sigaddset(&wake, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wake, NULL);
	backtrace(&frame, 1); /* loads what it needs now, not in the signal handler */
	signal(SIGALRM, on_alarm);
	alarm(limit_s);
	running = "(MPI_Init)";
	MPI_Init_thread(argc, argv, want, &have);
	MPI_Comm_rank(MPI_COMM_WORLD, &suite.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &suite.size);
	suite.seed = seed ? strtoull(seed, NULL, 0) : 1;
	suite.scale = scale ? atof(scale) : 1;
	CHECK(have >= want, "thread level %d wanted, %d given", want, have);
	MPI_Comm_dup(MPI_COMM_WORLD, &suite.comm);
	MPI_Comm_dup(MPI_COMM_WORLD, &suite.ctl);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {{"limit", required_argument, NULL, 'l'},
					      {"provider", no_argument, NULL, 'p'},
					      {NULL, 0, NULL, 0}};
	int c, provider = 0, found;
	unsigned flags = 0;

	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		if (c == 'l')
			limit_s = (unsigned)atoi(optarg);
		else if (c == 'p')
			provider = 1;
		else
			return 2;
	}
	found = for_cases(argv + optind, argc - optind, 0, &flags);
	if (found <= 0) {
		fprintf(stderr, "usage: mpi_suite [--limit S] [--provider] GROUP|GROUP.CASE...\n");
		return 2;
	}
	init(&argc, &argv, flags);
	if (provider)
		check_provider();
	for_cases(argv + optind, argc - optind, 1, &flags);
	running = "(MPI_Finalize)";
	alarm(limit_s);
	MPI_Comm_free(&suite.comm);
	MPI_Comm_free(&suite.ctl);
	MPI_Finalize();
	if (suite.rank == 0)
		printf("passed %d cases on %d ranks\n", found, suite.size);
	return 0;
}
