/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.c - `quiver bench fabric`: options, implementations, report. */
#include "ucx.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QV_FB_QUICK_SECONDS 16
#define QV_FB_GRACE_SECONDS 1.0 /* for a block that has begun */

/* What is tried when --impl says nothing; those that this libfabric lacks are left out. */
static const char *const native[] = {"shm", "net", "tcp", "tcp;ofi_rxm"};
static const char *const own[] = {"quiver+node"};
static const char *const ucx[] = {"ucx+shm", "ucx+tcp"};
/* The same between two hosts. */
static const char *const far_native[] = {"verbs;ofi_rxm", "net", "tcp", "tcp;ofi_rxm"};

struct options {
	struct qv_bench_opts common;
	struct qv_fb_setup setup; /* what all implementations share */
	long rounds, block_ms, hang_ms, seconds, solo, listen;
	bool other;
	struct qv_fb_hosts hosts;
	char *names; /* what hosts.name points into */
	bool serve;  /* by a launcher, for a bench on another host */
};

static void help(void)
{
	printf("usage: quiver bench fabric [options]\n\n"
	       "Tagged messages between two processes: native libfabric providers against quiver\n"
	       "over the same ones and by itself, and UCX, in one run, in turn. How far the two\n"
	       "processors are from each other is measured first.\n\n"
	       "  lat/<bytes>/prq<n>     us, half a round trip; n receives were posted before\n"
	       "  lat/<bytes>/umq<n>     the same; n unexpected messages wait meanwhile\n"
	       "  rate/<bytes>/<window>[/prq<n>]   Mmsg/s, window messages, then an answer\n"
	       "  bw/<bytes>             MB/s, windows of 16 messages or 8 MiB\n"
	       "  prq/<head|tail|rand|miss>/<n>    ns/op, 8 bytes from a process to itself: a message\n"
	       "                         takes one of n posted receives (miss: none), it is posted again\n"
	       "  umq/<head|tail|rand|miss>/<n>    ns/op, a receive takes one of n unexpected messages\n\n"
	       "%s"
	       "  --rounds N       rounds per case (20)\n"
	       "  --block-ms N     time of one block of one implementation (20)\n"
	       "  --seconds N      end after so many seconds, with fewer rounds\n"
	       "  --hang-ms N      polls for so long without a completion: hangs (4000)\n"
	       "  --no-inject      fi_tsend for every size\n"
	       "  --directed       ask for FI_DIRECTED_RECV and name the source in receives\n"
	       "  --other DIR      folder of another libquiver-fi.so, which other+<name> runs\n"
	       "  --solo N         one case, one impl, one process: N messages to itself, for\n"
	       "                   valgrind --tool=callgrind --toggle-collect=qv_fb_solo_loop\n"
	       "  --hosts A,B      the processes run on these hosts; quiver is there under the same\n"
	       "                   path, and FI_* are what a login has there\n"
	       "  --launcher CMD   starts them: CMD HOST PROGRAM ... (ssh)\n"
	       "  --listen PORT    without a launcher: on one host serve a bench of the other,\n"
	       "  --connect H:P    which measures between itself and host H, at that port\n"
	       "  --help           this text\n\n"
	       "impl: a provider's name (shm, net, tcp, tcp;ofi_rxm), or quiver+<name>, with /peer or\n"
	       "/layered behind it for FI_QUIVER_MODE; quiver+node is quiver's own shared memory;\n"
	       "other+<name> is the quiver of --other; ucx+shm and ucx+tcp are UCX's own tag matching\n"
	       "over shared memory and TCP.\n",
	       qv_bench_opts_help);
}

static bool is_far(const struct options *o)
{
	return o->hosts.connect || o->hosts.name[0];
}

/* "a,b" */
static int take_hosts(void *ctx, const char *text)
{
	struct options *o = ctx;
	char *comma;

	free(o->names);
	o->names = strdup(text);
	comma = o->names ? strchr(o->names, ',') : NULL;
	if (!comma || comma == o->names || !comma[1] || strchr(comma + 1, ',')) {
		fprintf(stderr, "quiver: --hosts takes two names, as in a,b, not '%s'\n", text);
		return -1;
	}
	*comma = 0;
	o->hosts.name[0] = o->names;
	o->hosts.name[1] = comma + 1;
	return 0;
}

static int take_other(void *ctx, const char *text)
{
	struct options *o = ctx;

	o->other = true;
	if (!qv_fb_set_other(text))
		return 0;
	fprintf(stderr, "quiver: --other: no libquiver-fi.so in '%s'\n", text);
	return -1;
}

static void add_pair(struct qv_fb_plan *plan, const struct options *o, struct qv_bench *bench,
		     const char *impl)
{
	struct qv_fb_pair *pair = &plan->pairs[plan->pairs_n];

	pair->setup = o->setup;
	pair->hosts = is_far(o) ? &o->hosts : NULL;
	snprintf(pair->setup.impl, sizeof(pair->setup.impl), "%s", impl);
	pair->flat = malloc(QV_FB_SAMPLES * sizeof(float));
	pair->deep = malloc(QV_FB_SAMPLES * sizeof(float));
	if (!pair->flat || !pair->deep)
		abort();
	if (plan->deadline > 0)
		pair->deadline = plan->deadline + QV_FB_GRACE_SECONDS;
	if (qv_fb_pair_start(pair, QV_FB_START_SECONDS)) {
		printf("  %-10s %s: %s\n", "absent", impl, pair->reply.text);
		free(pair->flat);
		free(pair->deep);
		memset(pair, 0, sizeof(*pair));
		return;
	}
	printf("  %-10s %s: %s\n", "impl", impl, pair->how);
	qv_bench_fact_add(bench, impl, "%s", pair->how);
	plan->pairs_n++;
}

/* The implementations that --impl names, or all; -1 if a named one cannot run. */
static int add_pairs(struct qv_fb_plan *plan, const struct options *o, struct qv_bench *bench)
{
	const char *const *natives = is_far(o) ? far_native : native;
	char name[QV_BENCH_NAME];
	const char *list = o->common.impls;
	size_t asked = 0;

	for (size_t i = 0; !list && i < sizeof(native) / sizeof(native[0]); i++) {
		size_t before = plan->pairs_n;

		add_pair(plan, o, bench, natives[i]);
		snprintf(name, sizeof(name), "quiver+%s", natives[i]);
		if (plan->pairs_n > before)
			add_pair(plan, o, bench, name);
	}
	for (size_t i = 0; !list && !is_far(o) && i < sizeof(own) / sizeof(own[0]); i++)
		add_pair(plan, o, bench, own[i]);
	for (size_t i = 0; !list && !o->setup.directed && i < sizeof(ucx) / sizeof(ucx[0]); i++) {
		add_pair(plan, o, bench, ucx[i]);
		if (!qv_fb_ucx_built())
			break; /* one line is enough */
	}
	while (list && *list && plan->pairs_n < QV_FB_PAIRS) {
		size_t n = strcspn(list, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, list);
		asked++;
		add_pair(plan, o, bench, name);
		list += n;
		list += *list == ',';
	}
	if (plan->pairs_n && plan->pairs_n >= asked)
		return 0;
	fprintf(stderr, "quiver: %s\n",
		asked ? "not every implementation that --impl names can run"
		      : "no implementation can run");
	return -1;
}

static int run_solo(const struct options *o, const struct qv_fb_case *cases, size_t n)
{
	struct qv_fb_setup setup = o->setup;

	if (n != 1 || !o->common.impls || strchr(o->common.impls, ',') ||
	    cases[0].kind != QV_FB_LAT) {
		fprintf(stderr, "quiver: --solo needs one lat case (--filter) and one --impl\n");
		return 2;
	}
	snprintf(setup.impl, sizeof(setup.impl), "%s", o->common.impls);
	return qv_fb_solo(&setup, &cases[0], (uint32_t)o->solo);
}

static int run(struct options *o, struct qv_fb_plan *plan)
{
	struct qv_bench bench = {.name = "fabric"};
	char distance[64];
	int status = 1;

	plan->rounds = (uint32_t)o->rounds;
	plan->block_us = 1000.0 * (double)o->block_ms;
	plan->hang = 1e-3 * (double)o->hang_ms;
	if (o->seconds)
		plan->deadline = qv_bench_seconds() + (double)o->seconds;
	signal(SIGPIPE, SIG_IGN);
	qv_bench_tick_ns();
	qv_bench_machine(&bench, &o->common);
	if (is_far(o)) {
		qv_bench_fact_add(&bench, "hosts", "%s and %s",
				  o->hosts.connect ? "here" : o->hosts.name[0],
				  o->hosts.connect ? o->hosts.connect : o->hosts.name[1]);
	} else {
		qv_bench_distance_text(qv_bench_distance_ns(), distance, sizeof(distance));
		qv_bench_fact_add(&bench, "distance", "%s", distance);
	}
	qv_bench_fact_add(&bench, "libfabric", "%s", fi_tostr("", FI_TYPE_VERSION));
	qv_bench_machine_print(&bench, stdout);
	if (add_pairs(plan, o, &bench) == 0) {
		fflush(stdout);
		qv_fb_measure(plan, &bench);
		qv_bench_finish(&bench);
		qv_bench_print(&bench, stdout);
		status = qv_bench_save(&bench, &o->common);
	}
	for (size_t i = 0; i < plan->pairs_n; i++) {
		qv_fb_pair_stop(&plan->pairs[i]);
		free(plan->pairs[i].flat);
		free(plan->pairs[i].deep);
	}
	qv_bench_free(&bench);
	return status;
}

int qv_bench_fabric(int argc, char **argv)
{
	struct options o = {.setup = {.source = "127.0.0.1"}, .hosts = {.launcher = "ssh"}};
	const struct qv_bench_option own_options[] = {
		{"no-inject", .flag = &o.setup.no_inject},
		{"directed", .flag = &o.setup.directed},
		{"rounds", .number = &o.rounds, .low = 1, .high = 100000},
		{"block-ms", .number = &o.block_ms, .low = 1, .high = 10000},
		{"seconds", .number = &o.seconds, .low = 1, .high = 100000},
		{"hang-ms", .number = &o.hang_ms, .low = 100, .high = 600000},
		{"solo", .number = &o.solo, .low = 1, .high = 100000000},
		{"other", .take = take_other, .ctx = &o},
		{"hosts", .take = take_hosts, .ctx = &o},
		{"launcher", .text = &o.hosts.launcher},
		{"connect", .text = &o.hosts.connect},
		{"listen", .number = &o.listen, .low = 1, .high = 65535},
		{"serve", .flag = &o.serve},
		{.name = NULL},
	};
	struct qv_fb_plan plan = {.cases = NULL};
	int status, rc = qv_bench_parse(&o.common, "fabric", argc, argv, own_options);

	if (rc == 1)
		help();
	if (rc)
		return rc < 0 ? 2 : 0;
	if (o.serve)
		return qv_fb_serve();
	if (o.listen)
		return qv_fb_listen(o.listen);
	if (o.hosts.connect && o.hosts.name[0]) {
		fprintf(stderr, "quiver: --hosts and --connect are two ways, not both\n");
		return 2;
	}
	if (o.other && is_far(&o)) {
		fprintf(stderr, "quiver: --other is for processes of this host\n");
		return 2;
	}
	o.rounds = o.rounds ? o.rounds : o.common.quick ? 15 : 20;
	o.block_ms = o.block_ms ? o.block_ms : o.common.quick ? 8 : 20;
	o.seconds = o.seconds ? o.seconds : o.common.quick ? QV_FB_QUICK_SECONDS : 0;
	o.hang_ms = o.hang_ms ? o.hang_ms : o.common.quick ? 1000 : 4000;
	plan.cases_n = qv_fb_case_list(&o.common, &plan.cases);
	if (!plan.cases_n) {
		fprintf(stderr, "quiver: no case matches --filter %s\n", o.common.filter);
		status = 2;
	} else if (o.solo) {
		status = run_solo(&o, plan.cases, plan.cases_n);
	} else {
		status = run(&o, &plan);
	}
	free(plan.cases);
	free(o.names);
	qv_bench_opts_close(&o.common);
	return status;
}
