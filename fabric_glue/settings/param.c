/* SPDX-License-Identifier: BSD-2-Clause */
/* param.c - the FI_QUIVER_* settings: known to libfabric, read once, wrong ones named. */
#include "fabric_glue/provider.h"
#include "engine/base/bytes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <quiver/select.h>

#define DEFAULT_MEMORY   ((size_t)16 << 20)
#define DEFAULT_PATIENCE 2u  /* s */
#define DEFAULT_LINGER   15u /* s */
#define DEFAULT_DEATH    5u  /* s */
#define DEATH_LEAST \
	2000u /* ms: a connection gives so many signs of life in it that one may be lost */
#define DEFAULT_QUEUE ((size_t)16 << 20)
#define QUEUE_LEAST   ((size_t)1 << 20)
#define SECONDS_MAX   86400 /* of all three */

struct qv_fi_params qv_fi_params = {
	.node = "",
	.structure = "auto",
	.isa = QV_ISA_AUTO,
	.eager = SIZE_MAX,
	.memory = DEFAULT_MEMORY,
	.patience = DEFAULT_PATIENCE * 1000,
	.linger = DEFAULT_LINGER * 1000,
	.death = DEFAULT_DEATH * 1000,
	.queue = DEFAULT_QUEUE,
	.offload = {.min_batch = SIZE_MAX, .min_bytes = SIZE_MAX},
	.valid = true,
};

static const struct {
	const char *name;
	enum fi_param_type type;
	const char *help;
} params[] = {
	{"core", FI_PARAM_STRING,
	 "Core provider that carries the messages: auto, or the name of any provider of this "
	 "libfabric with FI_EP_RDM, FI_MSG and FI_SOURCE; tcp means net where tcp has no FI_EP_RDM. "
	 "node: quiver's own shared memory, between processes of one node. "
	 "node,NAME or shm,NAME: that one between processes of one node, NAME to all others. "
	 "A layered one, as tcp;ofi_rxm, is chosen by FI_PROVIDER=\"tcp;ofi_rxm;ofi_quiver\" "
	 "(default: auto, node and the first usable of cxi, efa, tcp, net, sockets)"},
	{"rails", FI_PARAM_STRING,
	 "Two domains or network interfaces of the core, as in eth0,eth1: long messages go over both "
	 "at once, all else over the first; the same number for all processes (default: none)"},
	{"mode", FI_PARAM_STRING,
	 "layered: quiver's protocol over the messages of a core; peer: the protocol of the core, "
	 "which asks quiver what receive a message takes (libfabric 2.0 or later, over "
	 "shm or tcp;ofi_rxm) (default: auto, which is layered)"},
	{"match", FI_PARAM_STRING,
	 "Structure of the match queues, see `quiver info` (default: auto)"},
	{"profile", FI_PARAM_STRING,
	 "File of what each source sends, for the structures clu and pnp-static; %r, %p and %h stand "
	 "for rank, process id and host (default: none)"},
	{"hints", FI_PARAM_STRING,
	 "What the program promises: a list of mpi_assert_no_any_tag, mpi_assert_no_any_source, "
	 "mpi_assert_exact_length and mpi_assert_allow_overtaking; receives that break the first two "
	 "are refused (default: none)"},
	{"isa", FI_PARAM_STRING,
	 "Instruction set of the match kernels: auto, scalar, avx2, avx512f, avx512 or neon "
	 "(default: auto, the widest that this CPU has)"},
	{"eager", FI_PARAM_STRING,
	 "Longest message in bytes that is sent without asking the receiver; k, M and G are allowed "
	 "(default: what suits the core)"},
	{"memory", FI_PARAM_STRING,
	 "Bytes that unexpected messages of one peer may take, what is remembered of each included, "
	 "before more of them wait at the sender; k, M and G are allowed (default: 16M)"},
	{"patience", FI_PARAM_STRING,
	 "Seconds for which nobody may be at the address of a peer that has never answered, before "
	 "sends to it fail; 0: for ever (default: 2)"},
	{"keepalive", FI_PARAM_STRING,
	 "Seconds within which a peer that has spoken is taken for dead when its host does not answer "
	 "any more, 2 or more; 0: never (default: 5)"},
	{"queue", FI_PARAM_STRING,
	 "Sends of an endpoint that may wait for the network or for room at their receiver, before "
	 "calls answer FI_EAGAIN, 1M or more; k, M and G are allowed (default: 16M)"},
	{"linger", FI_PARAM_STRING,
	 "Seconds for which an endpoint that is closed waits for a network that does not carry what it "
	 "has sent (default: 15)"},
	{"coll", FI_PARAM_STRING,
	 "Algorithms of collectives: operation=algorithm[:faithful|extended][,...], with operation "
	 "one of reduce, allreduce, reduce_scatter, barrier, broadcast, gather, allgather, scatter, "
	 "alltoall; the same for all processes (default: what a model finds fastest)"},
	{"offload", FI_PARAM_STRING,
	 "off, opencl, xrt or auto: match large batches of messages on an OpenCL device, or on an FPGA "
	 "by XRT; auto: where that was measured to gain, on an FPGA if FI_QUIVER_XCLBIN names its "
	 "bitstream (default: off)"},
	{"offload_min_batch", FI_PARAM_STRING,
	 "Messages that have come together from which on the device matches them "
	 "(default: 128; auto: measured)"},
	{"offload_min_bytes", FI_PARAM_STRING,
	 "Bytes of an array from which on the device combines it; k, M and G are allowed "
	 "(default: 1M; auto: measured)"},
	{"offload_device", FI_PARAM_STRING,
	 "Part of the name of an OpenCL platform or device, or its number from 0; with xrt a number "
	 "(default: the first, CPUs last)"},
	{"xclbin", FI_PARAM_STRING,
	 "The bitstream with quiver's kernels for FI_QUIVER_OFFLOAD=xrt (default: none)"},
	{"xrt_lib", FI_PARAM_STRING,
	 "Which library of XRT to open (default: libxrt_coreutil.so.2)"},
	{"stats", FI_PARAM_STRING,
	 "yes: print counters to stderr when an endpoint closes; json:FILE: write them to FILE, for "
	 "`quiver stats`; profile:FILE: write what each source has sent to FILE; both a name with %r, "
	 "%p or %h as in FI_QUIVER_PROFILE. Before json:, each with a colon: detail: histograms, "
	 "wildcards and sources, too; interval=SECONDS: also so often; signal=USR1, USR2 or HUP: also "
	 "at this signal (default: no)"},
	{"trace", FI_PARAM_STRING,
	 "FILE: write what matching is asked for and answers to FILE, for `quiver trace`, a name with "
	 "%r, %p or %h as in FI_QUIVER_PROFILE; max=BYTES:FILE: at most so many (default of it: 1G, 0: "
	 "no end); ring=BYTES:FILE: only what comes last, at the end; k, M and G are allowed (default: "
	 "none)"},
	{"node", FI_PARAM_STRING,
	 "Any text: processes with different ones take each other to be on different nodes and do "
	 "not use node or shm, for tests (default: empty)"},
	{"quiet", FI_PARAM_BOOL,
	 "Do not write complaints about settings to stderr, only to libfabric's log (default: no)"},
};

/* Complaints. */

static void __attribute__((format(printf, 1, 2))) wrong(const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	qv_fi_warn("%s", text);
	qv_fi_params.valid = false;
}

/* Values. */

/* The text of a setting; NULL if it is not set, or empty. */
static char *get_text(const char *name)
{
	char *value = NULL;

	if (qv_fi_host.param_get(&qv_fi_prov, name, &value) || !value || !*value)
		return NULL;
	return value;
}

static bool get_bool(const char *name, const char *env)
{
	int value = 0;

	if (qv_fi_host.param_get(&qv_fi_prov, name, &value) == -FI_EINVAL)
		wrong("%s=%s is not known; known: 0 1 no yes off on false true", env, getenv(env));
	return value;
}

static void get_bytes(const char *name, const char *env, size_t *bytes)
{
	const char *text = get_text(name);

	if (text && !qv_bytes_parse(text, bytes))
		wrong("%s=%s is not a number of bytes, as in 4096, 64k, 16M or 1G", env, text);
}

/* Whole seconds, into ms. */
static void get_seconds(const char *name, const char *env, unsigned *ms)
{
	const char *text = get_text(name);
	unsigned long seconds;
	char *end;

	if (!text)
		return;
	errno = 0;
	seconds = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || seconds > SECONDS_MAX)
		wrong("%s=%s is not a number of seconds from 0 to %u", env, text, SECONDS_MAX);
	else
		*ms = (unsigned)seconds * 1000;
}

static void get_keepalive(void)
{
	unsigned ms = qv_fi_params.death;

	get_seconds("keepalive", "FI_QUIVER_KEEPALIVE", &ms);
	if (ms && ms < DEATH_LEAST)
		wrong("FI_QUIVER_KEEPALIVE=%s is neither 0 nor %u seconds or more",
		      get_text("keepalive"), DEATH_LEAST / 1000);
	else
		qv_fi_params.death = ms;
}

static void get_queue(void)
{
	get_bytes("queue", "FI_QUIVER_QUEUE", &qv_fi_params.queue);
	if (qv_fi_params.queue < QUEUE_LEAST)
		wrong("FI_QUIVER_QUEUE=%s is less than 1M", get_text("queue"));
}

static void get_isa(void)
{
	const char *text = get_text("isa");
	char known[128] = "", usable[128] = "";
	enum qv_isa isa;

	if (!text)
		return;
	for (int i = 0; qv_isa_name(i); i++) {
		strcat(strcat(known, " "), qv_isa_name(i));
		if (qv_isa_usable(i))
			strcat(strcat(usable, " "), qv_isa_name(i));
	}
	if (qv_isa_parse(text, &isa))
		wrong("FI_QUIVER_ISA=%s is not known; known:%s", text, known);
	else if (!qv_isa_usable(isa))
		wrong("FI_QUIVER_ISA=%s cannot run on this CPU; usable here:%s", text, usable);
	else
		qv_fi_params.isa = isa;
}

static void get_rails(void)
{
	const char *text = get_text("rails");
	char why[128];

	if (text && !qv_fi_rails_parse(text, qv_fi_params.rails, why, sizeof why))
		wrong("FI_QUIVER_RAILS=%s %s", text, why);
}

static void get_hints(void)
{
	const char *text = get_text("hints");
	char why[512];

	if (text && !qv_fi_assertions_parse(text, &qv_fi_params.hints, why, sizeof why))
		wrong("FI_QUIVER_HINTS=%s: %s", text, why);
}

/* A wrong profile is wrong whether the structure would read it or not. */
static bool get_profile(uint32_t *sources)
{
	const char *text = get_text("profile"), *reason = "";
	char path[4096], why[4096 + 128];

	if (!text)
		return true;
	if (!qv_file_name(text, path, sizeof path, &reason))
		wrong("FI_QUIVER_PROFILE=%s: %s", text, reason);
	else if (!qv_fi_profile_check(path, sources, why, sizeof why))
		wrong("FI_QUIVER_PROFILE=%s: %s", text, why);
	else if (!(qv_fi_params.profile = strdup(path)))
		wrong("FI_QUIVER_PROFILE=%s: no memory", text);
	return qv_fi_params.profile != NULL;
}

static void get_structure(void)
{
	const char *text = get_text("match");
	uint32_t sources = 0;
	char why[512];

	if (!get_profile(&sources) || !text)
		return;
	if (!qv_fi_match_usable(text, qv_fi_params.profile, why, sizeof why)) {
		wrong("FI_QUIVER_MATCH=%s %s", text, why);
		return;
	}
	qv_fi_params.structure = text;
	if (qv_fi_match_reads_profile(text, qv_fi_params.profile))
		qv_fi_params.named = sources;
}

static void get_stats(void)
{
	const char *text = get_text("stats");
	char why[4096 + 128];

	if (text && !qv_fi_stats_parse(text, &qv_fi_params.stats, why, sizeof why))
		wrong("FI_QUIVER_STATS=%s: %s", text, why);
}

static void get_trace(void)
{
	const char *text = get_text("trace");
	char why[4096 + 128];

	if (text && !qv_trace_setting_parse(text, &qv_fi_params.trace, why, sizeof why))
		wrong("FI_QUIVER_TRACE=%s: %s", text, why);
}

static void get_coll(void)
{
	struct qv_select *select;
	char why[512];

	qv_fi_params.coll = get_text("coll");
	if (qv_select_open(qv_fi_params.coll, why, sizeof why, &select))
		wrong("FI_QUIVER_COLL=%s: %s", qv_fi_params.coll, why);
	else
		qv_select_close(select);
}

static void get_offload(void)
{
	struct qv_fi_offload_params *o = &qv_fi_params.offload;
	const char *text = get_text("offload");
	char why[256];

	o->xclbin = get_text("xclbin");
	o->xrt_lib = get_text("xrt_lib");
	if (text && !qv_fi_offload_parse(text, o, why, sizeof why))
		wrong("FI_QUIVER_OFFLOAD=%s %s", text, why);
	o->device = get_text("offload_device");
	get_bytes("offload_min_bytes", "FI_QUIVER_OFFLOAD_MIN_BYTES", &o->min_bytes);
	text = get_text("offload_min_batch");
	if (text && (!qv_bytes_parse(text, &o->min_batch) || !o->min_batch))
		wrong("FI_QUIVER_OFFLOAD_MIN_BATCH=%s is not a number of messages, 1 or more",
		      text);
}

/* Last: it looks at the others. */
static void get_mode(void)
{
	const char *text = get_text("mode");
	char why[256];

	if (text && !qv_fi_mode_parse(text, &qv_fi_params.peer, why, sizeof why))
		wrong("FI_QUIVER_MODE=%s %s", text, why);
}

/* A misspelt name does nothing at all, silently: say so. It is no reason to refuse to work. */
static void check_names(void)
{
	static const char prefix[] = "FI_QUIVER_";
	char unknown[512] = "";

	for (char **var = environ; *var; var++) {
		const char *name = *var + sizeof prefix - 1;
		size_t len, i;

		if (strncmp(*var, prefix, sizeof prefix - 1))
			continue;
		len = strcspn(name, "=");
		for (i = 0; i < sizeof params / sizeof *params; i++)
			if (strlen(params[i].name) == len &&
			    !strncasecmp(params[i].name, name, len))
				break;
		if (i == sizeof params / sizeof *params)
			snprintf(unknown + strlen(unknown), sizeof unknown - strlen(unknown),
				 " %s%.*s", prefix, (int)len, name);
	}
	if (*unknown)
		qv_fi_warn("not a setting of this version, ignored:%s", unknown);
}

/* Entry. */

void qv_fi_params_define(void)
{
	for (size_t i = 0; i < sizeof params / sizeof *params; i++)
		qv_fi_host.param_define(&qv_fi_prov, params[i].name, params[i].type, "%s",
					params[i].help);
}

static void read_all(void)
{
	qv_fi_params.quiet = get_bool("quiet", "FI_QUIVER_QUIET");
	qv_fi_params.core = get_text("core");
	if (qv_fi_params.core && !strcmp(qv_fi_params.core, "auto"))
		qv_fi_params.core = NULL;
	if (get_text("node"))
		qv_fi_params.node = get_text("node");
	get_rails();
	get_hints();
	get_structure();
	get_isa();
	get_bytes("eager", "FI_QUIVER_EAGER", &qv_fi_params.eager);
	get_bytes("memory", "FI_QUIVER_MEMORY", &qv_fi_params.memory);
	get_seconds("patience", "FI_QUIVER_PATIENCE", &qv_fi_params.patience);
	qv_fi_params.patience_set = get_text("patience") != NULL;
	get_keepalive();
	get_queue();
	get_seconds("linger", "FI_QUIVER_LINGER", &qv_fi_params.linger);
	get_coll();
	get_offload();
	get_stats();
	get_trace();
	get_mode();
	check_names();
}

void qv_fi_params_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
}
