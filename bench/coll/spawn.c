/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn.c - start mpirun, and make rows of what its rank 0 says. */
#include "coll.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGS (QV_BL_CASES + QV_BL_IMPLS + 64)

struct command {
	const char *args[MAX_ARGS];
	int n;
	char worker[4096], numbers[4][32];
};

static void add(struct command *c, const char *arg)
{
	if (c->n < MAX_ARGS - 1)
		c->args[c->n++] = arg;
}

static void add_all(struct command *c, const char *const *list)
{
	for (; *list; list++)
		add(c, *list);
}

static int find_worker(struct command *c)
{
	if (qv_bench_find("quiver-bench-coll", c->worker, sizeof c->worker))
		return 0;
	fprintf(stderr,
		"quiver: no program quiver-bench-coll: Open MPI (openmpi-bin, libopenmpi-dev) was "
		"not there when quiver was built\n");
	return -1;
}

static void add_number(struct command *c, int i, long value)
{
	snprintf(c->numbers[i], sizeof(c->numbers[i]), "%ld", value);
	add(c, c->numbers[i]);
}

static int make_command(const struct qv_bl_plan *plan, struct command *c)
{
	static const char *const quiver[] = {"--mca",  "pml",   "cm",    "--mca",
					     "mtl",    "ofi",   "--mca", "mtl_ofi_provider_include",
					     "quiver", "--mca", "btl",   "self",
					     NULL};
	static const char *const all[] = {"--oversubscribe",
					  "--bind-to",
					  "none",
					  "--mca",
					  "btl_base_warn_component_unused",
					  "0",
					  NULL};

	if (find_worker(c))
		return -1;
	add(c, "mpirun");
	if (!getuid())
		add(c, "--allow-run-as-root");
	add_all(c, all);
	if (plan->ranks > sysconf(_SC_NPROCESSORS_ONLN)) {
		static const char *const yield[] = {"--mca", "mpi_yield_when_idle", "1", NULL};

		add_all(c, yield);
	}
	add(c, "-np");
	add_number(c, 0, plan->ranks);
	if (plan->hosts) {
		static const char *const there[] = {"--map-by", "node", "--host", NULL};

		add_all(c, there);
		add(c, plan->hosts);
	}
	if (strcmp(plan->stack, "plain") != 0) {
		static const char *const exported[] = {
			"-x", "FI_PROVIDER_PATH", "-x", "FI_PROVIDER",
			"-x", "FI_QUIVER_CORE",   NULL};

		qv_bench_provider_path();
		setenv("FI_PROVIDER", "quiver", 1);
		setenv("FI_QUIVER_CORE", plan->stack, 1);
		add_all(c, quiver);
		add_all(c, exported);
	}
	add(c, c->worker);
	add_number(c, 1, plan->rounds);
	add_number(c, 2, plan->samples);
	add_number(c, 3, plan->seconds);
	for (size_t i = 0; i < plan->cases_n; i++)
		add(c, plan->cases[i].name);
	add(c, "--");
	for (size_t i = 0; i < plan->impls_n; i++)
		add(c, plan->impls[i]);
	c->args[c->n] = NULL;
	return 0;
}

/* What comes back. */

static struct qv_bench_row *row_of(struct qv_bench *bench, const char *name, const char *impl,
				   const char *unit)
{
	for (size_t i = 0; i < bench->rows_n; i++)
		if (!strcmp(bench->rows[i].name, name) && !strcmp(bench->rows[i].impl, impl))
			return &bench->rows[i];
	return qv_bench_row_add(bench, name, impl, unit, false);
}

/* "CASE IMPL ANSWER US..." */
static void take_row(struct qv_bench *bench, const struct qv_bl_plan *plan, char *line)
{
	char *name = strtok(line, " \n"), *impl = strtok(NULL, " \n");
	char *answer = strtok(NULL, " \n"), *word;
	float samples[1024];
	struct qv_bench_row *row;
	size_t n = 0;

	if (!answer || strlen(name) >= QV_BENCH_NAME || strlen(impl) >= QV_BENCH_NAME)
		return;
	if (!plan->named && !strcmp(answer, "no-such-algorithm"))
		return;
	row = row_of(bench, name, impl, "us");
	if (strncmp(row->answer, "wrong", 5) != 0)
		snprintf(row->answer, sizeof(row->answer), "%s", answer);
	while ((word = strtok(NULL, " \n")) && n < 1024)
		samples[n++] = strtof(word, NULL);
	if (n)
		qv_bench_row_round(row, samples, n);
	qv_bench_progress("%s %s", name, impl);
}

/* "CASE IMPL MESSAGES BYTES" */
static void take_count(struct qv_bench *bench, char *line)
{
	static const char *const units[] = {"count", "bytes"}, *const suffix[] = {"messages",
										  "bytes"};
	char *case_name = strtok(line, " "), *impl = strtok(NULL, " ");

	for (int i = 0; impl && i < 2; i++) {
		char name[QV_BENCH_NAME], *word = strtok(NULL, " ");
		const float value = word ? strtof(word, NULL) : 0;
		struct qv_bench_row *row;

		if (snprintf(name, sizeof(name), "%s-%s", case_name, suffix[i]) >=
		    (int)sizeof(name))
			return;
		row = row_of(bench, name, impl, units[i]);
		snprintf(row->answer, sizeof(row->answer), "checked");
		qv_bench_row_round(row, &value, 1);
	}
}

static int read_all(struct qv_bench *bench, const struct qv_bl_plan *plan, FILE *in)
{
	char *line = NULL;
	size_t room = 0;
	int rows = 0;

	while (getline(&line, &room, in) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "row ", 4)) {
			take_row(bench, plan, line + 4);
			rows++;
		} else if (!strncmp(line, "count ", 6)) {
			take_count(bench, line + 6);
		} else if (!strncmp(line, "mpi ", 4)) {
			qv_bench_fact_add(bench, "mpi", "%s", line + 4);
		} else {
			fprintf(stderr, "%s\n", line);
		}
	}
	free(line);
	qv_bench_progress(NULL);
	return rows ? 0 : -1;
}

/* mpirun hands its input on to rank 0. */
static void become(const struct command *c, const char *delays, int out)
{
	const int in = delays ? open(delays, O_RDONLY) : STDIN_FILENO;

	if (in < 0) {
		fprintf(stderr, "quiver: --delays: cannot read %s: %s\n", delays, strerror(errno));
		_exit(127);
	}
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	execvp("mpirun.openmpi", (char *const *)(uintptr_t)c->args);
	execvp("mpirun", (char *const *)(uintptr_t)c->args);
	fprintf(stderr, "quiver: cannot start mpirun: %s\n", strerror(errno));
	_exit(127);
}

int qv_bl_measure(const struct qv_bl_plan *plan, struct qv_bench *bench)
{
	struct command c = {.n = 0};
	int ends[2], status = -1, rows;
	FILE *in;
	pid_t child;

	if (make_command(plan, &c))
		return -1;
	if (pipe(ends) || (child = fork()) < 0) {
		perror("quiver: pipe or fork");
		return -1;
	}
	if (!child) {
		close(ends[0]);
		become(&c, plan->delays, ends[1]);
	}
	close(ends[1]);
	in = fdopen(ends[0], "r");
	rows = in ? read_all(bench, plan, in) : -1;
	if (in)
		fclose(in);
	if (waitpid(child, &status, 0) != child || status || rows) {
		fprintf(stderr, "quiver: mpirun did not end well\n");
		return -1;
	}
	return 0;
}
