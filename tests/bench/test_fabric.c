/* SPDX-License-Identifier: BSD-2-Clause */
/* test_fabric.c - a short `quiver bench fabric`: every row of its JSON is
 * there and checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static const char *tool, *json_file;

static const char *const cases[] = {"lat/8/prq0", "lat/8/umq16", "rate/8/64", "bw/65536"};
static const char *const self_cases[] = {"prq/rand/100", "prq/tail/3",   "prq/miss/20",
					 "umq/head/100", "umq/rand/100", "umq/miss/20"};
static const char *const impls[] = {"shm", "quiver+shm", "quiver+node"};

/* Under: a command that runs the one behind it, or "". */
static int run_under(const char *under, const char *arguments)
{
	char command[8192];
	int status;

	snprintf(command, sizeof(command), "%s '%s' bench fabric %s > '%s.out' 2>&1", under, tool,
		 arguments, json_file);
	status = system(command);
	if (status) { /* wanted or not: it is told why */
		snprintf(command, sizeof(command), "cat '%s.out' >&2", json_file);
		if (system(command))
			fprintf(stderr, "%s.out cannot be read\n", json_file);
	}
	return status;
}

static int run(const char *arguments)
{
	return run_under("", arguments);
}

/* The row of a case and an impl; NULL if it is missing. */
static json_t *find(json_t *rows, const char *name, const char *impl)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (strcmp(json_string_value(json_object_get(row, "case")), name) == 0 &&
		    strcmp(json_string_value(json_object_get(row, "impl")), impl) == 0)
			return row;
	}
	return NULL;
}

static void check_row(json_t *rows, const char *name, const char *impl)
{
	json_t *row = find(rows, name, impl);
	double p50, p99, mean;
	const char *unit, *answer;
	int n;

	if (!row)
		fail_msg("no row %s %s", name, impl);
	answer = json_string_value(json_object_get(row, "answer"));
	if (!answer || strcmp(answer, "checked"))
		fail_msg("%s %s: %s", name, impl, answer ? answer : "no answer");
	assert_int_equal(json_unpack(row, "{s:s, s:F, s:F, s:F, s:i, s:s}", "unit", &unit, "p50",
				     &p50, "p99", &p99, "mean", &mean, "n", &n, "answer", &answer),
			 0);
	assert_true(p50 > 0 && p99 > 0 && mean > 0 && n >= 4);
	assert_true(!strncmp(name, "rate", 4) || !strncmp(name, "bw", 2) ? p99 <= p50 : p99 >= p50);
}

static void short_run(void **state)
{
	char arguments[2048];
	json_t *root, *rows, *ratios;

	snprintf(
		arguments, sizeof(arguments),
		"--impl 'shm,quiver+shm,quiver+node' --filter '%s,%s,%s,%s' --rounds 3 --block-ms 2 "
		"--json '%s'",
		cases[0], cases[1], cases[2], cases[3], json_file);
	assert_int_equal(run(arguments), 0);
	root = json_load_file(json_file, 0, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "bench")), "fabric");
	assert_non_null(json_object_get(json_object_get(root, "machine"), "cpu"));
	assert_non_null(json_object_get(json_object_get(root, "machine"), "libfabric"));
	rows = json_object_get(root, "rows");
	assert_int_equal(json_array_size(rows), 12);
	for (size_t c = 0; c < 4; c++)
		for (size_t i = 0; i < 3; i++)
			check_row(rows, cases[c], impls[i]);
	/* Two per case against native, and all three at depth 16 against their depth 0. */
	ratios = json_object_get(root, "ratios");
	assert_int_equal(json_array_size(ratios), 2 * 4 + 3);
	json_decref(root);
}

/* A process that sends to itself, over every kind of implementation. */
static void self(void **state)
{
	char arguments[2048];
	json_t *root;

	for (size_t c = 0; c < sizeof(self_cases) / sizeof(self_cases[0]); c++) {
		snprintf(arguments, sizeof(arguments),
			 "--impl 'shm,quiver+shm,quiver+tcp' --filter '%s' --rounds 2 "
			 "--block-ms 1 --json '%s'",
			 self_cases[c], json_file);
		assert_int_equal(run(arguments), 0);
		root = json_load_file(json_file, 0, NULL);
		assert_non_null(root);
		assert_int_equal(json_array_size(json_object_get(root, "rows")), 3);
		check_row(json_object_get(root, "rows"), self_cases[c], "shm");
		check_row(json_object_get(root, "rows"), self_cases[c], "quiver+shm");
		check_row(json_object_get(root, "rows"), self_cases[c], "quiver+tcp");
		json_decref(root);
	}
	assert_int_not_equal(run("--impl shm --filter prq/middle/3"), 0);
	assert_int_not_equal(run("--impl shm --filter umq/rand/"), 0);
	assert_int_not_equal(run("--impl shm --filter umq/head/0"), 0);
	assert_int_equal(run("--impl quiver+shm --filter umq/miss/0 --rounds 2 --block-ms 1"), 0);
}

/* A /dev/shm and process numbers of its own: each number of a new process has a file there, as a killed
 * process of that number leaves it. */
#define STALE                                                                                 \
	"unshare --mount --pid --fork sh -c 'mount -t proc proc /proc && mount -t tmpfs shm " \
	"/dev/shm && u=$(id -u) && for i in $(seq 99); do printf %4096s > /dev/shm/$i:$u:0; " \
	"done && \"$0\" \"$@\"'"

/* Libfabric's shm refuses such a number once. */
static void stale(void **state)
{
	char arguments[2048];
	json_t *root;

	if (system(STALE " true")) {
		fprintf(stderr, "skipped: name spaces are not permitted here\n");
		skip();
	}
	snprintf(arguments, sizeof(arguments),
		 "--impl 'shm,quiver+shm' --filter '%s' --rounds 2 --block-ms 1 --json '%s'",
		 cases[0], json_file);
	assert_int_equal(run_under(STALE, arguments), 0);
	root = json_load_file(json_file, 0, NULL);
	assert_non_null(root);
	check_row(json_object_get(root, "rows"), cases[0], "shm");
	check_row(json_object_get(root, "rows"), cases[0], "quiver+shm");
	json_decref(root);
}

/* The output of the last run has this text. */
static int said(const char *text)
{
	char name[4096], line[1024];
	int found = 0;
	FILE *out;

	snprintf(name, sizeof(name), "%s.out", json_file);
	out = fopen(name, "r");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out))
		found |= strstr(line, text) != NULL;
	fclose(out);
	return found;
}

/* Left to itself, the bench has quiver's own core too, and says first how far the processors are. */
static void by_default(void **state)
{
	const char *distance;
	char arguments[2048];
	json_t *root;

	snprintf(arguments, sizeof(arguments),
		 "--filter lat/8/prq0 --rounds 1 --block-ms 1 --json '%s'", json_file);
	assert_int_equal(run(arguments), 0);
	assert_true(said("distance "));
	root = json_load_file(json_file, 0, NULL);
	assert_non_null(root);
	check_row(json_object_get(root, "rows"), cases[0], "quiver+node");
	distance = json_string_value(json_object_get(json_object_get(root, "machine"), "distance"));
	assert_non_null(distance);
	assert_true(strstr(distance, "near") || strstr(distance, "far") ||
		    !strcmp(distance, "one processor"));
	json_decref(root);
}

/* Another build of quiver: here the same once more. */
static void other(void **state)
{
	char arguments[4096];
	json_t *root;

	snprintf(arguments, sizeof(arguments),
		 "--impl 'quiver+shm,other+shm' --other \"$(dirname '%s')/../lib/libfabric\" "
		 "--filter '%s' --rounds 3 --block-ms 2 --json '%s'",
		 tool, cases[0], json_file);
	assert_int_equal(run(arguments), 0);
	root = json_load_file(json_file, 0, NULL);
	assert_non_null(root);
	check_row(json_object_get(root, "rows"), cases[0], "quiver+shm");
	check_row(json_object_get(root, "rows"), cases[0], "other+shm");
	assert_int_equal(json_array_size(json_object_get(root, "ratios")), 1);
	json_decref(root);
	assert_int_not_equal(run("--impl other+shm --filter lat/8/prq0"), 0);
	assert_true(said("other+shm: needs --other DIR"));
	assert_int_not_equal(run("--impl other+shm --filter lat/8/prq0 --other /nonexistent"), 0);
	assert_true(said("no libquiver-fi.so in '/nonexistent'"));
}

#ifdef QV_HAVE_UCX
/* UCX answers the same cases, and quiver is compared with it. */
static void ucx(void **state)
{
	static const char *const rows_of[] = {"ucx+shm", "ucx+tcp", "quiver+shm"};
	char arguments[2048];
	json_t *root, *rows;

	snprintf(arguments, sizeof(arguments),
		 "--impl 'ucx+shm,ucx+tcp,quiver+shm' --filter '%s,%s,%s,%s' --rounds 3 "
		 "--block-ms 2 --json '%s'",
		 cases[0], cases[1], cases[2], cases[3], json_file);
	assert_int_equal(run(arguments), 0);
	root = json_load_file(json_file, 0, NULL);
	assert_non_null(root);
	rows = json_object_get(root, "rows");
	assert_int_equal(json_array_size(rows), 12);
	for (size_t c = 0; c < 4; c++)
		for (size_t i = 0; i < 3; i++)
			check_row(rows, cases[c], rows_of[i]);
	/* quiver+shm against ucx+shm; at depth 16 all three against their depth 0. */
	assert_int_equal(json_array_size(json_object_get(root, "ratios")), 4 + 3);
	json_decref(root);
	assert_int_equal(run("--impl ucx+shm,ucx+tcp --filter umq/rand/50 --rounds 2 --block-ms 1"),
			 0);
	assert_int_equal(run("--solo 100 --impl ucx+shm --filter lat/8/umq100"), 0);
	assert_int_not_equal(run("--impl ucx+verbs --filter lat/8/prq0"), 0);
	assert_true(said("ucx+verbs: of UCX there are ucx+shm and ucx+tcp"));
	assert_int_not_equal(run("--impl ucx+shm --filter lat/8/prq0 --directed"), 0);
	assert_true(said("name no source"));
}
#else
static void ucx(void **state)
{
	assert_int_not_equal(run("--impl ucx+shm --filter lat/8/prq0"), 0);
	assert_true(said("ucx+shm: this program was built without UCX (package libucx-dev)"));
}
#endif

static void bad_use(void **state)
{
	assert_int_not_equal(run("--frobnicate"), 0);
	assert_int_not_equal(run("--filter nothing/of/that"), 0);
	assert_int_not_equal(run("--impl no_such_provider --filter lat/8/prq0"), 0);
	assert_int_not_equal(run("--json /nonexistent/x.json"), 0);
	assert_int_not_equal(run("--rounds none"), 0);
	assert_int_equal(run("--help"), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_run),  cmocka_unit_test(self),  cmocka_unit_test(stale),
		cmocka_unit_test(by_default), cmocka_unit_test(other), cmocka_unit_test(ucx),
		cmocka_unit_test(bad_use)};

	if (argc != 3) {
		fprintf(stderr, "usage: %s QUIVER FILE.json\n", argv[0]);
		return 2;
	}
	tool = argv[1];
	json_file = argv[2];
	return cmocka_run_group_tests_name("bench.fabric.smoke", tests, NULL, NULL);
}
