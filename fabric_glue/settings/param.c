/* SPDX-License-Identifier: BSD-2-Clause */
/* param.c - the values of the FI_QUIVER_* settings: read once, wrong ones named. */
#include "fabric_glue/provider.h"
#include "engine/base/bytes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	const char *text = getenv(env);
	int value = 0;

	if (text && !*text)
		return false;
	if (qv_fi_host.param_get(&qv_fi_prov, name, &value) == -FI_EINVAL)
		wrong("%s=%s is not known; known: 0 1 no yes off on false true", env, text);
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

static void get_collective(void)
{
	const char *text = get_text("collective");
	char why[128];

	if (!qv_fi_collective_parse(text, &qv_fi_params.collective, why, sizeof why))
		wrong("FI_QUIVER_COLLECTIVE=%s %s", text, why);
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
	if (!qv_fi_match_usable(text, qv_fi_params.profile, qv_fi_params.collective.mask, why,
				sizeof why)) {
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
	if (qv_select_open(qv_fi_params.coll, why, sizeof why, &select)) {
		wrong("FI_QUIVER_COLL=%s: %s", qv_fi_params.coll, why);
		return;
	}
	if (qv_fi_params.coll && strstr(qv_fi_params.coll, "scan=")) /* exscan=, too */
		wrong("FI_QUIVER_COLL=%s: libfabric has no scan", qv_fi_params.coll);
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

/* Entry. */

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
	get_collective();
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
	qv_fi_params_check_names();
}

void qv_fi_params_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
}
